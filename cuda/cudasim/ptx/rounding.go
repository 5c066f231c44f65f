package ptx

import (
	"math"
	"math/big"
)

// rounding takes a float to a whole number. PTX's names for the directions are
// the same for rounding to what a format has.
type rounding func(float64) float64

var directions = map[string]rounding{
	"rn": math.RoundToEven, "rna": math.Round, "rz": math.Trunc, "rm": math.Floor, "rp": math.Ceil,
}

// format is a binary float format.
type format struct {
	fraction    int     // bits of it
	least, most float64 // the least normal number, and the largest
}

var (
	single = format{23, 0x1p-126, math.MaxFloat32}
	halves = format{10, 0x1p-14, 65504}
	brain  = format{7, 0x1p-126, 0x1.fep127}
	tensor = format{10, 0x1p-126, 0x1.ffcp127}
)

// round gives the number of the format that x becomes. x is exact, or rounded
// to odd.
func (f format) round(x float64, whole rounding) float64 {
	if x == 0 || x != x || math.IsInf(x, 0) {
		return x
	}
	_, e := math.Frexp(max(math.Abs(x), f.least))
	unit := math.Ldexp(1, e-1-f.fraction)
	y := whole(x/unit) * unit
	if math.Abs(y) <= f.most {
		return y
	}
	// Too large: to nearest that is infinity, else the direction decides.
	if whole(math.Copysign(0.75, y)) != 0 {
		return math.Copysign(math.Inf(1), y)
	}
	return math.Copysign(f.most, y)
}

// odd returns s, to which an operation with the exact result s+lost was
// rounded, rounded to odd instead: of two neighbours the one with the last bit
// set. A rounding of that to fewer bits goes the same way as one of the exact
// result.
func odd(s, lost float64) float64 {
	u := math.Float64bits(s)
	switch {
	case lost == 0 || lost != lost || u&1 == 1 || math.IsInf(s, 0):
		return s
	case (lost > 0) == (s > 0):
		return math.Float64frombits(u + 1)
	}
	return math.Float64frombits(u - 1)
}

// What follows is exact for factors and addends of up to 24 bits, but for a
// rounding to odd.

func exactSum(x, y, _ float64) float64 { return exactFused(x, 1, y) }

func exactDifference(x, y, _ float64) float64 { return exactFused(x, 1, -y) }

func exactProduct(x, y, _ float64) float64 { return x * y }

func exactFused(x, y, z float64) float64 {
	p := float64(x * y)
	s := p + z
	if p == 0 || z == 0 {
		return s // also where a zero has its sign
	}
	zs := s - p
	return odd(s, (p-(s-zs))+(z-zs))
}

func exactQuotient(x, y, _ float64) float64 {
	q := x / y
	lost := math.FMA(-q, y, x)
	if y < 0 {
		lost = -lost
	}
	return odd(q, lost)
}

func exactRoot(x, _, _ float64) float64 {
	r := math.Sqrt(x)
	return odd(r, math.FMA(-r, r, x))
}

// narrowed is x as an f32 rounded to odd, which is enough to go on to formats
// of 16 bits.
func narrowed(x float64) float32 {
	f := float32(x)
	d := float64(f)
	if d == x || x != x {
		return f
	}
	u := math.Float32bits(f)
	if math.Abs(d) > math.Abs(x) {
		u--
	}
	return math.Float32frombits(u | 1)
}

// directed are the operations that have .rz, .rm and .rp.
var directed = map[string]struct {
	sources int
	f32     func(x, y, z float64) float64 // exact, or to odd
	f64     func(x, y, z float64) float64 // to nearest
	// lack is the exact result less r, which is that to nearest, or something
	// of the same sign.
	lack func(x, y, z, r *big.Float) *big.Float
}{
	"add": {2, exactSum, func(x, y, _ float64) float64 { return x + y },
		func(x, y, _, r *big.Float) *big.Float { return x.Add(x, y).Sub(x, r) }},
	"sub": {2, exactDifference, func(x, y, _ float64) float64 { return x - y },
		func(x, y, _, r *big.Float) *big.Float { return x.Sub(x, y).Sub(x, r) }},
	"mul": {2, exactProduct, func(x, y, _ float64) float64 { return x * y },
		func(x, y, _, r *big.Float) *big.Float { return x.Mul(x, y).Sub(x, r) }},
	"fma": {3, exactFused, math.FMA, fusedLacks},
	"mad": {3, exactFused, math.FMA, fusedLacks},
	"div": {2, exactQuotient, quotient, quotientLacks},
	"rcp": {1, exactQuotient, quotient, quotientLacks}, // its sources become 1 and x
	"sqrt": {1, exactRoot, func(x, _, _ float64) float64 { return math.Sqrt(x) },
		func(x, _, _, r *big.Float) *big.Float { return x.Sub(x, r.Mul(r, r)) }},
}

func quotient(x, y, _ float64) float64 { return x / y }

func fusedLacks(x, y, z, r *big.Float) *big.Float { return x.Mul(x, y).Add(x, z).Sub(x, r) }

func quotientLacks(x, y, _, r *big.Float) *big.Float {
	negative := y.Sign() < 0
	x.Sub(x, r.Mul(r, y))
	if negative {
		x.Neg(x)
	}
	return x
}

func init() {
	for name, e := range directed {
		// operands drops what is not an operand, for lanes that may hold anything.
		operands := func(x, y, z float64) (float64, float64, float64) {
			switch {
			case name == "rcp":
				return 1, x, 0
			case e.sources == 1:
				return x, 1, 0
			case e.sources == 2:
				return x, y, 0
			}
			return x, y, z
		}
		for _, direction := range []string{"rz", "rm", "rp"} {
			table32[name+"."+direction+".f32"] = entry32{func(d, a, b, c *lanes32) {
				for i := range d {
					x, y, z := operands(float64(math.Float32frombits(a[i])), float64(math.Float32frombits(b[i])), float64(math.Float32frombits(c[i])))
					r := single.round(e.f32(x, y, z), directions[direction])
					if r == 0 && direction == "rm" {
						r = lowZero(name, x, y, z, r)
					}
					d[i] = math.Float32bits(float32(r))
				}
			}, e.sources}
			table64[name+"."+direction+".f64"] = entry64{func(d, a, b, c *lanes64) {
				for i := range d {
					x, y, z := operands(math.Float64frombits(a[i]), math.Float64frombits(b[i]), math.Float64frombits(c[i]))
					r := e.f64(x, y, z)
					lacks := lacking(x, y, z, r, e.lack)
					if r == 0 && lacks == 0 && direction == "rm" {
						r = lowZero(name, x, y, z, r)
					}
					d[i] = math.Float64bits(nudge(r, lacks, direction))
				}
			}, e.sources}
		}
	}
}

// lowZero is a result that is zero exactly, rounded down: for sums, -0 unless
// both addends are +0.
func lowZero(name string, x, y, z, r float64) float64 {
	p, q := x, y
	switch name {
	case "add":
	case "sub":
		q = -y
	case "fma", "mad":
		p, q = x*y, z
	default:
		return r
	}
	if p == 0 && q == 0 && !math.Signbit(p) && !math.Signbit(q) {
		return 0
	}
	return math.Copysign(0, -1)
}

// lacking is the sign of what r lacks of the exact result.
func lacking(x, y, z, r float64, lack func(x, y, z, r *big.Float) *big.Float) int {
	finite := func(v float64) bool { return v-v == 0 }
	switch {
	case !finite(x) || !finite(y) || !finite(z) || r != r:
		return 0
	case math.IsInf(r, 0) && y == 0: // a division by zero, which is exact
		return 0
	case math.IsInf(r, 0):
		return -int(math.Copysign(1, r))
	}
	// Any sum of products of f64 is exact in so many bits.
	f := func(v float64) *big.Float { return new(big.Float).SetPrec(6400).SetFloat64(v) }
	return lack(f(x), f(y), f(z), f(r)).Sign()
}

// nudge makes a result to nearest one in a direction; sign is that of what it
// lacks.
func nudge(r float64, sign int, direction string) float64 {
	switch {
	case sign > 0 && (direction == "rp" || direction == "rz" && math.Signbit(r)):
		return math.Nextafter(r, math.Inf(1))
	case sign < 0 && (direction == "rm" || direction == "rz" && !math.Signbit(r)):
		return math.Nextafter(r, math.Inf(-1))
	}
	return r
}
