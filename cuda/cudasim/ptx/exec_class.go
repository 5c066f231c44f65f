package ptx

import "math"

// What float operations there are beside arithmetic.
func init() {
	for name, f := range map[string]func(x, y float64) float64{"min": math.Min, "max": math.Max} {
		table32[name+".NaN.f32"] = entry32{func(d, a, b, _ *lanes32) {
			for i := range d {
				x, y := float64(math.Float32frombits(a[i])), float64(math.Float32frombits(b[i]))
				if x != x || y != y {
					x, y = math.NaN(), math.NaN()
				}
				d[i] = canonical(f(x, y))
			}
		}, 2}
	}
	// Of f64 a device gives some 20 bits of these; here they are whole.
	table64["rcp.approx.f64"] = entry64{each64(func(x float64) float64 { return 1 / flushF64(x) }), 1}
	table64["rsqrt.approx.f64"] = entry64{each64(func(x float64) float64 { return 1 / math.Sqrt(flushF64(x)) }), 1}
}

// flushF64 makes subnormals zeros of their sign.
func flushF64(x float64) float64 {
	if math.Abs(x) < 0x1p-1022 {
		return math.Copysign(0, x)
	}
	return x
}

// classes are what testp tests.
var classes = map[string]func(x float64, subnormal bool) bool{
	"finite":     func(x float64, _ bool) bool { return x-x == 0 },
	"infinite":   func(x float64, _ bool) bool { return math.IsInf(x, 0) },
	"number":     func(x float64, _ bool) bool { return x == x },
	"notanumber": func(x float64, _ bool) bool { return x != x },
	"normal":     func(x float64, subnormal bool) bool { return x-x == 0 && x != 0 && !subnormal },
	"subnormal":  func(_ float64, subnormal bool) bool { return subnormal },
}

// testFloat is testp.class.type p, a.
func (d *decoder) testFloat(class string, t dtype) error {
	is := classes[class]
	if is == nil || t != f32 && t != f64 || len(d.s.op) != 3 {
		return d.unsupported()
	}
	if err := d.arity(2, 2); err != nil {
		return err
	}
	a, err := d.source(d.s.args[1], t)
	if err != nil {
		return err
	}
	p, err := d.target(d.s.args[0], pred)
	if err != nil {
		return err
	}
	least := 0x1p-1022
	if t == f32 {
		least = 0x1p-126
	}
	d.emit(func(w *warp, mask uint32) error {
		w.read(t, a)
		var yes uint32
		for i, v := range w.t64 {
			x := toFloat64(t, v, false)
			yes |= bit(is(x, x != 0 && math.Abs(x) < least)) << i
		}
		w.setPred(p, yes, mask)
		return nil
	})
	return nil
}
