package ptx

import (
	"math"
	"slices"
	"strings"
)

// halfOp is arithmetic on 16-bit floats. It works on f32, which is exact, or so
// close that the rounding to 16 bits goes the right way: twice the digits of a
// half and two more are enough for one operation.
type halfOp struct {
	f                     func(x, y, z float32) float32
	sources               int
	brain                 bool // bf16
	flush, saturate, relu bool
}

// halfEntry is an operation, its modifiers and those of bf16, of which those in
// required must be there.
type halfEntry struct {
	f                func(x, y, z float32) float32
	sources          int
	half, brain      string
	requires, brains string
}

var halfTable = map[string]halfEntry{
	"add":  {func(x, y, _ float32) float32 { return x + y }, 2, "rn ftz sat", "rn", "", ""},
	"sub":  {func(x, y, _ float32) float32 { return x - y }, 2, "rn ftz sat", "rn", "", ""},
	"mul":  {func(x, y, _ float32) float32 { return x * y }, 2, "rn ftz sat", "rn", "", ""},
	"fma":  {fmaHalf, 3, "rn ftz sat relu", "rn relu", "rn", "rn"},
	"neg":  {func(x, _, _ float32) float32 { return -x }, 1, "ftz", "", "", ""},
	"abs":  {func(x, _, _ float32) float32 { return float32(math.Abs(float64(x))) }, 1, "ftz", "", "", ""},
	"min":  {func(x, y, _ float32) float32 { return float32(lesser(float64(x), float64(y))) }, 2, "ftz NaN", "NaN", "", ""},
	"max":  {func(x, y, _ float32) float32 { return float32(greater(float64(x), float64(y))) }, 2, "ftz NaN", "NaN", "", ""},
	"ex2":  {func(x, _, _ float32) float32 { return float32(math.Exp2(float64(x))) }, 1, "approx", "approx ftz", "approx", "approx ftz"},
	"tanh": {func(x, _, _ float32) float32 { return float32(math.Tanh(float64(x))) }, 1, "approx", "approx", "approx", "approx"},
}

// fmaHalf rounds once, to odd.
func fmaHalf(x, y, z float32) float32 {
	return narrowed(exactFused(float64(x), float64(y), float64(z)))
}

// orNaN makes f give NaN if a source is one.
func orNaN(f func(x, y, z float32) float32) func(x, y, z float32) float32 {
	return func(x, y, z float32) float32 {
		if x != x || y != y {
			return float32(math.NaN())
		}
		return f(x, y, z)
	}
}

// halfArithmetic is arithmetic on f16 and bf16, and on two of them in a register.
func (d *decoder) halfArithmetic(t dtype) error {
	name, modifiers := d.s.op[0], d.s.op[1:len(d.s.op)-1]
	e, ok := halfTable[name]
	if !ok {
		return d.unsupported()
	}
	h := halfOp{f: e.f, sources: e.sources, brain: t == bf16 || t == bf16x2}
	allowed, requires := e.half, e.requires
	if h.brain {
		allowed, requires = e.brain, e.brains
	}
	has := map[string]bool{}
	for _, m := range modifiers {
		if has[m] || !slices.Contains(strings.Fields(allowed), m) {
			return d.unsupported()
		}
		has[m] = true
	}
	for _, m := range strings.Fields(requires) {
		if !has[m] {
			return d.refuse("%s needs .%s", d.s.name(), m)
		}
	}
	if h.flush, h.saturate, h.relu = has["ftz"], has["sat"], has["relu"]; h.saturate && h.relu {
		return d.unsupported()
	}
	if has["NaN"] {
		h.f = orNaN(e.f)
	}
	if err := d.needs(halfNeeds(name, h)); err != nil {
		return err
	}
	s, err := d.sources(e.sources, t)
	if err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], t)
	if err != nil {
		return err
	}
	run := h.single
	if t.packed() {
		run = h.both
	}
	d.emit(run32(run, to, s[0], s[1], s[2]))
	return nil
}

// halfNeeds is the PTX version and the target that an operation needs.
func halfNeeds(name string, h halfOp) (version, sm int) {
	switch name {
	case "min", "max":
		return 700, 80
	case "ex2", "tanh":
		if !h.brain {
			return 700, 75
		}
	case "fma", "neg", "abs":
		switch {
		case h.brain || h.relu:
			return 700, 80
		case name == "abs":
			return 605, 53
		}
	}
	if h.brain {
		return 708, 90
	}
	return 600, 53
}

// value is a half as an f32.
func (h halfOp) value(v uint16) float32 {
	if h.brain {
		return h.flushed(brainToFloat32(v))
	}
	return h.flushed(halfToFloat32(v))
}

// flushed makes a subnormal zero, if the operation does.
func (h halfOp) flushed(x float32) float32 {
	least := float32(0x1p-14)
	if h.brain {
		least = 0x1p-126
	}
	if h.flush && x < least && x > -least {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}

func (h halfOp) one(x, y, z uint16) uint16 {
	var b, c float32
	if h.sources > 1 {
		b = h.value(y)
	}
	if h.sources > 2 {
		c = h.value(z)
	}
	r := h.f(h.value(x), b, c)
	switch {
	case h.saturate:
		if r = min(max(r, 0), 1); r != r || r == 0 {
			r = 0
		}
	case h.relu && r <= 0:
		r = 0
	}
	if h.brain {
		return float32ToBrain(h.flushed(r))
	}
	v := float32ToHalf(r)
	if h.flush && v&0x7c00 == 0 {
		v &= 0x8000
	}
	return v
}

func (h halfOp) single(d, a, b, c *lanes32) {
	for i := range d {
		d[i] = uint32(h.one(uint16(a[i]), uint16(b[i]), uint16(c[i])))
	}
}

func (h halfOp) both(d, a, b, c *lanes32) {
	for i := range d {
		low, high := h.one(uint16(a[i]), uint16(b[i]), uint16(c[i])), h.one(uint16(a[i]>>16), uint16(b[i]>>16), uint16(c[i]>>16))
		d[i] = uint32(low) | uint32(high)<<16
	}
}
