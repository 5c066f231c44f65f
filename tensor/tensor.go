package tensor

import (
	"errors"
	"sync/atomic"

	"tarn/cuda"
	"tarn/kernels"
	"tarn/memory"
)

// Tensor is a handle on an n-dimensional array in a device's memory. Making,
// viewing and computing give new handles; [Tensor.Release] ends one, and the
// bytes go when the last handle, view or graph node that needs them has let
// go. Releasing is never necessary: a [Scope], and behind it the garbage
// collector, release what was left.
//
// An op that fails returns a tensor that carries the error; see [Tensor.Err].
// Reading one tensor from many goroutines is safe; changing it in place needs
// the caller's order.
type Tensor struct {
	dev     *Device
	storage *Storage // nil where err is set
	env     *env
	view    kernels.View // Ptr is the address of the first element

	node *node // the op that made it, where recorded
	leaf *leaf // set where it requires grad and no op made it

	// owner is the handle whose hold this one borrows; nil: it has its own.
	owner    *Tensor
	released atomic.Bool
	err      error
}

func (t *Tensor) root() *Tensor {
	if t.owner != nil {
		return t.owner
	}
	return t
}

// usable returns why t cannot be an operand: it carries an error, it is
// released, or its scope is closed.
func (t *Tensor) usable() error {
	if t == nil {
		panic("tensor: nil tensor used as an operand")
	}
	if t.err != nil {
		return t.err
	}
	if t.released.Load() || t.root().released.Load() {
		return ErrReleased
	}
	if t.storage.freed.Load() {
		return t.storage.whyFreed()
	}
	return nil
}

// Err returns the first error on the way to t, nil if there was none. Ops on a
// tensor with an error do nothing and pass the error on; reading its data,
// Backward and an optimiser's step return it.
func (t *Tensor) Err() error { return t.err }

// Shape returns t's dims. A tensor with an error has the shape that it would
// have had, where that was known.
func (t *Tensor) Shape() Shape { return shapeOf(&t.view) }

// Rank returns the number of dims.
func (t *Tensor) Rank() int { return int(t.view.Rank) }

// Dim returns the size of dim i, which may count from the end; it panics where
// there is no such dim.
func (t *Tensor) Dim(i int) int {
	d, err := axis(i, t.view.Rank)
	if err != nil {
		panic("tensor: Dim: " + err.Error())
	}
	return int(t.view.Dims[d])
}

// Len returns the number of elements.
func (t *Tensor) Len() int { return int(t.view.Len()) }

// DType returns the type of the elements.
func (t *Tensor) DType() DType { return t.view.DType }

// Device returns where t lives.
func (t *Tensor) Device() *Device { return t.dev }

// Scope returns the scope that t's results live in; nil if none.
func (t *Tensor) Scope() *Scope { return t.env.get().scope }

// Place returns where t's results are made: its device, stream and scope, with all
// else that travels from t to them, so that what is made there is NoGrad where t is.
func (t *Tensor) Place() Place { return placed{t.dev, t.env} }

// IsContiguous reports whether the elements lie dense in row-major order.
func (t *Tensor) IsContiguous() bool { return t.view.Contiguous() }

// Release ends this handle. Its bytes return to the allocator, in stream
// order, unless a view, another handle or the graph needs them still. Releasing
// again, or releasing a tensor with an error, does nothing. A leaf's gradient goes
// with the leaf, and so do those of later backwards. Releasing a handle made by
// On, NoGrad, In or Autocast ends that handle alone: the bytes belong to its
// origin.
func (t *Tensor) Release() error {
	if t.released.Swap(true) || t.owner != nil || t.err != nil {
		return nil
	}
	t.detachHistory()
	err := t.storage.drop()
	if t.leaf != nil {
		err = errors.Join(t.leaf.end(), err)
	}
	if err != nil {
		return newError("Release", err, t)
	}
	return nil
}

// detachHistory lets go of the graph behind an owning handle.
func (t *Tensor) detachHistory() {
	if n := t.node; n != nil {
		t.node = nil
		n.forget()
		n.drop()
	}
}

// Detach returns a tensor on the same bytes with no history and no grad mode;
// stream and scope stay. It has a hold of its own.
func (t *Tensor) Detach() *Tensor {
	if err := t.usable(); err != nil {
		return failed(newError("Detach", err, t), t.dev, t.env, t.view)
	}
	v := t.env.get()
	v.noGrad = false
	return &Tensor{dev: t.dev, storage: t.storage.retain(), env: v.with(t.env, v.scope.shared()), view: t.view}
}

// failed returns the tensor that an op could not make.
func failed(err error, dev *Device, e *env, v kernels.View) *Tensor {
	v.Ptr = 0
	return &Tensor{dev: dev, env: e, view: v, err: err}
}

// newTensor makes a dense tensor on the stream with undefined contents, the
// result of an op. The storage lives in e's scope.
func newTensor(s *Stream, e *env, dt DType, dims []int64) (*Tensor, error) {
	return newTagged(s, e, dt, dims, resultTag)
}

func newTagged(s *Stream, e *env, dt DType, dims []int64, tag memory.Tag) (*Tensor, error) {
	v, size, err := dense(dt, dims)
	if err != nil {
		return nil, err
	}
	st, err := newStorage(s, e.get().scope, size, tag)
	if err != nil {
		return nil, err
	}
	v.Ptr = uintptr(st.block.Ptr)
	return &Tensor{dev: s.dev, storage: st, env: e, view: v}, nil
}

// pointer returns the address of t's first element as an address of the device.
func (t *Tensor) pointer() cuda.DevicePtr { return cuda.DevicePtr(t.view.Ptr) }
