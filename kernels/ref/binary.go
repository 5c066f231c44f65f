package ref

import (
	"math"

	"tarn/kernels"
)

// binary is an elementwise op of two inputs, as unary is one of one.
type binary struct {
	float func(x, y, a, b float64) float64
	whole func(x, y int64) int64
}

func (f binary) run(args *kernels.Args) error {
	out, x, y := &args.Out[0], &args.In[0], &args.In[1]
	a, b := scalar(out.DType, args.Attr.Alpha), scalar(out.DType, args.Attr.Beta)
	each(out, func(i []int64) {
		if out.DType.IsFloat() {
			set(out, f.float(value(x, i...), value(y, i...), a, b), i...)
		} else {
			setWhole(out, f.whole(whole(x, i...), whole(y, i...)), i...)
		}
	})
	return nil
}

// two makes a function of two numbers alone one with scalars.
func two(f func(x, y float64) float64) func(x, y, a, b float64) float64 {
	return func(x, y, _, _ float64) float64 { return f(x, y) }
}

// slope makes of a derivative the gradient op: dy times that at y.
func slope(f func(x, a, b float64) float64) func(dy, x, a, b float64) float64 {
	return func(dy, x, a, b float64) float64 { return dy * f(x, a, b) }
}

// mask makes of a condition the gradient op: dy where it holds, else 0.
func mask(f func(x, a, b float64) bool) func(dy, x, a, b float64) float64 {
	return func(dy, x, a, b float64) float64 {
		if f(x, a, b) {
			return dy
		}
		return 0
	}
}

var binaries = map[kernels.ID]binary{
	kernels.Add: {two(func(x, y float64) float64 { return x + y }), func(x, y int64) int64 { return x + y }},
	kernels.Sub: {two(func(x, y float64) float64 { return x - y }), func(x, y int64) int64 { return x - y }},
	kernels.Mul: {two(func(x, y float64) float64 { return x * y }), func(x, y int64) int64 { return x * y }},
	kernels.Div: {float: two(func(x, y float64) float64 { return x / y })},

	kernels.ReLUGrad:    {float: mask(func(y, _, _ float64) bool { return y > 0 || y != y })},
	kernels.ClampGrad:   {float: mask(func(x, a, b float64) bool { return a < x && x < b })},
	kernels.TanhGrad:    {float: slope(func(y, _, _ float64) float64 { return (1 - y) * (1 + y) })},
	kernels.SigmoidGrad: {float: slope(func(y, _, _ float64) float64 { return y * (1 - y) })},
	kernels.SiLUGrad: {float: slope(func(x, _, _ float64) float64 {
		s := kernels.SigmoidFloat(x)
		return s * (1 + x*kernels.SigmoidFloat(-x))
	})},
	kernels.GELUGrad: {float: slope(func(x, _, _ float64) float64 { return normalBelow(x) + x*normalAt(x) })},
	kernels.GELUTanhGrad: {float: slope(func(x, _, _ float64) float64 {
		s := kernels.SigmoidFloat(2 * bend(x))
		both := s * kernels.SigmoidFloat(-2*bend(x))
		if both == 0 && !math.IsInf(x, 0) { // the slope may have overflown
			return s
		}
		return s + x*2*both*bendSlope(x)
	})},
	kernels.LeakyReLUGrad: {float: func(dy, x, a, _ float64) float64 {
		if x > 0 {
			return dy
		}
		return a * dy
	}},
	kernels.ELUGrad: {float: func(dy, x, a, _ float64) float64 {
		if x <= 0 {
			return dy * a * math.Exp(x)
		}
		return dy
	}},
	kernels.SoftplusGrad: {float: func(dy, x, a, b float64) float64 {
		if a*x > b {
			return dy
		}
		return dy * kernels.SigmoidFloat(a*x)
	}},

	kernels.Pow:         {two(kernels.PowFloat), kernels.PowInt},
	kernels.Maximum:     {two(larger), func(x, y int64) int64 { return max(x, y) }},
	kernels.Minimum:     {two(smaller), func(x, y int64) int64 { return min(x, y) }},
	kernels.FloorDivide: {two(kernels.FloorDivideFloat), kernels.FloorDivideInt},
	kernels.Remainder:   {two(kernels.RemainderFloat), kernels.RemainderInt},
	kernels.And:         {whole: func(x, y int64) int64 { return x & y }},
	kernels.Or:          {whole: func(x, y int64) int64 { return x | y }},
	kernels.Xor:         {whole: func(x, y int64) int64 { return x ^ y }},
}

// test is an elementwise op that tells whether something is so.
type test struct {
	float func(x, y float64) bool
	whole func(x, y int64) bool
}

// run gives a test of one input its second as 0.
func (f test) run(a *kernels.Args) error {
	out, x := &a.Out[0], &a.In[0]
	each(out, func(i []int64) {
		if x.DType.IsFloat() {
			y := 0.0
			if len(a.In) == 2 {
				y = value(&a.In[1], i...)
			}
			setWhole(out, truth(f.float(value(x, i...), y)), i...)
			return
		}
		y := int64(0)
		if len(a.In) == 2 {
			y = whole(&a.In[1], i...)
		}
		setWhole(out, truth(f.whole(whole(x, i...), y)), i...)
	})
	return nil
}

var tests = map[kernels.ID]test{
	kernels.Equal:        {func(x, y float64) bool { return x == y }, func(x, y int64) bool { return x == y }},
	kernels.NotEqual:     {func(x, y float64) bool { return x != y }, func(x, y int64) bool { return x != y }},
	kernels.Less:         {func(x, y float64) bool { return x < y }, func(x, y int64) bool { return x < y }},
	kernels.LessEqual:    {func(x, y float64) bool { return x <= y }, func(x, y int64) bool { return x <= y }},
	kernels.Greater:      {func(x, y float64) bool { return x > y }, func(x, y int64) bool { return x > y }},
	kernels.GreaterEqual: {func(x, y float64) bool { return x >= y }, func(x, y int64) bool { return x >= y }},
	kernels.Not:          {func(x, y float64) bool { return x == y }, func(x, y int64) bool { return x == y }},
	kernels.IsNaN:        {float: func(x, _ float64) bool { return x != x }},
	kernels.IsInf:        {float: func(x, _ float64) bool { return math.IsInf(x, 0) }},
}
