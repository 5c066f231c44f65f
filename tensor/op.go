package tensor

import (
	"fmt"

	"tarn/kernels"
)

// call is one op on its way: join the operands, make the result, launch,
// record. It lives on the stack of the op's function, and each step does
// nothing once err is set, so an op reads as a straight list of steps.
type call struct {
	joined
	def      *opDef
	operands [4]*Tensor
	n        int
	moved    [4]*Tensor // constants copied to the device, released by finish
	out      *Tensor
	launched bool
	err      error
}

// start begins a call of def. The first operand is the receiver.
func start(c *call, def *opDef, operands ...*Tensor) {
	c.def, c.n = def, copy(c.operands[:], operands)
	c.joined, c.err = join(c.operands[:c.n]...)
	if c.err != nil {
		return
	}
	for i, t := range c.operands[:c.n] {
		if t.dev != c.dev {
			if t.RequiresGrad() {
				c.err = fmt.Errorf("%w: a %s constant that requires grad, with operands on %s", ErrDevice, t.dev, c.dev)
				return
			}
			c.moved[i], c.err = t.constantOn(c.stream, c.env)
			if c.err != nil {
				return
			}
			c.operands[i] = c.moved[i]
		}
	}
}

// wantFloat demands that all operands have the receiver's dtype, a float.
func (c *call) wantFloat() {
	c.wantSame()
	if c.err == nil && !c.operands[0].view.DType.IsFloat() {
		c.err = dtypeError("needs a float, got %v", c.operands[0].view.DType)
	}
}

// wantSame demands that all operands have one dtype.
func (c *call) wantSame() {
	for _, t := range c.operands[:c.n] {
		if c.err == nil && t.view.DType != c.operands[0].view.DType {
			c.err = dtypeError("%v and %v", c.operands[0].view.DType, t.view.DType)
		}
	}
}

// result makes the dense result.
func (c *call) result(dt DType, dims []int64) *Tensor {
	if c.err == nil {
		c.out, c.err = newTensor(c.stream, c.env, dt, dims)
	}
	if c.err != nil && c.out == nil {
		v, _, _ := dense(dt, dims)
		c.out = failed(nil, c.dev, c.env, v)
	}
	return c.out
}

// run launches id with the result and the operands as they are.
func (c *call) run(id kernels.ID, attr kernels.Attr) {
	if c.err != nil {
		return
	}
	a := kernels.NewArgs()
	a.Out = append(a.Out, c.out.view)
	for _, t := range c.operands[:c.n] {
		a.In = append(a.In, t.view)
	}
	a.Attr = attr
	c.launch(id, a)
}

// launch runs id with a, which it gives back.
func (c *call) launch(id kernels.ID, a *kernels.Args, moreOuts ...*Tensor) {
	if c.err == nil {
		var outs [3]*Tensor
		outs[0] = c.out
		n := 1 + copy(outs[1:], moreOuts)
		c.err = c.stream.launch(id, a, outs[:n], c.operands[:c.n])
		c.launched = true
	}
	a.Put()
}

// finish returns the result: recorded with what backward needs, or carrying
// the error.
func (c *call) finish(save func(n *node)) *Tensor {
	if c.err == nil && c.launched && c.env.get().anomaly {
		c.err = c.out.finite()
	}
	if c.err == nil && c.record && c.def.backward != nil {
		n := newNode(c)
		if save != nil {
			save(n)
		}
		c.out.node = n
	}
	for _, t := range c.moved[:c.n] {
		if t != nil {
			t.Release()
		}
	}
	if c.err == nil {
		return c.out
	}
	return c.fail()
}

// fail turns the call into a tensor that carries its error.
func (c *call) fail() *Tensor {
	first := c.operands[0]
	err := newError(c.def.name, c.err, c.operands[:c.n]...)
	if c.out == nil {
		return failed(err, first.dev, first.env, kernels.View{DType: first.view.DType})
	}
	v := c.out.view
	if c.out.storage != nil {
		c.out.storage.drop()
	}
	return failed(err, c.out.dev, c.out.env, v)
}
