//go:build cgo && (linux || darwin)

package tensor_test

import (
	"errors"
	"fmt"

	"tarn/cuda/cudasim"
	"tarn/memory"
	"tarn/tensor"
)

// A step is recorded once and queued with one call after that. The device here
// is simulated; tensor.CUDA(0) is a real one.
func ExampleCapture() {
	machine, err := cudasim.Open(cudasim.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	device, err := machine.Library().Device(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	context, err := device.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	dev, err := tensor.NewCUDA(context, memory.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}

	x := tensor.Zeros(dev, tensor.Float32, 3)
	var y *tensor.Tensor
	graph, err := tensor.Capture(dev.DefaultStream(), func() error {
		y = x.MulScalar(2).AddScalar(1)
		return y.Err()
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 3 {
		in := []float32{float32(i), float32(i + 1), float32(i + 2)}
		if err := errors.Join(tensor.CopyFrom(x, in), graph.Replay()); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(y)
	}
	// Output:
	// tensor([1., 3., 5.])
	// tensor([3., 5., 7.])
	// tensor([5., 7., 9.])
}
