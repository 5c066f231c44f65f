package nn_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"tarn/nn"
	"tarn/tensor"
)

// A training goes on in another program: the model, its running statistics and the
// optimiser's moments are in one file, which NumPy reads too.
func ExampleSaveFile() {
	dev := tensor.CPU()
	begin := func(seed uint64) (*nn.Sequential, *nn.AdamW) {
		r := rand.New(rand.NewPCG(seed, 0))
		m := nn.NewSequential(must(nn.NewLinear(dev, tensor.Float32, 4, 8, r, nn.NoBias)),
			must(nn.NewBatchNorm(dev, tensor.Float32, 8)), nn.GELU{}, must(nn.NewLinear(dev, tensor.Float32, 8, 2, r)))
		return m, must(nn.NewAdamW(m.Parameters(), nn.DefaultAdamW()))
	}
	x := tensor.Randn(dev, tensor.NewGenerator(1), tensor.Float32, 16, 4)
	m, opt := begin(1)
	fmt.Println(m.Forward(x).Sum().Backward(), opt.Step())

	dir := must(os.MkdirTemp("", "model"))
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.npz")
	fmt.Println(nn.SaveFile(path, m, opt))

	other, its := begin(2)
	fmt.Println(nn.LoadFile(path, other, its))
	nn.Eval(m)
	nn.Eval(other)
	fmt.Println(m.Forward(x.NoGrad()).Eq(other.Forward(x.NoGrad())).All())
	for _, p := range nn.State(other) {
		fmt.Print(p.Name, " ")
	}
	// Output:
	// <nil> <nil>
	// <nil>
	// <nil>
	// tensor(True)
	// 0.weight 1.weight 1.bias 3.weight 3.bias 1.running_mean 1.running_var
}

// The layers of a small convolutional net, on images of 8 by 8.
func ExampleNewConv2D() {
	dev, r := tensor.CPU(), rand.New(rand.NewPCG(1, 2))
	same := tensor.Conv{Padding: [2]int{1, 1}}
	m := nn.NewSequential(
		must(nn.NewConv2D(dev, tensor.Float32, 3, 16, [2]int{3, 3}, same, r, nn.NoBias)),
		must(nn.NewBatchNorm(dev, tensor.Float32, 16)), nn.ReLU{}, nn.MaxPool2D{Kernel: [2]int{2, 2}},
		nn.Flatten{}, must(nn.NewLinear(dev, tensor.Float32, 16*4*4, 10, r)),
	)
	images := tensor.Rand(dev, tensor.NewGenerator(1), tensor.Float32, 32, 3, 8, 8)
	fmt.Println(m.Forward(images).Shape())
	// Output: [32, 10]
}
