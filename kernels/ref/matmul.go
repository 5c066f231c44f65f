package ref

import "tarn/kernels"

func matMul[T float](a *kernels.Args) error {
	out, x, y := &a.Out[0], &a.In[0], &a.In[1]
	each(out, func(i []int64) {
		var products exact
		for k := range x.Dims[1] {
			products.add(float64(*at[T](x, i[0], k)) * float64(*at[T](y, k, i[1])))
		}
		total := products.value()
		if a.Attr.Accumulate {
			total += float64(*at[T](out, i...))
		}
		if len(a.In) == 3 {
			total += float64(*at[T](&a.In[2], i...))
		}
		if a.Attr.Activation == kernels.Rectify {
			total = rectify(total)
		}
		*at[T](out, i...) = T(total)
	})
	return nil
}
