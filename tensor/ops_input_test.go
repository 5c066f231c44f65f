package tensor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"tarn/tensor"
)

// opSample is something that an op is tried with.
type opSample struct {
	in []opInput
	f  func(in []*tensor.Tensor) *tensor.Tensor
	// constant: the result has no gradient, or one that differences do not show.
	constant bool
}

func (s opSample) String() string {
	shapes := make([]string, len(s.in))
	for i, in := range s.in {
		shapes[i] = fmt.Sprint(in.shape)
	}
	return strings.Join(shapes, " ")
}

// opInput is one input of a sample.
type opInput struct {
	shape []int
	dtype tensor.DType // 0: the type that is being tried
	draw  func(r *rand.Rand) float64
}

func (in opInput) isLeaf() bool { return in.dtype == 0 }

// number draws an element. Those of integers are whole, and small enough for
// products.
func (in opInput) number(r *rand.Rand, dt tensor.DType) float64 {
	x := in.draw(r)
	switch {
	case dt.IsFloat():
		return x
	case in.dtype != 0:
		return math.Trunc(x)
	case dt == tensor.Bool:
		return float64(r.IntN(2))
	case dt == tensor.Uint8:
		return math.Abs(math.Round(2 * x))
	}
	return math.Round(2 * x)
}

// offKinks draws numbers from -2 to 2 that keep clear of the whole ones and the
// halves, where differences are no gradients.
func offKinks(r *rand.Rand) float64 { return float64(r.IntN(4)-2) + 0.1 + 0.3*r.Float64() }

// of is an input of the type that is being tried.
func of(shape ...int) opInput { return opInput{shape: shape, draw: offKinks} }

// above0 is one of positive numbers.
func above0(shape ...int) opInput { return opInput{shape: shape, draw: positive} }

// below draws int64 indices from 0 to n-1.
func below(n int, shape ...int) opInput {
	return opInput{shape: shape, dtype: tensor.Int64, draw: func(r *rand.Rand) float64 { return float64(r.IntN(n)) }}
}

// mask is one of bools.
func mask(shape ...int) opInput { return below(2, shape...).as(tensor.Bool) }

// beside is where a sample makes what else it needs: with a, in its scope.
func beside(a *tensor.Tensor) tensor.Place { return a.Device().In(a.Scope()) }

func (in opInput) as(dt tensor.DType) opInput { in.dtype = dt; return in }

// layout is how an input lies in memory: as a view of a base.
type layout struct {
	name string
	base func(shape []int) []int
	view func(base *tensor.Tensor, shape []int) *tensor.Tensor
}

var layouts = []layout{
	{"dense",
		func(shape []int) []int { return shape },
		func(x *tensor.Tensor, _ []int) *tensor.Tensor { return x }},
	{"transposed",
		func(shape []int) []int { return backwards(shape) },
		func(x *tensor.Tensor, shape []int) *tensor.Tensor {
			dims := make([]int, len(shape))
			for i := range dims {
				dims[i] = len(dims) - 1 - i
			}
			return x.Permute(dims...)
		}},
	{"offset and stepped",
		func(shape []int) []int { return last(shape, func(n int) int { return 2*n + 1 }) },
		func(x *tensor.Tensor, shape []int) *tensor.Tensor {
			if len(shape) == 0 {
				return x
			}
			return x.Slice(-1, 1, 2*shape[len(shape)-1]+1, 2)
		}},
	{"expanded",
		func(shape []int) []int { return last(shape, func(n int) int { return min(n, 1) }) },
		func(x *tensor.Tensor, shape []int) *tensor.Tensor { return x.Expand(shape...) }},
}

func backwards(shape []int) []int {
	r := make([]int, len(shape))
	for i, n := range shape {
		r[len(r)-1-i] = n
	}
	return r
}

// last returns shape with another last dim.
func last(shape []int, f func(int) int) []int {
	s := append([]int{}, shape...)
	if len(s) > 0 {
		s[len(s)-1] = f(s[len(s)-1])
	}
	return s
}
