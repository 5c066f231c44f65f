package gorgonia_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	gtensor "gorgonia.org/tensor"

	"tarn/tensor"
	"tarn/tensor/gorgonia"
)

// What was reported of gorgonia, by its number there, with the right result
// here: gorgonia's own is not asked.

// from copies d and demands that it works.
func from(t *testing.T, p tensor.Place, d gtensor.Tensor) *tensor.Tensor {
	t.Helper()
	x, err := gorgonia.FromDense(p, d.(*gtensor.Dense))
	require.NoError(t, err)
	return x
}

func slice(t *testing.T, d *gtensor.Dense, s ...gtensor.Slice) *gtensor.Dense {
	t.Helper()
	v, err := d.Slice(s...)
	require.NoError(t, err)
	return v.(*gtensor.Dense)
}

// gorgonia 31: T of a view of one row, or column, of a matrix.
func TestTransposeOfRow(t *testing.T) {
	p := newCPU(t)
	d := dense(count[float64](80), 8, 10)
	row := slice(t, d, gtensor.S(0))
	require.NoError(t, row.T())
	x := from(t, p, row)
	require.Equal(t, tensor.Shape{10}, x.Shape())
	requireData(t, count[float64](10), x)
	column := slice(t, d, nil, gtensor.S(3))
	require.NoError(t, column.T())
	requireData(t, []float64{3, 13, 23, 33, 43, 53, 63, 73}, from(t, p, column))
}

// tensor 84 and its kin: each operand of a product dense, transposed, sliced, or
// both.
func TestProductsOfViews(t *testing.T) {
	p := newCPU(t)
	// Each makes a (2,3) with these elements out of a larger or turned one.
	makes := map[string]func(at float64) *gtensor.Dense{
		"dense": func(at float64) *gtensor.Dense { return dense(elements(at, 0, 1, 2, 3, 4, 5), 2, 3) },
		"transposed": func(at float64) *gtensor.Dense {
			d := dense(elements(at, 0, 3, 1, 4, 2, 5), 3, 2)
			require.NoError(t, d.T())
			return d
		},
		"sliced": func(at float64) *gtensor.Dense {
			return slice(t, dense(elements(at, 9, 9, 9, 9, 9, 9, 0, 1, 2, 9, 9, 3, 4, 5, 9), 3, 5), gtensor.S(1, 3), gtensor.S(1, 4))
		},
		"sliced, then transposed": func(at float64) *gtensor.Dense {
			d := slice(t, dense(elements(at, 0, 3, 9, 1, 4, 9, 2, 5, 9), 3, 3), nil, gtensor.S(0, 2))
			require.NoError(t, d.T())
			return d
		},
		"transposed, then sliced": func(at float64) *gtensor.Dense {
			d := dense(elements(at, 0, 3, 9, 1, 4, 9, 2, 5, 9), 3, 3)
			require.NoError(t, d.T())
			return slice(t, d, gtensor.S(0, 2))
		},
		"column-major": func(at float64) *gtensor.Dense {
			return gtensor.New(gtensor.WithShape(2, 3), gtensor.AsFortran(elements(at, 0, 1, 2, 3, 4, 5)))
		},
	}
	for left, a := range makes {
		for right, b := range makes {
			// [0 1 2; 3 4 5] times the transpose of [1 2 3; 4 5 6].
			z := from(t, p, a(0)).MatMul(from(t, p, b(1)).T())
			require.Equal(t, tensor.Shape{2, 2}, z.Shape())
			requireData(t, []float64{8, 17, 26, 62}, z, "%s by %s", left, right)
		}
	}
}

// elements adds at to each.
func elements(at float64, v ...float64) []float64 {
	for i := range v {
		v[i] += at
	}
	return v
}

// tensor 111: sums of a slice of a matrix.
func TestSumOfSlice(t *testing.T) {
	p := newCPU(t)
	d := dense(count[int](16), 4, 4)
	x := from(t, p, slice(t, d, gtensor.S(1, 4), gtensor.S(1, 4))).To(tensor.Float64)
	requireData(t, []float64{90}, x.Sum())
	requireData(t, []float64{27, 30, 33}, x.Sum(0))
	requireData(t, []float64{18, 30, 42}, x.Sum(1))
}

// gorgonia 576: a value that is used once more after another was made of it.
func TestValueOutlivesUse(t *testing.T) {
	p := newCPU(t)
	a := from(t, p, dense([]float64{1, 2, 3, 4}, 2, 2))
	b := from(t, p, dense([]float64{10, 20, 30, 40}, 2, 2))
	s := a.Mul(a)
	r := s.Add(b)
	requireData(t, []float64{1, 4, 9, 16}, s)
	requireData(t, []float64{11, 24, 39, 56}, r)
}

// leaf is from with a gradient, which is the leaf's and not its scope's.
func leaf(t *testing.T, p tensor.Place, d gtensor.Tensor) *tensor.Tensor {
	x := from(t, p, d).RequireGrad()
	t.Cleanup(func() { require.NoError(t, x.Release()) })
	return x
}

// gorgonia 367, 375 and 383: broadcasts, and their gradients.
func TestBroadcasts(t *testing.T) {
	p := newCPU(t)
	a := leaf(t, p, dense([]float64{1, 2}, 2))
	b := leaf(t, p, dense(count[float64](8), 2, 2, 2))
	z := a.Add(b)
	requireData(t, []float64{1, 3, 3, 5, 5, 7, 7, 9}, z)
	require.NoError(t, z.Mul(from(t, p, dense(count[float64](8), 2, 2, 2))).Sum().Backward())
	requireData(t, []float64{12, 16}, a.Grad())
	requireData(t, count[float64](8), b.Grad())

	column := leaf(t, p, dense(count[float64](100), 100, 1))
	row := leaf(t, p, dense([]float64{1, 2, 3, 4, 5}, 1, 5))
	outer := column.Mul(row)
	require.Equal(t, tensor.Shape{100, 5}, outer.Shape())
	require.NoError(t, outer.Sum().Backward())
	require.Equal(t, tensor.Shape{100, 1}, column.Grad().Shape())
	require.Equal(t, tensor.Shape{1, 5}, row.Grad().Shape())
	requireData(t, []float64{4950, 4950, 4950, 4950, 4950}, row.Grad())

	scalar := leaf(t, p, gtensor.New(gtensor.FromScalar(3.0)))
	vector := leaf(t, p, dense([]float64{1, 2, 3}, 3))
	require.NoError(t, scalar.Mul(vector).Sum().Backward())
	requireData(t, []float64{6}, scalar.Grad())
	require.Equal(t, tensor.Shape{}, scalar.Grad().Shape())
	requireData(t, []float64{3, 3, 3}, vector.Grad())
}
