package tensor_test

import (
	"tarn/kernels"
	"tarn/tensor"
)

// tinyOp is an op on 64 elements or so, and the kernel that it calls.
type tinyOp struct {
	name string
	id   kernels.ID
	attr kernels.Attr
	make func(d *tensor.Device) []*tensor.Tensor
	run  func(in []*tensor.Tensor) *tensor.Tensor
}

func tinyOps() []tinyOp {
	type T = *tensor.Tensor
	one := func(d *tensor.Device) []T { return []T{floats(d, 64)} }
	two := func(d *tensor.Device) []T { return []T{floats(d, 64), floats(d, 64)} }
	return []tinyOp{
		{name: "Add", id: kernels.Add, make: two, run: func(in []T) T { return in[0].Add(in[1]) }},
		{name: "Mul", id: kernels.Mul, make: two, run: func(in []T) T { return in[0].Mul(in[1]) }},
		{name: "ReLU", id: kernels.ReLU, make: one, run: func(in []T) T { return in[0].ReLU() }},
		{name: "GELU", id: kernels.GELU, make: one, run: func(in []T) T { return in[0].GELU() }},
		{name: "MatMul", id: kernels.MatMul, make: func(d *tensor.Device) []T { return []T{floats(d, 8, 8), floats(d, 8, 8)} },
			run: func(in []T) T { return in[0].MatMul(in[1]) }},
		{name: "Sum", id: kernels.Sum, attr: kernels.Attr{Alpha: 1}, make: func(d *tensor.Device) []T { return []T{floats(d, 8, 8)} },
			run: func(in []T) T { return in[0].SumKeep(1) }},
		{name: "Where", id: kernels.Where, make: func(d *tensor.Device) []T {
			x, y := floats(d, 64), floats(d, 64)
			return []T{x.Lt(y), x, y}
		}, run: func(in []T) T { return tensor.Where(in[0], in[1], in[2]) }},
		{name: "Softmax", id: kernels.Softmax, attr: kernels.Attr{Axis: 1}, make: func(d *tensor.Device) []T { return []T{floats(d, 8, 8)} },
			run: func(in []T) T { return in[0].Softmax(1) }},
	}
}
