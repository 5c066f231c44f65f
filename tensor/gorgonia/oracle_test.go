package gorgonia_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	gtensor "gorgonia.org/tensor"

	"tarn/tensor"
	"tarn/tensor/gorgonia"
)

type float interface{ float32 | float64 }

// trial is one operand in both libraries, with the values that made it.
type trial[T float] struct {
	*testing.T
	p     tensor.Place
	r     *rand.Rand
	says  string
	shape []int
}

// operand returns random numbers in [low, high) of the shape.
func (c *trial[T]) operand(low, high float64, shape ...int) (*gtensor.Dense, *tensor.Tensor) {
	data := make([]T, tensor.Shape(shape).Len())
	for i := range data {
		data[i] = T(low + (high-low)*c.r.Float64())
	}
	d := dense(data, shape...)
	x, err := gorgonia.FromDense(c.p, d)
	require.NoError(c, err)
	return d, x
}

// same demands that both libraries have the same result, to within tolerance
// times the largest value, but at least 1; 0 for exactly.
func (c *trial[T]) same(op string, tolerance float64, want gtensor.Tensor, err error, x *tensor.Tensor) {
	c.Helper()
	says := fmt.Sprintf("%s of %v, %s", op, c.shape, c.says)
	require.NoError(c, err, says)
	y, err := gorgonia.FromDense(c.p, want.(*gtensor.Dense))
	require.NoError(c, err, says)
	require.Equal(c, y.Shape().String(), x.Shape().String(), says)
	w, err := tensor.Data[float64](y.To(tensor.Float64))
	require.NoError(c, err, says)
	got, err := tensor.Data[float64](x.To(tensor.Float64))
	require.NoError(c, err, says)
	largest := 1.0
	for _, v := range w {
		largest = max(largest, math.Abs(v))
	}
	for i := range w {
		require.InDelta(c, w[i], got[i], tolerance*largest, "%s, element %d", says, i)
	}
}

// TestOracle runs ops on random shapes in gorgonia and here.
func TestOracle(t *testing.T) {
	t.Run("float32", func(t *testing.T) { oracle[float32](t, 0x1p-23) })
	t.Run("float64", func(t *testing.T) { oracle[float64](t, 0x1p-52) })
}

func oracle[T float](t *testing.T, eps float64) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	p := newCPU(t)
	for n := range 100 {
		c := &trial[T]{T: t, p: p, r: r, says: fmt.Sprintf("seed %d, trial %d", seed, n)}
		for range 2 + r.IntN(3) {
			c.shape = append(c.shape, 2+r.IntN(7)) // of dims of 1 gorgonia makes fewer dims
		}
		c.elementwise(eps)
		c.reductions(eps)
		c.views()
		c.products(eps)
	}
}

func (c *trial[T]) elementwise(eps float64) {
	a, x := c.operand(-3, 3, c.shape...)
	b, y := c.operand(0.5, 4, c.shape...)
	binary := func(op string, f func(a, b any, opts ...gtensor.FuncOpt) (gtensor.Tensor, error), z *tensor.Tensor) {
		want, err := f(a, b)
		c.same(op, 0, want, err, z)
	}
	binary("Add", gtensor.Add, x.Add(y))
	binary("Sub", gtensor.Sub, x.Sub(y))
	binary("Mul", gtensor.Mul, x.Mul(y))
	binary("Div", gtensor.Div, x.Div(y))
	unary := func(op string, tolerance float64, f func(gtensor.Tensor, ...gtensor.FuncOpt) (gtensor.Tensor, error), z *tensor.Tensor) {
		want, err := f(b)
		c.same(op, tolerance, want, err, z)
	}
	// gorgonia's float32 exponential is off by up to 7 units of the last place.
	unary("Exp", 16*eps, gtensor.Exp, y.Exp())
	unary("Log", 16*eps, gtensor.Log, y.Log())
	unary("Sqrt", 0, gtensor.Sqrt, y.Sqrt())
}

func (c *trial[T]) reductions(eps float64) {
	a, x := c.operand(-3, 3, c.shape...)
	b, y := c.operand(0, 3, c.shape...) // sums of one sign are right to so many roundings
	tolerance := eps * float64(y.Len())
	for d := range c.shape {
		want, err := along(b, d, func(b *gtensor.Dense, d int) (gtensor.Tensor, error) { return gtensor.Sum(b, d) })
		c.same(fmt.Sprintf("Sum over %d", d), tolerance, want, err, y.Sum(d))
		want, err = along(a, d, func(a *gtensor.Dense, d int) (gtensor.Tensor, error) { return a.Max(d) })
		c.same(fmt.Sprintf("Max over %d", d), 0, want, err, x.Max(d))
		want, err = gtensor.Argmax(a, d)
		c.same(fmt.Sprintf("ArgMax over %d", d), 0, want, err, x.ArgMax(d))
	}
	want, err := gtensor.Sum(b)
	c.same("Sum of all", tolerance, want, err, y.Sum())
	want, err = gtensor.Sum(b, 0, 1)
	c.same("Sum over 0 and 1", tolerance, want, err, y.Sum(0, 1))
}

// along reduces a over dim d. gorgonia v0.9.24 has wrong sums and maxima over
// dim 2 of 4, as a loop over all elements shows; there the first two dims are
// made one for it.
func along(a *gtensor.Dense, d int, reduce func(*gtensor.Dense, int) (gtensor.Tensor, error)) (gtensor.Tensor, error) {
	s := a.Shape()
	if len(s) != 4 || d != 2 {
		return reduce(a, d)
	}
	three := a.Clone().(*gtensor.Dense)
	if err := three.Reshape(s[0]*s[1], s[2], s[3]); err != nil {
		return nil, err
	}
	out, err := reduce(three, 1)
	if err != nil {
		return nil, err
	}
	return out, out.Reshape(s[0], s[1], s[3])
}

func (c *trial[T]) views() {
	a, x := c.operand(-3, 3, c.shape...)
	axes := make([]int, len(c.shape))
	for i := range axes {
		axes[i] = i
	}
	i, j := 0, 1+c.r.IntN(len(axes)-1)
	axes[i], axes[j] = j, i
	want, err := gtensor.Transpose(a, axes...)
	c.same(fmt.Sprintf("Transpose of %d and %d", i, j), 0, want, err, x.Transpose(i, j))

	d := c.r.IntN(len(c.shape))
	from := c.r.IntN(c.shape[d] - 1)
	to := from + 2 + c.r.IntN(c.shape[d]-from-1)
	slices := make([]gtensor.Slice, len(c.shape))
	slices[d] = gtensor.S(from, to)
	v, err := a.Slice(slices...)
	c.same(fmt.Sprintf("Slice of %d from %d to %d", d, from, to), 0, v, err, x.Slice(d, from, to, 1))
}

func (c *trial[T]) products(eps float64) {
	// A rounding of a sum of k products, each below 9, is below 9*k*eps.
	m, k, n := c.shape[0], c.shape[1], 2+c.r.IntN(7)
	a, x := c.operand(-3, 3, m, k)
	b, y := c.operand(-3, 3, k, n)
	want, err := gtensor.MatMul(a, b)
	c.same("MatMul", eps*float64(9*k*k), want, err, x.MatMul(y))

	e, z := c.operand(-3, 3, m, n)
	require.NoError(c, a.T())
	want, err = gtensor.MatMul(a, e)
	c.same("MatMul of a transpose", eps*float64(9*m*m), want, err, x.T().MatMul(z))
}
