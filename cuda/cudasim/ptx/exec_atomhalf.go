package ptx

import "slices"

func init() {
	atomics["cas.b16"] = func(old, b, c uint64) uint64 {
		if old == b {
			return c
		}
		return old
	}
}

// atomicOrReduction is atom and red: it says what a module needs for their
// modifiers, and leads to the translator for the type.
func (d *decoder) atomicOrReduction() error {
	op := d.s.op
	for _, part := range op {
		switch part {
		case "cta", "gpu", "sys":
			if err := d.needs(500, 60); err != nil {
				return err
			}
		case "relaxed", "acquire", "release", "acq_rel":
			if err := d.needs(600, 70); err != nil {
				return err
			}
		}
	}
	if op[0] == "red" && (slices.Contains(op, "acquire") || slices.Contains(op, "acq_rel") || slices.Contains(op, "exch")) {
		return d.unsupported()
	}
	switch t := typeNamed(op[len(op)-1]); {
	case t == f16 || t == bf16 || t.packed():
		return d.atomicHalf(t)
	case t == f64:
		if err := d.needs(500, 60); err != nil {
			return err
		}
	case t == b16:
		if err := d.needs(600, 70); err != nil {
			return err
		}
	}
	return d.atomic()
}

// atomicHalf is add.noftz of 16-bit floats. Of two in a register a device adds
// each by itself; this adds both in one step.
func (d *decoder) atomicHalf(t dtype) error {
	version, sm := 600, 70
	switch t {
	case f16x2:
		sm = 60
	case bf16, bf16x2:
		version, sm = 708, 90
	}
	if err := d.needs(version, sm); err != nil {
		return err
	}
	has := map[string]bool{}
	words := []string{"global", "shared", "relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys", "add", "noftz"}
	for _, part := range d.s.op[1 : len(d.s.op)-1] {
		if has[part] || !slices.Contains(words, part) {
			return d.unsupported()
		}
		has[part] = true
	}
	if !has["add"] || !has["noftz"] {
		return d.unsupported()
	}
	args := d.s.args
	if d.s.op[0] == "red" {
		args = append([]operand{{kind: argSink}}, args...)
	}
	if len(args) != 3 {
		return d.refuse("%s with %d operands", d.s.name(), len(d.s.args))
	}
	to, err := d.target(args[0], t)
	if err != nil {
		return err
	}
	m, _, err := d.memory(has, t, args[1])
	if err != nil {
		return err
	}
	m.store, m.strong = true, true
	b, err := d.source(args[2], t)
	if err != nil {
		return err
	}
	h := halfOp{f: halfTable["add"].f, sources: 2, brain: t == bf16 || t == bf16x2}
	sum := func(old, b, _ uint64) uint64 {
		r := uint64(h.one(uint16(old), uint16(b), 0))
		if t.packed() {
			r |= uint64(h.one(uint16(old>>16), uint16(b>>16), 0)) << 16
		}
		return r
	}
	d.emit(func(w *warp, mask uint32) error { return w.atomic(&m, sum, t, to, b, b, mask) })
	return nil
}
