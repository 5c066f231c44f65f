package ptx

import (
	"math/bits"
	"strings"
)

// move is mov, of registers, addresses and special registers, and between a
// register and a vector of its parts.
func (d *decoder) move() error {
	_, t, err := d.take("")
	if err != nil {
		return err
	}
	if err := d.arity(2, 2); err != nil {
		return err
	}
	to, from := d.s.args[0], d.s.args[1]
	switch {
	case t.kind() != kindBits && (to.kind == argVector || from.kind == argVector):
		return d.unsupported()
	case to.kind == argVector:
		return d.unpack(to.elems, from, t)
	case from.kind == argVector:
		return d.pack(to, from.elems, t)
	}
	s, err := d.source(from, t)
	if err != nil {
		return err
	}
	r, err := d.target(to, t)
	if err != nil {
		return err
	}
	d.copy(t.class(), r, s)
	return nil
}

func (d *decoder) copy(c class, to, from int) {
	switch c {
	case class32:
		d.emit(func(w *warp, mask uint32) error {
			blend(&w.r32[to], &w.r32[from], mask)
			return nil
		})
	case class64:
		d.emit(func(w *warp, mask uint32) error {
			blend(&w.r64[to], &w.r64[from], mask)
			return nil
		})
	case classPred:
		d.emit(func(w *warp, mask uint32) error {
			w.setPred(to, w.pred[from], mask)
			return nil
		})
	}
}

// part is the type of one of n parts of a type.
func (d *decoder) part(t dtype, n int) (dtype, error) {
	if n != 2 && n != 4 || t.bits()/n < 8 {
		return 0, d.unsupported()
	}
	return kindBits | dtype(t.bits()/n), nil
}

func (d *decoder) pack(to operand, elems []operand, t dtype) error {
	elem, err := d.part(t, len(elems))
	if err != nil {
		return err
	}
	s := make([]int, len(elems))
	for i, e := range elems {
		if s[i], err = d.source(e, elem); err != nil {
			return err
		}
	}
	r, err := d.target(to, t)
	if err != nil {
		return err
	}
	step := elem.bits()
	d.emit(func(w *warp, mask uint32) error {
		for i := range w.t64 {
			var v uint64
			for k, from := range s {
				v |= uint64(w.r32[from][i]) << (k * step)
			}
			w.t64[i] = v
		}
		w.write(t, r, mask)
		return nil
	})
	return nil
}

func (d *decoder) unpack(elems []operand, from operand, t dtype) error {
	elem, err := d.part(t, len(elems))
	if err != nil {
		return err
	}
	s, err := d.source(from, t)
	if err != nil {
		return err
	}
	r := make([]int, len(elems))
	for i, e := range elems {
		if r[i], err = d.target(e, elem); err != nil {
			return err
		}
	}
	step := elem.bits()
	d.emit(func(w *warp, mask uint32) error {
		w.read(t, s)
		for k, to := range r {
			for i := range w.t32 {
				w.t32[i] = uint32(w.t64[i] >> (k * step) & (1<<step - 1))
			}
			blend(&w.r32[to], &w.t32, mask)
		}
		return nil
	})
	return nil
}

// read copies a register of a type's file to t64, and write copies t64 to one.
func (w *warp) read(t dtype, from int) {
	if t.class() == class64 {
		w.t64 = w.r64[from]
		return
	}
	zeroExtend(&w.t64, &w.r32[from], nil, nil)
}

func (w *warp) write(t dtype, to int, mask uint32) {
	if t.class() == class64 {
		blend(&w.r64[to], &w.t64, mask)
		return
	}
	truncateLanes(&w.t32, &w.t64)
	blend(&w.r32[to], &w.t32, mask)
}

// convertAddress is a move, for all addresses here are generic ones.
func (d *decoder) convertAddress() error {
	has, t, err := d.take("to global shared local const param")
	if err != nil || t != u64 {
		return d.unsupported()
	}
	if has["param"] {
		if err := d.needs(707, 70); err != nil {
			return err
		}
	}
	if err := d.arity(2, 2); err != nil {
		return err
	}
	from, err := d.source(d.s.args[1], u64)
	if err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], u64)
	if err != nil {
		return err
	}
	d.copy(class64, to, from)
	return nil
}

// convert is cvt[.rounding][.ftz][.sat][.relu].dtype.atype d, a[, b].
func (d *decoder) convert() error {
	op := d.s.op
	if len(op) < 3 {
		return d.unsupported()
	}
	c := conversion{to: typeNamed(op[len(op)-2]), from: typeNamed(op[len(op)-1])}
	if none := func(t dtype) bool { return t == 0 || t == pred || t.kind() == kindBits }; none(c.to) || none(c.from) || c.from.packed() {
		return d.unsupported()
	}
	for _, part := range op[1 : len(op)-2] {
		direction, whole := part, false
		if len(part) == 3 && part != "rna" {
			direction, whole = strings.CutSuffix(part, "i")
		}
		switch round := directions[direction]; {
		case round != nil && c.round == nil:
			c.rounding, c.whole, c.round = part, whole, round
		case part == "ftz":
			c.flush = true
		case part == "sat":
			c.saturate = true
		case part == "relu":
			c.relu = true
		default:
			return d.unsupported()
		}
	}
	pair := c.to.packed()
	if pair {
		if c.from != f32 || c.flush || c.saturate || c.rounding != "rn" && c.rounding != "rz" {
			return d.unsupported()
		}
		if err := d.needs(700, 80); err != nil {
			return err
		}
		c.to = c.to.half()
	}
	if err := c.check(); err != "" {
		return d.refuse("%s: %s", d.s.name(), err)
	}
	if err := d.needs(c.needs()); err != nil {
		return err
	}
	if pair {
		return d.convertPair(c)
	}
	if err := d.arity(2, 2); err != nil {
		return err
	}
	// Registers may be wider than the types: what lies above is not read, and
	// filled with the sign or zeros.
	s, err := d.loose(d.s.args[1], c.from)
	if err != nil {
		return err
	}
	dst := d.s.args[0]
	if dst.kind != argReg || dst.second != nil || dst.reg.class == classPred || dst.reg.width < c.to.bits() ||
		c.to == tf32 && dst.reg.kind == kindFloat || dst.reg.kind == kindHalves {
		return d.refuse("%s cannot write there", d.s.name())
	}
	d.emitConversion(c, dst.reg, s)
	return nil
}

// convertPair makes two halves of two f32, of which the second is the low one.
func (d *decoder) convertPair(c conversion) error {
	if err := d.arity(3, 3); err != nil {
		return err
	}
	high, err := d.source(d.s.args[1], f32)
	if err != nil {
		return err
	}
	low, err := d.source(d.s.args[2], f32)
	if err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], b32)
	if err != nil {
		return err
	}
	one := func(v uint32) uint32 { return uint32(c.apply(uint64(v), 16)) }
	if quick := quickConversions[c.key()]; quick != nil {
		one = quick
	}
	d.emit(run32(func(d, a, b, _ *lanes32) {
		for i := range d {
			d[i] = one(a[i])<<16 | one(b[i])
		}
	}, to, high, low, 0))
	return nil
}

// emitConversion takes the short ways where there are any.
func (d *decoder) emitConversion(c conversion, dst reg, s int) {
	quick := quickConversions[c.key()]
	integers := !c.to.float() && !c.from.float() && !c.saturate
	switch {
	case integers && c.from == u32 && c.to.bits() == 64:
		d.emit(widening(zeroExtend, dst.index, s, s, dst.index))
	case integers && c.from == s32 && c.to.bits() == 64:
		d.emit(widening(signExtend, dst.index, s, s, dst.index))
	case integers && c.from.bits() == 32 && c.to.bits() == 32 && dst.class == class32:
		d.copy(class32, dst.index, s)
	case integers && c.from.bits() == 64 && c.to.bits() == 32 && dst.class == class32:
		d.emit(narrowing(truncateLanes, dst.index, s))
	case quick != nil && dst.class == class32 && dst.width == max(c.to.bits(), 16):
		d.emit(run32(eachLane(quick), dst.index, s, 0, 0))
	default:
		wide := kindBits | dtype(dst.width)
		d.emit(func(w *warp, mask uint32) error {
			w.read(c.from, s)
			for m := mask; m != 0; m &= m - 1 {
				i := bits.TrailingZeros32(m)
				w.t64[i] = c.apply(w.t64[i], dst.width)
			}
			w.write(wide, dst.index, mask)
			return nil
		})
	}
}
