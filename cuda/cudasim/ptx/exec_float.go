package ptx

import "math"

// Floats lie in registers as their bits. Arithmetic is IEEE's with rounding to
// nearest; a NaN's payload is whatever the host makes of it. The .approx
// functions of devices differ in their last bits from each other and from
// these, which are rounded from float64.
func init() {
	for key, e := range map[string]entry32{
		"add.f32": {addF32, 2}, "sub.f32": {subF32, 2}, "mul.f32": {mulF32, 2}, "fma.f32": {fmaF32, 3}, "mad.f32": {fmaF32, 3},
		"div.f32": {divF32, 2}, "div.full.f32": {divF32, 2}, "div.approx.f32": {divF32, 2},
		"min.f32": {minF32, 2}, "max.f32": {maxF32, 2}, "neg.f32": {negF32, 1}, "abs.f32": {absF32, 1},
		"copysign.f32": {copySignF32, 2},
		"rcp.f32":      {each32(reciprocal), 1}, "rcp.approx.f32": {each32(reciprocal), 1},
		"sqrt.f32": {each32(math.Sqrt), 1}, "sqrt.approx.f32": {each32(math.Sqrt), 1},
		"rsqrt.approx.f32": {each32(func(x float64) float64 { return 1 / math.Sqrt(x) }), 1},
		"ex2.approx.f32":   {each32(math.Exp2), 1}, "lg2.approx.f32": {each32(math.Log2), 1},
		"sin.approx.f32": {each32(math.Sin), 1}, "cos.approx.f32": {each32(math.Cos), 1},
		"tanh.approx.f32": {each32(math.Tanh), 1},
	} {
		table32[key] = e
	}
	for key, f := range map[string]func(x, y float64) float64{
		"add.f64": func(x, y float64) float64 { return x + y }, "sub.f64": func(x, y float64) float64 { return x - y },
		"mul.f64": func(x, y float64) float64 { return x * y }, "div.f64": func(x, y float64) float64 { return x / y },
		"min.f64": lesser, "max.f64": greater, "copysign.f64": func(x, y float64) float64 { return math.Copysign(y, x) },
	} {
		table64[key] = entry64{pairs64(f), 2}
	}
	for key, f := range map[string]func(x float64) float64{
		"neg.f64": func(x float64) float64 { return -x }, "abs.f64": math.Abs, "sqrt.f64": math.Sqrt, "rcp.f64": reciprocal,
	} {
		table64[key] = entry64{each64(f), 1}
	}
	table64["fma.f64"] = entry64{fmaF64, 3}
	table64["mad.f64"] = entry64{fmaF64, 3}
}

func reciprocal(x float64) float64 { return 1 / x }

//go:norace
func addF32(d, a, b, _ *lanes32) {
	for i := range d {
		d[i] = math.Float32bits(math.Float32frombits(a[i]) + math.Float32frombits(b[i]))
	}
}

//go:norace
func subF32(d, a, b, _ *lanes32) {
	for i := range d {
		d[i] = math.Float32bits(math.Float32frombits(a[i]) - math.Float32frombits(b[i]))
	}
}

//go:norace
func mulF32(d, a, b, _ *lanes32) {
	for i := range d {
		d[i] = math.Float32bits(math.Float32frombits(a[i]) * math.Float32frombits(b[i]))
	}
}

//go:norace
func divF32(d, a, b, _ *lanes32) {
	for i := range d {
		d[i] = math.Float32bits(math.Float32frombits(a[i]) / math.Float32frombits(b[i]))
	}
}

// fmaF32 rounds once. The product is exact in float64, and so the sum is
// rounded there and again to float32. That is wrong only where the first
// rounding hits the middle between two float32, or where these lie closer
// because they are subnormal.
//
//go:norace
func fmaF32(d, a, b, c *lanes32) {
	for i := range d {
		p := float64(math.Float32frombits(a[i])) * float64(math.Float32frombits(b[i]))
		z := float64(math.Float32frombits(c[i]))
		s := p + z
		if u := math.Float64bits(s); u<<35 == 1<<63 || u<<1 < (1023-126)<<53 {
			s = oddSum(p, z)
		}
		d[i] = math.Float32bits(float32(s))
	}
}

// oddSum returns p+z rounded to odd: where the sum is not exact, it is the
// neighbour whose last bit is set, from which a rounding to fewer bits goes the
// right way.
func oddSum(p, z float64) float64 {
	s := p + z
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return s
	}
	zs := s - p
	lost := (p - (s - zs)) + (z - zs)
	u := math.Float64bits(s)
	if lost == 0 || u&1 == 1 {
		return s
	}
	if (lost > 0) == (s > 0) {
		return math.Float64frombits(u + 1)
	}
	return math.Float64frombits(u - 1)
}

// The lesser of a number and a NaN is the number; that of two NaNs is the
// canonical NaN; -0 is less than +0.
//
//go:norace
func minF32(d, a, b, _ *lanes32) {
	for i := range d {
		d[i] = canonical32(lesser(float64(math.Float32frombits(a[i])), float64(math.Float32frombits(b[i]))))
	}
}

//go:norace
func maxF32(d, a, b, _ *lanes32) {
	for i := range d {
		d[i] = canonical32(greater(float64(math.Float32frombits(a[i])), float64(math.Float32frombits(b[i]))))
	}
}

func canonical32(x float64) uint32 {
	if x != x {
		return 0x7fffffff
	}
	return math.Float32bits(float32(x))
}

func lesser(x, y float64) float64 {
	switch {
	case x != x:
		return y
	case y != y:
		return x
	}
	return min(x, y)
}

func greater(x, y float64) float64 {
	switch {
	case x != x:
		return y
	case y != y:
		return x
	}
	return max(x, y)
}

//go:norace
func negF32(d, a, _, _ *lanes32) {
	for i := range d {
		d[i] = a[i] ^ 1<<31
	}
}

//go:norace
func absF32(d, a, _, _ *lanes32) {
	for i := range d {
		d[i] = a[i] &^ (1 << 31)
	}
}

// copySignF32 gives b with the sign of a, in PTX's order.
//
//go:norace
func copySignF32(d, a, b, _ *lanes32) {
	for i := range d {
		d[i] = b[i]&^(1<<31) | a[i]&(1<<31)
	}
}

// flushF32 makes subnormals zeros of their sign.
//
//go:norace
func flushF32(d, a, _, _ *lanes32) {
	for i := range d {
		v := a[i]
		if v&0x7f800000 == 0 {
			v &= 1 << 31
		}
		d[i] = v
	}
}

// saturateF32 clamps to [0, 1]; NaN becomes +0.
//
//go:norace
func saturateF32(d, a, _, _ *lanes32) {
	for i := range d {
		x := math.Float32frombits(a[i])
		switch {
		case x >= 1:
			x = 1
		case !(x > 0):
			x = 0
		}
		d[i] = math.Float32bits(x)
	}
}

func each32(f func(float64) float64) op32 {
	return func(d, a, _, _ *lanes32) { apply32(d, a, f) }
}

// The loops are functions by themselves because literals are always watched by
// the race detector.
//
//go:norace
func apply32(d, a *lanes32, f func(float64) float64) {
	for i := range d {
		d[i] = math.Float32bits(float32(f(float64(math.Float32frombits(a[i])))))
	}
}

func each64(f func(float64) float64) op64 {
	return func(d, a, _, _ *lanes64) { apply64(d, a, f) }
}

//go:norace
func apply64(d, a *lanes64, f func(float64) float64) {
	for i := range d {
		d[i] = math.Float64bits(f(math.Float64frombits(a[i])))
	}
}

func pairs64(f func(x, y float64) float64) op64 {
	return func(d, a, b, _ *lanes64) { applyPairs64(d, a, b, f) }
}

//go:norace
func applyPairs64(d, a, b *lanes64, f func(x, y float64) float64) {
	for i := range d {
		d[i] = math.Float64bits(f(math.Float64frombits(a[i]), math.Float64frombits(b[i])))
	}
}

//go:norace
func fmaF64(d, a, b, c *lanes64) {
	for i := range d {
		d[i] = math.Float64bits(math.FMA(math.Float64frombits(a[i]), math.Float64frombits(b[i]), math.Float64frombits(c[i])))
	}
}
