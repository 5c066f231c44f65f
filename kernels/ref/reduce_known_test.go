package ref_test

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/kernels/ref"
)

func ints(rows, cols int64, values ...float64) array { return array{[]int64{rows, cols}, values, true} }

var knownReductions = []knownCase{
	{"sum of int64", kernels.Sum, kernels.Attr{}, []array{ints(2, 2, 1, 2, 3, -9)}, nil, []array{ints(2, 1, 3, -6)}},
	{"prod", kernels.Prod, kernels.Attr{}, []array{matrix(2, 2, 3, -1, 0, inf, 1)}, nil, []array{matrix(2, -6, nan)}},
	{"prod of nothing", kernels.Prod, kernels.Attr{}, []array{row()}, nil, []array{row(1)}},
	{"prod of int64", kernels.Prod, kernels.Attr{}, []array{index(3, -4, 5)}, nil, []array{index(-60)}},
	{"min", kernels.Min, kernels.Attr{}, []array{matrix(2, 1, 3, 2, -1, nan, -inf)}, nil, []array{matrix(2, 1, nan)}},
	{"min of int64", kernels.Min, kernels.Attr{}, []array{index(3, -4, 5)}, nil, []array{index(-4)}},
	{"argmin", kernels.ArgMin, kernels.Attr{Axis: 1}, []array{matrix(3, 3, 1, 1, 5, nan, -inf, inf, inf, inf)}, nil, []array{ints(3, 1, 1, 1, 0)}},
	{"var", kernels.Var, kernels.Attr{Correction: 1}, []array{matrix(2, 1, 2, 6, nan, 0, 1)}, nil, []array{matrix(2, 7, nan), matrix(2, 3, nan)}},
	{"var of one", kernels.Var, kernels.Attr{Correction: 1}, []array{row(5)}, nil, []array{row(nan), row(5)}},
	{"var over less than 0", kernels.Var, kernels.Attr{Correction: 5}, []array{row(1, 2)}, nil, []array{row(inf), row(1.5)}},
	{"var of nothing", kernels.Var, kernels.Attr{}, []array{row()}, nil, []array{row(nan), row(nan)}},
	{"logsumexp", kernels.LogSumExp, kernels.Attr{}, []array{matrix(4, 0, 0, 1000, 1000, -inf, -inf, inf, 1)}, nil,
		[]array{matrix(4, math.Ln2, 1000+math.Ln2, -inf, inf)}},
	{"logsumexp of nothing", kernels.LogSumExp, kernels.Attr{}, []array{row()}, nil, []array{row(-inf)}},
	{"norm 0", kernels.Norm, kernels.Attr{}, []array{row(3, -4, 0, nan)}, nil, []array{row(3)}},
	{"norm 1", kernels.Norm, kernels.Attr{Alpha: 1}, []array{row(3, -4, 0)}, nil, []array{row(7)}},
	{"norm 2", kernels.Norm, kernels.Attr{Alpha: 2}, []array{row(3, -4, 0)}, nil, []array{row(5)}},
	{"norm 3", kernels.Norm, kernels.Attr{Alpha: 3}, []array{row(3, -4, 0)}, nil, []array{row(math.Cbrt(91))}},
	{"norm -1", kernels.Norm, kernels.Attr{Alpha: -1}, []array{matrix(2, 2, -2, 3, 0)}, nil, []array{matrix(2, 1, 0)}},
	{"cumsum", kernels.CumSum, kernels.Attr{Axis: 1}, []array{matrix(2, 1, 2, 3, inf, 1, -inf)}, nil, []array{matrix(2, 1, 3, 6, inf, inf, nan)}},
	{"cumsum of int64", kernels.CumSum, kernels.Attr{}, []array{index(3, -4, 5)}, nil, []array{index(3, -1, 4)}},
	{"cumprod", kernels.CumProd, kernels.Attr{}, []array{matrix(3, 2, 3, -1, 0, 5, 7)}, nil, []array{matrix(3, 2, 3, -2, 0, -10, 0)}},
	{"cumprod grad", kernels.CumProdGrad, kernels.Attr{}, []array{row(1, 1, 1), row(0, 2, 0), row(0, 0, 0)}, nil, []array{row(3, 0, 0)}},
	{"sort", kernels.Sort, kernels.Attr{Axis: 1}, []array{matrix(2, nan, 2, -inf, 2, 1, nan, 0, zero)}, nil,
		[]array{matrix(2, -inf, 2, 2, nan, 0, zero, 1, nan), ints(2, 4, 2, 1, 3, 0, 2, 3, 0, 1)}},
	{"the first falling", kernels.Sort, kernels.Attr{Axis: 1, Descending: true}, []array{matrix(2, nan, 2, -inf, 2, 1, nan, 0, zero)}, []array{matrix(2, 7, 7, 7, 7), ints(2, 2, 0, 0, 0, 0)},
		[]array{matrix(2, nan, 2, nan, 1), ints(2, 2, 0, 1, 1, 0)}},
	{"sort of int64", kernels.Sort, kernels.Attr{}, []array{index(3, -4, 3)}, nil, []array{index(-4, 3, 3), index(1, 0, 2)}},
	{"sort grad", kernels.SortGrad, kernels.Attr{Axis: 1}, []array{matrix(2, 1, 2, 3, 4), ints(2, 2, 2, 0, 1, 2)}, []array{matrix(2, 7, 7, 7, 7, 7, 7)},
		[]array{matrix(2, 2, 0, 1, 0, 3, 4)}},
	{"gather", kernels.Gather, kernels.Attr{Axis: 1}, []array{matrix(2, 1, 2, 3, nan, 5, 6), ints(2, 2, 2, 2, 0, 1)}, nil, []array{matrix(2, 3, 3, nan, 5)}},
	{"gather of int64", kernels.Gather, kernels.Attr{}, []array{index(7, 8), index(1, 0, 1)}, nil, []array{index(8, 7, 8)}},
	{"the last wins", kernels.Scatter, kernels.Attr{}, []array{row(1, 2, 3), index(2, 0, 2)}, []array{row(7, 7, 7)}, []array{row(2, 7, 3)}},
	{"scatter add", kernels.ScatterAdd, kernels.Attr{Axis: 1}, []array{matrix(2, 1, 2, 3, inf), ints(2, 2, 2, 2, 0, 1)}, []array{matrix(2, 7, 7, 7, 7, 7, 7)},
		[]array{matrix(2, 7, 7, 10, 10, inf, 7)}},
	{"scatter add of int64", kernels.ScatterAdd, kernels.Attr{}, []array{index(1, 2, 3), index(2, 0, 2)}, []array{index(7, 7, 7)}, []array{index(9, 7, 11)}},
}

// TestAnyAndAll: what the table of known values has no type for.
func TestAnyAndAll(t *testing.T) {
	values := []float32{0, 0, 0, float32(nan), 2, float32(nan)}
	for _, c := range []struct {
		id   kernels.ID
		rows int64
		want []byte
	}{
		{kernels.Any, 3, []byte{0, 1, 1}}, {kernels.All, 3, []byte{0, 0, 1}},
		{kernels.Any, 0, nil}, {kernels.All, 0, nil},
	} {
		got := make([]byte, len(c.want)+1)
		a := &kernels.Args{
			Out: []kernels.View{{Ptr: address(&got[0]), DType: kernels.Bool, Rank: 2, Dims: [8]int64{c.rows, 1}, Strides: [8]int64{1, 1}}},
			In:  []kernels.View{{Ptr: address(&values[0]), DType: kernels.Float32, Rank: 2, Dims: [8]int64{c.rows, 2}, Strides: [8]int64{2, 1}}},
		}
		require.NoError(t, ref.Table()[c.id].Run(nil, a))
		require.Equal(t, append(c.want, 0), got, "%v", c.id)
	}
	none := []byte{7, 7}
	for i, id := range []kernels.ID{kernels.Any, kernels.All} {
		a := &kernels.Args{
			Out: []kernels.View{{Ptr: address(&none[i]), DType: kernels.Bool, Rank: 1, Dims: [8]int64{1}, Strides: [8]int64{1}}},
			In:  []kernels.View{{DType: kernels.Float32, Rank: 1, Dims: [8]int64{0}, Strides: [8]int64{1}}},
		}
		require.NoError(t, ref.Table()[id].Run(nil, a))
	}
	require.Equal(t, []byte{0, 1}, none)
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
