package ref

import (
	"math"

	"tarn/kernels"
)

func fill[T element](a *kernels.Args) error {
	each(&a.Out[0], func(i []int64) { *at[T](&a.Out[0], i...) = T(a.Attr.Alpha) })
	return nil
}

func convert[T element](a *kernels.Args) error {
	out, in := &a.Out[0], &a.In[0]
	each(out, func(i []int64) {
		switch in.DType {
		case kernels.Float32:
			*at[T](out, i...) = T(*at[float32](in, i...))
		case kernels.Float64:
			*at[T](out, i...) = T(*at[float64](in, i...))
		default:
			*at[T](out, i...) = T(*at[int64](in, i...))
		}
	})
	return nil
}

// map1 sets each element of the output to f of that of the input.
func map1[T element](a *kernels.Args, f func(x T) T) error {
	each(&a.Out[0], func(i []int64) { *at[T](&a.Out[0], i...) = f(*at[T](&a.In[0], i...)) })
	return nil
}

func map2[T element](a *kernels.Args, f func(x, y T) T) error {
	each(&a.Out[0], func(i []int64) {
		*at[T](&a.Out[0], i...) = f(*at[T](&a.In[0], i...), *at[T](&a.In[1], i...))
	})
	return nil
}

func add[T element](a *kernels.Args) error { return map2(a, func(x, y T) T { return x + y }) }
func sub[T element](a *kernels.Args) error { return map2(a, func(x, y T) T { return x - y }) }
func mul[T element](a *kernels.Args) error { return map2(a, func(x, y T) T { return x * y }) }
func div[T float](a *kernels.Args) error   { return map2(a, func(x, y T) T { return x / y }) }

func affine[T float](a *kernels.Args) error {
	alpha, beta := T(a.Attr.Alpha), T(a.Attr.Beta)
	return map1(a, func(x T) T { return T(alpha*x) + beta })
}

func exp[T float](a *kernels.Args) error {
	return map1(a, func(x T) T { return T(kernels.ExpFloat(float64(x))) })
}

func log[T float](a *kernels.Args) error {
	return map1(a, func(x T) T { return T(kernels.LogFloat(float64(x))) })
}

func sqrt[T float](a *kernels.Args) error {
	return map1(a, func(x T) T { return T(math.Sqrt(float64(x))) })
}

func relu[T float](a *kernels.Args) error {
	return map1(a, rectify[T])
}

func rectify[T float](x T) T {
	if x < 0 {
		return 0
	}
	return x
}

func reluGrad[T float](a *kernels.Args) error {
	return map2(a, func(dy, y T) T {
		if y > 0 || y != y {
			return dy
		}
		return 0
	})
}
