package nn_test

import (
	"fmt"
	"math/rand/v2"

	"tarn/nn"
	"tarn/tensor"
)

// Example trains a small network on the exclusive or.
func Example() {
	dev := tensor.CPU()
	r := rand.New(rand.NewPCG(4, 2))
	hidden, err := nn.NewLinear(dev, tensor.Float32, 2, 16, r)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := nn.NewLinear(dev, tensor.Float32, 16, 2, r)
	if err != nil {
		fmt.Println(err)
		return
	}
	model := nn.NewSequential(hidden, nn.ReLU{}, out)
	opt, err := nn.NewSGD(model.Parameters(), nn.SGDOptions{LR: 0.1, Momentum: 0.9})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := tensor.FromSlice(dev, []float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2)
	y := tensor.FromSlice(dev, []int64{0, 1, 1, 0})
	train := func() error {
		s := tensor.NewScope()
		defer s.Close()
		loss := nn.CrossEntropy(model.Forward(x.In(s)), y)
		if err := opt.ZeroGrad(); err != nil {
			return err
		}
		if err := loss.Backward(); err != nil {
			return err
		}
		return opt.Step()
	}
	for range 200 {
		if err := train(); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(model.Forward(x.NoGrad()).ArgMax(1))
	// Output: tensor([0, 1, 1, 0])
}
