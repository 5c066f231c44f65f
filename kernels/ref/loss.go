package ref

import (
	"fmt"
	"math"

	"tarn/kernels"
)

// checkClasses returns an error if a class is not a column of logits.
func checkClasses(id kernels.ID, logits, classes *kernels.View) error {
	for i := range classes.Dims[0] {
		if c := *at[int64](classes, i); c < 0 || c >= logits.Dims[1] {
			return &kernels.Error{Op: id, Err: kernels.ErrIndex,
				Detail: fmt.Sprintf("class %d in row %d of logits %v", c, i, *logits)}
		}
	}
	return nil
}

// logSumExp returns the logarithm of the sum of exp over row i, as m + rest
// where m is the largest logit.
func logSumExp(logits *kernels.View, i int64) (m, rest float64) {
	m = math.Inf(-1)
	for j := range logits.Dims[1] {
		m = larger(m, value(logits, i, j))
	}
	if math.IsInf(m, 0) {
		return m, 0
	}
	total := 0.0
	for j := range logits.Dims[1] {
		total += math.Exp(value(logits, i, j) - m)
	}
	return m, math.Log(total)
}

func crossEntropy[T float](a *kernels.Args) error {
	loss, lse, logits, classes := &a.Out[0], &a.Out[1], &a.In[0], &a.In[1]
	if err := checkClasses(kernels.CrossEntropy, logits, classes); err != nil {
		return err
	}
	n := logits.Dims[0]
	total := 0.0
	for i := range n {
		m, rest := logSumExp(logits, i)
		*at[T](lse, i) = T(m + rest)
		total += m - value(logits, i, *at[int64](classes, i)) + rest
	}
	*at[T](loss) = T(total / float64(n))
	return nil
}

func crossEntropyGrad[T float](a *kernels.Args) error {
	out, dloss, logits, classes, lse := &a.Out[0], &a.In[0], &a.In[1], &a.In[2], &a.In[3]
	if err := checkClasses(kernels.CrossEntropyGrad, logits, classes); err != nil {
		return err
	}
	each(out, func(i []int64) {
		p := math.Exp(value(logits, i...) - value(lse, i[0]))
		if *at[int64](classes, i[0]) == i[1] {
			p--
		}
		*at[T](out, i...) = T(value(dloss) * p / float64(out.Dims[0]))
	})
	return nil
}
