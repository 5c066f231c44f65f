package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/internal/invariants"
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

// TestOpAllocations holds the Go allocations of recorded ops: the handle, the
// storage and the node in a scope; without one, what the runtime's cleanup costs
// too.
func TestOpAllocations(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the checks after each step of the allocator allocate")
	}
	for _, c := range tinyOps() {
		t.Run(c.name, func(t *testing.T) {
			owned := c.make(newCPU(t))
			owned[len(owned)-1].RequireGrad()
			s := tensor.NewScope()
			in := make([]*tensor.Tensor, len(owned))
			for i, x := range owned {
				in[i] = x.In(s)
			}
			require.LessOrEqual(t, testing.AllocsPerRun(100, func() { c.run(in).Release() }), 3.0, "in a scope")
			require.LessOrEqual(t, testing.AllocsPerRun(100, func() { c.run(owned).Release() }), 6.0, "without")
			require.NoError(t, s.Close())
		})
	}
}
