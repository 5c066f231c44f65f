package tensor_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/internal/fixture"
	"tarn/tensor"
)

// torchOps runs an op of the fixtures as this package spells it.
var torchOps = map[string]func(in []*tensor.Tensor, a fixture.Attrs) *tensor.Tensor{
	"add":  func(in []*tensor.Tensor, _ fixture.Attrs) *tensor.Tensor { return in[0].Add(in[1]) },
	"sub":  func(in []*tensor.Tensor, _ fixture.Attrs) *tensor.Tensor { return in[0].Sub(in[1]) },
	"mul":  func(in []*tensor.Tensor, _ fixture.Attrs) *tensor.Tensor { return in[0].Mul(in[1]) },
	"div":  func(in []*tensor.Tensor, _ fixture.Attrs) *tensor.Tensor { return in[0].Div(in[1]) },
	"exp":  func(in []*tensor.Tensor, _ fixture.Attrs) *tensor.Tensor { return in[0].Exp() },
	"log":  func(in []*tensor.Tensor, _ fixture.Attrs) *tensor.Tensor { return in[0].Log() },
	"sqrt": func(in []*tensor.Tensor, _ fixture.Attrs) *tensor.Tensor { return in[0].Sqrt() },
	"relu": func(in []*tensor.Tensor, _ fixture.Attrs) *tensor.Tensor { return in[0].ReLU() },
	"affine": func(in []*tensor.Tensor, a fixture.Attrs) *tensor.Tensor {
		return in[0].MulScalar(a.Alpha).AddScalar(a.Beta)
	},
	"copy": func(in []*tensor.Tensor, a fixture.Attrs) *tensor.Tensor {
		return in[0].To(map[string]tensor.DType{"float32": tensor.Float32, "float64": tensor.Float64, "int64": tensor.Int64}[a.DType])
	},
	"sum": func(in []*tensor.Tensor, a fixture.Attrs) *tensor.Tensor {
		if a.KeepDim {
			return in[0].SumKeep(a.Dims...)
		}
		return in[0].Sum(a.Dims...)
	},
	"mean": func(in []*tensor.Tensor, a fixture.Attrs) *tensor.Tensor {
		return keep(in[0].Mean(a.Dims...), a)
	},
	"amax": func(in []*tensor.Tensor, a fixture.Attrs) *tensor.Tensor {
		return keep(in[0].Max(a.Dims...), a)
	},
	"argmax": func(in []*tensor.Tensor, a fixture.Attrs) *tensor.Tensor {
		return keep(in[0].ArgMax(a.Dims[0]), a)
	},
	"matmul": func(in []*tensor.Tensor, a fixture.Attrs) *tensor.Tensor {
		x, w := in[0], in[1]
		if a.TransA {
			x = x.T()
		}
		if a.TransB {
			w = w.T()
		}
		return x.MatMul(w)
	},
	"linear": func(in []*tensor.Tensor, a fixture.Attrs) *tensor.Tensor {
		if len(in) == 2 { // no bias
			y := in[0].MatMul(in[1])
			if a.ReLU {
				return y.ReLU()
			}
			return y
		}
		if a.ReLU {
			return in[0].LinearReLU(in[1], in[2])
		}
		return in[0].Linear(in[1], in[2])
	},
	"cross_entropy": func(in []*tensor.Tensor, _ fixture.Attrs) *tensor.Tensor { return in[0].CrossEntropy(in[1]) },
}

// keep puts the reduced dims back, which Mean, Max and ArgMax do not keep.
func keep(y *tensor.Tensor, a fixture.Attrs) *tensor.Tensor {
	if !a.KeepDim {
		return y
	}
	rank := y.Rank() + len(a.Dims)
	in := map[int]bool{}
	for _, d := range a.Dims {
		in[(d+rank)%rank] = true
	}
	for d := range rank {
		if in[d] {
			y = y.Unsqueeze(d)
		}
	}
	return y
}

// departures are the gradients in which this package means to differ from
// PyTorch, with the reason.
var departures = map[string]string{
	"amax/nan": "PyTorch gives NaN to the whole row (0/0); here the NaN that is the maximum gets the gradient",
}

func TestOpsAgainstPyTorch(t *testing.T) { onDevices(t, checkAgainstPyTorch) }

func checkAgainstPyTorch(t *testing.T, d *tensor.Device) {
	ops, err := fixture.Load[fixture.Ops]("testdata/torch/ops.json")
	require.NoError(t, err)
	checked := 0
	for _, c := range ops.Cases {
		run := torchOps[c.Op]
		if run == nil {
			require.Equal(t, "kaiming_uniform_bounds", c.Op, "checked by package nn")
			continue
		}
		checked++
		t.Run(c.Name, func(t *testing.T) {
			in := make([]*tensor.Tensor, len(c.Inputs))
			for i, v := range c.Inputs {
				in[i] = load(d, v)
				if c.Upstream != nil && v.IsFloat() {
					in[i] = in[i].RequireGrad()
				}
			}
			y := run(in, c.Attrs)
			if c.Error != "" {
				require.Error(t, errors.Join(y.Err(), d.Synchronize()), "PyTorch: %s", c.Error)
				return
			}
			compare(t, "output", c.Output, y)
			if c.Upstream == nil {
				return
			}
			require.NoError(t, y.BackwardWith(load(d, c.Upstream)))
			for i, g := range c.Grads {
				if g != nil && departures[c.Name] == "" {
					compare(t, "gradient", g, in[i].Grad())
				}
			}
		})
	}
	t.Logf("%d cases by PyTorch %s", checked, ops.Torch)
}

func load(d *tensor.Device, v *fixture.Tensor) *tensor.Tensor {
	shape := make([]int, len(v.Shape))
	for i, n := range v.Shape {
		shape[i] = int(n)
	}
	switch v.DType {
	case "float32":
		return tensor.FromSlice(d, v.Float32s(), shape...)
	case "float64":
		return tensor.FromSlice(d, v.Float64s(), shape...)
	}
	return tensor.FromSlice(d, v.Int64s(), shape...)
}

// compare holds got against PyTorch's: float32 to 1e-6 of the largest element
// or 4 units of the last place, float64 to 1e-14, integers, NaN and Inf exactly.
func compare(t *testing.T, what string, want *fixture.Tensor, got *tensor.Tensor) {
	t.Helper()
	require.NotNil(t, got, what)
	require.NoError(t, got.Err())
	require.Equal(t, want.DType, got.DType().String(), what)
	require.Len(t, got.Shape(), len(want.Shape), what)
	for i, d := range want.Shape {
		require.EqualValues(t, d, got.Shape()[i], "%s shape %v", what, got.Shape())
	}
	if !want.IsFloat() {
		data, err := tensor.Data[int64](got)
		require.NoError(t, err)
		require.ElementsMatch(t, want.Int64s(), data)
		require.Equal(t, want.Int64s(), data, what)
		return
	}
	data, err := tensor.Data[float64](got.To(tensor.Float64))
	require.NoError(t, err)
	tolerance := 1e-6
	if want.DType == "float64" {
		tolerance = 1e-14
	}
	largest := 0.0
	for _, v := range want.Float64s() {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			largest = max(largest, math.Abs(v))
		}
	}
	for i, w := range want.Float64s() {
		same := data[i] == w || math.IsNaN(w) && math.IsNaN(data[i])
		require.True(t, same || math.Abs(data[i]-w) <= tolerance*max(largest, 1e-30), "%s element %d: %v, PyTorch %v", what, i, data[i], w)
	}
}
