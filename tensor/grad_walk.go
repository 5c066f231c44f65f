package tensor

import (
	"container/heap"
	"errors"
	"fmt"
)

// backward is one walk from its roots to the leaves. Nodes are taken in falling
// order of id: when a node's turn comes, all nodes that use its result have
// had theirs, so its gradient is complete.
type backward struct {
	scope  *Scope
	retain bool
	ready  nodeHeap
	now    gradients // of the node whose turn it is
	// only is what Grad asks for; nil: the leaves get all gradients.
	only     *asked
	waiting  waiting
	segments []segment
	// leaves are the streams that leaf gradients were written on.
	leaves []*Stream
}

// run walks from the roots. Whatever ends it early, a panic of a hook too,
// nothing of it is left.
func (b *backward) run(roots, upstreams []*Tensor) error {
	whole := false
	defer func() {
		if !whole {
			_ = b.abandon() // a panic is on its way
		}
	}()
	err := b.walk(roots, upstreams)
	whole = true
	if err != nil {
		return errors.Join(err, b.abandon())
	}
	return nil
}

func (b *backward) walk(roots, upstreams []*Tensor) error {
	for i, t := range roots {
		up := upstreams[i].alias()
		up.env = b.env(up.env.get().stream).with()
		if t.node != nil && t.node.made != "" {
			if err := up.finite(); err != nil {
				return errors.Join(fmt.Errorf("the upstream gradient: %w", err), up.Release())
			}
		}
		if err := b.deliver(t.node, t.leaf, up); err != nil {
			return err
		}
	}
	for len(b.ready) > 0 {
		if err := b.closeSegments(b.ready[0].id); err != nil {
			return err
		}
		if err := b.step(heap.Pop(&b.ready).(*node)); err != nil {
			return err
		}
	}
	return errors.Join(b.flush(), b.closeSegments(0))
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
	g := &b.now
	*g = gradients{node: n, walk: b, up: n.grad}
	n.grad = nil
	g.env = b.env(n.stream).with(g.up.env)
	g.up.env = g.env
	goesOn, err := b.observe(n)
	if err == nil && goesOn {
		err = b.turn(n)
	}
	err = errors.Join(err, g.dropUp())
	if err == nil {
		b.waiting.expect(b, n)
	}
	for i, t := range g.out {
		if t == nil {
			continue
		}
		g.out[i] = nil
		if s := &n.slots[i]; err == nil && t.err == nil {
			err = b.deliver(s.node, s.leaf, t)
		} else {
			err = errors.Join(err, t.err, t.Release())
		}
	}
	return errors.Join(err, b.leave(goesOn))
}

// observe shows n's gradient to whoever asked to see it. It reports whether
// the walk goes on behind n.
func (b *backward) observe(n *node) (goesOn bool, err error) {
	if err := b.apply(n.hooks.Load(), n.def.name, n.made != "", &b.now.up); err != nil {
		return true, err
	}
	if kept := n.kept.Load(); kept != nil {
		if err := kept.keep(b.now.up); err != nil {
			return true, err
		}
	}
	if b.only == nil {
		return true, nil
	}
	b.only.take(b.only.nodes[n], b.now.up)
	return b.only.beyond[n], nil
}

// turn makes the gradients of n's operands.
func (b *backward) turn(n *node) error {
	if n.check != nil {
		return b.expand(n)
	}
	if err := n.def.backward(&b.now); err != nil || n.made == "" {
		return err
	}
	for i, t := range b.now.out {
		if t == nil || t.err != nil {
			continue
		}
		if err := t.finite(); err != nil {
			return newError(n.def.name+" backward", fmt.Errorf("the gradient of operand %d of the %s at %s: %w", i, n.def.name, n.made, err), t)
		}
	}
	return nil
}

// deliver hands g, and its hold, to the node or leaf that it is for.
func (b *backward) deliver(n *node, l *leaf, g *Tensor) error {
	switch {
	case !b.wants(n, l):
		return g.Release()
	case n != nil:
		return b.arrive(n, g)
	}
	return b.leaf(l, g)
}

// wants reports whether a gradient for n or l is of use.
func (b *backward) wants(n *node, l *leaf) bool {
	switch {
	case b.only == nil:
		return n != nil || l != nil
	case n != nil:
		return b.only.wanted[n]
	}
	return l != nil && b.only.leaves[l] != nil
}

// arrive adds g to what n has got so far.
func (b *backward) arrive(n *node, g *Tensor) error {
	switch {
	case n.done:
		return errors.Join(n.whyDone(), g.Release())
	case n.walk != nil && n.walk != b:
		return errors.Join(fmt.Errorf("%w (at %s)", errTwoWalks, n.def.name), g.Release())
	case n.grad == nil:
		// The node that uses n's result lets go of n when its turn ends; the
		// walk's own reference keeps what n saved until n's turn comes.
		n.refs.Add(1)
		n.walk, n.grad = b, g
		heap.Push(&b.ready, n)
		return nil
	}
	err := sum(&n.grad, g)
	if err == nil && n.made != "" {
		if err = n.grad.finite(); err != nil {
			err = newError("Backward", fmt.Errorf("the sum of the gradients of the result of %s at %s: %w", n.def.name, n.made, err), n.grad)
		}
	}
	return err
}

var errTwoWalks = errors.New("another backward is going over the graph")

// leave ends n's turn: the graph behind it is freed, unless it is retained.
func (b *backward) leave(walked bool) (err error) {
	n := b.now.node
	b.now.node = nil
	if n == nil {
		return nil
	}
	if walked && b.frees(n) {
		err = n.free()
	}
	n.walk = nil
	n.drop()
	return err
}

// frees reports whether n goes with its turn: the graph is not retained, or n
// is part of what a checkpoint recomputed for this walk alone.
func (b *backward) frees(n *node) bool {
	last := len(b.segments) - 1
	return !b.retain || last >= 0 && n.id > b.segments[last].after
}

// abandon lets go of all that a walk that ended early holds, and frees the
// graphs that it did not come to: part of what they need is gone.
func (b *backward) abandon() error {
	errs := []error{b.now.dropUp()}
	for i, t := range b.now.out {
		if t != nil {
			b.now.out[i] = nil
			errs = append(errs, t.Release())
		}
	}
	errs = append(errs, b.leave(true))
	for _, n := range b.ready {
		errs = append(errs, n.grad.Release())
		n.grad = nil
		b.now.node = n
		errs = append(errs, b.leave(true))
	}
	b.ready = nil
	return errors.Join(append(errs, b.waiting.release(), b.closeSegments(0), b.only.release())...)
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
