package ref

import (
	"fmt"
	"math"

	"tarn/kernels"
	"tarn/kernels/scalar"
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

// shifted returns the largest logit m of row i and the sum of exp(row-m).
func shifted(logits *kernels.View, i int64) (m, sum float64) {
	m = math.Inf(-1)
	for j := range logits.Dims[1] {
		m = scalar.Larger(m, value(logits, i, j))
	}
	for j := range logits.Dims[1] {
		sum += math.Exp(value(logits, i, j) - m)
	}
	return m, sum
}

func crossEntropy(a *kernels.Args) error {
	loss, logits, classes := &a.Out[0], &a.In[0], &a.In[1]
	if err := checkClasses(kernels.CrossEntropy, logits, classes); err != nil {
		return err
	}
	n := logits.Dims[0]
	total := 0.0
	for i := range n {
		m, sum := shifted(logits, i)
		total += math.Log(sum) - (value(logits, i, *at[int64](classes, i)) - m)
	}
	set(loss, total/float64(n))
	return nil
}

func crossEntropyGrad(a *kernels.Args) error {
	out, dloss, logits, classes := &a.Out[0], &a.In[0], &a.In[1], &a.In[2]
	if err := checkClasses(kernels.CrossEntropyGrad, logits, classes); err != nil {
		return err
	}
	n := logits.Dims[0]
	for i := range n {
		m, sum := shifted(logits, i)
		for j := range logits.Dims[1] {
			p := math.Exp(value(logits, i, j)-m) / sum
			if j == *at[int64](classes, i) {
				p--
			}
			set(out, value(dloss)*p/float64(n), i, j)
		}
	}
	return nil
}
