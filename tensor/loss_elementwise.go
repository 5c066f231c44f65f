package tensor

import (
	"fmt"
	"slices"

	"tarn/kernels"
)

// Losses of single elements by their targets are made here of elementwise
// kernels, as one op each: it saves its operands and nothing else, and makes
// the slopes anew in backward, since two buffers that live for one op are less
// than one that lives until backward. A fused kernel would save no less.
//
// The shapes of input and target are equal. PyTorch broadcasts them, and warns:
// [N,1] against [N] would silently be N*N losses. Types are promoted. The mean of
// no losses is NaN, their sum 0. Losses of half types are computed in float32
// up to their mean or sum, and rounded once: two more temporaries are float32
// copies of the operands.

// lossKind is such a loss.
type lossKind struct {
	def *opDef
	// losses makes the loss of each element.
	losses lossFunc
	// slope makes, but for a factor, the derivative by the input.
	slope  lossFunc
	factor func(a *nodeAttr) float64 // nil: 1
	// targetSlope makes the derivative by the target; nil where it is -slope.
	targetSlope lossFunc
	// What of the two operands slope and targetSlope read.
	slopeReads, targetReads [2]bool
	batches                 bool // it can be reduced by BatchMeanReduction
}

// lossFunc makes a new temporary of x and t, of which one is nil where the
// derivative does not read it.
type lossFunc func(w *lossWork, x, t *Tensor) *Tensor

// lossWork makes and releases the temporaries of a loss. As a call does, it
// does nothing after an error.
type lossWork struct {
	c                 *call
	attr              *nodeAttr
	weight, posWeight *Tensor // in the type of computing; nil for none
	made              []*Tensor
}

// run runs id over out, which may be one of ins; nil is a new temporary with
// ins[0]'s dims. The other ins are broadcast to these.
func (w *lossWork) run(out *Tensor, id kernels.ID, attr kernels.Attr, ins ...*Tensor) *Tensor {
	if out == nil {
		out = w.make(ins[0].view.DType, ins[0].view.Dims[:ins[0].view.Rank])
	}
	if w.c.err != nil {
		return out
	}
	a := kernels.NewArgs()
	a.Attr = attr
	a.Out = append(a.Out, out.view)
	for _, t := range ins {
		a.In = append(a.In, expanded(t.view, out.view.Dims[:out.view.Rank]))
	}
	w.launch(id, a, out, ins)
	return out
}

// affine is run of alpha*t + beta.
func (w *lossWork) affine(out, t *Tensor, alpha, beta float64) *Tensor {
	return w.run(out, kernels.Affine, kernels.Attr{Alpha: alpha, Beta: beta}, t)
}

// clamp is run of the nearest to t between lo and hi.
func (w *lossWork) clamp(out, t *Tensor, lo, hi float64) *Tensor {
	return w.run(out, kernels.Clamp, kernels.Attr{Alpha: lo, Beta: hi}, t)
}

func (w *lossWork) launch(id kernels.ID, a *kernels.Args, out *Tensor, ins []*Tensor) {
	w.c.err = w.c.stream.launch(id, a, []*Tensor{out}, ins)
	w.c.launched = true
	a.Put()
}

// make returns a new temporary; after an error one without storage.
func (w *lossWork) make(dt DType, dims []int64) *Tensor {
	var t *Tensor
	if w.c.err == nil {
		t, w.c.err = newTensor(w.c.stream, w.c.env, dt, dims)
	}
	if t == nil {
		v, _, _ := dense(dt, dims)
		return failed(w.c.err, w.c.dev, w.c.env, v)
	}
	w.made = append(w.made, t)
	return t
}

// wide returns t in the type that is computed in: itself, or a copy.
func (w *lossWork) wide(t *Tensor) *Tensor {
	if t == nil || t.err != nil || t.view.DType.Statistic() == t.view.DType {
		return t
	}
	out := w.make(t.view.DType.Statistic(), t.view.Dims[:t.view.Rank])
	return w.run(out, kernels.Copy, kernels.Attr{}, t)
}

// narrow returns t in type dt: itself, or a copy, for which t is released.
func (w *lossWork) narrow(t *Tensor, dt DType) *Tensor {
	if t.err != nil || t.view.DType == dt {
		return t
	}
	out := w.run(w.make(dt, t.view.Dims[:t.view.Rank]), kernels.Copy, kernels.Attr{}, t)
	w.drop(t)
	return out
}

// drop releases a temporary after its last reader is launched.
func (w *lossWork) drop(t *Tensor) {
	if w.take(t) {
		t.Release()
	}
}

// take ends w's hold of t, which is the caller's then; false if it had none.
func (w *lossWork) take(t *Tensor) bool {
	for i, m := range w.made {
		if m == t {
			w.made = append(w.made[:i], w.made[i+1:]...)
			return true
		}
	}
	return false
}

func (w *lossWork) release() {
	for _, t := range w.made {
		t.Release()
	}
	w.made = nil
}

// elementLoss runs a loss of x by target. It has the weights, constants that
// broadcast to x's shape and have its type, as operands from 2 on, and
// attr.start 1 for a weight, 2 for a positive weight, 3 for both.
func elementLoss(k *lossKind, x, target *Tensor, r Reduction, attr nodeAttr, weights ...*Tensor) *Tensor {
	var c call
	start(&c, k.def, append([]*Tensor{x, target}, weights...)...)
	if c.err == nil {
		c.err = c.lossOperands(k, r)
	}
	if c.err != nil {
		return c.finish(nil)
	}
	x, target = c.operands[0], c.operands[1]
	dt, n := x.view.DType, x.Len()
	attr.alpha = 1
	switch {
	case r == MeanReduction:
		attr.alpha = 1 / float64(n)
	case r == BatchMeanReduction && x.view.Rank > 0:
		attr.alpha = 1 / float64(x.view.Dims[0])
	}
	w := lossWork{c: &c, attr: &attr}
	defer w.release()
	w.weights(c.operands[2:c.n])
	wideX, wideT := w.wide(x), w.wide(target)
	losses := k.losses(&w, wideX, wideT)
	w.drop(wideX)
	w.drop(wideT)
	if w.weight != nil {
		w.run(losses, kernels.Mul, kernels.Attr{}, losses, w.weight)
	}
	if r != NoReduction {
		losses = w.sum(losses, attr.alpha)
	}
	losses = w.narrow(losses, dt)
	if w.take(losses) {
		c.out = losses
	}
	return c.finish(func(n *node) {
		n.attr = attr
		for i := range 2 {
			if n.needs(0) && k.slopeReads[i] || n.needs(1) && k.targetReads[i] {
				n.save(i, c.operands[i])
			}
		}
		for i := 2; i < c.n; i++ {
			n.save(i, c.operands[i])
		}
	})
}

// lossOperands puts the first two operands on their common type, and returns why
// there is no loss of the operands.
func (c *call) lossOperands(k *lossKind, r Reduction) error {
	n := c.n
	c.n = 2
	dt := c.promote(0)
	c.n = n
	x, target := c.operands[0], c.operands[1]
	switch {
	case c.err != nil:
		return c.err
	case !dt.IsFloat():
		return dtypeError("needs a float, got %v and %v", x.view.DType, target.view.DType)
	case !x.view.SameDims(&target.view):
		return fmt.Errorf("%w: the target is %v, want %v", ErrShape, target.Shape(), x.Shape())
	case r > BatchMeanReduction || r == BatchMeanReduction && !k.batches:
		return fmt.Errorf("%w: reduction %d", kernels.ErrAttr, r)
	}
	for _, t := range c.operands[2:c.n] {
		var buf [MaxRank]int64
		dims, err := broadcast(&buf, &x.view, &t.view)
		switch {
		case err != nil:
			return err
		case !slices.Equal(dims, x.view.Dims[:x.view.Rank]):
			return fmt.Errorf("%w: weights %v for %v", ErrShape, t.Shape(), x.Shape())
		case t.view.DType != dt:
			return dtypeError("weights are %v, want %v", t.view.DType, dt)
		case t.RequiresGrad():
			return fmt.Errorf("%w: weights are constants; Detach makes one", ErrNoGradient)
		}
	}
	return nil
}

// weights widens the weights that attr says there are.
func (w *lossWork) weights(given []*Tensor) {
	if w.attr.start&1 != 0 {
		w.weight, given = w.wide(given[0]), given[1:]
	}
	if w.attr.start&2 != 0 {
		w.posWeight = w.wide(given[0])
	}
}

// sum returns the sum of t, a temporary that it releases, times scale.
func (w *lossWork) sum(t *Tensor, scale float64) *Tensor {
	out := w.make(t.view.DType, nil)
	if w.c.err == nil {
		n := int64(t.Len())
		flat := kernels.View{Ptr: t.view.Ptr, DType: t.view.DType, Rank: 1}
		one := kernels.View{Ptr: out.view.Ptr, DType: t.view.DType, Rank: 1}
		flat.Dims[0], flat.Strides[0] = n, 1
		one.Dims[0], one.Strides[0] = 1, 1
		a := kernels.NewArgs()
		a.Attr.Alpha = scale
		a.Out, a.In = append(a.Out, one), append(a.In, flat)
		w.launch(kernels.Sum, a, out, []*Tensor{t})
	}
	w.drop(t)
	return out
}
