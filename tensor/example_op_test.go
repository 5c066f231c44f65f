package tensor_test

import (
	"errors"
	"fmt"

	"tarn/tensor"
)

// Elements go in and come out in row-major order; Data waits for the work.
func ExampleFromSlice() {
	x := tensor.FromSlice(tensor.CPU(), []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	fmt.Println(x.Shape(), x.DType())
	fmt.Println(tensor.Data[float32](x.T()))
	// Output:
	// [2, 3] float32
	// [1 4 2 5 3 6] <nil>
}

// Shapes broadcast from the last dim on, and types promote.
func ExampleTensor_Add() {
	dev := tensor.CPU()
	column := tensor.FromSlice(dev, []int64{10, 20}, 2, 1)
	row := tensor.FromSlice(dev, []float32{1, 2, 3})
	fmt.Println(column.Add(row))
	// Output:
	// tensor([[11., 12., 13.],
	//         [21., 22., 23.]])
}

// A reduced dim goes away, or stays with size 1.
func ExampleTensor_Sum() {
	x := tensor.Arange(tensor.CPU(), tensor.Float32, 0, 6, 1).View(2, 3)
	fmt.Println(x.Sum(), x.Sum(0), x.Sum(-1))
	fmt.Println(x.Div(x.SumKeep(1)))
	// Output:
	// tensor(15.) tensor([3., 5., 7.]) tensor([ 3., 12.])
	// tensor([[0.0000, 0.3333, 0.6667],
	//         [0.2500, 0.3333, 0.4167]])
}

func ExampleEinsum() {
	dev := tensor.CPU()
	a := tensor.Arange(dev, tensor.Float32, 0, 6, 1).View(2, 3)
	fmt.Println(tensor.Einsum("ij,kj->ik", a, a))
	fmt.Println(tensor.Einsum("ij->", a))
	// Output:
	// tensor([[ 5., 14.],
	//         [14., 50.]])
	// tensor(15.)
}

// A constant on the CPU joins operands of any device.
func ExampleWhere() {
	x := tensor.FromSlice(tensor.CPU(), []float32{-1, 0, 2})
	zero := tensor.Scalar(tensor.CPU(), tensor.Float32, 0)
	fmt.Println(x.Gt(zero))
	fmt.Println(tensor.Where(x.Gt(zero), x, x.MulScalar(0.1)))
	// Output:
	// tensor([False, False,  True])
	// tensor([-0.1000,  0.0000,  2.0000])
}

// Of each row the logit of its class.
func ExampleTensor_Gather() {
	dev := tensor.CPU()
	logits := tensor.FromSlice(dev, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	classes := tensor.FromSlice(dev, []int64{2, 0})
	fmt.Println(logits.Gather(1, classes.Unsqueeze(1)).Squeeze(1))
	values, indices := logits.TopK(2, 1, true)
	fmt.Println(values, indices)
	// Output:
	// tensor([3., 4.])
	// tensor([[3., 2.],
	//         [6., 5.]]) tensor([[2, 1],
	//         [2, 1]])
}

// The sums of the four neighbours.
func ExampleTensor_Conv2D() {
	dev := tensor.CPU()
	image := tensor.Arange(dev, tensor.Float32, 0, 9, 1).View(1, 1, 3, 3)
	cross := tensor.FromSlice(dev, []float32{0, 1, 0, 1, 0, 1, 0, 1, 0}, 1, 1, 3, 3)
	y := image.Conv2D(cross, nil, tensor.Conv{Padding: [2]int{1, 1}})
	fmt.Println(y.View(3, 3))
	// Output:
	// tensor([[ 4.,  6.,  6.],
	//         [10., 16., 14.],
	//         [10., 18., 12.]])
}

// Queries that find all keys alike take the mean of the values so far.
func ExampleTensor_Attention() {
	dev := tensor.CPU()
	same := tensor.Zeros(dev, tensor.Float32, 1, 4, 2) // one head, 4 places
	values := tensor.FromSlice(dev, []float32{1, 3, 5, 7}, 1, 4, 1)
	fmt.Println(same.Attention(same, values, tensor.AttentionOptions{Causal: true}).Flatten(0, -1))
	// Output: tensor([1., 2., 3., 4.])
}

// Places of the class 0, a padding here, do not count.
func ExampleTensor_CrossEntropyWith() {
	dev := tensor.CPU()
	logits := tensor.FromSlice(dev, []float32{0, 0, 8, -8, 3, 3}, 3, 2)
	classes, padding := tensor.FromSlice(dev, []int64{1, 0, 1}), int64(0)
	fmt.Println(logits.CrossEntropyWith(classes, tensor.CrossEntropyOptions{IgnoreIndex: &padding}))
	// Output: tensor(0.6931)
}

// Beyond the knee at 1 the loss is linear.
func ExampleTensor_HuberLoss() {
	dev := tensor.CPU()
	x, target := tensor.FromSlice(dev, []float32{0.5, 3}), tensor.Zeros(dev, tensor.Float32, 2)
	fmt.Println(x.HuberLoss(target, 1, tensor.NoReduction), x.HuberLoss(target, 1, tensor.MeanReduction))
	// Output: tensor([0.1250, 2.5000]) tensor(1.3125)
}

// A half type holds fewer digits, and adds up in float32 all the same.
func ExampleTensor_To() {
	x := tensor.Full(tensor.CPU(), tensor.Float32, 0.1, 1000).To(tensor.Float16)
	fmt.Println(x.Sum(), x.To(tensor.Float32).Select(0, 0).MulScalar(1e4))
	// Output: tensor(100.) tensor(999.7559)
}

// What outlives a step moves out of its scope.
func ExampleScope_Keep() {
	x := tensor.Ones(tensor.CPU(), tensor.Float32, 3)
	s := tensor.NewScope()
	square := x.In(s).MulScalar(2)
	sum := square.Sum()
	fmt.Println(s.Keep(sum), s.Close())
	fmt.Println(sum, errors.Is(square.Exp().Err(), tensor.ErrReleased))
	// Output:
	// <nil> <nil>
	// tensor(6.) true
}

// The first op whose result is not finite says so.
func ExampleTensor_DetectAnomaly() {
	x := tensor.FromSlice(tensor.CPU(), []float32{1, -4})
	y := x.DetectAnomaly().AddScalar(1).Sqrt().Sum()
	var e *tensor.Error
	fmt.Println(errors.Is(y.Err(), tensor.ErrNotFinite), errors.As(y.Err(), &e), e.Op)
	// Output: true true Sqrt
}

// A state brings the same numbers back, on every device.
func ExampleGenerator() {
	g := tensor.NewGenerator(1)
	state := g.State()
	x := tensor.Rand(tensor.CPU(), g, tensor.Float32, 100)
	g.SetState(state)
	again := tensor.Rand(tensor.CPU(), g, tensor.Float32, 100)
	fmt.Println(x.Eq(again).All(), x.Lt(tensor.Ones(tensor.CPU(), tensor.Float32)).All())
	// Output: tensor(True) tensor(True)
}
