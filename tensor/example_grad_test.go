package tensor_test

import (
	"fmt"

	"tarn/tensor"
)

func ExampleGrad() {
	x := tensor.FromSlice(tensor.CPU(), []float64{1, 2, 3}).RequireGrad()
	y := x.Mul(x)
	grads, err := tensor.Grad([]*tensor.Tensor{y.Sum()}, []*tensor.Tensor{x, y}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range grads {
		values, err := tensor.Data[float64](g)
		fmt.Println(values, err)
	}
	fmt.Println(x.Grad() == nil)
	// Output:
	// [2 4 6] <nil>
	// [1 1 1] <nil>
	// true
}

func ExampleTensor_OnGrad() {
	x := tensor.FromSlice(tensor.CPU(), []float64{1, 2, 3}).RequireGrad()
	h := x.MulScalar(2)
	remove, err := h.OnGrad(func(g *tensor.Tensor) *tensor.Tensor { return g.MulScalar(0.5) })
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remove()
	if err := h.Sum().Backward(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tensor.Data[float64](x.Grad()))
	// Output: [1 1 1] <nil>
}

func ExampleCheckpoint() {
	w := tensor.FromSlice(tensor.CPU(), []float64{1, 2}).RequireGrad()
	x := tensor.FromSlice(tensor.CPU(), []float64{3, 4})
	calls := 0
	y := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor {
		calls++
		return in[0].Mul(w).Mul(w)
	}, x)
	if err := y.Sum().Backward(); err != nil {
		fmt.Println(err)
		return
	}
	values, err := tensor.Data[float64](w.Grad())
	fmt.Println(values, err, calls, "calls")
	// Output: [6 16] <nil> 2 calls
}
