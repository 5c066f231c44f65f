package tensor_test

import (
	"errors"
	"fmt"

	"tarn/memory"
	"tarn/tensor"
)

// Gradients of w for a tiny regression.
func Example() {
	dev := tensor.CPU()
	x := tensor.FromSlice(dev, []float32{1, 2, 3, 4}, 2, 2)
	y := tensor.FromSlice(dev, []float32{1, 0}, 2, 1)
	w := tensor.Zeros(dev, tensor.Float32, 2, 1).RequireGrad()

	s := tensor.NewScope() // owns all that is made from here on
	diff := x.In(s).MatMul(w).Sub(y)
	loss := diff.Mul(diff).Mean()
	if err := loss.Backward(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loss)
	if err := s.Close(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Grad()) // belongs to w, not to the scope
	// Output:
	// tensor(0.5000)
	// tensor([[-1.],
	//         [-2.]])
}

// A chain of ops needs one check, at its end: the first error is handed on.
func ExampleTensor_Err() {
	dev := tensor.CPU()
	x := tensor.Ones(dev, tensor.Float32, 2, 3)
	y := x.MatMul(x).Exp().Sum()
	var e *tensor.Error
	fmt.Println(errors.Is(y.Err(), tensor.ErrShape), errors.As(y.Err(), &e), e.Op, e.Shapes)
	// Output: true true MatMul [[2, 3] [2, 3]]
}

// A teacher is a constant to the student's training.
func ExampleTensor_NoGrad() {
	dev := tensor.CPU()
	student := tensor.Ones(dev, tensor.Float32, 1).RequireGrad()
	teacher := tensor.Full(dev, tensor.Float32, 3, 1).RequireGrad()
	x := tensor.Full(dev, tensor.Float32, 2, 1)
	loss := x.Mul(student).Sub(x.NoGrad().Mul(teacher)).Sum()
	fmt.Println(loss.Backward(), student.Grad(), teacher.Grad() == nil)
	// Output: <nil> tensor([2.]) true
}

// A device under a limit: the error says what was tried, and the device goes on.
func ExampleNewCPU() {
	dev, err := tensor.NewCPU(memory.Config{Limit: 64 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := tensor.Zeros(dev, tensor.Float32, 32<<20)
	var oom *memory.OutOfMemoryError
	if errors.As(x.Err(), &oom) {
		fmt.Println(oom.Requested, oom.Limit)
	}
	y := tensor.Zeros(dev, tensor.Float32, 1<<20)
	fmt.Println(y.Err(), y.Release(), dev.Close())
	// Output:
	// 134217728 67108864
	// <nil> <nil> <nil>
}

// An out-of-memory error is a value like any other, and the device goes on.
func ExampleZeros() {
	x := tensor.Zeros(tensor.CPU(), tensor.Float32, 1<<52)
	var oom *memory.OutOfMemoryError
	fmt.Println(errors.As(x.Err(), &oom), x.Shape())
	fmt.Println(tensor.Zeros(tensor.CPU(), tensor.Float32, 2))
	// Output:
	// true [4503599627370496]
	// tensor([0., 0.])
}

// A view holds the bytes by itself.
func ExampleTensor_Release() {
	y := tensor.Zeros(tensor.CPU(), tensor.Float32, 1024)
	view := y.Reshape(32, 32)
	fmt.Println(y.Release(), view.Shape())
	fmt.Println(view.Release(), view.Exp().Err() != nil)
	// Output:
	// <nil> [32, 32]
	// <nil> true
}
