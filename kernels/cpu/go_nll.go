package cpu

import (
	"fmt"

	"tarn/kernels"
)

// checkLabels is checkClasses for an op of c columns that ignores a class.
func checkLabels(id kernels.ID, a *kernels.Args, c int64) error {
	for i := range a.In[1].Dims[0] {
		if k := class(&a.In[1], i); k != a.Attr.Loss.Ignore && (k < 0 || k >= c) {
			return &kernels.Error{Op: id, Err: kernels.ErrIndex, Detail: fmt.Sprintf("class %d in row %d of %d classes", k, i, c)}
		}
	}
	return nil
}

func nll[T float](a *kernels.Args) error {
	logp := &a.In[0]
	if err := checkLabels(kernels.NLL, a, logp.Dims[1]); err != nil {
		return err
	}
	grain := int64(serialBelow)
	if a.Attr.Loss.Smoothing != 0 {
		grain = max(serialBelow/max(logp.Dims[1], 1), 1)
	}
	if n := logp.Dims[0]; chunks(n, grain) == 1 {
		nllRows[T](a, 0, n)
	} else {
		parallel(n, grain, func(lo, hi int64) { nllRows[T](a, lo, hi) })
	}
	return nil
}

func nllRows[T float](a *kernels.Args, lo, hi int64) {
	logp, w, s := &a.In[0], a.In[2:], a.Attr.Loss.Smoothing
	columns, step := logp.Dims[1], logp.Strides[1]*sizeOf[T]()
	for i := lo; i < hi; i++ {
		loss, norm := 0.0, 0.0
		if k := class(&a.In[1], i); k != a.Attr.Loss.Ignore {
			row := matrixRow(logp, i)
			norm = factor[T](w, k)
			loss = -(1 - s) * norm * float64(*at[T](row, k, step))
			if s != 0 {
				sum := 0.0
				for j := range columns {
					sum += factor[T](w, j) * float64(*at[T](row, j, step))
				}
				loss -= s / float64(columns) * sum
			}
		}
		*at[T](a.Out[0].Ptr, i, a.Out[0].Strides[0]*sizeOf[T]()) = T(loss)
		*at[T](a.Out[1].Ptr, i, a.Out[1].Strides[0]*sizeOf[T]()) = T(norm)
	}
}

func nllGrad[T float](a *kernels.Args) error {
	out := &a.Out[0]
	if err := checkLabels(kernels.NLLGrad, a, out.Dims[1]); err != nil {
		return err
	}
	grain := max(serialBelow/max(out.Dims[1], 1), 1)
	if n := out.Dims[0]; chunks(n, grain) == 1 {
		nllGradRows[T](a, 0, n)
	} else {
		parallel(n, grain, func(lo, hi int64) { nllGradRows[T](a, lo, hi) })
	}
	return nil
}

func nllGradRows[T float](a *kernels.Args, lo, hi int64) {
	out, w, s := &a.Out[0], a.In[2:], a.Attr.Loss.Smoothing
	columns, step := out.Dims[1], out.Strides[1]*sizeOf[T]()
	for i := lo; i < hi; i++ {
		row, k := matrixRow(out, i), class(&a.In[1], i)
		d := -element1[T](&a.In[0], i)
		if s == 0 && step == sizeOf[T]() {
			clear(dense[T](row, columns))
		}
		for j := range columns {
			if s == 0 && step == sizeOf[T]() {
				break
			}
			g := 0.0
			if s != 0 && k != a.Attr.Loss.Ignore {
				g = d * s / float64(columns) * factor[T](w, j)
			}
			*at[T](row, j, step) = T(g)
		}
		if k != a.Attr.Loss.Ignore {
			hot := at[T](row, k, step)
			*hot = T(float64(*hot) + d*(1-s)*factor[T](w, k))
		}
	}
}
