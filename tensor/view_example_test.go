package tensor_test

import (
	"fmt"

	"tarn/tensor"
)

// Windows overlap, so what reads an element twice gets its gradient twice.
func ExampleTensor_Unfold() {
	x := tensor.FromSlice(tensor.CPU(), []float32{1, 2, 3, 4}).RequireGrad()
	windows := x.Unfold(0, 3, 1)
	fmt.Println(windows)
	fmt.Println(windows.Sum().Backward(), x.Grad())
	fmt.Println(windows.NoGrad().Fill(0) != nil)
	// Output:
	// tensor([[1., 2., 3.],
	//         [2., 3., 4.]])
	// <nil> tensor([1., 2., 2., 1.])
	// true
}

// The parts are views: what is written to one is seen in the whole.
func ExampleTensor_Chunk() {
	x := tensor.Zeros(tensor.CPU(), tensor.Int64, 2, 6)
	for i, part := range x.Chunk(3, 1) {
		if err := part.Fill(float64(i)); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(x)
	// Output:
	// tensor([[0, 0, 1, 1, 2, 2],
	//         [0, 0, 1, 1, 2, 2]])
}

// The form follows the values, as in PyTorch; a verb asks for another.
func ExampleTensor_Format() {
	x := tensor.FromSlice(tensor.CPU(), []float32{0.5, -2000, 1.0 / 3})
	fmt.Println(x)
	fmt.Printf("%.2f\n", x)
	fmt.Printf("%+v\n", x.Slice(0, 0, 2, 1).RequireGrad())
	fmt.Println(tensor.Zeros(tensor.CPU(), tensor.Float32, 1000, 1000).Unsqueeze(0))
	// Output:
	// tensor([ 5.0000e-01, -2.0000e+03,  3.3333e-01])
	// tensor([    0.50, -2000.00,     0.33])
	// tensor([ 5.0000e-01, -2.0000e+03], dtype=float32, shape=[2], device=cpu,
	//        stream=default, strides=[1], bytes=8, requires grad)
	// tensor([[[0., 0., 0.,  ..., 0., 0., 0.],
	//          [0., 0., 0.,  ..., 0., 0., 0.],
	//          [0., 0., 0.,  ..., 0., 0., 0.],
	//          ...,
	//          [0., 0., 0.,  ..., 0., 0., 0.],
	//          [0., 0., 0.,  ..., 0., 0., 0.],
	//          [0., 0., 0.,  ..., 0., 0., 0.]]])
}
