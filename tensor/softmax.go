package tensor

import "tarn/kernels"

// Softmax returns exp(x)/sum(exp(x)) along dim, which may count from the end.
// Where one x is +Inf or NaN, or all are -Inf, the results along dim are NaN. A
// tensor without dims is taken as one of a single element, as in PyTorch.
func (t *Tensor) Softmax(dim int) *Tensor { return softmax(softmaxDef, kernels.Softmax, t, dim) }

// LogSoftmax returns the logarithm of Softmax, without forming that: a probability
// too small for a float has a finite logarithm.
func (t *Tensor) LogSoftmax(dim int) *Tensor {
	return softmax(logSoftmaxDef, kernels.LogSoftmax, t, dim)
}

func softmax(def *opDef, id kernels.ID, t *Tensor, dim int) *Tensor {
	var c call
	start(&c, def, t)
	c.wantFloat()
	if c.err != nil {
		return c.finish(nil)
	}
	t = c.operands[0]
	d, err := axis(dim, max(t.view.Rank, 1))
	if err != nil {
		c.err = err
		return c.finish(nil)
	}
	c.result(t.view.DType, t.view.Dims[:t.view.Rank])
	c.runAlong(id, d)
	return c.finish(func(n *node) {
		n.attr.dim[0] = d
		n.save(resultSlot, c.out)
	})
}

// runAlong is run of an op along dim d, which sees a scalar as a single element.
func (c *call) runAlong(id kernels.ID, d int) {
	if c.err != nil {
		return
	}
	a := kernels.NewArgs()
	a.Out = append(a.Out, lineOf(c.out.view))
	for _, t := range c.operands[:c.n] {
		a.In = append(a.In, lineOf(t.view))
	}
	a.Attr.Axis = d
	c.launch(id, a)
}

func lineOf(v kernels.View) kernels.View {
	if v.Rank == 0 {
		v.Rank, v.Dims[0], v.Strides[0] = 1, 1, 1
	}
	return v
}

func softmaxBackward(g *gradients) error {
	return softmaxGrad(g, softmaxGradDef, kernels.SoftmaxGrad)
}

func logSoftmaxBackward(g *gradients) error {
	return softmaxGrad(g, logSoftmaxGradDef, kernels.LogSoftmaxGrad)
}

// softmaxGrad writes over the gradient of the result where nobody else holds it.
func softmaxGrad(g *gradients, def *opDef, id kernels.ID) error {
	y, up := g.saved(resultSlot), g.up
	var c call
	start(&c, def, up, y)
	if c.err == nil && up.sole() {
		c.out = up.alias()
	} else {
		c.result(up.view.DType, up.view.Dims[:up.view.Rank])
	}
	c.runAlong(id, g.attr.dim[0])
	g.put(0, c.finish(nil))
	return nil
}
