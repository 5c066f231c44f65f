package ref

import "tarn/kernels"

func matMul(a *kernels.Args) error {
	out, x, y := &a.Out[0], &a.In[0], &a.In[1]
	each(out, func(i []int64) {
		var products exact
		for k := range x.Dims[1] {
			products.add(value(x, i[0], k) * value(y, k, i[1]))
		}
		total := products.value()
		if a.Attr.Accumulate {
			total += value(out, i...)
		}
		if len(a.In) == 3 {
			total += value(&a.In[2], i...)
		}
		if a.Attr.Activation == kernels.Rectify {
			total = rectify(total)
		}
		set(out, total, i...)
	})
	return nil
}
