package kerneltest

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"tarn/kernels"
)

// call is one call of an op, ready to be run on any table.
type call struct {
	id      kernels.ID
	attr    kernels.Attr
	out, in []operand
}

// nowhere as the Ptr of an operand makes the address 0 in a run.
const nowhere = ^uintptr(0)

// result is what a run left behind.
type result struct {
	err   error
	late  bool               // err came after Run, which may have written outputs
	bytes map[*memory][]byte // of every memory of the call
	stray string             // where the workspace was overrun; "" if nowhere
}

// run does c on a copy of its memory. An error of the place, which is none of
// the op's, is a panic: the test cannot go on.
func (c *call) run(on device) result {
	res := result{bytes: map[*memory][]byte{}}
	addresses := map[*memory]uintptr{}
	a := kernels.NewArgs()
	defer a.Put()
	a.Attr = c.attr
	bind := func(o operand) kernels.View {
		if res.bytes[o.mem] == nil {
			res.bytes[o.mem] = o.mem.words()
			addresses[o.mem] = on.put(res.bytes[o.mem])
		}
		v := o.view
		if v.Ptr == nowhere {
			v.Ptr = 0
		} else {
			v.Ptr += addresses[o.mem]
		}
		return v
	}
	for _, o := range c.out {
		a.Out = append(a.Out, bind(o))
	}
	for _, o := range c.in {
		a.In = append(a.In, bind(o))
	}
	op := on.table[c.id]
	work := on.workspace(op, a)
	res.err = op.Run(on.place.Queue(), a)
	if err := on.place.Sync(); err != nil && res.err == nil {
		res.err, res.late = err, true
	}
	for m, b := range res.bytes {
		on.take(addresses[m], b)
	}
	res.stray = on.overrun(work)
	runtime.KeepAlive(res.bytes)
	return res
}

// compare runs c on a device and on the reference and returns how they differ:
// in the error, in an element of an output by more than the tolerance, or in a
// byte that no op may write.
func (c *call) compare(on device) error {
	want, got := c.run(reference), c.run(on)
	if got.stray != "" {
		return c.errorf("wrote %s", got.stray)
	}
	if (want.err == nil) != (got.err == nil) {
		return c.errorf("error %v, want %v", got.err, want.err)
	}
	if want.err != nil {
		if got.late && !errors.Is(want.err, kernels.ErrIndex) {
			return c.errorf("error %v when the work was done, want %v from Run", got.err, want.err)
		}
		if got.late { // the data was looked at while outputs were written
			c.allowWrites()
		}
		if err := c.compareBytes(got, !got.late); err != nil {
			return err
		}
		return c.compareErrors(got.err, want.err)
	}
	c.allowWrites()
	if err := c.compareBytes(got, false); err != nil {
		return err
	}
	scales := c.scales(want)
	for i, o := range c.out {
		if err := c.compareElements(i, o, got.bytes[o.mem], want.bytes[o.mem], scales); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) allowWrites() {
	for _, o := range c.out {
		o.allowWrites()
	}
}

// compareBytes demands that nothing was written outside the outputs, or
// nothing at all.
func (c *call) compareBytes(got result, nothing bool) error {
	for m, b := range got.bytes {
		if bytes.Equal(b, m.initial()) {
			continue
		}
		for i := range b {
			if b[i] != m.initial()[i] && (nothing || !m.mayWrite(i)) {
				return c.errorf("wrote byte %d of an operand's memory of %d, red zones of %d included", i, len(b), redZone)
			}
		}
	}
	return nil
}

func (c *call) compareErrors(got, want error) error {
	var g, w *kernels.Error
	if !errors.As(got, &g) || !errors.As(want, &w) {
		return c.errorf("error %v is no *kernels.Error", got)
	}
	if g.Op != w.Op || g.Err != w.Err {
		return c.errorf("error %v, want %v", got, want)
	}
	return nil
}

func (c *call) compareElements(n int, o operand, got, want []byte, scales scales) (err error) {
	d := o.view.DType
	tol := tolerances[c.id]
	offsets(&o.view, func(i int, off int64) {
		g, w := get(got[off:], d), get(want[off:], d)
		if err == nil && !tol.accepts(d, g, w, scales.at(n, i), c.terms()) {
			err = c.errorf("out[%d], element %d: got %v (%#x), want %v (%#x)", n, i, toFloat(d, g), g, toFloat(d, w), w)
		}
	})
	return err
}

// terms returns how many products or elements are added up for one element of
// the result.
func (c *call) terms() int64 {
	switch c.id {
	case kernels.MatMul:
		return c.in[0].view.Dims[1]
	case kernels.Attention:
		return c.in[0].view.Dims[3] + c.in[1].view.Dims[2]
	case kernels.AttentionGrad:
		q, v := c.in[1].view.Dims, c.in[3].view.Dims
		return q[3] + v[3] + v[2] + q[2]*q[1]/max(v[1], 1)
	case kernels.Softmax, kernels.LogSoftmax, kernels.SoftmaxGrad, kernels.LogSoftmaxGrad:
		return c.in[0].view.Dims[c.attr.Axis]
	case kernels.LayerNorm, kernels.LayerNormGrad, kernels.RMSNorm, kernels.RMSNormGrad, kernels.GroupNorm, kernels.GroupNormGrad,
		kernels.BatchNorm, kernels.BatchNormInfer, kernels.BatchNormGrad:
		return c.normTerms()
	case kernels.NLL:
		return c.in[0].view.Dims[1]
	case kernels.Conv:
		w := &c.in[1].view
		return w.Dims[1] * w.Dims[2] * w.Dims[3]
	case kernels.ConvGradInput:
		w := &c.in[1].view
		return w.Dims[0] / int64(c.attr.Conv.Groups) * w.Dims[2] * w.Dims[3]
	case kernels.ConvGradWeight:
		dy := &c.in[0].view
		return dy.Dims[0] * dy.Dims[2] * dy.Dims[3]
	case kernels.AvgPool, kernels.AvgPoolGrad, kernels.MaxPoolGrad:
		return int64(c.attr.Pool.Kernel[0]) * int64(c.attr.Pool.Kernel[1])
	case kernels.AdaptiveAvgPool, kernels.AdaptiveAvgPoolGrad:
		x, y := &c.in[0].view, &c.out[0].view
		return max(x.Len(), y.Len()) / max(min(x.Len(), y.Len()), 1)
	case kernels.ScatterAdd:
		return c.in[0].view.Dims[c.attr.Axis] + 1
	case kernels.CumSum, kernels.CumProd, kernels.CumProdGrad:
		return c.in[0].view.Dims[c.attr.Axis]
	case kernels.Sum, kernels.Prod, kernels.Var, kernels.LogSumExp, kernels.Norm:
		return c.in[0].view.Len() / max(c.out[0].view.Len(), 1)
	}
	return 1
}

func (c *call) errorf(format string, args ...any) error {
	return fmt.Errorf("%v: %s", c, fmt.Sprintf(format, args...))
}

func (c *call) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%v", c.id)
	for i, o := range c.out {
		fmt.Fprintf(&s, " out[%d] %v", i, o.view)
	}
	for i, o := range c.in {
		fmt.Fprintf(&s, " in[%d] %v", i, o.view)
	}
	fmt.Fprintf(&s, " %+v", c.attr)
	return s.String()
}
