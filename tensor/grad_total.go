package tensor

import (
	"errors"
	"fmt"
	"sync"
)

// total is a gradient as it adds up over backwards.
type total struct {
	mu   sync.Mutex
	grad *Tensor // nil until a backward gets here; guarded by mu
	gone bool    // nobody can ask for it any more; guarded by mu
}

// handle returns a borrowed handle on the gradient, nil where there is none.
func (a *total) handle() *Tensor {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.grad == nil {
		return nil
	}
	return a.grad.derive(env{scope: a.grad.env.get().scope})
}

func (a *total) release() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.grad
	a.grad = nil
	if g == nil {
		return nil
	}
	return g.Release()
}

// end releases the gradient, and what later backwards would add.
func (a *total) end() error {
	a.mu.Lock()
	a.gone = true
	a.mu.Unlock()
	return a.release()
}

// keep adds g, which stays the caller's, to the total. The total lives where g
// does, in the scope of the backward.
func (a *total) keep(g *Tensor) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.grad != nil && a.grad.usable() == nil {
		return sum(&a.grad, g.alias())
	}
	a.grad = g.alias()
	return nil
}

// add takes g, whose hold passes to the leaf, into the gradient.
func (l *leaf) add(g *Tensor) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return g.Release()
	}
	if l.grad != nil {
		err := addInto(l.home(), l.grad, g)
		return errors.Join(err, g.Release())
	}
	if g.sole() && g.storage.home == l.home() {
		if err := g.storage.moveTo(nil); err != nil {
			return errors.Join(err, g.Release())
		}
		g.env = nil
		l.grad = g
		return g.storage.setTag(gradientTag)
	}
	copied := cloneOn(l.home(), nil, g)
	if err := errors.Join(copied.err, g.Release()); err != nil {
		return err
	}
	l.grad = copied
	return copied.storage.setTag(gradientTag)
}

// sum adds g, whose hold it takes, to *into: in place where nobody else holds
// those bytes.
func sum(into **Tensor, g *Tensor) error {
	old := *into
	if old.sole() {
		return errors.Join(addInto(old.dev.streamOf(old.env), old, g), g.Release())
	}
	made := old.Add(g)
	if made.err != nil {
		return errors.Join(made.err, g.Release())
	}
	*into = made
	return errors.Join(old.Release(), g.Release())
}

// total returns where t's gradient adds up, nil for nowhere.
func (t *Tensor) total() *total {
	switch {
	case t.leaf != nil:
		return &t.leaf.total
	case t.node != nil:
		return t.node.kept.Load()
	}
	return nil
}

// Grad returns the gradient that backward added up for a leaf, or for a result
// that was told to [Tensor.KeepGrad]; nil if there is none yet. The tensor owns
// it: it is usable until [Tensor.ZeroGrad].
func (t *Tensor) Grad() *Tensor {
	if a := t.total(); a != nil {
		return a.handle()
	}
	return nil
}

// ZeroGrad releases t's gradient; the next backward starts from none.
func (t *Tensor) ZeroGrad() error {
	if a := t.total(); a != nil {
		return a.release()
	}
	return nil
}

// KeepGrad makes t, the result of a recorded op, keep its gradient for
// [Tensor.Grad], as leaves do anyway: after all hooks, added up over backwards.
// The gradient lives in the scope of the tensor that Backward is called on, and
// goes with t.
func (t *Tensor) KeepGrad() error {
	if err := t.observable(); err != nil {
		return newError("KeepGrad", err, t)
	}
	if t.node != nil {
		t.node.kept.CompareAndSwap(nil, new(total))
	}
	return nil
}

// observable returns why t will get no gradient that could be seen.
func (t *Tensor) observable() error {
	err := t.usable()
	switch {
	case err != nil:
	case !t.RequiresGrad():
		err = fmt.Errorf("%w: it gets no gradient", ErrNoHistory)
	case t.node != nil && t.node.done:
		err = t.node.whyDone()
	}
	return err
}
