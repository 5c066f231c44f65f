package tensor

import (
	"errors"
	"fmt"
)

// A checkpoint's turn in a walk puts the ops that it stands for in its place:
// f runs again, recorded, and its result gets the gradient. The new nodes have
// larger ids than all that the walk has ahead, so they come next, and in the
// order that they would have had; from there the gradients go on to the nodes
// behind the inputs. So the walk is the one of a graph without checkpoints.

// segment is the part of the graph that a checkpoint was expanded to.
type segment struct {
	after  uint64 // its nodes have larger ids
	scope  *Scope // of what f made, but for gradients
	region *region
}

// expand is n's turn, a checkpoint's.
func (b *backward) expand(n *node) error {
	c := n.check
	if err := c.unchanged(); err != nil {
		return newError("Checkpoint backward", err, b.now.up)
	}
	s := segment{lastNode.Load(), c.scope.inner(), &region{recorded: true, drawn: c.region.drawn}}
	b.segments = append(b.segments, s)
	b.waiting.left = nil
	given := make([]*Tensor, len(c.inputs))
	for i, in := range c.inputs {
		v := in.env.get()
		v.scope, v.region = s.scope, s.region
		given[i] = in.derive(v)
	}
	out := called(c.f, given)
	err := out.usable()
	if err == nil && (!out.view.SameDims(&n.result) || out.view.DType != n.result.DType || out.dev != n.stream.dev) {
		err = fmt.Errorf("%w: it gave %v %v on %s, and %v %v at first", ErrShape, out.view.DType, out.Shape(), out.dev, n.result.DType, shapeOf(&n.result))
	}
	if err == nil {
		up := b.now.up
		b.now.up = nil
		err = b.upTo(out, up)
	}
	if out.leaf == nil {
		err = errors.Join(err, out.Release())
	}
	if err != nil {
		return &Error{Op: "Checkpoint backward", Shapes: []Shape{shapeOf(&n.result)}, Place: place(), Err: fmt.Errorf("calling the function again: %w", err)}
	}
	return nil
}

// upTo hands up to what made out.
func (b *backward) upTo(out, up *Tensor) error {
	if !out.RequiresGrad() {
		return up.Release()
	}
	if b.only != nil && out.node != nil {
		b.only.mark(out.node)
	}
	return b.deliver(out.node, out.leaf, up)
}

// closeSegments ends the segments that the walk is through with, where the
// next node has the given id.
func (b *backward) closeSegments(next uint64) error {
	var errs []error
	for k := len(b.segments) - 1; k >= 0 && b.segments[k].after >= next; k-- {
		errs = append(errs, b.segments[k].region.free(), b.segments[k].scope.Close())
		b.segments = b.segments[:k]
	}
	return errors.Join(errs...)
}
