package tensor

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"weak"
)

type (
	gradHooks  = hooks[func(g *Tensor) *Tensor]
	addedHooks = hooks[func(grad *Tensor) error]
)

// hooks are functions of the user's, in the order in which they came.
type hooks[F any] struct {
	mu   sync.Mutex
	list []*hook[F]
}

// hook is one of them. The list alone holds it: a remover that is never called
// keeps nothing alive that the function reaches.
type hook[F any] struct{ f atomic.Pointer[F] }

func (h *hooks[F]) add(f F) (remove func()) {
	k := new(hook[F])
	k.f.Store(&f)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.present(), k)
	lent := weak.Make(k)
	return func() {
		if k := lent.Value(); k != nil {
			k.f.Store(nil)
		}
	}
}

// present returns a new list of the hooks that were not removed. The caller
// holds mu.
func (h *hooks[F]) present() []*hook[F] {
	return slices.DeleteFunc(slices.Clone(h.list), func(k *hook[F]) bool { return k.f.Load() == nil })
}

// all returns the hooks to run now.
func (h *hooks[F]) all() []*hook[F] {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.list == nil {
		return nil
	}
	h.list = h.present()
	return h.list
}

// OnGrad calls f in each backward with the gradient of t, a leaf or the result
// of a recorded op, once that gradient is complete and before it goes on:
// before it is added to a leaf's, kept, or handed to the op behind. Several
// hooks run in the order in which they were set, each on what the one before
// made of it. remove ends it, at any time and from anywhere.
//
// f may return another tensor of the same shape and dtype, which takes the
// gradient's place and passes to the backward; nil leaves it as it is. A tensor
// that carries an error makes the backward fail with that error. f must not
// change g in place: others may share its bytes. g is valid until f returns,
// its Detach for longer; what f makes of it lives in the scope of the tensor
// that Backward is called on.
//
// A leaf's gradient is complete when the last op that uses the leaf has had its
// turn; with checkpoints on the way, when the walk is over. A result's hooks go
// with its graph.
func (t *Tensor) OnGrad(f func(g *Tensor) *Tensor) (remove func(), err error) {
	if f == nil {
		panic("tensor: OnGrad: nil function")
	}
	if err := t.observable(); err != nil {
		return func() {}, newError("OnGrad", err, t)
	}
	if t.leaf != nil {
		return t.leaf.hooks.add(f), nil
	}
	t.node.hooks.CompareAndSwap(nil, new(gradHooks))
	return t.node.hooks.Load().add(f), nil
}

// AfterGrad calls f in each backward that reached t, a leaf, once the gradient
// is added to t's, with what t.Grad then returns. f may use the gradient up:
// step t and ZeroGrad it, for a backward that never holds all gradients at once.
// Its error is the backward's. remove ends it, at any time and from anywhere.
func (t *Tensor) AfterGrad(f func(grad *Tensor) error) (remove func(), err error) {
	if f == nil {
		panic("tensor: AfterGrad: nil function")
	}
	err = t.observable()
	if err == nil && t.leaf == nil {
		err = fmt.Errorf("%w: only a leaf's gradient adds up", ErrNoHistory)
	}
	if err != nil {
		return func() {}, newError("AfterGrad", err, t)
	}
	return t.leaf.after.add(f), nil
}

// apply runs the hooks on *g, the gradient of what op made, and puts what they
// return in its place. With check, what they return must be finite.
func (b *backward) apply(h *gradHooks, op string, check bool, g **Tensor) error {
	for _, k := range h.all() {
		f := k.f.Load()
		if f == nil {
			continue
		}
		was := *g
		version := was.storage.version.Load()
		given := was.derive(was.env.get())
		got := (*f)(given)
		err := b.replace(g, got)
		if was.storage.version.Load() != version {
			err = errors.Join(fmt.Errorf("%w: the hook changed its gradient", ErrInPlace), err)
		}
		if err == nil && check && *g != was {
			err = (*g).finite()
		}
		err = errors.Join(err, given.Release())
		if *g != was {
			err = errors.Join(err, was.Release())
		}
		if err != nil {
			return newError("OnGrad", fmt.Errorf("a hook on the gradient of %s: %w", op, err), was)
		}
	}
	return nil
}

// replace puts got, what a hook returned, in the place of *g, whose hold stays
// the caller's.
func (b *backward) replace(g **Tensor, got *Tensor) error {
	was := *g
	if got == nil || got.root() == was && got.err == nil && got.view == was.view {
		return nil
	}
	err := got.usable()
	switch {
	case err != nil:
		return err
	case got.dev != was.dev:
		err = fmt.Errorf("%w: what it returned and what it was given, %s", ErrDevice, two(got.dev, was.dev))
	case got.view.DType != was.view.DType:
		err = dtypeError("it returned %v for %v", got.view.DType, was.view.DType)
	case !got.view.SameDims(&was.view):
		err = fmt.Errorf("%w: it returned %v for %v", ErrShape, got.Shape(), was.Shape())
	}
	taken := got.alias()
	taken.env = was.env
	if got.leaf == nil && got != was {
		err = errors.Join(err, got.Release())
	}
	if err == nil && taken.sole() {
		// It may lie in a scope that ends before the walk.
		err = taken.storage.moveTo(b.scope.list())
	}
	if err != nil {
		return errors.Join(err, taken.Release())
	}
	*g = taken
	return nil
}
