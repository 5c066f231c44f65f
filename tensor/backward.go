package tensor

import (
	"container/heap"
	"errors"
	"fmt"
	"sync"
)

// leaf is the gradient side of a tensor that requires grad and was made by no
// op. The gradient belongs to the leaf: it is in no scope, on the leaf's device
// and home stream.
type leaf struct {
	stream *Stream

	mu   sync.Mutex
	grad *Tensor // nil until a backward reaches the leaf; guarded by mu
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

// Grad returns the gradient that backward added up for a leaf, nil if there is
// none yet. The leaf owns it: it is usable until [Tensor.ZeroGrad].
func (t *Tensor) Grad() *Tensor {
	if t.leaf == nil {
		return nil
	}
	t.leaf.mu.Lock()
	defer t.leaf.mu.Unlock()
	if t.leaf.grad == nil {
		return nil
	}
	return t.leaf.grad.derive(env{})
}

// ZeroGrad releases a leaf's gradient; the next backward starts from none.
func (t *Tensor) ZeroGrad() error {
	if t.leaf == nil {
		return nil
	}
	t.leaf.mu.Lock()
	defer t.leaf.mu.Unlock()
	g := t.leaf.grad
	t.leaf.grad = nil
	if g == nil {
		return nil
	}
	return g.Release()
}

// add takes g, whose hold passes to the leaf, into the gradient.
func (l *leaf) add(g *Tensor) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grad != nil {
		err := addInto(l.home(), l.grad, g)
		return errors.Join(err, g.Release())
	}
	if g.sole() && g.storage.home == l.home() {
		if err := g.storage.moveTo(nil); err != nil {
			return err
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

// Backward computes the gradients of t, a single element, for all leaves that
// it depends on, adds them to what the leaves have, and frees the graph as it
// goes: a second Backward is [ErrGraphFreed]. Backward of a tensor without
// history is [ErrNoHistory].
//
// After an error some leaves may have got their gradients and others not: call
// ZeroGrad before going on, and do not step.
//
// Each gradient runs on the stream of its forward op. Before Backward returns,
// t's stream has been made to wait for the leaves' streams.
func (t *Tensor) Backward() error {
	if err := t.usable(); err != nil {
		return newError("Backward", err, t)
	}
	if t.Len() != 1 {
		return newError("Backward", fmt.Errorf(
			"%w: only a single element has a gradient by itself; use BackwardWith", ErrShape), t)
	}
	one := fullLike(t, 1)
	if one.err != nil {
		return newError("Backward", one.err, t)
	}
	return errors.Join(t.BackwardWith(one), one.Release())
}

// BackwardWith is Backward from upstream, the gradient of some scalar for t;
// it has t's shape and dtype. The caller keeps it.
func (t *Tensor) BackwardWith(upstream *Tensor) error {
	err := t.usable()
	if err == nil {
		err = upstream.usable()
	}
	switch {
	case err != nil:
	case t.node == nil && t.leaf == nil || t.env.get().noGrad:
		err = ErrNoHistory
	case t.node != nil && t.node.done:
		err = ErrGraphFreed
	case upstream.dev != t.dev:
		err = fmt.Errorf("%w: upstream is on %s, the tensor on %s", ErrDevice, upstream.dev, t.dev)
	case upstream.view.DType != t.view.DType:
		err = dtypeError("upstream is %v, the tensor %v", upstream.view.DType, t.view.DType)
	case !upstream.view.SameDims(&t.view):
		err = fmt.Errorf("%w: upstream differs from the tensor", ErrShape)
	}
	if err != nil {
		return newError("Backward", err, t, upstream)
	}
	b := backward{scope: t.env.get().scope}
	stream := t.env.get().stream
	if stream == nil {
		stream = t.dev.stream
	}
	if err := b.run(t, upstream); err != nil {
		return newError("Backward", err, t)
	}
	return b.wait(stream)
}

// backward is one walk from a loss to its leaves. Nodes are taken in falling
// order of id: when a node's turn comes, all nodes that use its result have
// had theirs, so its gradient is complete.
type backward struct {
	scope *Scope
	ready nodeHeap
	// leaves are the streams that leaf gradients were written on.
	leaves []*Stream
}

func (b *backward) run(t, upstream *Tensor) (err error) {
	first := upstream.alias()
	first.env = b.env(upstream.env.get().stream).with()
	if t.node == nil {
		return b.leaf(t.leaf, first)
	}
	if err := b.arrive(t.node, first); err != nil {
		return err
	}
	for len(b.ready) > 0 {
		n := heap.Pop(&b.ready).(*node)
		if err := b.step(n); err != nil {
			return errors.Join(err, b.abandon())
		}
	}
	return nil
}

// env is what gradients on a stream carry. The default stream is left out, so
// that all gradients of a usual step share one env.
func (b *backward) env(s *Stream) env {
	v := env{stream: s, scope: b.scope, noGrad: true}
	if s != nil && s == s.dev.stream {
		v.stream = nil
	}
	return v
}

// step turns the gradient of n's result into those of its operands.
func (b *backward) step(n *node) error {
	g := gradients{node: n, up: n.grad}
	n.grad = nil
	g.env = b.env(n.stream).with(g.up.env)
	g.up.env = g.env
	err := n.def.backward(&g)
	err = errors.Join(err, g.up.Release())
	for i, t := range g.out {
		if t == nil {
			continue
		}
		switch s := &n.slots[i]; {
		case err != nil || t.err != nil:
			err = errors.Join(err, t.err, t.Release())
		case s.node != nil:
			err = b.arrive(s.node, t)
		case s.leaf != nil:
			err = b.leaf(s.leaf, t)
		default:
			err = t.Release()
		}
	}
	return errors.Join(err, n.free())
}

// arrive adds g to what n has got so far.
func (b *backward) arrive(n *node, g *Tensor) error {
	switch {
	case n.done:
		return errors.Join(ErrGraphFreed, g.Release())
	case n.grad == nil:
		// The node that uses n's result lets go of n when its turn ends; the
		// walk's own reference keeps what n saved until n's turn comes.
		n.refs.Add(1)
		n.grad = g
		heap.Push(&b.ready, n)
		return nil
	case n.grad.sole():
		return errors.Join(addInto(n.stream, n.grad, g), g.Release())
	}
	old := n.grad
	n.grad = old.Add(g)
	return errors.Join(n.grad.err, old.Release(), g.Release())
}

func (b *backward) leaf(l *leaf, g *Tensor) error {
	b.leaves = append(b.leaves, l.home())
	return l.add(g)
}

// abandon releases the gradients of the nodes that a failed backward did not
// come to, and their graphs: part of what they need is gone.
func (b *backward) abandon() error {
	var errs []error
	for _, n := range b.ready {
		if n.grad != nil {
			errs = append(errs, n.grad.Release())
			n.grad = nil
		}
		errs = append(errs, n.free())
	}
	b.ready = nil
	return errors.Join(errs...)
}

// wait makes stream s wait for all that was written to leaves.
func (b *backward) wait(s *Stream) error {
	if !s.dev.async {
		return nil
	}
	for _, l := range b.leaves {
		if err := s.waitForAll(l); err != nil {
			return err
		}
	}
	return nil
}

// nodeHeap gives the node with the largest id first.
type nodeHeap []*node

func (h nodeHeap) Len() int           { return len(h) }
func (h nodeHeap) Less(i, j int) bool { return h[i].id > h[j].id }
func (h nodeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *nodeHeap) Push(n any)        { *h = append(*h, n.(*node)) }
func (h *nodeHeap) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return n
}
