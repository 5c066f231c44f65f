package cpu

import "tarn/kernels"

// fast has the float32 bodies that C does at least twice as fast as Go's
// loops. Each shares its work out over the threads of C's pool, unless it says
// otherwise. They take addresses, of elements that lie side by side unless a
// step is given, in elements.
type fast struct {
	has         func(id kernels.ID) bool // an elementwise op
	elementwise func(id kernels.ID, r rows, alpha, beta float32)
	fill        func(r rows, value float32)
	random      func(n numbers, out, x uintptr, total int64)     // RandomUniform, RandomNormal, Dropout
	words       func(n numbers, out uintptr, block, count int64) // of the generator; one thread
	sgd         func(r rows, attr kernels.SGDAttr)               // parameter, gradient, momentum
	adamW       func(r rows, h adamW[float32])                   // parameter, moments, gradient
	// fold does a reduction that fold.inC allows. foldPartials makes one pass over
	// each partialLen of n elements, float64, foldRun over n, on one thread.
	fold         func(f fold)
	foldPartials func(s step, out, x uintptr, n int64, beside float64)
	foldRun      func(s step, x uintptr, n int64, beside float64) float64
	// index writes the indices of the largest or smallest of n elements, step bytes
	// apart, beginning at operand 1's, to operand 0. maxGrad has the walks of maxGrad.
	index     func(id kernels.ID, w walk, n, step int64, columns bool)
	maxGrad   func(kept, reduced walk, columns bool)
	loss      func(a *kernels.Args, losses uintptr)
	lossGrad  func(a *kernels.Args, scale float32)
	matMul    func(a *kernels.Args) error
	lines     func(l lines, columns bool)      // as lines.inC allows
	transpose func(w walk, columns, outer int) // see walk.transposedInC
	norm      func(g groups, a *kernels.Args)
	normGrad  func(g groups, a *kernels.Args, pieces int64)
	batchNorm func(id kernels.ID, a *kernels.Args, columns bool)
	// attention does Attention and AttentionGrad, with any strides, in as much
	// work space of attentionWork's as there is.
	attention     func(id kernels.ID, a *kernels.Args)
	attentionWork func(id kernels.ID, a *kernels.Args) int64
}

// minRun is the length of a run from which calling C pays: a call costs about
// as much as 30 elements in Go.
const minRun = 32

// inC returns the bodies in C if a run of n elements of type T is for them, and
// nil otherwise.
func inC[T element](n int64) *fast {
	if n < minRun || sizeOf[T]() != 4 {
		return nil
	}
	return bodiesInC()
}

// rows are the last two dims of a walk: rows x n elements of each operand, its
// rows row[k] bytes apart and its neighbours step[k].
type rows struct {
	rows, n   int64
	at        [maxOperands]uintptr
	row, step [maxOperands]int64
	dtypes    [maxOperands]kernels.DType
}

// inC returns the bodies in C if they can do w: the first operand and those
// that are written without gaps, the others too or one scalar repeated.
func (w *walk) inC(written int) *fast {
	for k := range w.operands {
		if s := w.step(k); w.dtypes[k] != kernels.Float32 || s != 4 && (s != 0 || k < written) {
			return nil
		}
	}
	return inC[float32](w.dims[w.rank-1])
}

// elementsInC is inC for an elementwise op, whose operands may also be of half
// types. A Bool beside floats, of which the last operand is one, is what the op
// makes or asks.
func (w *walk) elementsInC() *fast {
	last := w.operands - 1
	if w.dtypes[last] == kernels.Bool {
		return nil
	}
	for k := range w.operands {
		d := w.dtypes[k]
		if d != kernels.Float32 && !d.IsHalf() && d != kernels.Bool {
			return nil
		}
		if s := w.step(k); s != d.Size() && (s != 0 || k == 0) {
			return nil
		}
	}
	return inC[float32](w.dims[w.rank-1])
}

// nextRows moves on by the last two dims and reports whether there were any
// left. It goes with neither seek nor next.
func (w *walk) nextRows(r *rows) bool {
	if w.left <= 0 {
		return false
	}
	last := w.rank - 1
	outer := max(last-1, 0)
	r.rows, r.n = 1, w.dims[last]
	if last > 0 {
		r.rows = w.dims[last-1]
	}
	for k := range w.operands {
		p := w.base[k]
		for d, i := range w.index[:outer] {
			p += uintptr(i * w.steps[k][d])
		}
		r.at[k], r.row[k], r.step[k] = p, 0, w.steps[k][last]
		if last > 0 {
			r.row[k] = w.steps[k][last-1]
		}
	}
	r.dtypes = w.dtypes
	w.left -= r.rows * r.n
	for d := outer - 1; d >= 0; d-- {
		if w.index[d]++; w.index[d] < w.dims[d] {
			break
		}
		w.index[d] = 0
	}
	return true
}
