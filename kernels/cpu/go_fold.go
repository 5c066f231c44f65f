package cpu

import (
	"math"
	"unsafe"

	"tarn/kernels"
)

// number is what elements are stored as; a bool is a uint8.
type number interface{ element }

func bytesOf[S number]() int64 { var x S; return int64(unsafe.Sizeof(x)) }

// fold is a reduction in one pass over the elements of each result, or in two:
// the second then goes by what the first has found, as that of a variance by
// the mean.
type fold struct {
	id            kernels.ID
	attr          kernels.Attr
	first, second step
	kept          walk // 0 Out[0], 1 the first of the elements of a result, 2 Out[1]
	reduced       walk // the elements, relative to the first
	byColumns     bool // neighbours in memory belong to different results
}

// folds returns the body of an op that is a fold.
func folds(id kernels.ID) func(*kernels.Args) error {
	return func(a *kernels.Args) error {
		switch a.In[0].DType {
		case kernels.Float32:
			foldAll[float32, float64](id, a)
		case kernels.Float64:
			foldAll[float64, float64](id, a)
		case kernels.Int64:
			foldAll[int64, int64](id, a)
		case kernels.Int32:
			foldAll[int32, int64](id, a)
		case kernels.Uint8, kernels.Bool:
			foldAll[uint8, int64](id, a)
		default:
			return noBody(id, a)
		}
		return nil
	}
}

func newFold(id kernels.ID, a *kernels.Args) fold {
	f := fold{id: id, attr: a.Attr, first: firstSteps[id], second: secondSteps[id]}
	out, kept, reduced := a.Out[0], a.In[0], a.In[0]
	split(&out, &kept, &reduced)
	if len(a.Out) == 2 {
		f.kept = newWalk(&out, &kept, &a.Out[1])
	} else {
		f.kept = newWalk(&out, &kept)
	}
	f.reduced = newWalk(&reduced)
	f.byColumns = f.kept.total > 1 && abs(f.kept.step(1)) < abs(f.reduced.step(0))
	if f.byColumns {
		f.kept.limit = blockLen
	}
	return f
}

func foldAll[S number, A total](id kernels.ID, a *kernels.Args) {
	f := newFold(id, a)
	if n := partials(a); n > 1 {
		shared := f
		foldToOne[S](&shared, dense[A](a.Work.Ptr, n))
		return
	}
	if c := f.inC(isFloat[A]()); c != nil {
		c.fold(f)
		return
	}
	grain := max(serialBelow/max(f.reduced.total, 1), 1)
	if f.byColumns {
		grain = max(grain, blockLen)
	}
	if chunks(f.kept.total, grain) == 1 {
		foldRange[S, A](&f, 0, f.kept.total)
		return
	}
	shared := f
	parallel(f.kept.total, grain, func(lo, hi int64) {
		f := shared
		foldRange[S, A](&f, lo, hi)
	})
}

// inC returns the bodies in C if they can do f: results and elements in up to two
// dims each, the elements of a result, or those of neighbouring results, side by
// side. C has the norms by whose powers it need not raise.
func (f *fold) inC(float bool) *fast {
	kept, reduced := &f.kept, &f.reduced
	if !float || kept.rank > 2 || reduced.rank > 2 || f.id == kernels.Norm && !easy(f.attr.Alpha) {
		return nil
	}
	if f.byColumns && kept.step(1) != 4 || !f.byColumns && reduced.step(0) != 4 || kept.dtypes[1] != kernels.Float32 || f.id == kernels.Any || f.id == kernels.All {
		return nil
	}
	return inC[float32](kept.total * reduced.total)
}

// easy reports whether the p-th power is one of those.
func easy(p float64) bool { return p == 0 || p == 1 || p == 2 }

// foldToOne folds everything to a single result through partials.
func foldToOne[S number, A total](f *fold, partials []A) {
	c := f.inC(isFloat[A]())
	if f.reduced.rank > 1 {
		c = nil
	}
	pass := func(s step, beside float64) A {
		if c != nil {
			c.foldPartials(s, uintptr(unsafe.Pointer(&partials[0])), f.reduced.base[0], f.reduced.total, beside)
			return joined(s, partials)
		}
		parallel(int64(len(partials)), 1, func(lo, hi int64) {
			w := f.reduced
			for i := lo; i < hi; i++ {
				w.seek(i*partialLen, min((i+1)*partialLen, w.total))
				partials[i] = foldSlot[S, A](s, &w, beside)
			}
		})
		return joined(s, partials)
	}
	beside := f.attr.Alpha
	acc := pass(f.first, beside)
	if f.second != 0 {
		beside = f.between(float64(acc))
		acc = pass(f.second, beside)
	}
	f.kept.seek(0, 1)
	f.kept.next()
	finishFold[S](f, 0, acc, beside)
}

func joined[A total](s step, partials []A) A {
	acc := begin[A](s)
	for _, p := range partials {
		acc = join(s, acc, p)
	}
	return acc
}

// foldRange makes the results lo to hi, in the order of the walk kept.
func foldRange[S number, A total](f *fold, lo, hi int64) {
	kept := &f.kept
	for kept.seek(lo, hi); kept.next(); {
		if f.byColumns {
			foldColumns[S, A](f)
			continue
		}
		for i := range kept.n {
			f.reduced.base[0] = kept.ptr[1] + uintptr(i*kept.step(1))
			f.reduced.seek(0, f.reduced.total)
			beside := f.attr.Alpha
			acc := foldSlot[S, A](f.first, &f.reduced, beside)
			if f.second != 0 {
				beside = f.between(float64(acc))
				f.reduced.seek(0, f.reduced.total)
				acc = foldSlot[S, A](f.second, &f.reduced, beside)
			}
			finishFold[S](f, i, acc, beside)
		}
	}
}

// foldSlot folds what is left of w to one total.
func foldSlot[S number, A total](s step, w *walk, beside float64) A {
	acc := begin[A](s)
	for w.next() {
		acc = foldRun[S](s, acc, w.ptr[0], w.n, w.step(0), beside)
	}
	return acc
}

// foldColumns makes the results of kept's present run, all of them one step of
// the reduced walk at a time, so that memory is read in order.
func foldColumns[S number, A total](f *fold) {
	var totals [blockLen]A
	var besides [blockLen]float64
	kept, w := &f.kept, &f.reduced
	acc, beside := totals[:kept.n], besides[:kept.n]
	pass := func(s step) {
		for i := range acc {
			acc[i] = begin[A](s)
		}
		w.base[0] = kept.ptr[1]
		for w.seek(0, w.total); w.next(); {
			for row := range w.n {
				foldRow[S](s, acc, w.ptr[0]+uintptr(row*w.step(0)), kept.step(1), beside)
			}
		}
	}
	for i := range beside {
		beside[i] = f.attr.Alpha
	}
	pass(f.first)
	if f.second != 0 {
		for i, x := range acc {
			beside[i] = f.between(float64(x))
		}
		pass(f.second)
	}
	for i, x := range acc {
		finishFold[S](f, int64(i), x, beside[i])
	}
}

// between is what the second pass goes by, of what the first has found.
func (f *fold) between(found float64) float64 {
	switch {
	case f.id == kernels.Var:
		return found / float64(f.reduced.total)
	case math.IsInf(found, 0): // exp(Inf-Inf) would be NaN
		return 0
	}
	return found
}

// finishFold stores element i of kept's present run.
func finishFold[S number, A total](f *fold, i int64, acc A, beside float64) {
	out := f.kept.ptr[0] + uintptr(i*f.kept.step(0))
	switch f.id {
	case kernels.Any, kernels.All:
		*at[uint8](out, 0, 0) = uint8(acc)
	case kernels.Sum, kernels.Prod:
		storeSum[S](f, out, acc)
	case kernels.Var:
		rest := max(float64(f.reduced.total)-f.attr.Correction, 0)
		if f.reduced.total == 0 { // which no correction makes more of
			rest = 0
		}
		*at[S](out, 0, 0) = S(float64(acc) / rest)
		*at[S](f.kept.ptr[2], i, f.kept.step(2)) = S(beside)
	case kernels.LogSumExp:
		*at[S](out, 0, 0) = S(beside + math.Log(float64(acc)))
	case kernels.Norm:
		*at[S](out, 0, 0) = S(rooted(float64(acc), float64(S(f.attr.Alpha))))
	default:
		*at[S](out, 0, 0) = S(acc)
	}
}

// storeSum stores the result of a Sum, times Alpha, or of a Prod; that of integers
// is int64.
func storeSum[S number, A total](f *fold, out uintptr, acc A) {
	if isFloat[A]() {
		x, total := at[S](out, 0, 0), float64(acc)
		if f.id == kernels.Sum {
			total *= f.attr.Alpha
		}
		if f.id == kernels.Sum && f.attr.Accumulate {
			total += float64(*x)
		}
		*x = S(total)
		return
	}
	x := at[int64](out, 0, 0)
	if f.attr.Accumulate {
		acc += A(*x)
	}
	*x = int64(acc)
}

// rooted returns the norm of which the powers add up to sum.
func rooted(sum, p float64) float64 {
	switch p {
	case 0, 1:
		return sum
	case 2:
		return math.Sqrt(sum)
	}
	return math.Pow(sum, 1/p)
}
