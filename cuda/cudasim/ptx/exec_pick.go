package ptx

import (
	"math/bits"
	"slices"
)

// lookup3 is lop3.b32 d, a, b, c, table: bit by bit, any function of three bits.
func (d *decoder) lookup3() error {
	if d.s.name() != "lop3.b32" {
		return d.unsupported()
	}
	if err := d.arity(5, 5); err != nil {
		return err
	}
	table := d.s.args[4]
	if table.kind != argNumber {
		return d.refuse("lop3.b32 needs its table as a number")
	}
	var s [3]int
	var err error
	for i := range s {
		if s[i], err = d.source(d.s.args[1+i], b32); err != nil {
			return err
		}
	}
	to, err := d.target(d.s.args[0], b32)
	if err != nil {
		return err
	}
	d.emit(run32(func(d, a, b, c *lanes32) {
		for i := range d {
			var r uint32
			for row := range 8 {
				if table.num.bits>>row&1 == 0 {
					continue
				}
				// The row's index is a bit of a, then b, then c, the last the lowest.
				r |= (a[i] ^ uint32(row>>2&1-1)) & (b[i] ^ uint32(row>>1&1-1)) & (c[i] ^ uint32(row&1-1))
			}
			d[i] = r
		}
	}, to, s[0], s[1], s[2]))
	return nil
}

// picks are the modes of prmt: which of the 8 bytes of b:a becomes byte i.
var picks = map[string]func(i, c uint32) uint32{
	"f4e": func(i, c uint32) uint32 { return c + i }, "b4e": func(i, c uint32) uint32 { return (c - i) & 7 },
	"rc8": func(_, c uint32) uint32 { return c }, "rc16": func(i, c uint32) uint32 { return c&1*2 + i&1 },
	"ecl": func(i, c uint32) uint32 { return max(i, c) }, "ecr": func(i, c uint32) uint32 { return min(i, c) },
}

// permuteBytes is prmt.b32[.mode] d, a, b, c.
func (d *decoder) permuteBytes() error {
	f := op32(permute)
	switch op := d.s.op; {
	case len(op) == 3 && op[1] == "b32" && picks[op[2]] != nil:
		f = func(d, a, b, c *lanes32) {
			for i := range d {
				from, mode := uint64(b[i])<<32|uint64(a[i]), c[i]&3
				var r uint32
				for k := range uint32(4) {
					r |= uint32(byte(from>>(8*picks[op[2]](k, mode)))) << (8 * k)
				}
				d[i] = r
			}
		}
	case d.s.name() != "prmt.b32":
		return d.unsupported()
	}
	return d.arithmetic32(entry32{f, 3}, b32, false, false)
}

// findBit is bfind[.shiftamt].type: where the highest bit is that is not the
// sign, or how far it must be shifted to be the highest.
func (d *decoder) findBit() error {
	has, t, err := d.take("shiftamt")
	if err != nil || t.bits() < 32 || t.kind() != kindUnsigned && t.kind() != kindSigned {
		return d.unsupported()
	}
	if err := d.arity(2, 2); err != nil {
		return err
	}
	s, err := d.source(d.s.args[1], t)
	if err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], u32)
	if err != nil {
		return err
	}
	d.emit(func(w *warp, mask uint32) error {
		w.read(t, s)
		for i, v := range w.t64 {
			v, negative := extend(v, t)
			if negative {
				v = ^v
			}
			at := bits.Len64(v) - 1
			if has["shiftamt"] && at >= 0 {
				at = t.bits() - 1 - at
			}
			w.t32[i] = uint32(at)
		}
		blend(&w.r32[to], &w.t32, mask)
		return nil
	})
	return nil
}

// findNth is fns: from base on, up or down, where the offset-th bit is set.
func findNth(d, mask, base, offset *lanes32) {
	for i := range d {
		at, left, step := int(base[i]), int(int32(offset[i])), 1
		switch {
		case left < 0:
			left, step = -left, -1
		case left == 0:
			left, step = 1, 32 // base itself or nothing
		}
		d[i] = full
		for ; at >= 0 && at < 32; at += step {
			if mask[i]>>at&1 == 1 {
				if left--; left == 0 {
					d[i] = uint32(at)
					break
				}
			}
		}
	}
}

func init() { table32["fns.b32"] = entry32{findNth, 3} }

// selectBySign is slct[.ftz].type.ctype d, a, b, c: a where c is not negative;
// else b, also for NaN.
func (d *decoder) selectBySign() error {
	op := slices.Clone(d.s.op)
	flush := len(op) == 4 && op[1] == "ftz" && op[3] == "f32"
	if flush {
		op = slices.Delete(op, 1, 2)
	}
	if len(op) != 3 {
		return d.unsupported()
	}
	t, by := dtypes[op[1]], dtypes[op[2]]
	if t == 0 || t == pred || t == f16 || t.bits() < 16 || by != s32 && by != f32 {
		return d.unsupported()
	}
	if err := d.arity(4, 4); err != nil {
		return err
	}
	c, err := d.source(d.s.args[3], by)
	if err != nil {
		return err
	}
	zero, p, table := d.constant(class32, 0), d.temp(classPred), signed32["ge"]
	if by == f32 {
		table = floats32["ge"]
		if flush {
			clean := d.temp(class32)
			d.emit(run32(flushF32, clean, c, 0, 0))
			c = clean
		}
	}
	d.emit(runCompare(table, func(w *warp) []lanes32 { return w.r32 }, p, c, zero))
	return d.emitSelect(t, p)
}

// isSpace is isspacep.space p, a. Variables in .const are in global memory here.
func (d *decoder) isSpace() error {
	if len(d.s.op) != 2 {
		return d.unsupported()
	}
	name, version := d.s.op[1], 0
	switch name {
	case "shared::cta":
		name, version = "shared", 708
	case "param":
		version = 707
	}
	window, ok := map[string]uint64{"global": 0, "shared": sharedWindow, "local": localWindow, "param": paramWindow}[name]
	if !ok {
		return d.unsupported()
	}
	if err := d.needs(version, 20); err != nil {
		return err
	}
	if err := d.arity(2, 2); err != nil {
		return err
	}
	a, err := d.source(d.s.args[1], u64)
	if err != nil {
		return err
	}
	p, err := d.target(d.s.args[0], pred)
	if err != nil {
		return err
	}
	d.emit(func(w *warp, mask uint32) error {
		var yes uint32
		for i, v := range w.r64[a] {
			yes |= bit(v&^(sharedWindow-1) == window) << i
		}
		w.setPred(p, yes, mask)
		return nil
	})
	return nil
}
