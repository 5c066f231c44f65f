package tensor

import (
	"errors"
	"fmt"
)

// leaf is the gradient side of a tensor that requires grad and was made by no
// op. The gradient belongs to the leaf: it is in no scope, on the leaf's device
// and home stream.
type leaf struct {
	stream *Stream
	total
	hooks gradHooks
	after addedHooks
}

func (l *leaf) home() *Stream { return l.stream.orDefault() }

// RequireGrad makes t a leaf that backward computes a gradient for, and
// returns t. It is an error, carried by the tensor returned, for a tensor that
// has history or is not a float.
func (t *Tensor) RequireGrad() *Tensor {
	err := t.usable()
	switch {
	case err != nil:
	case t.node != nil:
		err = fmt.Errorf("%w: the tensor was made by an op", ErrInPlace)
	case !t.view.DType.IsFloat():
		err = dtypeError("%v cannot have a gradient", t.view.DType)
	}
	if err != nil {
		return failed(newError("RequireGrad", err, t), t.dev, t.env, t.view)
	}
	if t.leaf == nil {
		t.leaf = &leaf{stream: t.storage.homeStream()}
		if err := t.storage.setTag(parameterTag); err != nil {
			return failed(newError("RequireGrad", err, t), t.dev, t.env, t.view)
		}
	}
	return t
}

// RequiresGrad reports whether ops on t are recorded.
func (t *Tensor) RequiresGrad() bool {
	return !t.env.get().noGrad && (t.leaf != nil || t.node != nil)
}

// BackwardOption changes what a backward does.
type BackwardOption uint8

const (
	// Retain keeps the graph, and the memory that it saved, so that another
	// backward can go over it.
	Retain BackwardOption = 1 << iota
	// AllowUnused makes [Grad] return nil for an input that the outputs do not
	// depend on, where it is an error else.
	AllowUnused
)

func oneOption(options []BackwardOption) (all BackwardOption) {
	for _, o := range options {
		all |= o
	}
	return all
}

// Backward computes the gradients of t, a single element, for all leaves that
// it depends on, adds them to what the leaves have, and frees the graph as it
// goes: a second Backward is [ErrGraphFreed], unless the first was told to
// [Retain].
//
// After an error some leaves may have got their gradients and others not: call
// ZeroGrad before going on, and do not step. A graph that is retained can be
// walked again.
//
// Each gradient runs on the stream of its forward op. Before Backward returns,
// t's stream has been made to wait for the leaves' streams. Two backwards must
// not go over the same op's result at once, nor one start another from a hook.
func (t *Tensor) Backward(options ...BackwardOption) (err error) {
	one, err := t.one()
	if err != nil {
		return newError("Backward", err, t)
	}
	defer func() { err = errors.Join(err, one.Release()) }() // after a hook's panic too
	return t.BackwardWith(one, options...)
}

// one is the gradient that a scalar has by itself.
func (t *Tensor) one() (*Tensor, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	if t.Len() != 1 {
		return nil, fmt.Errorf("%w: only a single element has a gradient by itself; say which upstream, as for BackwardWith", ErrShape)
	}
	one := fullLike(t, 1)
	return one, one.err
}

// BackwardWith is Backward from upstream, the gradient of some scalar for t;
// it has t's shape and dtype. The caller keeps it.
func (t *Tensor) BackwardWith(upstream *Tensor, options ...BackwardOption) error {
	if err := t.rootOf(upstream); err != nil {
		return newError("Backward", err, t, upstream)
	}
	b := backward{scope: t.env.get().scope, retain: oneOption(options)&Retain != 0}
	if err := b.run([]*Tensor{t}, []*Tensor{upstream}); err != nil {
		return newError("Backward", err, t)
	}
	return b.wait(t.dev.streamOf(t.env))
}

// rootOf returns why a backward cannot start at t with upstream.
func (t *Tensor) rootOf(upstream *Tensor) error {
	err := t.usable()
	if err == nil {
		err = upstream.usable()
	}
	switch {
	case err != nil:
	case !t.RequiresGrad():
		err = ErrNoHistory
	case t.node != nil && t.node.done:
		err = t.node.whyDone()
	case upstream.dev != t.dev:
		err = fmt.Errorf("%w: upstream's and the tensor's, %s", ErrDevice, two(upstream.dev, t.dev))
	case upstream.view.DType != t.view.DType:
		err = dtypeError("upstream is %v, the tensor %v", upstream.view.DType, t.view.DType)
	case !upstream.view.SameDims(&t.view):
		err = fmt.Errorf("%w: upstream differs from the tensor", ErrShape)
	}
	return err
}
