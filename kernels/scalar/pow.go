package scalar

import "math"

// Pow returns x to the power of y as C's pow does, within 2 units of the
// last place; math.Pow is off by hundreds where the result is large or small.
// The logarithm is kept as a sum of two numbers: its error is multiplied by y.
func Pow(x, y float64) float64 {
	rough, a := math.Pow(x, y), math.Abs(x)
	if rough == 0 || a == 0 || a == 1 || y == 0 || math.IsNaN(rough) || math.IsInf(rough, 0) || math.IsInf(a, 0) {
		return rough
	}
	hi, lo := logPair(a)
	p := y * hi
	e := Exp(p)
	if math.IsInf(e, 0) {
		return rough
	}
	return math.Copysign(e+e*(math.FMA(y, hi, -p)+y*lo), rough)
}

// logPair returns log(x) of a finite x > 0 as the sum of two numbers, the second
// small. With x = m 2^e and s = (m-1)/(m+1) it is e log(2) + 2s(1 + z/3 + z^2/5 +
// ...), z = s^2, of which the terms up to z/3 are computed with their rounding errors.
func logPair(x float64) (hi, lo float64) {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = m*2, e-1
	}
	f, d := m-1, m+1
	q := f / d
	s := pair{q, (math.FMA(-q, d, f) - q*((1-d)+m)) / d}
	z := s.times(s)
	tail := 0.0
	for k := 27.0; k > 3; k -= 2 {
		tail = (tail + 1/k) * z.hi
	}
	const third, rest = 1.0 / 3, 0x1.5555555555555p-56
	u := z.times(pairOf(third, tail+rest)).times(s)
	half := pairOf(s.hi, u.hi)
	const ln2, ln2rest = 0x1.62e42feep-1, 0x1.a39ef35793c76p-33 // e*ln2 is exact
	sum := pairOf(float64(e)*ln2, 2*half.hi)
	if e == 0 {
		sum = pair{2 * half.hi, 0}
	}
	sum = pairOf(sum.hi, sum.lo+(float64(e)*ln2rest+2*(half.lo+s.lo+u.lo)))
	return sum.hi, sum.lo
}

// pair is the sum of two numbers, the second of which is what the first leaves.
type pair struct{ hi, lo float64 }

// pairOf is that of x+y, x the larger.
func pairOf(x, y float64) pair {
	s := x + y
	return pair{s, y - (s - x)}
}

func (p pair) times(q pair) pair {
	x := p.hi * q.hi
	return pairOf(x, math.FMA(p.hi, q.hi, -x)+(p.hi*q.lo+p.lo*q.hi))
}
