package cpu

import (
	"math"

	"tarn/kernels"
)

// lines are the elements along one axis of an op's operands, the first output
// and then the inputs: a walk over the places of the other dims, how many a line
// of the output has, and how far apart they lie.
type lines struct {
	walk
	id   kernels.ID
	len  int64
	gaps [maxOperands]int64 // bytes between the elements of a line
}

func linesOf(id kernels.ID, a *kernels.Args) lines {
	axis := a.Attr.Axis
	l := lines{id: id, len: a.Out[0].Dims[axis]}
	firsts := [maxOperands]kernels.View{a.Out[0]}
	copy(firsts[1:], a.In)
	for k := range firsts {
		l.gaps[k] = firsts[k].Strides[axis] * firsts[k].DType.Size()
		firsts[k].Dims[axis] = 1
	}
	switch len(a.In) {
	case 1:
		l.walk = newWalk(&firsts[0], &firsts[1])
	case 2:
		l.walk = newWalk(&firsts[0], &firsts[1], &firsts[2])
	default:
		l.walk = newWalk(&firsts[0], &firsts[1], &firsts[2], &firsts[3])
	}
	return l
}

// inC does l in C and reports whether it could: the elements of lines side by side,
// those of a scan maybe in falling order, and lines one step apart, or lines side by
// side in up to two dims.
func (l *lines) inC(c *fast) bool {
	rows, back, columns := l.rank == 1, l.rank == 1 && (l.id == kernels.CumSum || l.id == kernels.CumProd), l.rank <= 2
	for k := range l.operands {
		rows, back, columns = rows && l.gaps[k] == 4, back && l.gaps[k] == -4, columns && l.step(k) == 4
	}
	if c == nil || !rows && !back && !columns {
		return false
	}
	c.lines(*l, !rows && !back)
	return true
}

// alongAxis returns the body of a softmax or its gradient.
func alongAxis[T float](id kernels.ID) func(a *kernels.Args) error {
	return func(a *kernels.Args) error {
		l := linesOf(id, a)
		if l.inC(inC[T](l.len * l.total)) {
			return nil
		}
		grain := max(serialBelow/8/l.len, 1)
		if chunks(l.total, grain) == 1 {
			softmaxLines[T](&l, 0, l.total)
			return nil
		}
		shared := l
		parallel(l.total, grain, func(lo, hi int64) {
			l := shared
			softmaxLines[T](&l, lo, hi)
		})
		return nil
	}
}

// line returns where line i of the walk's present run begins in each operand.
func (l *lines) line(i int64) (at [maxOperands]uintptr) {
	for k := range l.operands {
		at[k] = l.ptr[k] + uintptr(i*l.step(k))
	}
	return at
}

// softmaxLines does the lines lo to hi, in the order of the walk.
func softmaxLines[T float](l *lines, lo, hi int64) {
	l.seek(lo, hi)
	for l.next() {
		for i := range l.n {
			at := l.line(i)
			if l.id == kernels.Softmax || l.id == kernels.LogSoftmax {
				softmaxLine[T](l, at)
			} else {
				softmaxGradLine[T](l, at)
			}
		}
	}
}

func softmaxLine[T float](l *lines, p [maxOperands]uintptr) {
	top := maxRun[T](math.Inf(-1), p[1], l.len, l.gaps[1])
	var exps blocked
	if l.id == kernels.LogSoftmax {
		for j := range l.len {
			exps.add(math.Exp(float64(*at[T](p[1], j, l.gaps[1])) - top))
		}
		log := math.Log(exps.value())
		for j := range l.len {
			*at[T](p[0], j, l.gaps[0]) = T(float64(*at[T](p[1], j, l.gaps[1])) - top - log)
		}
		return
	}
	for j := range l.len {
		e := math.Exp(float64(*at[T](p[1], j, l.gaps[1])) - top)
		exps.add(e)
		*at[T](p[0], j, l.gaps[0]) = T(e) // kept: another exp would cost more than the rounding is worth
	}
	sum := exps.value()
	for j := range l.len {
		y := at[T](p[0], j, l.gaps[0])
		*y = T(float64(*y) / sum)
	}
}

func softmaxGradLine[T float](l *lines, p [maxOperands]uintptr) {
	var terms blocked
	for j := range l.len {
		dy := float64(*at[T](p[1], j, l.gaps[1]))
		if l.id == kernels.SoftmaxGrad {
			dy *= float64(*at[T](p[2], j, l.gaps[2]))
		}
		terms.add(dy)
	}
	sum := terms.value()
	for j := range l.len {
		dy, y := float64(*at[T](p[1], j, l.gaps[1])), float64(*at[T](p[2], j, l.gaps[2]))
		if l.id == kernels.SoftmaxGrad {
			*at[T](p[0], j, l.gaps[0]) = T(y * (dy - sum))
		} else {
			*at[T](p[0], j, l.gaps[0]) = T(dy - math.Exp(y)*sum)
		}
	}
}
