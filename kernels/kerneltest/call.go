package kerneltest

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"tarn/cuda"
	"tarn/kernels"
	"tarn/kernels/ref"
)

// call is one call of an op, ready to be run on any table.
type call struct {
	id      kernels.ID
	attr    kernels.Attr
	out, in []operand
}

// nowhere as the Ptr of an operand makes the address 0 in a run.
const nowhere = ^uintptr(0)

// hostQueue is the queue of a device whose work is done when Run returns.
type hostQueue struct{}

func (hostQueue) Stream() cuda.Stream { return 0 }

var reference = ref.Table()

// result is what a run left behind.
type result struct {
	err   error
	bytes map[*memory][]byte // of every memory of the call
	stray string             // where the workspace was overrun; "" if nowhere
}

// run does c on a copy of its memory.
func (c *call) run(table *kernels.Table) result {
	res := result{bytes: map[*memory][]byte{}}
	a := kernels.NewArgs()
	defer a.Put()
	a.Attr = c.attr
	bind := func(o operand) kernels.View {
		if res.bytes[o.mem] == nil {
			res.bytes[o.mem] = o.mem.words()
		}
		v := o.view
		if v.Ptr == nowhere {
			v.Ptr = 0
		} else {
			v.Ptr += uintptr(unsafe.Pointer(&res.bytes[o.mem][0]))
		}
		return v
	}
	for _, o := range c.out {
		a.Out = append(a.Out, bind(o))
	}
	for _, o := range c.in {
		a.In = append(a.In, bind(o))
	}
	op := table[c.id]
	work := c.workspace(op, a)
	res.err = op.Run(hostQueue{}, a)
	for i, b := range work {
		if b != poison && (i < redZone || i >= len(work)-redZone) {
			res.stray = fmt.Sprintf("byte %d of a workspace of %d", i-redZone, len(work)-2*redZone)
		}
	}
	runtime.KeepAlive(res.bytes)
	runtime.KeepAlive(work)
	return res
}

// workspace gives a what op asks for, between red zones and at a multiple of
// 64, and returns the memory; nil where nothing is asked.
func (c *call) workspace(op *kernels.Op, a *kernels.Args) []byte {
	if op.Workspace == nil {
		return nil
	}
	n := op.Workspace(a)
	if n == 0 {
		return nil
	}
	b := newMemory(n + 2*redZone + 64).words()
	base := uintptr(unsafe.Pointer(&b[0]))
	skip := -(base + redZone) & 63
	b = b[skip : int64(skip)+n+2*redZone]
	a.Work = kernels.View{Ptr: base + skip + redZone, Rank: 1}
	a.Work.Dims[0], a.Work.Strides[0] = n, 1
	return b
}

// compare runs c on table and on the reference and returns how they differ:
// in the error, in an element of an output by more than the tolerance, or in a
// byte that no op may write.
func (c *call) compare(table *kernels.Table) error {
	want, got := c.run(reference), c.run(table)
	if got.stray != "" {
		return c.errorf("wrote %s", got.stray)
	}
	if (want.err == nil) != (got.err == nil) {
		return c.errorf("error %v, want %v", got.err, want.err)
	}
	if want.err != nil {
		if err := c.compareBytes(got, true); err != nil {
			return err
		}
		return c.compareErrors(got.err, want.err)
	}
	for _, o := range c.out {
		o.allowWrites()
	}
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

// compareBytes demands that nothing was written outside the outputs, or
// nothing at all.
func (c *call) compareBytes(got result, nothing bool) error {
	for m, b := range got.bytes {
		if bytes.Equal(b, m.initial) {
			continue
		}
		for i := range b {
			if b[i] != m.initial[i] && (nothing || !m.writable[i]) {
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
	case kernels.Sum:
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
