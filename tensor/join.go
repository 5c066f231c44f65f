package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Concat returns the parts one after the other along dim. Their other dims are
// the same; a part of shape [0] is left out, as by PyTorch's cat. The result has
// the parts' type, or that to which Add would promote them.
func Concat(dim int, parts ...*Tensor) *Tensor {
	if len(parts) == 0 {
		panic("tensor: Concat of no tensors")
	}
	j, err := join(parts...)
	if err != nil {
		return refused("Concat", err, parts[0], parts[1:]...)
	}
	v, d, err := joinedDims(dim, parts)
	var out *Tensor
	if err == nil {
		out, err = newTensor(j.stream, j.env, v.DType, v.Dims[:v.Rank])
	}
	if err != nil {
		return refused("Concat", err, parts[0], parts[1:]...)
	}
	var last *node
	from := 0
	for _, p := range parts {
		size := 0
		if !left(p, v.Rank) {
			size = int(p.view.Dims[d])
		}
		place, _, _ := dense(v.DType, v.Dims[:v.Rank])
		slice(&place, d, from, from+size, 1)
		from += size
		if j.record && v.DType.IsFloat() && p.RequiresGrad() && !p.env.get().noGrad {
			last = j.joins(out, last, p, place)
		}
		if place.Len() == 0 {
			continue
		}
		place.Ptr += out.view.Ptr
		if err = j.stream.copyOf(out.seenAs(place), p); err != nil {
			break
		}
	}
	out.node = last
	if err == nil && j.env.get().anomaly {
		err = out.finite()
	}
	if err != nil {
		return out.discard(newError("Concat", err, parts...))
	}
	return out
}

// left reports whether t is left out of what has rank dims: it is [0].
func left(t *Tensor, rank int8) bool { return t.view.Rank == 1 && t.view.Dims[0] == 0 && rank != 1 }

// joinedDims returns the type and the dims of parts along dim.
func joinedDims(dim int, parts []*Tensor) (v kernels.View, d int, err error) {
	first := parts[0]
	for _, p := range parts {
		if first.view.Rank == 1 && first.view.Dims[0] == 0 {
			first = p
		}
	}
	v.Rank, v.Dims = first.view.Rank, first.view.Dims
	if d, err = axis(dim, v.Rank); err != nil {
		return v, 0, err
	}
	v.Dims[d], v.DType = 0, parts[0].view.DType
	for i, p := range parts {
		v.DType = promoteTypes(v.DType, p.view.DType)
		if left(p, v.Rank) {
			continue
		}
		want := v
		if p.view.Rank == v.Rank {
			want.Dims[d] = p.view.Dims[d]
		}
		if !p.view.SameDims(&want) {
			return v, 0, fmt.Errorf("%w: part %d is %v, beside dim %d that of the others is %v", ErrShape, i, p.Shape(), d, first.Shape())
		}
		if v.Dims[d] += p.view.Dims[d]; v.Dims[d] < 0 {
			return v, 0, fmt.Errorf("%w: the sizes along dim %d overflow", ErrShape, d)
		}
	}
	return v, d, nil
}

// joins records that p stands at a place of out. An op has few operands, so the
// parts are a chain: each node has its part and the node of the parts before.
func (j *joined) joins(out *Tensor, before *node, p *Tensor, place kernels.View) *node {
	rest := &Tensor{dev: j.dev, storage: out.storage, env: j.env, view: out.view, node: before}
	c := call{joined: *j, def: concatDef, n: 2, out: out}
	c.operands[0], c.operands[1] = p, rest
	n := newNode(&c)
	n.slots[2].view = place
	if before != nil {
		before.drop() // n has it now
	}
	return n
}

// concatBackward copies nothing: the part's gradient is a view of the whole, which
// goes on to the other parts.
func concatBackward(g *gradients) error {
	if g.needs(1) {
		g.put(1, g.up.alias())
	}
	if !g.needs(0) {
		return nil
	}
	place := g.slots[2].view
	if place.Len() == 0 {
		_, err := g.zeros()
		return err
	}
	up := g.up
	if !up.view.Contiguous() { // as of a sum, which repeats one element
		up = cloneOn(up.dev.streamOf(g.env), g.env, up)
		defer up.Release()
		if up.err != nil {
			return up.err
		}
	}
	place.DType = up.view.DType
	place.Ptr += up.view.Ptr
	g.putPart(0, up.seenAs(place))
	return nil
}

// putPart gives operand i part, which borrows its bytes, as a gradient of the
// operand's type. A leaf gets a copy: it would keep the rest alive.
func (g *gradients) putPart(i int, part *Tensor) {
	switch dt := g.slots[i].view.DType; {
	case part.view.DType != dt:
		g.put(i, part.To(dt))
	case g.slots[i].leaf != nil:
		g.put(i, cloneOn(part.dev.streamOf(g.env), g.env, part))
	default:
		g.put(i, part.alias())
	}
}

// Stack returns tensors of one shape one after the other along a new dim.
func Stack(dim int, parts ...*Tensor) *Tensor {
	if len(parts) == 0 {
		panic("tensor: Stack of no tensors")
	}
	rows := make([]*Tensor, len(parts))
	defer func() {
		for _, r := range rows {
			r.Release()
		}
	}()
	for i, p := range parts {
		rows[i] = p.Unsqueeze(dim)
	}
	for _, p := range parts {
		if p.usable() == nil && parts[0].usable() == nil && !p.Shape().Equal(parts[0].Shape()) {
			return refused("Stack", fmt.Errorf("%w: %v and %v", ErrShape, parts[0].Shape(), p.Shape()), parts[0], parts[1:]...)
		}
	}
	return Concat(rows[0].newDim(dim), rows...)
}

// newDim resolves where Unsqueeze has put its dim.
func (t *Tensor) newDim(dim int) int {
	if dim < 0 {
		return dim + int(t.view.Rank)
	}
	return dim
}
