package ref

import (
	"fmt"

	"tarn/kernels"
)

// likelihood is what NLL and its gradient share.
type likelihood struct {
	kernels.LossAttr
	classes *kernels.View
	columns int64
	w       []kernels.View // one or none
}

// check returns an error if a class is neither a column nor to be ignored.
func (l *likelihood) check(id kernels.ID) error {
	for i := range l.classes.Dims[0] {
		if c := *at[int64](l.classes, i); c != l.Ignore && (c < 0 || c >= l.columns) {
			return &kernels.Error{Op: id, Err: kernels.ErrIndex, Detail: fmt.Sprintf("class %d in row %d of %d classes", c, i, l.columns)}
		}
	}
	return nil
}

func (l *likelihood) weight(c int64) float64 {
	if len(l.w) == 0 {
		return 1
	}
	return value(&l.w[0], c)
}

func nll(a *kernels.Args) error {
	logp := &a.In[0]
	l := likelihood{a.Attr.Loss, &a.In[1], logp.Dims[1], a.In[2:]}
	if err := l.check(kernels.NLL); err != nil {
		return err
	}
	for i := range logp.Dims[0] {
		c := *at[int64](l.classes, i)
		if c == l.Ignore {
			set(&a.Out[0], 0, i)
			set(&a.Out[1], 0, i)
			continue
		}
		loss := -(1 - l.Smoothing) * l.weight(c) * value(logp, i, c)
		if l.Smoothing != 0 {
			var sum exact
			for j := range l.columns {
				sum.add(l.weight(j) * value(logp, i, j))
			}
			loss -= l.Smoothing / float64(l.columns) * sum.value()
		}
		set(&a.Out[0], loss, i)
		set(&a.Out[1], l.weight(c), i)
	}
	return nil
}

func nllGrad(a *kernels.Args) error {
	out, d := &a.Out[0], &a.In[0]
	l := likelihood{a.Attr.Loss, &a.In[1], out.Dims[1], a.In[2:]}
	if err := l.check(kernels.NLLGrad); err != nil {
		return err
	}
	each(out, func(i []int64) {
		c := *at[int64](l.classes, i[0])
		g := 0.0
		if l.Smoothing != 0 {
			g -= value(d, i[0]) * (l.Smoothing / float64(l.columns) * l.weight(i[1]))
		}
		if c == i[1] {
			g -= value(d, i[0]) * ((1 - l.Smoothing) * l.weight(c))
		}
		if c == l.Ignore {
			g = 0
		}
		set(out, g, i...)
	})
	return nil
}
