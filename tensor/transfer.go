package tensor

import "tarn/kernels"

func toDeviceBackward(g *gradients) error {
	g.put(0, g.up.ToDevice(g.attr.from))
	return nil
}

// ToDevice returns a copy of t at p: on p's device and, where p has them, on its
// stream and in its scope; else in t's scope. Where t is on that device already
// it is another handle on the same storage. Gradients flow back. A copy from a
// device to the CPU waits for the work that t depends on; all others wait for
// nothing.
func (t *Tensor) ToDevice(p Place) *Tensor {
	if p == nil {
		panic("tensor: ToDevice to a nil Place")
	}
	dev, e := p.place()
	src := t.at(dev, e)
	if dev == src.dev || src.err != nil {
		return viewed(toDeviceDef, src, func(*kernels.View) error { return nil }, func(n *node) { n.attr.from = n.stream })
	}
	var c call
	start(&c, toDeviceDef, src)
	if c.err == nil {
		c.err = dev.err
	}
	if c.err != nil {
		return c.finish(nil)
	}
	from := c.stream
	v := c.env.get()
	v.stream = e.get().stream
	c.dev, c.env, c.stream = dev, v.with(c.env, v.scope.shared()), dev.streamOf(e)
	c.result(src.view.DType, src.view.Dims[:src.view.Rank])
	if c.err == nil {
		c.err = c.out.transfer(src, c.stream, from)
	}
	return c.finish(func(n *node) { n.attr.from = from })
}

// at is t with the scope of a place, and the stream where it is of t's device.
func (t *Tensor) at(dev *Device, e *env) *Tensor {
	v, to := t.env.get(), e.get()
	if dev == t.dev && to.stream != nil {
		v.stream = to.stream
	}
	var err error
	v.scope, err = joinScope(v.scope, to.scope)
	d := t.derive(v)
	if d.err == nil && err != nil {
		d.err = newError("ToDevice", err, t)
	}
	return d
}

// crosser is a backend that can copy from other devices of its kind. It reports
// false where it did not begin.
type crosser interface {
	copyAcross(dst, src *Tensor, ds, ss *Stream) (bool, error)
}

// transfer fills t, dense and new, with src, which is on another device.
func (t *Tensor) transfer(src *Tensor, ds, ss *Stream) error {
	if t.view.Len() == 0 {
		return nil
	}
	if !src.view.Contiguous() {
		if src = cloneOn(ss, nil, src); src.err != nil {
			return src.err
		}
		defer src.Release()
	}
	if b, ok := t.dev.backend.(crosser); ok {
		if did, err := b.copyAcross(t, src, ds, ss); did || err != nil {
			return err
		}
	}
	size := int(t.view.Len() * t.view.DType.Size())
	if _, host := src.dev.backend.(*cpuBackend); host {
		return ds.touch(t, true, func() error { return t.dev.backend.CopyIn(ds.id, t.pointer(), hostBytes(src.pointer(), size)) })
	}
	if _, host := t.dev.backend.(*cpuBackend); host {
		bytes := hostBytes(t.pointer(), size)
		return ss.touch(src, false, func() error { return src.dev.backend.CopyOut(ss.id, bytes, src.pointer()) })
	}
	bytes := make([]byte, size)
	err := ss.touch(src, false, func() error { return src.dev.backend.CopyOut(ss.id, bytes, src.pointer()) })
	if err != nil {
		return err
	}
	return ds.touch(t, true, func() error { return t.dev.backend.CopyIn(ds.id, t.pointer(), bytes) })
}
