package ref_test

import (
	"math"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/kernels/kerneltest"
	"tarn/kernels/ref"
)

func TestConformance(t *testing.T) {
	kerneltest.RunOn(t, "ref", ref.Table(), kerneltest.Host(), 8, kernels.Float64, kernels.Int64) // compared with itself: for stray writes and refusals
}

var (
	inf  = math.Inf(1)
	nan  = math.NaN()
	zero = math.Copysign(0, -1)
)

// array is an operand in row-major order; ints makes it an int64 one.
type array struct {
	dims   []int64
	values []float64
	ints   bool
}

func row(values ...float64) array { return array{[]int64{int64(len(values))}, values, false} }
func scalar(value float64) array  { return array{nil, []float64{value}, false} }
func index(values ...float64) array {
	return array{[]int64{int64(len(values))}, values, true}
}
func matrix(rows int64, values ...float64) array {
	return array{[]int64{rows, int64(len(values)) / max(rows, 1)}, values, false}
}

// knownCase is an op on small operands. init is what the outputs hold before;
// where it is left out they hold NaN.
type knownCase struct {
	name string
	id   kernels.ID
	attr kernels.Attr
	in   []array
	init []array
	want []array
}

// known holds what each op must make of small operands, worked out by hand or,
// for the optimisers and the loss, by PyTorch's formulas.
var known = append([]knownCase{
	{"fill", kernels.Fill, kernels.Attr{Alpha: -1.5}, nil, nil, []array{row(-1.5, -1.5)}},
	{"truncation", kernels.Copy, kernels.Attr{}, []array{row(1.9, -1.9, 0.5, -0.5)}, nil, []array{index(1, -1, 0, 0)}},
	{"from int64", kernels.Copy, kernels.Attr{}, []array{index(3, -4)}, nil, []array{row(3, -4)}},
	{"add", kernels.Add, kernels.Attr{}, []array{row(1, inf, inf), row(2, 1, -inf)}, nil, []array{row(3, inf, nan)}},
	{"add int64", kernels.Add, kernels.Attr{}, []array{index(1, 2), index(3, 4)}, nil, []array{index(4, 6)}},
	{"sub", kernels.Sub, kernels.Attr{}, []array{row(1, 5), row(2, 1)}, nil, []array{row(-1, 4)}},
	{"mul", kernels.Mul, kernels.Attr{}, []array{row(3, 0), row(2, inf)}, nil, []array{row(6, nan)}},
	{"div", kernels.Div, kernels.Attr{}, []array{row(1, 1, -1, 0), row(4, 0, 0, 0)}, nil, []array{row(0.25, inf, -inf, nan)}},
	{"affine", kernels.Affine, kernels.Attr{Alpha: 2, Beta: -1}, []array{row(0, 3)}, nil, []array{row(-1, 5)}},
	{"exp", kernels.Exp, kernels.Attr{}, []array{row(0, 1, -inf, inf, nan)}, nil, []array{row(1, math.E, 0, inf, nan)}},
	{"log", kernels.Log, kernels.Attr{}, []array{row(1, math.E, 0, zero, -1, inf)}, nil, []array{row(0, 1, -inf, -inf, nan, inf)}},
	{"sqrt", kernels.Sqrt, kernels.Attr{}, []array{row(9, 0, zero, -1, inf)}, nil, []array{row(3, 0, zero, nan, inf)}},
	{"relu", kernels.ReLU, kernels.Attr{}, []array{row(-1, 2, nan, -inf, inf)}, nil, []array{row(0, 2, nan, 0, inf)}},
	{"relu grad", kernels.ReLUGrad, kernels.Attr{}, []array{row(5, 6, 7), row(0, 2, nan)}, nil, []array{row(0, 6, 7)}},

	{"sum of rows", kernels.Sum, kernels.Attr{Alpha: 1}, []array{matrix(2, 1, 2, 3, 4, 5, 6)}, nil, []array{matrix(2, 6, 15)}},
	{"sum of columns", kernels.Sum, kernels.Attr{Alpha: 0.5}, []array{matrix(2, 1, 2, 3, 4, 5, 6)}, nil, []array{matrix(1, 2.5, 3.5, 4.5)}},
	{"sum added", kernels.Sum, kernels.Attr{Alpha: 2, Accumulate: true}, []array{row(1, 2)}, []array{row(10)}, []array{row(16)}},
	{"sum of nothing", kernels.Sum, kernels.Attr{Alpha: 1}, []array{row()}, nil, []array{row(0)}},
	{"sum that cancels", kernels.Sum, kernels.Attr{Alpha: 1}, []array{row(1e30, 1, -1e30, 1)}, nil, []array{row(2)}},
	{"max", kernels.Max, kernels.Attr{}, []array{matrix(2, 1, 3, 2, -1, nan, inf)}, nil, []array{matrix(2, 3, nan)}},
	{"max of -inf", kernels.Max, kernels.Attr{}, []array{row(-inf, -inf)}, nil, []array{row(-inf)}},
	{"max grad", kernels.MaxGrad, kernels.Attr{}, []array{matrix(2, 6, 5), matrix(2, 1, 3, 3, nan, 2, 1), matrix(2, 3, nan)}, nil,
		[]array{matrix(2, 0, 3, 3, 5, 0, 0)}},
	{"argmax", kernels.ArgMax, kernels.Attr{Axis: 1}, []array{matrix(3, 1, 3, 3, 5, nan, inf, -inf, -inf, -inf)}, nil,
		[]array{{[]int64{3, 1}, []float64{1, 1, 0}, true}}},

	{"matmul", kernels.MatMul, kernels.Attr{}, []array{matrix(2, 1, 2, 3, 4, 5, 6), matrix(3, 7, 8, 9, 10, 11, 12)}, nil,
		[]array{matrix(2, 58, 64, 139, 154)}},
	{"bias and relu", kernels.MatMul, kernels.Attr{Activation: kernels.Rectify},
		[]array{matrix(1, 1, -1), matrix(2, 1, 2, 3, 1), matrix(1, 1, 1)}, nil, []array{matrix(1, 0, 2)}},
	{"relu passes NaN on", kernels.MatMul, kernels.Attr{Activation: kernels.Rectify},
		[]array{matrix(1, 0), matrix(1, inf, -1)}, nil, []array{matrix(1, nan, 0)}},
	{"product added", kernels.MatMul, kernels.Attr{Accumulate: true}, []array{matrix(1, 2), matrix(1, 3)},
		[]array{matrix(1, 10)}, []array{matrix(1, 16)}},
	{"K of 0", kernels.MatMul, kernels.Attr{Activation: kernels.Rectify},
		[]array{{[]int64{1, 0}, nil, false}, {[]int64{0, 2}, nil, false}, matrix(1, -1, 2)}, nil, []array{matrix(1, 0, 2)}},

	{"cross entropy", kernels.CrossEntropy, kernels.Attr{}, []array{matrix(2, 1, 2, 3, 1, 1, 1), index(2, 0)}, nil,
		[]array{scalar((0.4076059644443804 + 1.0986122886681098) / 2)}},
	{"large logits", kernels.CrossEntropy, kernels.Attr{}, []array{matrix(2, 1e4, 1e4, -1e4, 1e4), index(0, 0)}, nil,
		[]array{scalar((math.Ln2 + 2e4) / 2)}},
	{"large and sure", kernels.CrossEntropy, kernels.Attr{}, []array{matrix(1, 1e4, 1e4-1), index(0)}, nil,
		[]array{scalar(0.31326168751822286)}},
	{"logit of -inf", kernels.CrossEntropy, kernels.Attr{}, []array{matrix(1, 0, -inf), index(0)}, nil, []array{scalar(0)}},
	{"class of -inf", kernels.CrossEntropy, kernels.Attr{}, []array{matrix(1, 0, -inf), index(1)}, nil, []array{scalar(inf)}},
	{"row of -inf", kernels.CrossEntropy, kernels.Attr{}, []array{matrix(1, -inf, -inf), index(1)}, nil, []array{scalar(nan)}},
	{"logit of inf", kernels.CrossEntropy, kernels.Attr{}, []array{matrix(1, inf, 0), index(1)}, nil, []array{scalar(nan)}},
	{"no rows", kernels.CrossEntropy, kernels.Attr{}, []array{{[]int64{0, 3}, nil, false}, index()}, nil, []array{scalar(nan)}},
	{"cross entropy grad", kernels.CrossEntropyGrad, kernels.Attr{},
		[]array{scalar(3), matrix(2, 1, 2, 3, 1, 1, 1), index(2, 0)}, nil,
		[]array{matrix(2, 1.5*0.09003057317038046, 1.5*0.24472847105479767, 1.5*(0.6652409557748219-1), -1, 0.5, 0.5)}},
	{"grad of large logits", kernels.CrossEntropyGrad, kernels.Attr{}, []array{scalar(1), matrix(1, 1e4, 1e4), index(1)}, nil,
		[]array{matrix(1, 0.5, -0.5)}},
	{"grad at -inf", kernels.CrossEntropyGrad, kernels.Attr{}, []array{scalar(1), matrix(2, 0, -inf, -inf, -inf), index(0, 0)}, nil,
		[]array{matrix(2, 0, 0, nan, nan)}},

	{"sgd", kernels.SGDStep, kernels.Attr{SGD: kernels.SGDAttr{LR: 0.1, WeightDecay: 0.1}}, []array{row(0.5), row(-1)},
		[]array{row(1), row(2)}, []array{row(0.94), row(2.08)}},
	{"sgd, first step", kernels.SGDStep, kernels.Attr{SGD: kernels.SGDAttr{LR: 0.1, Momentum: 0.9, Dampening: 0.5, First: true}},
		[]array{row(0.5)}, []array{row(1), row(nan)}, []array{row(0.95), row(0.5)}},
	{"sgd, second step", kernels.SGDStep, kernels.Attr{SGD: kernels.SGDAttr{LR: 0.1, Momentum: 0.9, Dampening: 0.5}},
		[]array{row(0.5)}, []array{row(0.95), row(0.5)}, []array{row(0.88), row(0.7)}},
	{"nesterov", kernels.SGDStep, kernels.Attr{SGD: kernels.SGDAttr{LR: 0.1, Momentum: 0.9, Nesterov: true}},
		[]array{row(0.5)}, []array{row(1), row(0.5)}, []array{row(1 - 0.1*(0.5+0.9*0.95)), row(0.95)}},
	{"adamw, step 1", kernels.AdamWStep, kernels.Attr{AdamW: adam(1)},
		[]array{row(0.5)}, []array{row(1), row(0), row(0)}, []array{row(0.8990000020000001), row(0.05), row(0.00025)}},
	{"adamw, step 2", kernels.AdamWStep, kernels.Attr{AdamW: adam(2)}, []array{row(-0.25)},
		[]array{row(0.8990000020000001), row(0.05), row(0.00025)},
		[]array{row(0.8714672987058462), row(0.02), row(0.00031225)}},
}, append(knownReductions, knownNorms...)...)

func adam(step int64) kernels.AdamWAttr {
	return kernels.AdamWAttr{LR: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.01, Step: step}
}

// operand puts an array in memory, as T unless it is an int64 one.
func operand[T float32 | float64](a array) (v kernels.View, memory any) {
	v.DType, v.Rank = kernels.Float64, int8(len(a.dims))
	if unsafe.Sizeof(T(0)) == 4 {
		v.DType = kernels.Float32
	}
	stride := int64(1)
	for d := len(a.dims) - 1; d >= 0; d-- {
		v.Dims[d], v.Strides[d] = a.dims[d], stride
		stride *= a.dims[d]
	}
	if a.ints {
		v.DType = kernels.Int64
		m := convert[int64](a.values)
		v.Ptr = uintptr(unsafe.Pointer(unsafe.SliceData(m)))
		return v, m
	}
	m := convert[T](a.values)
	v.Ptr = uintptr(unsafe.Pointer(unsafe.SliceData(m)))
	return v, m
}

// convert returns the values as Ts, with room for one more so that no memory
// is empty.
func convert[T float32 | float64 | int64](values []float64) []T {
	m := make([]T, len(values), len(values)+1)
	for i, x := range values {
		m[i] = T(x)
	}
	return m
}

func testKnown[T float32 | float64](t *testing.T, tol float64) {
	for _, k := range known {
		t.Run(k.name, func(t *testing.T) {
			a := kernels.Args{Attr: k.attr}
			var memories []any
			for _, in := range k.in {
				v, m := operand[T](in)
				a.In, memories = append(a.In, v), append(memories, m)
			}
			var outs []any
			for i, want := range k.want {
				if k.init != nil {
					want = k.init[i]
				} else if !want.ints {
					want.values = make([]float64, len(want.values))
					for j := range want.values {
						want.values[j] = nan
					}
				}
				v, m := operand[T](want)
				a.Out, outs = append(a.Out, v), append(outs, m)
			}
			require.NoError(t, ref.Table()[k.id].Run(nil, &a))
			runtime.KeepAlive(memories)
			for i, want := range k.want {
				if want.ints {
					require.Equal(t, convert[int64](want.values), outs[i])
					continue
				}
				for j, got := range outs[i].([]T) {
					if cancels(k.id) && !math.IsNaN(want.values[j]) {
						require.InDelta(t, want.values[j], got, 4*tol*max(1, math.Abs(want.values[j])))
						continue
					}
					requireNear(t, want.values[j], float64(got), tol)
				}
			}
		})
	}
}

// cancels reports whether numbers of about 1 take each other away in id, so that
// errors are relative to that.
func cancels(id kernels.ID) bool { return id >= kernels.Softmax && id <= kernels.BatchNormGrad }

func requireNear(t *testing.T, want, got, tol float64) {
	t.Helper()
	switch {
	case math.IsNaN(want):
		require.True(t, math.IsNaN(got), "want NaN, got %v", got)
	case math.IsInf(want, 0) || want == 0:
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), "want %v, got %v", want, got)
	default:
		require.InEpsilon(t, want, got, tol)
	}
}

func TestKnownFloat64(t *testing.T) { testKnown[float64](t, 1e-14) }

func TestKnownFloat32(t *testing.T) { testKnown[float32](t, 3e-7) }

// elsewhere says where the values of the other ops are known from: each range
// of IDs, its ends included.
var elsewhere = []struct {
	from, to kernels.ID
	where    string
}{
	{kernels.Neg, kernels.Where, "one call of package math; PyTorch's values are among the fixtures of package tensor"},
	{kernels.Any, kernels.All, "TestAnyAndAll"},
	{kernels.Conv, kernels.AdaptiveAvgPoolGrad, "PyTorch's values, in package tensor"},
	{kernels.Attention, kernels.AttentionGrad, "PyTorch's values, in package tensor"},
	{kernels.Sequence, kernels.Dropout, "the words of philox_test.go, and their statistics in package tensor"},
}

// TestEveryOpIsKnown keeps the table of known values complete.
func TestEveryOpIsKnown(t *testing.T) {
	seen := map[kernels.ID]bool{}
	for _, k := range known {
		seen[k.id] = true
	}
	for _, e := range elsewhere {
		for id := e.from; id <= e.to; id++ {
			seen[id] = true
		}
	}
	for id := range kernels.ID(kernels.NumOps) {
		require.True(t, seen[id], "%v", id)
	}
}
