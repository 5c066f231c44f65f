package cpu

import (
	"math"
	"unsafe"

	"tarn/kernels"
)

// partialLen is how many elements of a large reduction to a single number make
// one partial result. It is part of the order of the sum and so independent of
// the number of threads.
const partialLen = 1 << 15

// reduction is a Sum or Max: kept walks over the results and, beside each, the
// first of the elements that it is made of; reduced walks over those elements,
// relative to the first. Sums are kept in float64, in which a maximum of
// float32 values is exact as well.
type reduction struct {
	id        kernels.ID
	kept      walk // 0 the output, 1 the input
	reduced   walk
	byColumns bool // neighbours in memory belong to different results

	alpha      float64
	accumulate bool
}

func newReduction(id kernels.ID, a *kernels.Args) reduction {
	out, kept, reduced := a.Out[0], a.In[0], a.In[0]
	split(&out, &kept, &reduced)
	r := reduction{id: id, alpha: 1}
	if id == kernels.Sum {
		r.alpha, r.accumulate = a.Attr.Alpha, a.Attr.Accumulate
	}
	r.kept, r.reduced = newWalk(&out, &kept), newWalk(&reduced)
	r.byColumns = r.kept.total > 1 && abs(r.kept.step(1)) < abs(r.reduced.step(0))
	if r.byColumns {
		r.kept.limit = blockLen
	}
	return r
}

// split makes of two views of the reduced operand, given with the result of
// the reduction, one of the dims that stay and one of those that go.
func split(small, kept, reduced *kernels.View) {
	for d := range int(small.Rank) {
		if small.Dims[d] == 1 && kept.Dims[d] != 1 {
			kept.Dims[d] = 1
		} else {
			reduced.Dims[d] = 1
		}
	}
}

// partials returns how many partial results the reduction of a goes through; 1
// where it has many results or few elements.
func partials(a *kernels.Args) int64 {
	if a.Out[0].Len() != 1 {
		return 1
	}
	return max(1, (a.In[0].Len()+partialLen-1)/partialLen)
}

func reduceWorkspace(a *kernels.Args) int64 {
	if n := partials(a); n > 1 {
		return n * 8
	}
	return 0
}

func sum[T float](a *kernels.Args) error { return reduce[T](kernels.Sum, a) }

func maximum[T float](a *kernels.Args) error { return reduce[T](kernels.Max, a) }

func reduce[T float](id kernels.ID, a *kernels.Args) error {
	r := newReduction(id, a)
	if n := partials(a); n > 1 {
		reduceToOne[T](r, dense[float64](a.Work.Ptr, n))
		return nil
	}
	if reduceInC[T](&r) {
		return nil
	}
	each := max(r.reduced.total, 1)
	grain := max(serialBelow/each, 1)
	if r.byColumns {
		grain = max(grain, blockLen)
	}
	if chunks(r.kept.total, grain) == 1 {
		reduceRange[T](&r, 0, r.kept.total)
		return nil
	}
	shared := r
	parallel(r.kept.total, grain, func(lo, hi int64) {
		r := shared
		reduceRange[T](&r, lo, hi)
	})
	return nil
}

// reduceToOne reduces everything to a single result through partials.
func reduceToOne[T float](r reduction, partials []float64) {
	if c := r.reduced.inC(1); c != nil && sizeOf[T]() == 4 && r.reduced.rank == 1 {
		c.partials(r.id, uintptr(unsafe.Pointer(&partials[0])), r.reduced.base[0], r.reduced.total)
		finishPartials[T](&r, partials)
		return
	}
	parallel(int64(len(partials)), 1, func(lo, hi int64) {
		w := r.reduced
		for i := lo; i < hi; i++ {
			w.seek(i*partialLen, min((i+1)*partialLen, w.total))
			partials[i] = reduceSlot[T](r.id, &w)
		}
	})
	finishPartials[T](&r, partials)
}

func finishPartials[T float](r *reduction, partials []float64) {
	acc := start(r.id)
	for _, p := range partials {
		acc = combine(r.id, acc, p)
	}
	finish(r, at[T](r.kept.base[0], 0, 0), acc)
}

// reduceInC does the reduction if it is one for C: the results in one run, and
// of the elements of each, either they lie in one run, or the results' do.
func reduceInC[T float](r *reduction) bool {
	kept, reduced := &r.kept, &r.reduced
	c := inC[T](kept.total * reduced.total)
	if c == nil || kept.rank != 1 || reduced.rank != 1 {
		return false
	}
	switch {
	case r.byColumns:
		if r.id != kernels.Sum || !kept.dense(0, 4) || !kept.dense(1, 4) {
			return false
		}
		c.sumColumns(kept.base[0], kept.base[1], reduced.step(0)/4, reduced.total, kept.total, r.alpha, r.accumulate)
	case reduced.dense(0, 4) && reduced.total > 0:
		c.reduceRows(r.id, rows{rows: kept.total, n: reduced.total,
			at: [maxOperands]uintptr{kept.base[0], kept.base[1]}, step: [maxOperands]int64{kept.step(0), kept.step(1)}}, r.alpha, r.accumulate)
	default:
		return false
	}
	return true
}

// reduceRange makes the results lo to hi, in the order of the walk kept.
func reduceRange[T float](r *reduction, lo, hi int64) {
	kept := &r.kept
	kept.seek(lo, hi)
	for kept.next() {
		if r.byColumns {
			reduceColumns[T](r)
			continue
		}
		for i := range kept.n {
			r.reduced.base[0] = kept.ptr[1] + uintptr(i*kept.step(1))
			r.reduced.seek(0, r.reduced.total)
			finish(r, at[T](kept.ptr[0], i, kept.step(0)), reduceSlot[T](r.id, &r.reduced))
		}
	}
}

// reduceSlot reduces what is left of w to one number.
func reduceSlot[T float](id kernels.ID, w *walk) float64 {
	acc := start(id)
	for w.next() {
		if id == kernels.Sum {
			acc += sumRun[T](w.ptr[0], w.n, w.step(0))
		} else {
			acc = maxRun[T](acc, w.ptr[0], w.n, w.step(0))
		}
	}
	return acc
}

// reduceColumns makes the results of kept's present run, all of them one step
// of the reduced walk at a time, so that memory is read in order.
func reduceColumns[T float](r *reduction) {
	var buf [blockLen]float64
	kept := &r.kept
	acc := buf[:kept.n]
	for i := range acc {
		acc[i] = start(r.id)
	}
	w := &r.reduced
	w.base[0] = kept.ptr[1]
	w.seek(0, w.total)
	for w.next() {
		for row := range w.n {
			from, step := w.ptr[0]+uintptr(row*w.step(0)), kept.step(1)
			switch {
			case r.id == kernels.Max:
				for i := range acc {
					acc[i] = larger(acc[i], float64(*at[T](from, int64(i), step)))
				}
			case step == sizeOf[T]():
				x := dense[T](from, kept.n)[:len(acc)]
				for i := range acc {
					acc[i] += float64(x[i])
				}
			default:
				for i := range acc {
					acc[i] += float64(*at[T](from, int64(i), step))
				}
			}
		}
	}
	for i, v := range acc {
		finish(r, at[T](kept.ptr[0], int64(i), kept.step(0)), v)
	}
}

// finish stores the result that acc stands for.
func finish[T float](r *reduction, out *T, acc float64) {
	acc *= r.alpha
	if r.accumulate {
		acc += float64(*out)
	}
	*out = T(acc)
}

func start(id kernels.ID) float64 {
	if id == kernels.Max {
		return math.Inf(-1)
	}
	return 0
}

func combine(id kernels.ID, x, y float64) float64 {
	if id == kernels.Max {
		return larger(x, y)
	}
	return x + y
}

// larger returns the larger of x and y, NaN if one is NaN.
func larger(x, y float64) float64 {
	if y > x || y != y {
		return y
	}
	return x
}

// sumRun adds up n elements, blockLen at a time, so that the rounding error
// grows with the number of blocks and not of elements.
func sumRun[T float](addr uintptr, n, step int64) float64 {
	total := 0.0
	if step == sizeOf[T]() {
		if c := inC[T](n); c != nil {
			return c.reduceRun(addr, n, kernels.Sum)
		}
		for x := dense[T](addr, n); len(x) > 0; {
			k := min(len(x), blockLen)
			total += sumBlock(x[:k])
			x = x[k:]
		}
		return total
	}
	var buf [blockLen]T
	for i := int64(0); i < n; i += blockLen {
		x := buf[:min(n-i, blockLen)]
		for j := range x {
			x[j] = *at[T](addr, i+int64(j), step)
		}
		total += sumBlock(x)
	}
	return total
}

// sumBlock adds up x in four interleaved sums.
func sumBlock[T float](x []T) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		s0 += float64(x[0])
		s1 += float64(x[1])
		s2 += float64(x[2])
		s3 += float64(x[3])
	}
	for _, v := range x {
		s0 += float64(v)
	}
	return (s0 + s1) + (s2 + s3)
}

func maxRun[T float](acc float64, addr uintptr, n, step int64) float64 {
	if c := inC[T](n); c != nil && step == sizeOf[T]() {
		return larger(acc, float64(c.reduceRun(addr, n, kernels.Max)))
	}
	for i := range n {
		acc = larger(acc, float64(*at[T](addr, i, step)))
	}
	return acc
}
