package ref

import (
	"slices"

	"tarn/kernels"
)

func matMul(a *kernels.Args) error {
	out, x, y := &a.Out[0], &a.In[0], &a.In[1]
	row, col := int(out.Rank)-2, int(out.Rank)-1
	each(out, func(i []int64) {
		xi, yi := slices.Clone(i), slices.Clone(i)
		var products exact
		for k := range x.Dims[col] {
			xi[col], yi[row] = k, k
			products.add(value(x, xi...) * value(y, yi...))
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
