package ref

import (
	"math"

	"tarn/kernels"
)

func fill(a *kernels.Args) error {
	out, x := &a.Out[0], a.Attr.Alpha
	each(out, func(i []int64) {
		switch {
		case out.DType.IsFloat():
			set(out, x, i...)
		case out.DType == kernels.Bool:
			setWhole(out, truth(x != 0), i...)
		default:
			setWhole(out, int64(x), i...)
		}
	})
	return nil
}

func convert(a *kernels.Args) error {
	out, in := &a.Out[0], &a.In[0]
	from, to := in.DType, out.DType
	each(out, func(i []int64) {
		switch {
		case from.IsFloat() && to.IsFloat():
			set(out, value(in, i...), i...)
		case from.IsFloat() && to == kernels.Bool:
			setWhole(out, truth(value(in, i...) != 0), i...)
		case from.IsFloat():
			setWhole(out, int64(value(in, i...)), i...)
		case to == kernels.Float64:
			set(out, float64(whole(in, i...)), i...)
		case to.IsFloat():
			set(out, float64(float32(whole(in, i...))), i...) // one rounding, not two
		default:
			setWhole(out, whole(in, i...), i...)
		}
	})
	return nil
}

func where(a *kernels.Args) error {
	out := &a.Out[0]
	each(out, func(i []int64) {
		from := &a.In[2]
		if whole(&a.In[0], i...) != 0 {
			from = &a.In[1]
		}
		if out.DType.IsFloat() {
			set(out, value(from, i...), i...)
		} else {
			setWhole(out, whole(from, i...), i...)
		}
	})
	return nil
}

// unary is an elementwise op of one input: a function of floats and one of
// integers, nil where there is none. Floats are computed in float64 and rounded
// once; a and b are Attr.Alpha and Attr.Beta.
type unary struct {
	float func(x, a, b float64) float64
	whole func(x int64, a, b float64) int64
}

func (f unary) run(args *kernels.Args) error {
	out, in := &args.Out[0], &args.In[0]
	a, b := args.Attr.Alpha, args.Attr.Beta
	each(out, func(i []int64) {
		if out.DType.IsFloat() {
			set(out, f.float(value(in, i...), scalar(out.DType, a), scalar(out.DType, b)), i...)
		} else {
			setWhole(out, f.whole(whole(in, i...), a, b), i...)
		}
	})
	return nil
}

// plain makes a function of x alone one with scalars.
func plain(f func(float64) float64) func(x, a, b float64) float64 {
	return func(x, _, _ float64) float64 { return f(x) }
}

var unaries = map[kernels.ID]unary{
	kernels.Affine: {float: func(x, a, b float64) float64 { return float64(a*x) + b }},
	kernels.Exp:    {float: plain(kernels.ExpFloat)},
	kernels.Log:    {float: plain(kernels.LogFloat)},
	kernels.Sqrt:   {float: plain(math.Sqrt)},
	kernels.ReLU:   {float: plain(rectify)},
	kernels.Neg: {plain(func(x float64) float64 { return -x }), func(x int64, _, _ float64) int64 {
		return -x
	}},
	kernels.Abs: {plain(math.Abs), func(x int64, _, _ float64) int64 { return max(x, -x) }},
	kernels.Sign: {plain(func(x float64) float64 { return float64(truth(x > 0) - truth(x < 0)) }),
		func(x int64, _, _ float64) int64 { return truth(x > 0) - truth(x < 0) }},
	kernels.Floor:      {float: plain(math.Floor)},
	kernels.Ceil:       {float: plain(math.Ceil)},
	kernels.Trunc:      {float: plain(math.Trunc)},
	kernels.Round:      {float: plain(math.RoundToEven)},
	kernels.Reciprocal: {float: plain(func(x float64) float64 { return 1 / x })},
	kernels.Rsqrt:      {float: plain(func(x float64) float64 { return 1 / math.Sqrt(x) })},
	kernels.Expm1:      {float: plain(math.Expm1)},
	kernels.Log1p:      {float: plain(math.Log1p)},
	kernels.Sin:        {float: plain(math.Sin)},
	kernels.Cos:        {float: plain(math.Cos)},
	kernels.Tanh:       {float: plain(math.Tanh)},
	kernels.Sigmoid:    {float: plain(kernels.SigmoidFloat)},
	kernels.Erf:        {float: plain(math.Erf)},
	kernels.SiLU:       {float: plain(silu)},
	kernels.GELU:       {float: plain(func(x float64) float64 { return x * normalBelow(x) })},
	kernels.GELUTanh:   {float: plain(func(x float64) float64 { return x * kernels.SigmoidFloat(2*bend(x)) })},
	kernels.LeakyReLU: {float: func(x, a, _ float64) float64 {
		if x > 0 {
			return x
		}
		return a * x
	}},
	kernels.ELU: {float: func(x, a, _ float64) float64 {
		if x <= 0 {
			return a * math.Expm1(x)
		}
		return x
	}},
	kernels.Softplus: {float: func(x, a, b float64) float64 {
		if a*x > b {
			return x
		}
		return math.Log1p(math.Exp(a*x)) / a
	}},
	kernels.PowScalar: {float: func(x, a, _ float64) float64 { return kernels.PowFloat(x, a) }},
	kernels.Clamp: {float: func(x, a, b float64) float64 {
		if x < a {
			x = a
		}
		if x > b {
			x = b
		}
		return x
	}, whole: func(x int64, a, b float64) int64 {
		lo, hi := kernels.WholeBounds(a, b)
		return min(max(x, lo), hi)
	}},
}

func rectify(x float64) float64 {
	if x < 0 {
		return 0
	}
	return x
}

// silu returns x*sigmoid(x), also where the sigmoid has few digits.
func silu(x float64) float64 {
	if x < -700 {
		root := math.Exp(x / 2)
		return x * root * root
	}
	return x * kernels.SigmoidFloat(x)
}

// normalBelow returns the part of a normal distribution that lies below x.
func normalBelow(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// normalAt returns the density of the normal distribution at x.
func normalAt(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// bend is what GELUTanh takes the tanh of, bendSlope its derivative.
func bend(x float64) float64      { return math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x) }
func bendSlope(x float64) float64 { return math.Sqrt(2/math.Pi) * (1 + 3*0.044715*x*x) }

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
