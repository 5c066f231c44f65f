package ptx

import "math"

// test is what setp and set have in common: cmp[.boolop][.ftz] and the
// type of the sources.
type test struct {
	cmp, join string
	flush     bool
	t         dtype
}

// test reads the part of a mnemonic behind its name, up to the type.
func (d *decoder) test(op []string, t dtype) (c test, err error) {
	if t == 0 || t == pred || t == tf32 || t.bits() < 16 || len(op) == 0 {
		return c, d.unsupported()
	}
	c = test{cmp: op[0], t: t}
	for _, part := range op[1:] {
		switch {
		case part == "ftz" && (t == f32 || t == f16 || t == f16x2) && !c.flush:
			c.flush = true
		case (part == "and" || part == "or" || part == "xor") && c.join == "":
			c.join = part
		default:
			return c, d.unsupported()
		}
	}
	if n := 3 + int(bit(c.join != "")); len(d.s.args) != n {
		return c, d.refuse("%s with %d operands", d.s.name(), len(d.s.args))
	}
	switch t {
	case f16, f16x2:
		return c, d.needs(600, 53)
	case bf16, bf16x2:
		return c, d.needs(708, 90)
	}
	return c, nil
}

// compared emits the comparison of operands 1 and 2 into predicates: one, or one
// for the low and one for the high half of a packed type.
func (d *decoder) compared(c test, to []int) error {
	var s [2]int
	for i := range s {
		var err error
		if s[i], err = d.source(d.s.args[i+1], c.t); err != nil {
			return err
		}
	}
	for part, p := range to {
		a, b, t := s[0], s[1], c.t
		if prepare := c.prepare(part); prepare != nil {
			a, b = d.temp(class32), d.temp(class32)
			d.emit(run32(prepare, a, s[0], 0, 0))
			d.emit(run32(prepare, b, s[1], 0, 0))
		}
		if t.packed() || t == f16 || t == bf16 {
			t = f32
		}
		if err := d.emitCompare(c.cmp, t, p, a, b); err != nil {
			return err
		}
	}
	return nil
}

// prepare is what sources need before they are compared, nil for nothing.
func (c test) prepare(part int) op32 {
	switch {
	case c.t.packed() || c.t == f16 || c.t == bf16:
		h := halfOp{brain: c.t == bf16 || c.t == bf16x2, flush: c.flush}
		return func(d, a, _, _ *lanes32) {
			for i := range d {
				d[i] = math.Float32bits(h.value(uint16(a[i] >> (16 * part))))
			}
		}
	case c.flush:
		return flushF32
	case c.t == s16:
		return extend16
	}
	return nil
}

// joined combines predicates with the last operand by the boolean operation.
func (d *decoder) joined(c test, to []int) error {
	if c.join == "" {
		return nil
	}
	with, err := d.source(d.s.args[3], pred)
	if err != nil {
		return err
	}
	for _, p := range to {
		d.emit(runPred(tablePred[c.join+".pred"].f, p, p, with))
	}
	return nil
}

// setPredicate is setp.cmp[.boolop][.ftz].type p[|q], a, b[, c]. Of a packed
// type p is for the low halves and q for the high ones; else q is for where the
// comparison does not hold.
func (d *decoder) setPredicate() error {
	op := d.s.op
	c, err := d.test(op[1:max(len(op)-1, 1)], typeNamed(op[len(op)-1]))
	if err != nil {
		return err
	}
	first, second := d.s.args[0], d.s.args[0].second
	first.second = nil
	p, err := d.target(first, pred)
	if err != nil {
		return err
	}
	if second == nil && c.join == "" && !c.t.packed() {
		return d.compared(c, []int{p})
	}
	// The last operand may be p.
	results := []int{d.temp(classPred), d.temp(classPred)}
	sides := 1
	if c.t.packed() {
		sides = 2
	}
	if err := d.compared(c, results[:sides]); err != nil {
		return err
	}
	if sides == 1 {
		d.emit(runPred(tablePred["not.pred"].f, results[1], results[0], 0))
	}
	if err := d.joined(c, results); err != nil {
		return err
	}
	d.copy(classPred, p, results[0])
	if second == nil {
		return nil
	}
	if second.class != classPred || !c.t.packed() && (c.t == f16 || c.t == bf16) {
		return d.refuse("%s has no second result", d.s.name())
	}
	d.copy(classPred, second.index, results[1])
	return nil
}

// set is set.cmp[.boolop][.ftz].dtype.stype d, a, b[, c]: all ones or 1.0 where
// the comparison holds, of a packed type in each half.
func (d *decoder) set() error {
	op := d.s.op
	if len(op) < 4 {
		return d.unsupported()
	}
	to, from := typeNamed(op[len(op)-2]), typeNamed(op[len(op)-1])
	yes, ok := map[dtype]uint32{u32: full, s32: full, f32: 0x3f800000}[to]
	switch half := from.packed() || from == f16 || from == bf16; {
	case from.packed() && (to == u32 || to == s32):
		yes = 0xffff
	case to == from && half:
		yes, ok = map[dtype]uint32{f16: 0x3c00, bf16: 0x3f80, f16x2: 0x3c00, bf16x2: 0x3f80}[to]
	case half && !from.packed() && (to == u16 || to == s16):
		yes, ok = 0xffff, true
	case half && to == f32:
		ok = false
	}
	if !ok {
		return d.unsupported()
	}
	c, err := d.test(op[1:len(op)-2], from)
	if err != nil {
		return err
	}
	if to != from && (from == f16 || from == f16x2) {
		if err := d.needs(605, 53); err != nil {
			return err
		}
	}
	results := []int{d.temp(classPred)}
	if from.packed() {
		results = append(results, d.temp(classPred))
	}
	if err := d.compared(c, results); err != nil {
		return err
	}
	if err := d.joined(c, results); err != nil {
		return err
	}
	r, err := d.target(d.s.args[0], to)
	if err != nil {
		return err
	}
	d.emit(func(w *warp, mask uint32) error {
		for i := range w.t32 {
			var v uint32
			for part, p := range results {
				v |= -(w.pred[p] >> i & 1) & yes << (16 * part)
			}
			w.t32[i] = v
		}
		blend(&w.r32[r], &w.t32, mask)
		return nil
	})
	return nil
}
