package tensor

import (
	"errors"

	"tarn/kernels"
)

// matMulBackward serves MatMul, Dot and Linear: dx = up y', dy = x' up, db = the
// sum of up over rows, each added up over the matrices that an operand was
// broadcast along; with a fused ReLU up is masked first.
func matMulBackward(g *gradients) error {
	up := g.up
	if g.attr.relu {
		up = reluGrad(g.up, g.saved(resultSlot))
		defer up.Release()
		if up.err != nil {
			return up.err
		}
		if err := g.letGo(resultSlot); err != nil {
			return err
		}
	}
	if g.n == 3 && g.needs(2) {
		g.put(2, sumToShape(up, &g.slots[2].view))
	}
	x, y := g.slots[0].view, g.slots[1].view
	up = up.borrowed(ofVectors(up.view, &x, &y))
	if g.needs(1) {
		left := g.saved(0)
		g.put(1, g.factor(1, asColumn(y), left.borrowed(asRow(left.view)), true, up, false))
	}
	if g.needs(0) {
		right := g.saved(1)
		g.put(0, g.factor(0, asRow(x), up, false, right.borrowed(asColumn(right.view)), true))
	}
	return nil
}

// borrowed returns t, with its error, as a handle of another geometry on t's hold.
func (t *Tensor) borrowed(v kernels.View) *Tensor {
	return &Tensor{dev: t.dev, storage: t.storage, env: t.env, view: v, err: t.err}
}

// factor returns the gradient of operand i, which the product saw as want: a
// times b, either transposed, added up to want. Where every matrix of a
// transposed meets one of b and one right factor was for all, it is a single
// product of all their rows, and no matrix is made for each.
func (g *gradients) factor(i int, want kernels.View, a *Tensor, ta bool, b *Tensor, tb bool) *Tensor {
	var t *Tensor
	if rank := a.view.Rank; i == 1 && want.Rank == 2 && rank > 2 && a.err == nil && b.err == nil {
		rows, more := a.rows(), b.rows()
		t = product(rows, true, more, false)
		if err := errors.Join(rows.Release(), more.Release()); err != nil && t.err == nil {
			t.Release()
			return failed(err, g.up.dev, g.env, want)
		}
	} else {
		t = product(a, ta, b, tb)
		if t.err == nil && !t.view.SameDims(&want) {
			all := t
			t = sumToShape(all, &want)
			all.Release()
		}
	}
	if v := &g.slots[i].view; t.err == nil && v.Rank == 1 {
		t.view.Rank, t.view.Dims, t.view.Strides = 1, v.Dims, [MaxRank]int64{1}
	}
	return t
}

// rows returns the rows of all matrices of t as those of one, which is a copy
// where they do not lie so.
func (t *Tensor) rows() *Tensor {
	cols := t.view.Dims[t.view.Rank-1]
	n := int64(1)
	for _, d := range t.view.Dims[:t.view.Rank-1] {
		n *= d
	}
	return t.Reshape(int(n), int(cols))
}

// product multiplies matrices, either transposed, without recording or making
// view handles.
func product(a *Tensor, ta bool, b *Tensor, tb bool) *Tensor {
	at, bt := a.borrowed(a.view), b.borrowed(b.view)
	if ta {
		swapDims(&at.view)
	}
	if tb {
		swapDims(&bt.view)
	}
	return at.MatMul(bt)
}

func swapDims(v *kernels.View) {
	i, j := v.Rank-2, v.Rank-1
	v.Dims[i], v.Dims[j] = v.Dims[j], v.Dims[i]
	v.Strides[i], v.Strides[j] = v.Strides[j], v.Strides[i]
}
