package cpu

import (
	"math"

	"tarn/kernels"
)

// total is what folds compute in: float64 for floats, in which the sums and
// choices of float32 lose nothing to speak of, and int64 for integers.
type total interface{ float64 | int64 }

func isFloat[A total]() bool { var half float64 = 0.5; return A(half) != 0 }

// step is what one pass of a fold does with an element and the total so far.
type step uint8

const (
	_        step = iota
	adding        // x
	squaring      // (x - beside)^2
	powering      // |x|^beside, or whether x is not 0 where beside is 0
	exping        // exp(x - beside)
	multiplying
	maximising
	minimising
	anyOf // 1 where one is not 0
	allOf // 1 where none is 0
)

var firstSteps = [kernels.NumOps]step{
	kernels.Sum: adding, kernels.Prod: multiplying, kernels.Max: maximising, kernels.Min: minimising,
	kernels.Any: anyOf, kernels.All: allOf,
	kernels.Var: adding, kernels.LogSumExp: maximising, kernels.Norm: powering,
}

var secondSteps = [kernels.NumOps]step{kernels.Var: squaring, kernels.LogSumExp: exping}

// begin is the total of nothing.
func begin[A total](s step) A {
	switch s {
	case multiplying, allOf:
		return 1
	case maximising, minimising:
		least, most := math.Inf(-1), math.Inf(1)
		if !isFloat[A]() {
			return A(extremes[s-maximising])
		}
		if s == maximising {
			return A(least)
		}
		return A(most)
	}
	return 0
}

var extremes = [2]int64{math.MinInt64, math.MaxInt64}

// join folds two totals.
func join[A total](s step, x, y A) A {
	switch s {
	case multiplying:
		return x * y
	case maximising:
		return better(y > x, x, y)
	case minimising:
		return better(y < x, x, y)
	case anyOf:
		return max(x, y)
	case allOf:
		return min(x, y)
	}
	return x + y
}

// better returns y where it is, or where it is NaN, and x else.
func better[A total](isBetter bool, x, y A) A {
	if isBetter || y != y {
		return y
	}
	return x
}

// one is the step of a single element.
func one[A total](s step, acc, x A, beside float64) A {
	switch s {
	case squaring:
		d := float64(x) - beside
		return acc + A(d*d)
	case powering:
		return acc + A(powered(math.Abs(float64(x)), beside))
	case exping:
		return acc + A(math.Exp(float64(x)-beside))
	case anyOf, allOf:
		if x != 0 {
			x = 1
		}
	}
	return join(s, acc, x)
}

func powered(size, p float64) float64 {
	switch p {
	case 0:
		if size == 0 {
			return 0
		}
		return 1
	case 1:
		return size
	case 2:
		return size * size
	}
	return math.Pow(size, p)
}

// foldRun folds n elements that lie by bytes apart into acc.
func foldRun[S number, A total](s step, acc A, addr uintptr, n, by int64, beside float64) A {
	if isFloat[A]() && by == bytesOf[S]() && by == 4 && s < anyOf && (s != powering || easy(beside)) {
		if c := inC[float32](n); c != nil {
			return join(s, acc, A(c.foldRun(s, addr, n, beside)))
		}
	}
	var buf [blockLen]S
	for i := int64(0); i < n; i += blockLen {
		x := buf[:min(n-i, blockLen)]
		if by == bytesOf[S]() {
			x = dense[S](addr+uintptr(i*by), int64(len(x)))
		} else {
			for j := range x {
				x[j] = *at[S](addr, i+int64(j), by)
			}
		}
		acc = foldBlock(s, acc, x, beside)
	}
	return acc
}

// foldBlock has a loop of its own for each step of which the loop is the cost.
// Sums and choices go through four chains, which do not wait for each other.
func foldBlock[S number, A total](s step, acc A, x []S, beside float64) A {
	switch s {
	case adding:
		var s0, s1, s2, s3 A
		for ; len(x) >= 4; x = x[4:] {
			s0 += A(x[0])
			s1 += A(x[1])
			s2 += A(x[2])
			s3 += A(x[3])
		}
		for _, v := range x {
			s0 += A(v)
		}
		return acc + ((s0 + s1) + (s2 + s3))
	case squaring:
		var s0, s1 float64
		for ; len(x) >= 2; x = x[2:] {
			d0, d1 := float64(x[0])-beside, float64(x[1])-beside
			s0 += d0 * d0
			s1 += d1 * d1
		}
		for _, v := range x {
			d := float64(v) - beside
			s0 += d * d
		}
		return acc + A(s0+s1)
	case powering:
		if beside == 1 || beside == 2 {
			return acc + A(powersOf(x, beside == 2))
		}
	case multiplying:
		for _, v := range x {
			acc *= A(v)
		}
		return acc
	case maximising:
		a, b, c, d := acc, acc, acc, acc
		for ; len(x) >= 4; x = x[4:] {
			a, b, c, d = max(a, A(x[0])), max(b, A(x[1])), max(c, A(x[2])), max(d, A(x[3]))
		}
		for _, v := range x {
			a = max(a, A(v))
		}
		return max(a, b, c, d)
	case minimising:
		a, b, c, d := acc, acc, acc, acc
		for ; len(x) >= 4; x = x[4:] {
			a, b, c, d = min(a, A(x[0])), min(b, A(x[1])), min(c, A(x[2])), min(d, A(x[3]))
		}
		for _, v := range x {
			a = min(a, A(v))
		}
		return min(a, b, c, d)
	case anyOf:
		for _, v := range x {
			if v != 0 {
				return 1
			}
		}
		return acc
	case allOf:
		for _, v := range x {
			if v == 0 {
				return 0
			}
		}
		return acc
	}
	for _, v := range x {
		acc = one(s, acc, A(v), beside)
	}
	return acc
}

// powersOf adds up the sizes of the elements, or their squares, in four sums.
func powersOf[S number](x []S, squares bool) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		if squares {
			s0, s1, s2, s3 = s0+a*a, s1+b*b, s2+c*c, s3+d*d
		} else {
			s0, s1, s2, s3 = s0+math.Abs(a), s1+math.Abs(b), s2+math.Abs(c), s3+math.Abs(d)
		}
	}
	for _, v := range x {
		if a := float64(v); squares {
			s0 += a * a
		} else {
			s0 += math.Abs(a)
		}
	}
	return (s0 + s1) + (s2 + s3)
}

// foldRow folds one element, by bytes from the next, into each total.
func foldRow[S number, A total](s step, acc []A, addr uintptr, by int64, beside []float64) {
	beside = beside[:len(acc)]
	switch s {
	case adding:
		for i := range acc {
			acc[i] += A(*at[S](addr, int64(i), by))
		}
		return
	case squaring:
		for i := range acc {
			d := float64(*at[S](addr, int64(i), by)) - beside[i]
			acc[i] += A(d * d)
		}
		return
	case multiplying:
		for i := range acc {
			acc[i] *= A(*at[S](addr, int64(i), by))
		}
		return
	case maximising:
		for i := range acc {
			if x := A(*at[S](addr, int64(i), by)); x > acc[i] || x != x {
				acc[i] = x
			}
		}
		return
	case minimising:
		for i := range acc {
			if x := A(*at[S](addr, int64(i), by)); x < acc[i] || x != x {
				acc[i] = x
			}
		}
		return
	}
	for i := range acc {
		acc[i] = one(s, acc[i], A(*at[S](addr, int64(i), by)), beside[i])
	}
}
