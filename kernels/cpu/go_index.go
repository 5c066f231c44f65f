package cpu

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/exp/constraints"

	"tarn/kernels"
)

// indices is an operand of int64 that names n places.
type indices struct {
	kernels.View
	n int64
}

// check returns an error that names the first index, in row-major order, that is
// no place.
func (x indices) check(id kernels.ID) error {
	once := distinct(x.View)
	w := newWalk(&once)
	if chunks(w.total, serialBelow) == 1 {
		if namesAll(w, x.n) {
			return nil
		}
	} else if x.checkShared(w) {
		return nil
	}
	index := make([]int64, x.Rank)
	for {
		addr := x.Ptr
		for d, i := range index {
			addr += uintptr(i * x.Strides[d] * 8)
		}
		if k := *at[int64](addr, 0, 0); uint64(k) >= uint64(x.n) {
			return &kernels.Error{Op: id, Err: kernels.ErrIndex, Detail: fmt.Sprintf("index %d at %v for a dim of %d", k, index, x.n)}
		}
		for d := int(x.Rank) - 1; d >= 0; d-- {
			if index[d]++; index[d] < x.Dims[d] {
				break
			}
			index[d] = 0
		}
	}
}

func (x indices) checkShared(shared walk) bool {
	var bad atomic.Bool
	parallel(shared.total, serialBelow, func(lo, hi int64) {
		w := shared
		w.seek(lo, hi)
		if !namesAll(w, x.n) {
			bad.Store(true)
		}
	})
	return !bad.Load()
}

// namesAll reports whether all indices of w are below n, and none below 0.
func namesAll(w walk, n int64) bool {
	for w.next() {
		step := w.step(0)
		for i := range w.n {
			if uint64(*at[int64](w.ptr[0], i, step)) >= uint64(n) {
				return false
			}
		}
	}
	return true
}

// word is an element that is moved as its bits.
type word interface{ constraints.Unsigned }

// gatherAlong is the body of Gather.
func gatherAlong(a *kernels.Args) error {
	axis := a.Attr.Axis
	// A row of the input, seen with the output's dims: each element begins where
	// the index is 0.
	rows := a.In[0]
	rows.Dims[axis], rows.Strides[axis] = a.Out[0].Dims[axis], 0
	if err := (indices{a.In[1], a.In[0].Dims[axis]}).check(kernels.Gather); err != nil {
		return err
	}
	step := a.In[0].Strides[axis] * a.In[0].DType.Size()
	do := gatherAll[uint64]
	switch a.Out[0].DType.Size() {
	case 1:
		do = gatherAll[uint8]
	case 2:
		do = gatherAll[uint16]
	case 4:
		do = gatherAll[uint32]
	}
	w := newWalk(&a.Out[0], &rows, &a.In[1])
	if chunks(w.total, serialBelow) == 1 {
		do(w, step)
		return nil
	}
	shared := w
	parallel(w.total, serialBelow, func(lo, hi int64) {
		w := shared
		w.seek(lo, hi)
		do(w, step)
	})
	return nil
}

func gatherAll[T word](w walk, step int64) {
	size := w.dtypes[0].Size()
	for w.next() {
		to, from, index := w.step(0), w.step(1), w.step(2)
		if index == 0 { // one index for the run
			row := w.ptr[1] + uintptr(*at[int64](w.ptr[2], 0, 0)*step)
			if to == size && from == size {
				copy(dense[T](w.ptr[0], w.n), dense[T](row, w.n))
				continue
			}
			for i := range w.n {
				*at[T](w.ptr[0], i, to) = *at[T](row, i, from)
			}
			continue
		}
		for i := range w.n {
			k := *at[int64](w.ptr[2], i, index)
			*at[T](w.ptr[0], i, to) = *at[T](w.ptr[1]+uintptr(k*step), i, from)
		}
	}
}

// scatterAlong is the body of Scatter.
func scatterAlong(a *kernels.Args) error {
	switch a.Out[0].DType.Size() {
	case 1:
		return scatterBy(kernels.Scatter, a, scatterLines[uint8])
	case 2:
		return scatterBy(kernels.Scatter, a, scatterLines[uint16])
	case 4:
		return scatterBy(kernels.Scatter, a, scatterLines[uint32])
	}
	return scatterBy(kernels.Scatter, a, scatterLines[uint64])
}

// scatterAdd is the body of ScatterAdd.
func scatterAdd(a *kernels.Args) error {
	switch a.Out[0].DType {
	case kernels.Float32:
		return scatterBy(kernels.ScatterAdd, a, scatterLines[float32])
	case kernels.Float64:
		return scatterBy(kernels.ScatterAdd, a, scatterLines[float64])
	case kernels.Int64:
		return scatterBy(kernels.ScatterAdd, a, scatterLines[int64])
	case kernels.Int32:
		return scatterBy(kernels.ScatterAdd, a, scatterLines[int32])
	case kernels.Uint8:
		return scatterBy(kernels.ScatterAdd, a, scatterLines[uint8])
	}
	return noBody(kernels.ScatterAdd, a)
}

// set and increase do n elements from out and in on, that far apart.

func set[T element](out, in uintptr, n, to, from int64) {
	for i := range n {
		*at[T](out, i, to) = *at[T](in, i, from)
	}
}

// addInC is from how many elements on adding them in C pays, with all that it
// takes to say where they are.
const addInC = 256

func increase[T element](out, in uintptr, n, to, from int64) {
	if size := sizeOf[T](); to == size && from == size {
		if c := inC[T](n); c != nil && n >= addInC && typeOf[T]() == kernels.Float32 {
			c.elementwise(kernels.Add, rows{rows: 1, n: n, at: [maxOperands]uintptr{out, out, in}, step: [maxOperands]int64{4, 4, 4}}, 0, 0)
			return
		}
		out, in := dense[T](out, n), dense[T](in, n)[:n]
		for i := range out {
			out[i] += in[i]
		}
		return
	}
	for i := range n {
		*at[T](out, i, to) += *at[T](in, i, from)
	}
}

// scatterBy goes along the axis for each place beside it, on several threads.
// Elements beside each other that have the same indices are done together.
func scatterBy(id kernels.ID, a *kernels.Args, do func(l line, w walk)) error {
	axis := a.Attr.Axis
	out, in, index := a.Out[0], a.In[0], a.In[1]
	length := in.Dims[axis]
	if err := (indices{index, out.Dims[axis]}).check(id); err != nil || in.Len() == 0 {
		return err
	}
	size := out.DType.Size()
	line := line{out: out.Strides[axis] * size, in: in.Strides[axis] * size, index: index.Strides[axis] * 8, length: length, adds: id == kernels.ScatterAdd}
	out.Dims[axis], in.Dims[axis], index.Dims[axis] = 1, 1, 1
	w := newWalk(&out, &in, &index)
	grain := max(serialBelow/length, 1)
	if chunks(w.total, grain) == 1 {
		do(line, w)
		return nil
	}
	shared := w
	parallel(w.total, grain, func(lo, hi int64) {
		w := shared
		w.seek(lo, hi)
		do(line, w)
	})
	return nil
}

// line is how the operands of a scatter go along its axis, in bytes, and how many
// indices there are.
type line struct {
	out, in, index, length int64
	adds                   bool
}

func scatterLines[T element](l line, w walk) {
	for w.next() {
		to, from := w.step(0), w.step(1)
		if w.step(2) == 0 && w.n > 1 {
			for j := range l.length {
				place := *at[int64](w.ptr[2], j, l.index)
				y, x := w.ptr[0]+uintptr(place*l.out), w.ptr[1]+uintptr(j*l.in)
				if l.adds {
					increase[T](y, x, w.n, to, from)
				} else {
					set[T](y, x, w.n, to, from)
				}
			}
			continue
		}
		for i := range w.n {
			y, x, k := w.ptr[0]+uintptr(i*to), w.ptr[1]+uintptr(i*from), w.ptr[2]+uintptr(i*w.step(2))
			if l.adds {
				for j := range l.length {
					*at[T](y, *at[int64](k, j, l.index), l.out) += *at[T](x, j, l.in)
				}
				continue
			}
			for j := range l.length {
				*at[T](y, *at[int64](k, j, l.index), l.out) = *at[T](x, j, l.in)
			}
		}
	}
}
