package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Reduction is what becomes of the losses of single elements.
type Reduction uint8

// The reductions, PyTorch's "mean", "sum" and "none", and the "batchmean" of
// [Tensor.KLDiv], the sum over the size of the first dim, or 1 where there is none.
const (
	MeanReduction Reduction = iota
	SumReduction
	NoReduction
	BatchMeanReduction
)

// CrossEntropyOptions say how a [Tensor.CrossEntropyWith] weighs classes and
// elements. The zero value is PyTorch's default.
type CrossEntropyOptions struct {
	// Weight [C], of the logits' dtype, multiplies the loss of each class; nil: 1.
	// It is a constant.
	Weight *Tensor
	// IgnoreIndex is the class of elements that do not count; nil stands for -100.
	// It has no meaning for probabilities.
	IgnoreIndex *int64
	Reduction   Reduction
	// LabelSmoothing, from 0 to 1, is the part of each target that is shared out
	// evenly among all classes.
	LabelSmoothing float64
}

// NLLOptions are the CrossEntropyOptions that a [Tensor.NLL] has.
type NLLOptions struct {
	Weight      *Tensor
	IgnoreIndex *int64
	Reduction   Reduction
}

// CrossEntropyWith returns the cross-entropy of the logits t [C], [N,C] or
// [N,C,...] and the target: int64 classes with the dims of t but for C, or
// probabilities, with t's dims and dtype. As in PyTorch the mean over classes is
// weighted: the sum of the losses over that of their classes' weights, NaN where
// nothing counts; that over probabilities divides by the number of elements. Means
// of half types are made in float32, where PyTorch's CPU adds up halves. A class
// out of range is as for [Tensor.CrossEntropy]. The loss of each element, with
// NoReduction, has the dims of t but for C.
func (t *Tensor) CrossEntropyWith(target *Tensor, o CrossEntropyOptions) *Tensor {
	const op = "CrossEntropyWith"
	if err := lossOperands(t, target, o.Weight); err != nil {
		return refused(op, err, t, target)
	}
	if s := o.LabelSmoothing; !(s >= 0 && s <= 1) || o.Reduction > NoReduction {
		return refused(op, fmt.Errorf("%w: smoothing %v, reduction %d", kernels.ErrAttr, s, o.Reduction), t, target)
	}
	if target.view.DType.IsFloat() {
		return soft(t, target, o)
	}
	return hard(op, t, target, true, o)
}

// NLL returns the negative log-likelihood of the log-probabilities t [C], [N,C]
// or [N,C,...] and int64 classes with the dims of t but for C: CrossEntropyWith
// without the softmax before it.
func (t *Tensor) NLL(classes *Tensor, o NLLOptions) *Tensor {
	if err := lossOperands(t, classes, o.Weight); err != nil {
		return refused("NLL", err, t, classes)
	}
	if o.Reduction > NoReduction {
		return refused("NLL", fmt.Errorf("%w: reduction %d", kernels.ErrAttr, o.Reduction), t, classes)
	}
	return hard("NLL", t, classes, false, CrossEntropyOptions{Weight: o.Weight, IgnoreIndex: o.IgnoreIndex, Reduction: o.Reduction})
}

// lossOperands returns why there is no loss of the operands.
func lossOperands(t, target, weight *Tensor) error {
	for _, x := range []*Tensor{t, target, weight} {
		if x != nil {
			if err := x.usable(); err != nil {
				return err
			}
		}
	}
	if !t.view.DType.IsFloat() {
		return dtypeError("needs a float, got %v", t.view.DType)
	}
	if t.view.Rank == 0 {
		return fmt.Errorf("%w: needs [C], [N,C] or [N,C,...]", ErrShape)
	}
	classes := t.view.Dims[min(t.view.Rank-1, 1)]
	switch {
	case weight == nil:
	case weight.view.DType != t.view.DType:
		return dtypeError("weights are %v, want %v", weight.view.DType, t.view.DType)
	case weight.view.Rank != 1 || weight.view.Dims[0] != classes:
		return fmt.Errorf("%w: weights %v for %d classes", ErrShape, weight.Shape(), classes)
	case weight.RequiresGrad():
		return fmt.Errorf("%w: weights are constants; Detach makes one", ErrNoGradient)
	}
	return nil
}

// matrixOf returns t [N,C,...] as [N*...,C], and the dims without C.
func matrixOf(t *Tensor) (m *Tensor, rest []int) {
	shape := t.Shape()
	if len(shape) == 1 {
		return t.Unsqueeze(0), nil
	}
	rest = append([]int{shape[0]}, shape[2:]...)
	last := t.MoveDim(1, -1)
	m = last.Reshape(Shape(rest).Len(), shape[1])
	last.Release()
	return m, rest
}

// hard is the loss of classes.
func hard(op string, t, classes *Tensor, logits bool, o CrossEntropyOptions) *Tensor {
	if classes.view.DType != Int64 {
		return refused(op, dtypeError("classes are %v, want int64", classes.view.DType), t, classes)
	}
	m, rest := matrixOf(t)
	defer func() { m.Release() }()
	if !classes.Shape().Equal(rest) {
		return refused(op, fmt.Errorf("%w: classes %v, want %v", ErrShape, classes.Shape(), Shape(rest)), t, classes)
	}
	if logits {
		m = replaced(m, m.LogSoftmax(1))
	}
	dt := m.view.DType
	if dt.IsHalf() && o.Reduction == MeanReduction { // neither sum of the mean need be in the type's range
		m = replaced(m, m.To(Float32))
		if o.Weight != nil {
			o.Weight = o.Weight.To(Float32)
			defer o.Weight.Release()
		}
	}
	flat := classes.Reshape(Shape(rest).Len())
	defer flat.Release()
	losses, norms := nll(m, flat, o)
	defer func() {
		losses.Release()
		if norms != nil {
			norms.Release()
		}
	}()
	switch {
	case losses.err != nil || o.Reduction == NoReduction:
		return losses.Reshape(rest...)
	case o.Reduction == SumReduction:
		return losses.Sum()
	}
	total, by := losses.Sum(), norms.Sum()
	mean := total.Div(by)
	total.Release()
	by.Release()
	if dt.IsHalf() {
		mean = replaced(mean, mean.To(dt))
	}
	return mean
}

// nll returns the losses of the rows of logp [N,C], and what each counts.
func nll(logp, classes *Tensor, o CrossEntropyOptions) (losses, norms *Tensor) {
	var c call
	if o.Weight == nil {
		start(&c, nllDef, logp, classes)
	} else {
		start(&c, nllDef, logp, classes, o.Weight)
	}
	attr := kernels.LossAttr{Ignore: -100, Smoothing: o.LabelSmoothing}
	if o.IgnoreIndex != nil {
		attr.Ignore = *o.IgnoreIndex
	}
	dims := logp.view.Dims[:1]
	c.result(logp.view.DType, dims)
	s := seen{c: &c}
	norms = s.make(logp.view.DType, dims)
	if c.err == nil {
		a := kernels.NewArgs()
		a.Attr.Loss = attr
		a.Out = append(a.Out, c.out.view, norms.view)
		for _, t := range c.operands[:c.n] {
			a.In = append(a.In, t.view)
		}
		c.launch(kernels.NLL, a, norms)
	}
	return c.finish(func(n *node) {
		for i := 1; i < c.n; i++ {
			n.save(i, c.operands[i])
		}
		n.attr.scalars = &kernels.Attr{Loss: attr}
	}), norms
}

func nllBackward(g *gradients) error {
	var c call
	if g.n == 2 {
		start(&c, nllGradDef, g.up, g.saved(1))
	} else {
		start(&c, nllGradDef, g.up, g.saved(1), g.saved(2))
	}
	c.result(g.up.view.DType, g.slots[0].view.Dims[:2])
	c.run(kernels.NLLGrad, *g.attr.scalars)
	g.put(0, c.finish(nil))
	return nil
}

// soft is the loss of probabilities.
func soft(t, target *Tensor, o CrossEntropyOptions) *Tensor {
	switch {
	case target.view.DType != t.view.DType:
		return refused("CrossEntropyWith", dtypeError("probabilities are %v, want %v", target.view.DType, t.view.DType), t, target)
	case !target.Shape().Equal(t.Shape()):
		return refused("CrossEntropyWith", fmt.Errorf("%w: probabilities %v, want the logits' shape", ErrShape, target.Shape()), t, target)
	}
	dim := min(t.Rank()-1, 1)
	classes := t.Shape()[dim]
	var held []*Tensor
	keep := func(x *Tensor) *Tensor { held = append(held, x); return x }
	defer func() {
		for _, x := range held {
			x.Release()
		}
	}()
	p := target
	if s := o.LabelSmoothing; s > 0 {
		p = keep(keep(p.MulScalar(1 - s)).AddScalar(s / float64(classes)))
	}
	if o.Weight != nil {
		shape := make([]int, t.Rank()-dim)
		for i := range shape {
			shape[i] = 1
		}
		shape[0] = classes
		p = keep(p.Mul(keep(o.Weight.Reshape(shape...))))
	}
	losses := keep(keep(keep(t.LogSoftmax(dim)).Mul(p)).Sum(dim))
	switch o.Reduction {
	case NoReduction:
		return losses.Neg()
	case SumReduction:
		return keep(losses.Sum()).Neg()
	}
	return keep(losses.Mean()).Neg()
}
