package ref

import (
	"tarn/kernels"
	"tarn/kernels/scalar"
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

// unary returns the body of an op of one input.
func unary(f scalar.Unary) func(*kernels.Args) error {
	return func(args *kernels.Args) error {
		out, in := &args.Out[0], &args.In[0]
		a, b := args.Attr.Alpha, args.Attr.Beta
		each(out, func(i []int64) {
			if out.DType.IsFloat() {
				set(out, f.Float(value(in, i...), rounded(out.DType, a), rounded(out.DType, b)), i...)
			} else {
				setWhole(out, f.Whole(whole(in, i...), a, b), i...)
			}
		})
		return nil
	}
}

// binary returns the body of an op of two inputs.
func binary(f scalar.Binary) func(*kernels.Args) error {
	return func(args *kernels.Args) error {
		out, x, y := &args.Out[0], &args.In[0], &args.In[1]
		a, b := rounded(out.DType, args.Attr.Alpha), rounded(out.DType, args.Attr.Beta)
		each(out, func(i []int64) {
			if out.DType.IsFloat() {
				set(out, f.Float(value(x, i...), value(y, i...), a, b), i...)
			} else {
				setWhole(out, f.Whole(whole(x, i...), whole(y, i...)), i...)
			}
		})
		return nil
	}
}

// test returns the body of an op that tells whether something is so. It gives a
// test of one input its second as 0.
func test(f scalar.Test) func(*kernels.Args) error {
	return func(a *kernels.Args) error {
		out, x := &a.Out[0], &a.In[0]
		each(out, func(i []int64) {
			if x.DType.IsFloat() {
				y := 0.0
				if len(a.In) == 2 {
					y = value(&a.In[1], i...)
				}
				setWhole(out, truth(f.Float(value(x, i...), y)), i...)
				return
			}
			y := int64(0)
			if len(a.In) == 2 {
				y = whole(&a.In[1], i...)
			}
			setWhole(out, truth(f.Whole(whole(x, i...), y)), i...)
		})
		return nil
	}
}

func rectify(x float64) float64 {
	if x < 0 {
		return 0
	}
	return x
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
