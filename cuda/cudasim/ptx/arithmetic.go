package ptx

import (
	"slices"
	"strings"
)

// arithmetic translates what maps registers to a register lane by lane. The
// tables are keyed by mnemonic, without the modifiers .rn, .ftz and .sat of
// floats.
func (d *decoder) arithmetic() error {
	op := slices.Clone(d.s.op)
	if t := typeNamed(op[len(op)-1]); t == f16 || t == bf16 || t.packed() {
		return d.halfArithmetic(t)
	}
	t, ok := dtypes[op[len(op)-1]]
	if !ok {
		return d.unsupported()
	}
	flush, saturate, ok := floatModifiers(&op, t)
	if !ok {
		return d.unsupported()
	}
	key := strings.Join(op, ".")
	if least, ok := newer[key]; ok {
		if err := d.needs(least.version, least.sm); err != nil {
			return err
		}
	}
	switch {
	case t.bits() == 16:
		return d.arithmetic16(op, t)
	case strings.HasPrefix(key, "testp."):
		return d.testFloat(op[1], t)
	case wide[key].f != nil:
		return d.wideArithmetic(wide[key], t)
	case narrow[key] != nil:
		return d.countBits(narrow[key])
	case table64[key].f != nil:
		return d.arithmetic64(fastest64(key), t)
	case table32[key].f != nil:
		return d.arithmetic32(fastest32(key), t, flush, saturate)
	case tablePred[key] != nil:
		return d.predicateLogic(tablePred[key])
	}
	return d.unsupported()
}

// need is what a module must say for an instruction: 705 for PTX 7.5, and 75
// for sm_75.
type need struct{ version, sm int }

// newer are the operations that not all modules may have.
var newer = map[string]need{
	"tanh.approx.f32": {700, 75}, "min.NaN.f32": {700, 80}, "max.NaN.f32": {700, 80},
	"dp4a.u32.u32": {500, 61}, "dp4a.u32.s32": {500, 61}, "dp4a.s32.u32": {500, 61}, "dp4a.s32.s32": {500, 61},
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
	var n struct{ rn, directed, ftz, sat, approx int }
	for _, part := range *op {
		switch part {
		case "rn":
			n.rn++
		case "rz", "rm", "rp":
			n.directed++
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
	case t == f64 && n.approx == 1:
		ok = n.sat == 0 && (n.ftz == 1 || name == "rsqrt") && (name == "rcp" || name == "rsqrt")
		return false, false, ok
	case n.rn > 1 || n.ftz > 1 || n.sat > 1 || n.rn+n.directed > 1, t != f32 && n.ftz+n.sat > 0:
		return false, false, false
	case slices.Contains(exact, name) && n.rn+n.directed+n.approx != 1, !slices.Contains(exact, name) && n.rn == 1 && !slices.Contains(rounded, name),
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
			if a.kind == argNumber {
				regs[i] = d.constant(class64, uint64(uint32(a.num.as(want))))
				continue
			}
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
	d.emit32(e.f, to, s[0], s[1], s[2])
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
	d.emit64(e.f, to, s[0], s[1], s[2])
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
	if e.f == nil || !slices.Contains(short, op[0]) {
		return d.unsupported()
	}
	if len(op) > 2 && op[1] == "hi" {
		e.f = mulHigh16
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

// insertBits is bfi.type d, a, b, pos, n: b with the low n bits of a at pos.
func (d *decoder) insertBits() error {
	_, t, err := d.take("")
	if err != nil || t != b32 && t != b64 {
		return d.unsupported()
	}
	if err := d.arity(5, 5); err != nil {
		return err
	}
	var s [4]int
	for i, a := range d.s.args[1:] {
		want := t
		if i > 1 {
			want = b32
		}
		if s[i], err = d.source(a, want); err != nil {
			return err
		}
	}
	to, err := d.target(d.s.args[0], t)
	if err != nil {
		return err
	}
	pos, n := s[2], s[3]
	d.emit(func(w *warp, mask uint32) error {
		if t == b64 {
			from, into := &w.r64[s[0]], &w.r64[s[1]]
			for i := range w.t64 {
				w.t64[i] = bitInsert(from[i], into[i], w.r32[pos][i], w.r32[n][i])
			}
			blend(&w.r64[to], &w.t64, mask)
			return nil
		}
		from, into := &w.r32[s[0]], &w.r32[s[1]]
		for i := range w.t32 {
			w.t32[i] = bitInsert(from[i], into[i], w.r32[pos][i], w.r32[n][i])
		}
		blend(&w.r32[to], &w.t32, mask)
		return nil
	})
	return nil
}
