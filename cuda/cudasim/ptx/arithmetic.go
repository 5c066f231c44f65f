package ptx

import (
	"slices"
	"strings"
)

// arithmetic translates what maps registers to a register lane by lane. The
// tables are keyed by mnemonic, without the modifiers of floats: .rn (the only
// rounding that this package has), .ftz and .sat.
func (d *decoder) arithmetic() error {
	op := slices.Clone(d.s.op)
	t, ok := dtypes[op[len(op)-1]]
	if !ok {
		return d.unsupported()
	}
	flush, saturate, ok := floatModifiers(&op, t)
	if !ok {
		return d.unsupported()
	}
	if op[0] == "tanh" {
		if err := d.needs(700, 75); err != nil {
			return err
		}
	}
	key := strings.Join(op, ".")
	switch {
	case t.bits() == 16:
		return d.arithmetic16(op, t)
	case wide[key].f != nil:
		return d.wideArithmetic(wide[key], t)
	case narrow[key] != nil:
		return d.countBits(narrow[key])
	case table64[key].f != nil:
		return d.arithmetic64(table64[key], t)
	case table32[key].f != nil:
		return d.arithmetic32(table32[key], t, flush, saturate)
	case tablePred[key] != nil:
		return d.predicateLogic(tablePred[key])
	}
	return d.unsupported()
}

// Which float operations have modifiers. Those of exact must say .rn, and those
// of rounded may.
var (
	exact       = []string{"fma", "mad", "div", "rcp", "sqrt"}
	rounded     = []string{"add", "sub", "mul"}
	saturating  = []string{"add", "sub", "mul", "fma", "mad"}
	notFlushing = []string{"tanh", "copysign"}
)

// floatModifiers takes the modifiers of floats away from op; ok says whether
// they are as they must be.
func floatModifiers(op *[]string, t dtype) (flush, saturate, ok bool) {
	if t.kind() != kindFloat {
		return false, false, true
	}
	var n struct{ rn, ftz, sat, approx int }
	for _, part := range *op {
		switch part {
		case "rn":
			n.rn++
		case "ftz":
			n.ftz++
		case "sat":
			n.sat++
		case "approx", "full":
			n.approx++
		}
	}
	*op = slices.DeleteFunc(*op, func(part string) bool { return part == "rn" || part == "ftz" || part == "sat" })
	name := (*op)[0]
	switch {
	case n.rn > 1 || n.ftz > 1 || n.sat > 1, t != f32 && n.ftz+n.sat > 0:
		return false, false, false
	case slices.Contains(exact, name) && n.rn+n.approx != 1, !slices.Contains(exact, name) && n.rn == 1 && !slices.Contains(rounded, name),
		n.sat == 1 && !slices.Contains(saturating, name), n.ftz == 1 && slices.Contains(notFlushing, name):
		return false, false, false
	}
	return n.ftz == 1, n.sat == 1, true
}

// entry32, entry64 and entryWide are an operation and its number of sources.
type (
	entry32 struct {
		f       op32
		sources int
	}
	entry64 struct {
		f       op64
		sources int
	}
	entryWide struct {
		f       opWide
		sources int
	}
)

// sources returns the registers of all operands after the first, three of
// them: what an operation does not have is register 0.
func (d *decoder) sources(n int, t dtype) (regs [3]int, err error) {
	if err := d.arity(n+1, n+1); err != nil {
		return regs, err
	}
	for i, a := range d.s.args[1:] {
		want := t
		switch d.s.op[0] {
		case "shl", "shr", "bfe":
			if i > 0 {
				want = u32 // distances have 32 bits, whatever is shifted
			}
		}
		if regs[i], err = d.source(a, want); err != nil {
			return regs, err
		}
		if want.class() == class32 && t.class() == class64 {
			regs[i] = d.widen(regs[i])
		}
	}
	return regs, nil
}

func (d *decoder) arithmetic32(e entry32, t dtype, flush, saturate bool) error {
	s, err := d.sources(e.sources, t)
	if err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], t)
	if err != nil {
		return err
	}
	if flush {
		for i := range e.sources {
			clean := d.temp(class32)
			d.emit(run32(flushF32, clean, s[i], 0, 0))
			s[i] = clean
		}
	}
	d.emit(run32(e.f, to, s[0], s[1], s[2]))
	if saturate {
		d.emit(run32(saturateF32, to, to, 0, 0))
	}
	if flush {
		d.emit(run32(flushF32, to, to, 0, 0))
	}
	return nil
}

func (d *decoder) arithmetic64(e entry64, t dtype) error {
	s, err := d.sources(e.sources, t)
	if err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], t)
	if err != nil {
		return err
	}
	d.emit(run64(e.f, to, s[0], s[1], s[2]))
	return nil
}

// arithmetic16 works on registers extended to 32 bits and cuts the result.
func (d *decoder) arithmetic16(op []string, t dtype) error {
	widens := len(op) > 1 && op[1] == "wide"
	if widens {
		op[1] = "lo"
	}
	op[len(op)-1] = strings.Replace(op[len(op)-1], "16", "32", 1)
	e := table32[strings.Join(op, ".")]
	if e.f == nil || !slices.Contains(short, op[0]) || slices.Contains(op, "hi") || t == f16 {
		return d.unsupported()
	}
	if err := d.arity(e.sources+1, e.sources+1); err != nil {
		return err
	}
	var s [3]int
	for i, a := range d.s.args[1:] {
		want := t
		switch {
		case i == 1 && (op[0] == "shl" || op[0] == "shr"):
			want = u32
		case i == 2 && widens:
			want = t + 16
		}
		r, err := d.source(a, want)
		if err != nil {
			return err
		}
		s[i] = r
		if want == s16 {
			s[i] = d.temp(class32)
			d.emit(run32(extend16, s[i], r, 0, 0))
		}
	}
	result := t
	if widens {
		result = t + 16
	}
	to, err := d.target(d.s.args[0], result)
	if err != nil {
		return err
	}
	d.emit(run32(e.f, to, s[0], s[1], s[2]))
	if !widens {
		d.emit(run32(cut16, to, to, 0, 0))
	}
	return nil
}

// wideArithmetic has sources of half the result's width, but for the addend.
func (d *decoder) wideArithmetic(e entryWide, t dtype) error {
	if err := d.arity(e.sources+1, e.sources+1); err != nil {
		return err
	}
	var s [3]int
	for i, a := range d.s.args[1:] {
		want := t
		if i == 2 {
			want = u64
		}
		var err error
		if s[i], err = d.source(a, want); err != nil {
			return err
		}
	}
	to, err := d.target(d.s.args[0], u64)
	if err != nil {
		return err
	}
	d.emit(widening(e.f, to, s[0], s[1], s[2]))
	return nil
}

// countBits has a result of 32 bits for a source of 64.
func (d *decoder) countBits(f opNarrow) error {
	if err := d.arity(2, 2); err != nil {
		return err
	}
	from, err := d.source(d.s.args[1], b64)
	if err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], b32)
	if err != nil {
		return err
	}
	d.emit(narrowing(f, to, from))
	return nil
}

func (d *decoder) insertBits() error {
	_, t, err := d.take("")
	if err != nil || t != b32 {
		return d.unsupported()
	}
	if err := d.arity(5, 5); err != nil {
		return err
	}
	var s [4]int
	for i, a := range d.s.args[1:] {
		if s[i], err = d.source(a, b32); err != nil {
			return err
		}
	}
	to, err := d.target(d.s.args[0], t)
	if err != nil {
		return err
	}
	d.emit(func(w *warp, mask uint32) error {
		from, into, pos, n := &w.r32[s[0]], &w.r32[s[1]], &w.r32[s[2]], &w.r32[s[3]]
		for i := range w.t32 {
			w.t32[i] = bitInsert(from[i], into[i], pos[i], n[i])
		}
		blend(&w.r32[to], &w.t32, mask)
		return nil
	})
	return nil
}
