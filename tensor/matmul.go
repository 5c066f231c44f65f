package tensor

import (
	"fmt"

	"tarn/kernels"
)

// MatMul returns the matrix product of t [M,K] and u [K,N]. Transposed and
// sliced operands are read where they lie.
func (t *Tensor) MatMul(u *Tensor) *Tensor {
	var c call
	start(&c, matMulDef, t, u)
	c.product(false)
	return c.finish(func(n *node) { saveFactors(n, &c) })
}

// Linear returns t [M,K] times the weight w [K,N] plus the bias b [N], in one
// kernel.
func (t *Tensor) Linear(w, b *Tensor) *Tensor { return t.linear(w, b, false) }

// LinearReLU returns the ReLU of t.Linear(w, b), in one kernel; the sums before
// the ReLU are never stored.
func (t *Tensor) LinearReLU(w, b *Tensor) *Tensor { return t.linear(w, b, true) }

func (t *Tensor) linear(w, b *Tensor, relu bool) *Tensor {
	var c call
	start(&c, linearDef, t, w, b)
	if c.err == nil && b.view.Rank != 1 {
		c.err = fmt.Errorf("%w: the bias has %d dims, not 1", ErrShape, b.view.Rank)
	}
	c.product(relu)
	return c.finish(func(n *node) {
		saveFactors(n, &c)
		if n.attr.relu = relu; relu {
			n.save(resultSlot, c.out)
		}
	})
}

// product checks the factors and launches.
func (c *call) product(relu bool) {
	c.wantFloat()
	if c.err != nil {
		return
	}
	x, w := c.operands[0], c.operands[1]
	switch {
	case x.view.Rank != 2 || w.view.Rank != 2:
		c.err = fmt.Errorf("%w: both factors need 2 dims", ErrShape)
	case x.view.Dims[1] != w.view.Dims[0]:
		c.err = fmt.Errorf("%w: inner dims %d and %d differ", ErrShape, x.view.Dims[1], w.view.Dims[0])
	}
	dims := [2]int64{x.view.Dims[0], w.view.Dims[1]}
	if c.err == nil && c.n == 3 && c.operands[2].view.Dims[0] != dims[1] {
		c.err = fmt.Errorf("%w: the bias has %d elements for %d outputs", ErrShape, c.operands[2].view.Dims[0], dims[1])
	}
	if c.err != nil {
		return
	}
	c.result(x.view.DType, dims[:])
	args := kernels.NewArgs()
	args.Out = append(args.Out, c.out.view)
	args.In = append(args.In, x.view, w.view)
	if c.n == 3 {
		args.In = append(args.In, expanded(c.operands[2].view, dims[:]))
	}
	if relu {
		args.Attr.Activation = kernels.Rectify
	}
	c.launch(kernels.MatMul, args)
}

// saveFactors saves each factor that the other's gradient reads.
func saveFactors(n *node, c *call) {
	if n.needs(0) {
		n.save(1, c.operands[1])
	}
	if n.needs(1) {
		n.save(0, c.operands[0])
	}
}

// matMulBackward serves MatMul and Linear: dx = up w', dw = x' up, db = the sum
// of up over rows; with a fused ReLU up is masked first.
func matMulBackward(g *gradients) error {
	up := g.up
	if g.attr.relu {
		up = reluGrad(g.up, g.saved(resultSlot))
		defer up.Release()
		if up.err != nil {
			return up.err
		}
		if err := g.letGo(resultSlot); err != nil {
			return err
		}
	}
	if g.n == 3 && g.needs(2) {
		g.put(2, sumToShape(up, &g.slots[2].view))
	}
	if g.needs(1) {
		g.put(1, product(g.saved(0), true, up, false))
	}
	if g.needs(0) {
		g.put(0, product(up, false, g.saved(1), true))
	}
	return nil
}

// product multiplies with either factor transposed, without recording or
// making view handles.
func product(a *Tensor, ta bool, b *Tensor, tb bool) *Tensor {
	at, bt := Tensor{dev: a.dev, storage: a.storage, env: a.env, view: a.view, err: a.err},
		Tensor{dev: b.dev, storage: b.storage, env: b.env, view: b.view, err: b.err}
	if ta {
		swapDims(&at.view)
	}
	if tb {
		swapDims(&bt.view)
	}
	return at.MatMul(&bt)
}

func swapDims(v *kernels.View) {
	v.Dims[0], v.Dims[1] = v.Dims[1], v.Dims[0]
	v.Strides[0], v.Strides[1] = v.Strides[1], v.Strides[0]
}
