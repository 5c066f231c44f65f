package tensor

import (
	"fmt"
	"slices"
)

// multiplied is the product of two terms, added up over the labels of both that
// are not needed. Each has the labels that are needed or the other's.
func multiplied(x, y *term, needed func(l label) bool) (term, error) {
	var batch, left, right, sums []label
	for _, l := range x.labels {
		switch shared := slices.Contains(y.labels, l); {
		case !shared:
			left = append(left, l)
		case needed(l):
			batch = append(batch, l)
		default:
			sums = append(sums, l)
		}
	}
	for _, l := range y.labels {
		if !slices.Contains(x.labels, l) {
			right = append(right, l)
		}
	}
	labels := slices.Concat(batch, left, right)
	if len(labels) > MaxRank {
		return term{}, fmt.Errorf("%w: a product of two operands has %d dims, at most %d", ErrShape, len(labels), MaxRank)
	}
	if len(sums) == 0 {
		return term{elementwise(x, y, labels), labels, true}, nil
	}
	a, b := x.matrices(batch, left, sums), y.matrices(batch, sums, right)
	product := a.MatMul(b)
	defer product.Release()
	defer a.Release()
	defer b.Release()
	return term{product.Reshape(sizesOf(x, y, labels)...), labels, true}, nil
}

// elementwise multiplies x and y where nothing is added up.
func elementwise(x, y *term, labels []label) *Tensor {
	a, b := x.spread(labels), y.spread(labels)
	defer a.Release()
	defer b.Release()
	return a.Mul(b)
}

// spread returns x with the dims of labels, of size 1 where it has none.
func (x *term) spread(labels []label) *Tensor {
	own := slices.DeleteFunc(slices.Clone(labels), func(l label) bool { return !slices.Contains(x.labels, l) })
	t := x.ordered(own)
	for i, l := range labels {
		if !slices.Contains(own, l) {
			next := t.Unsqueeze(i)
			t.Release()
			t = next
		}
	}
	return t
}

// matrices returns x with the dims of rows made one and those of cols, after the
// dims of the batch, which stay apart as long as there is room for them.
func (x *term) matrices(batch, rows, cols []label) *Tensor {
	t := x.ordered(slices.Concat(batch, rows, cols))
	defer t.Release()
	shape := sizesOf(x, x, batch)
	if len(shape) > MaxRank-2 {
		shape = Shape{shape.Len()}
	}
	return t.Reshape(append(shape, sizesOf(x, x, rows).Len(), sizesOf(x, x, cols).Len())...)
}

// sizesOf returns the sizes of labels, which are x's or y's.
func sizesOf(x, y *term, labels []label) Shape {
	s := make(Shape, len(labels))
	for i, l := range labels {
		if d := slices.Index(x.labels, l); d >= 0 {
			s[i] = int(x.t.view.Dims[d])
		} else {
			s[i] = int(y.t.view.Dims[slices.Index(y.labels, l)])
		}
	}
	return s
}
