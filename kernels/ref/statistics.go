package ref

import (
	"math"

	"tarn/kernels"
	"tarn/kernels/scalar"
)

func variance(a *kernels.Args) error {
	out, mean, in := &a.Out[0], &a.Out[1], &a.In[0]
	each(out, func(i []int64) {
		var sum, squares exact
		n := 0.0
		eachOf(in, out, i, func(j []int64) { sum.add(value(in, j...)); n++ })
		m := sum.value() / n
		eachOf(in, out, i, func(j []int64) {
			d := value(in, j...) - m
			squares.add(d * d)
		})
		rest := math.Max(n-a.Attr.Correction, 0)
		if n == 0 { // which no correction makes more of
			rest = 0
		}
		set(out, squares.value()/rest, i...)
		set(mean, m, i...)
	})
	return nil
}

func logSumExp(a *kernels.Args) error {
	out, in := &a.Out[0], &a.In[0]
	each(out, func(i []int64) {
		most := math.Inf(-1)
		eachOf(in, out, i, func(j []int64) { most = scalar.Larger(most, value(in, j...)) })
		shift := most
		if math.IsInf(most, 0) {
			shift = 0
		}
		var sum exact
		eachOf(in, out, i, func(j []int64) { sum.add(math.Exp(value(in, j...) - shift)) })
		set(out, shift+math.Log(sum.value()), i...)
	})
	return nil
}

func powerNorm(a *kernels.Args) error {
	out, in := &a.Out[0], &a.In[0]
	p := rounded(out.DType, a.Attr.Alpha)
	each(out, func(i []int64) {
		var sum exact
		eachOf(in, out, i, func(j []int64) {
			switch x := math.Abs(value(in, j...)); {
			case p != 0:
				sum.add(math.Pow(x, p))
			case x != 0:
				sum.add(1)
			}
		})
		total := sum.value()
		if p != 0 {
			total = math.Pow(total, 1/p)
		}
		set(out, total, i...)
	})
	return nil
}
