package cpu

import (
	"fmt"
	"math"

	"tarn/kernels"
)

// matrixRow returns the address of row i of m.
func matrixRow(m *kernels.View, i int64) uintptr {
	return m.Ptr + uintptr(i*m.Strides[0]*m.DType.Size())
}

// class returns the class of row i.
func class(classes *kernels.View, i int64) int64 {
	return *at[int64](classes.Ptr, i, classes.Strides[0]*8)
}

// checkClasses returns an error if a class is not a column of logits.
func checkClasses(id kernels.ID, logits, classes *kernels.View) error {
	for i := range logits.Dims[0] {
		if c := class(classes, i); c < 0 || c >= logits.Dims[1] {
			return &kernels.Error{Op: id, Err: kernels.ErrIndex,
				Detail: fmt.Sprintf("class %d in row %d of logits %v", c, i, *logits)}
		}
	}
	return nil
}

// crossEntropyWorkspace asks for the loss of each row, in float64.
func crossEntropyWorkspace(a *kernels.Args) int64 { return a.In[0].Dims[0] * 8 }

// crossEntropy is the body of CrossEntropy.
func crossEntropy[T float](a *kernels.Args) error {
	logits, classes := &a.In[0], &a.In[1]
	if err := checkClasses(kernels.CrossEntropy, logits, classes); err != nil {
		return err
	}
	n := logits.Dims[0]
	var losses []float64
	if n > 0 {
		losses = dense[float64](a.Work.Ptr, n)
	}
	grain := max(serialBelow/8/max(logits.Dims[1], 1), 1)
	if c := inC[T](minRun); c != nil && logits.Strides[1] == 1 {
		c.loss(a, a.Work.Ptr)
	} else if chunks(n, grain) == 1 {
		rowLosses[T](a, losses, 0, n)
	} else {
		parallel(n, grain, func(lo, hi int64) { rowLosses[T](a, losses, lo, hi) })
	}
	total := 0.0
	for _, l := range losses {
		total += l
	}
	*at[T](a.Out[0].Ptr, 0, 0) = T(total / float64(n))
	return nil
}

// rowLosses writes the loss of the rows lo to hi.
func rowLosses[T float](a *kernels.Args, losses []float64, lo, hi int64) {
	logits := &a.In[0]
	step := logits.Strides[1] * sizeOf[T]()
	for i := lo; i < hi; i++ {
		row := matrixRow(logits, i)
		top := maxRun[T](math.Inf(-1), row, logits.Dims[1], step)
		sum := 0.0
		for j := range logits.Dims[1] {
			sum += math.Exp(float64(*at[T](row, j, step)) - top)
		}
		losses[i] = math.Log(sum) - (float64(*at[T](row, class(&a.In[1], i), step)) - top)
	}
}

// crossEntropyGrad is the body of CrossEntropyGrad.
func crossEntropyGrad[T float](a *kernels.Args) error {
	logits, classes := &a.In[1], &a.In[2]
	if err := checkClasses(kernels.CrossEntropyGrad, logits, classes); err != nil {
		return err
	}
	n := logits.Dims[0]
	scale := float64(*at[T](a.In[0].Ptr, 0, 0)) / float64(n)
	if c := inC[T](minRun); c != nil && logits.Strides[1] == 1 && a.Out[0].Strides[1] == 1 {
		c.lossGrad(a, float32(scale))
		return nil
	}
	grain := max(serialBelow/8/max(logits.Dims[1], 1), 1)
	if chunks(n, grain) == 1 {
		rowGrads[T](a, scale, 0, n)
		return nil
	}
	parallel(n, grain, func(lo, hi int64) { rowGrads[T](a, scale, lo, hi) })
	return nil
}

// rowGrads writes the gradient of the rows lo to hi. The exponentials are
// stored in the output on the way to their sum: taking them twice would cost
// more than the rounding is worth.
func rowGrads[T float](a *kernels.Args, scale float64, lo, hi int64) {
	logits, out := &a.In[1], &a.Out[0]
	columns, inStep, outStep := logits.Dims[1], logits.Strides[1]*sizeOf[T](), out.Strides[1]*sizeOf[T]()
	for i := lo; i < hi; i++ {
		from, to := matrixRow(logits, i), matrixRow(out, i)
		top := maxRun[T](math.Inf(-1), from, columns, inStep)
		sum := 0.0
		for j := range columns {
			e := math.Exp(float64(*at[T](from, j, inStep)) - top)
			sum += e
			*at[T](to, j, outStep) = T(e)
		}
		hot := class(&a.In[2], i)
		for j := range columns {
			p := float64(*at[T](to, j, outStep)) / sum
			if j == hot {
				p--
			}
			*at[T](to, j, outStep) = T(scale * p)
		}
	}
}
