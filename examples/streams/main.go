// Command streams lets two streams of one device work in turns, on a device that
// has not the memory for both: what one of them has freed goes to the other
// where it lies, which waits for it on the device. Nobody says so to anybody;
// the numbers that it prints are right all the same, and at the end it prints
// what the memory went through.
//
// The device is simulated, and runs the kernels of the real one. The program
// needs cgo.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"tarn/cuda/cudasim"
	"tarn/memory"
	"tarn/tensor"
)

const (
	capacity = 16 << 20 // bytes of the device
	elements = 1 << 19  // of each tensor: 2 MiB
	rounds   = 4
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) (err error) {
	machine, err := cudasim.Open(cudasim.Config{Memory: capacity, Delays: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, machine.Close()) }()
	device, err := machine.Library().Device(0)
	if err != nil {
		return err
	}
	context, err := device.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, context.Close()) }()
	dev, err := tensor.NewCUDA(context, memory.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	// What the allocator took back, no kernel may touch.
	if err := dev.SetGuard(machine); err != nil {
		return err
	}
	return work(dev, out)
}

// work hands a number from stream to stream; each doubles it and adds 1.
func work(dev *tensor.Device, out io.Writer) error {
	first, err := dev.NewStream()
	if err != nil {
		return err
	}
	second, err := dev.NewStream()
	if err != nil {
		return err
	}
	x := tensor.Zeros(first, tensor.Float32)
	want := 0.0
	for range rounds {
		for _, s := range []*tensor.Stream{first, second} {
			y := step(s, x)
			if err := errors.Join(y.Err(), x.Release()); err != nil {
				return err
			}
			x, want = y, 2*want+1
		}
	}
	// Nothing has waited so far: all of the above is only queued.
	got, err := x.Item()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d steps on two streams give %v, and should give %v\n", 2*rounds, got, want)
	if got != want {
		return errors.New("a stream read what another was still writing")
	}
	served := map[memory.Rung]int64{}
	for _, r := range dev.Memory().Stats().Rungs {
		served[r.Rung] = r.Served
	}
	fmt.Fprintf(out, "%d requests got memory of the other stream as it lay, %d by moving pages together, %d new memory\n",
		served[memory.RungReuse]+served[memory.RungFollow], served[memory.RungRemap], served[memory.RungGrow])
	fmt.Fprint(out, dev.Memory().Summary())
	return x.Release()
}

// step returns 2x + 1, by way of tensors that take most of the device.
func step(s *tensor.Stream, x *tensor.Tensor) *tensor.Tensor {
	scope := tensor.NewScope()
	defer scope.Close()
	wide := x.On(s).In(scope).Expand(elements)
	defer wide.Release() // a view of x holds the memory of x, which is in no scope
	double := wide.Add(wide)
	more := double.AddScalar(1)
	square := more.Mul(more)
	y := square.Div(more).Mean()
	if y.Err() == nil {
		if err := scope.Keep(y); err != nil {
			return tensor.FromError(y, err)
		}
	}
	return y
}
