package gorgonia_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	gtensor "gorgonia.org/tensor"

	"tarn/tensor"
	"tarn/tensor/gorgonia"
)

// model is a view as it should be: which element is at each place, row-major.
type model struct {
	shape []int
	at    []int
}

// pick returns the places of m whose index in each dim is in [from, to).
func (m model) pick(from, to []int) model {
	var out model
	for i := range m.shape {
		out.shape = append(out.shape, to[i]-from[i])
	}
	for flat, element := range m.at {
		inside := true
		for i := len(m.shape) - 1; i >= 0; i-- {
			index := flat % m.shape[i]
			flat /= m.shape[i]
			inside = inside && from[i] <= index && index < to[i]
		}
		if inside {
			out.at = append(out.at, element)
		}
	}
	return out
}

// transposed returns m with its dims in reverse order.
func (m model) transposed() model {
	var out model
	for i := range m.shape {
		out.shape = append(out.shape, m.shape[len(m.shape)-1-i])
	}
	out.at = make([]int, len(m.at))
	for flat, element := range m.at {
		rest, to, stride := flat, 0, 1
		for i := len(m.shape) - 1; i >= 0; i-- {
			index := rest % m.shape[i]
			rest /= m.shape[i]
			before := 1
			for _, d := range m.shape[:i] {
				before *= d
			}
			to += index * before
			stride *= m.shape[i]
		}
		out.at[to] = element
	}
	return out
}

// TestRandomViews takes slices and transposes of random tensors, row-major and
// column-major, and finds in each the elements that ought to be there.
func TestRandomViews(t *testing.T) {
	p := newCPU(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for n := range 2000 {
		says := fmt.Sprintf("seed %d, view %d", seed, n)
		d, m := randomView(t, r, &says)
		x, err := gorgonia.FromDense(p, d)
		require.NoError(t, err, says)
		want := make([]float32, len(m.at))
		for i, e := range m.at {
			want[i] = float32(e)
		}
		require.Equal(t, tensor.Shape(d.Shape()).String(), x.Shape().String(), says)
		requireData(t, want, x, says)
		require.NoError(t, x.Release())
	}
}

func randomView(t *testing.T, r *rand.Rand, says *string) (*gtensor.Dense, model) {
	m, n := model{}, 1
	for range 1 + r.IntN(4) {
		m.shape = append(m.shape, 1+r.IntN(4))
		n *= m.shape[len(m.shape)-1]
	}
	m.at = count[int](n)
	d := dense(count[float32](n), m.shape...)
	if r.IntN(2) == 0 {
		*says += ", column-major"
		d = gtensor.New(gtensor.WithShape(m.shape...), gtensor.AsFortran(count[float32](n)))
	}
	for range r.IntN(4) {
		if len(d.Shape()) == 0 || len(d.Strides()) != len(d.Shape()) {
			break // gorgonia can neither slice nor transpose what has fewer strides than dims
		}
		if r.IntN(2) == 0 {
			if d.Shape().IsVector() && len(d.Float32s()) > len(m.at) {
				break // see TestLostStrides
			}
			*says += fmt.Sprintf(", %v transposed", d.Shape())
			require.NoError(t, d.T(), *says)
			m = m.transposed()
			continue
		}
		slices, from, to := make([]gtensor.Slice, len(m.shape)), make([]int, len(m.shape)), append([]int{}, m.shape...)
		for i, size := range m.shape {
			if r.IntN(3) > 0 {
				from[i] = r.IntN(size)
				to[i] = from[i] + 1 + r.IntN(size-from[i])
				slices[i] = gtensor.S(from[i], to[i])
			}
		}
		*says += fmt.Sprintf(", %v from %v to %v", d.Shape(), from, to)
		v, err := d.Slice(slices...)
		require.NoError(t, err, *says)
		d, m = v.(*gtensor.Dense), m.pick(from, to)
		m.shape = d.Shape() // dims of size 1 are gone
	}
	return d, m
}

// TestTypes copies each type, a whole tensor and a view; int becomes int64.
func TestTypes(t *testing.T) {
	p := newCPU(t)
	checkType[float32, float32](t, p)
	checkType[float64, float64](t, p)
	checkType[int64, int64](t, p)
	checkType[int, int64](t, p)
	checkType[int32, int32](t, p)
	checkType[uint8, uint8](t, p)
	checkTruths(t, p)
}

func checkType[F int | int64 | int32 | uint8 | float32 | float64, T int64 | int32 | uint8 | float32 | float64](t *testing.T, p tensor.Place) {
	d := dense(count[F](12), 3, 4)
	x, err := gorgonia.FromDense(p, d)
	require.NoError(t, err)
	requireData(t, []T{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, x)
	back, err := gorgonia.ToDense(x)
	require.NoError(t, err)
	require.Equal(t, []T{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, back.Data())
	v, err := d.Slice(nil, gtensor.S(1, 3))
	require.NoError(t, err)
	y, err := gorgonia.FromDense(p, v.(*gtensor.Dense))
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{3, 2}, y.Shape())
	requireData(t, []T{1, 2, 5, 6, 9, 10}, y)

	// It is a copy.
	require.NoError(t, d.Memset(F(9)))
	requireData(t, []T{1, 2, 5, 6, 9, 10}, y)
}

func checkTruths(t *testing.T, p tensor.Place) {
	d := dense([]bool{true, false, false, true, true, false}, 2, 3)
	require.NoError(t, d.T())
	x, err := gorgonia.FromDense(p, d)
	require.NoError(t, err)
	requireData(t, []bool{true, true, false, true, false, false}, x)
	back, err := gorgonia.ToDense(x)
	require.NoError(t, err)
	require.Equal(t, []bool{true, true, false, true, false, false}, back.Bools())
}

// TestOddShapes: scalars, ones, nothing, and vectors of which gorgonia keeps one
// stride for two dims.
func TestOddShapes(t *testing.T) {
	p := newCPU(t)
	fortran := func(shape ...int) *gtensor.Dense {
		return gtensor.New(gtensor.WithShape(shape...), gtensor.AsFortran(count[float64](tensor.Shape(shape).Len())))
	}
	for _, d := range []*gtensor.Dense{
		gtensor.New(gtensor.FromScalar(0.0)), dense(count[float64](1)), dense(count[float64](1), 1, 1),
		fortran(1, 1), fortran(4, 1), fortran(1, 4), fortran(4), fortran(1, 1, 1),
		dense([]float64{}, 0, 3), dense([]float64{}, 3, 0), dense([]float64{}, 0),
		gtensor.New(gtensor.WithShape(0, 1<<40), gtensor.WithBacking([]float64{})),
	} {
		x, err := gorgonia.FromDense(p, d)
		require.NoError(t, err, "%v", d.Shape())
		require.Equal(t, tensor.Shape(d.Shape()).String(), x.Shape().String())
		requireData(t, count[float64](x.Len()), x)
	}
}

// device has memory that Go cannot read, as a GPU's engine says of itself.
type device struct{ gtensor.StdEng }

func (device) AllocAccessible() bool { return false }

// TestRefused: what cannot be copied whole is an error, and says why.
func TestRefused(t *testing.T) {
	p := newCPU(t)
	six := dense(count[float32](6), 2, 3)
	nothing, err := six.Slice(gtensor.S(0, 0)) // of shape (3), with no element
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		d    *gtensor.Dense
		is   error
		says string
	}{
		{"int16", gtensor.New(gtensor.WithShape(1), gtensor.Of(gtensor.Int16)), tensor.ErrDType, "int16"},
		{"uint64", gtensor.New(gtensor.WithShape(1), gtensor.Of(gtensor.Uint64)), tensor.ErrDType, "uint64"},
		{"text", dense([]string{"a"}, 1), tensor.ErrDType, "string"},
		{"nothing made", &gtensor.Dense{}, tensor.ErrDType, "want float32"},
		{"masked", gtensor.New(gtensor.WithShape(2), gtensor.WithBacking(count[float32](2), []bool{true, false})), errors.ErrUnsupported, "masked"},
		{"of a device", gtensor.New(gtensor.WithShape(2), gtensor.Of(gtensor.Float32), gtensor.WithEngine(device{})), errors.ErrUnsupported, "not Go's"},
		{"overflowing", gtensor.New(gtensor.WithShape(1<<32, 1<<32), gtensor.Of(gtensor.Float32)), tensor.ErrShape, "0 elements"},
		{"larger than its elements", nothing.(*gtensor.Dense), tensor.ErrShape, "(3) of 0 elements"},
		{"too many dims", dense(count[float32](2), 1, 1, 1, 1, 1, 1, 1, 1, 2), tensor.ErrShape, "9 dims"},
	} {
		_, err := gorgonia.FromDense(p, c.d)
		require.ErrorIs(t, err, c.is, c.name)
		require.ErrorContains(t, err, c.says, c.name)
		require.ErrorContains(t, err, "gorgonia: FromDense: ", c.name)
	}
	require.PanicsWithValue(t, "gorgonia: FromDense of nil", func() { gorgonia.FromDense(p, nil) })
}

// TestLostStrides: gorgonia transposes a row with gaps to a column without, which
// then has the wrong elements. Neither it nor a slice of it is believed.
func TestLostStrides(t *testing.T) {
	p := newCPU(t)
	d := dense(count[float64](12), 1, 3, 4)
	v, err := d.Slice(nil, nil, gtensor.S(1))
	require.NoError(t, err)
	row := v.(*gtensor.Dense)
	x, err := gorgonia.FromDense(p, row)
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{1, 3}, x.Shape())
	requireData(t, []float64{1, 5, 9}, x)

	require.NoError(t, row.T())
	_, err = gorgonia.FromDense(p, row)
	require.ErrorIs(t, err, tensor.ErrShape)
	require.ErrorContains(t, err, "loses the strides")
	for _, s := range []gtensor.Slice{gtensor.S(1, 3), gtensor.S(0, 2), nil} {
		part, err := row.Slice(s)
		require.NoError(t, err)
		_, err = gorgonia.FromDense(p, part.(*gtensor.Dense))
		require.ErrorIs(t, err, tensor.ErrShape)
	}
}

// TestThereAndBack copies tensors and views of them to gorgonia and back.
func TestThereAndBack(t *testing.T) {
	p := newCPU(t)
	for _, dt := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int64} {
		x := tensor.FromSlice(p, count[int64](24), 2, 3, 4).To(dt)
		for i, v := range []*tensor.Tensor{
			x, x.T(), x.Transpose(0, 2), x.Slice(1, 1, 2, 1), x.Slice(2, 0, 4, 3), x.Slice(0, 1, 1, 1),
			tensor.Scalar(p, dt, 7), tensor.Scalar(p, dt, 7).Expand(3, 2),
		} {
			d, err := gorgonia.ToDense(v)
			require.NoError(t, err)
			require.Equal(t, v.Shape().String(), tensor.Shape(d.Shape()).String())
			require.True(t, d.DataOrder().IsContiguous() && d.DataOrder().IsRowMajor(), "view %d", i)
			back, err := gorgonia.FromDense(p, d)
			require.NoError(t, err)
			require.Equal(t, dt, back.DType())
			requireSame(t, v, back)
		}
	}
	_, err := gorgonia.ToDense(tensor.Zeros(p, tensor.Float32, -1))
	require.ErrorIs(t, err, tensor.ErrShape)
	for _, x := range []*tensor.Tensor{tensor.FromSlice(p, []tensor.F16{1}), tensor.FromSlice(p, []tensor.BF16{1})} {
		_, err = gorgonia.ToDense(x)
		require.ErrorIs(t, err, tensor.ErrDType)
		require.ErrorContains(t, err, "gorgonia has no "+x.DType().String())
	}
	gone := tensor.Zeros(p, tensor.Float32, 1)
	require.NoError(t, gone.Release())
	_, err = gorgonia.ToDense(gone)
	require.ErrorIs(t, err, tensor.ErrReleased)
}

// requireSame demands equal shapes and values.
func requireSame(t testing.TB, want, got *tensor.Tensor) {
	t.Helper()
	require.Equal(t, want.Shape(), got.Shape())
	w, err := tensor.Data[float64](want.To(tensor.Float64))
	require.NoError(t, err)
	requireData(t, w, got.To(tensor.Float64))
}
