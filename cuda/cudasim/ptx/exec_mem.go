package ptx

import (
	"encoding/binary"
	"strings"
)

var spaces = map[string]int{
	"global": spaceGlobal, "shared": spaceShared, "local": spaceLocal, "param": spaceParam, "const": spaceConst,
}

// hints are modifiers of loads and stores that change nothing here: memory is
// always coherent.
const hints = " nc ca cg cs cv lu wb wt volatile relaxed acquire release weak cta gpu sys"

// ordered says whether an ordering and its scope are there together or not at
// all; strong is the ordering that the instruction has beside .relaxed.
func ordered(has map[string]bool, strong string) bool {
	count := func(words ...string) (n uint32) {
		for _, w := range words {
			n += bit(has[w])
		}
		return n
	}
	order, scope := count("relaxed", strong), count("cta", "gpu", "sys")
	return order == scope && order <= 1 && count("acquire", "release") == count(strong)
}

// memory reads what ld, st and atom have in common. n is the number of
// elements and t the type of each.
func (d *decoder) memory(has map[string]bool, t dtype, at operand) (m access, n int, err error) {
	if t == pred || t.bits() < 8 {
		return m, 0, d.unsupported()
	}
	n = 1
	for part, count := range map[string]int{"v2": 2, "v4": 4} {
		if has[part] {
			n = count
		}
	}
	m = access{elem: t.bytes(), size: t.bytes() * n, line: int32(d.s.line), signed: t.kind() == kindSigned}
	if m.size > 16 {
		return m, 0, d.unsupported()
	}
	for name, s := range spaces {
		if has[name] {
			if m.space != spaceGeneric {
				return m, 0, d.refuse("%s names two state spaces", d.s.name())
			}
			m.space = s
		}
	}
	if at.kind != argAddress {
		return m, 0, d.refuse("%s needs an address in brackets", d.s.name())
	}
	base := *at.base
	m.addr.offset = uint64(at.offset)
	switch {
	case base.kind == argReg && base.reg.class == class64:
		m.addr.reg = base.reg.index
	case base.kind == argReg && base.reg.width == 32 && m.space != spaceGeneric && m.space != spaceGlobal:
		m.addr.reg = d.widen(base.reg.index)
	case base.kind == argNumber, base.kind == argName && !isSpecial(base.name):
		m.uniform = m.space != spaceLocal
		if m.addr.reg, err = d.loose(base, u64); err != nil {
			return m, 0, err
		}
	default:
		return m, 0, d.refuse("%s cannot take its address from there", d.s.name())
	}
	m.id = d.k.memOps
	d.k.memOps++
	return m, n, nil
}

// elements returns the n operands of a load or store.
func (d *decoder) elements(a operand, n int) ([]operand, error) {
	if n == 1 && a.kind != argVector {
		return []operand{a}, nil
	}
	if a.kind != argVector || len(a.elems) != n {
		return nil, d.refuse("%s needs %d registers", d.s.name(), n)
	}
	return a.elems, nil
}

func (d *decoder) load() error {
	has, t, err := d.take("global shared local param const v2 v4" + hints)
	if err != nil {
		return err
	}
	if err := d.arity(2, 2); err != nil {
		return err
	}
	if has["nc"] && (!has["global"] || has["volatile"]) || d.s.op[0] == "ldu" && !has["global"] || !ordered(has, "acquire") {
		return d.unsupported()
	}
	m, n, err := d.memory(has, t, d.s.args[1])
	if err != nil {
		return err
	}
	elems, err := d.elements(d.s.args[0], n)
	if err != nil {
		return err
	}
	into := make([]reg, n)
	for i, e := range elems {
		switch {
		case e.kind == argSink:
			into[i] = reg{class: t.class(), index: d.temp(t.class()), width: max(t.bits(), 32)}
		case e.kind != argReg || e.second != nil || e.reg.class == classPred || e.reg.width < t.bits():
			return d.refuse("%s cannot write there", d.s.name())
		default:
			into[i] = e.reg
		}
	}
	if m.elem == 4 && n == 1 && into[0].class == class32 {
		d.emit(func(w *warp, mask uint32) error { return w.load32(&m, into[0].index, mask) })
		return nil
	}
	d.emit(func(w *warp, mask uint32) error { return w.loadAny(&m, into, mask) })
	return nil
}

func fill(d *lanes32, v uint32) {
	for i := range d {
		d[i] = v
	}
}

func (w *warp) loadAny(m *access, into []reg, mask uint32) error {
	if rest := mask & (mask - 1); m.uniform && rest != 0 {
		first := lowest(mask)
		if err := w.loadAny(m, into, mask&^rest); err != nil {
			return err
		}
		for _, r := range into {
			if r.class == class64 {
				spread(&w.r64[r.index], first, rest)
			} else {
				spread(&w.r32[r.index], first, rest)
			}
		}
		return nil
	}
	for ; mask != 0; mask &= mask - 1 {
		lane := lowest(mask)
		b, err := w.bytes(m, lane)
		if err != nil {
			return err
		}
		// A register of the address may be overwritten, but no lane reads
		// another's.
		for _, r := range into {
			v := element(b, m.elem)
			if m.signed {
				v = uint64(int64(v<<(64-8*m.elem)) >> (64 - 8*m.elem))
			}
			if r.class == class64 {
				w.r64[r.index][lane] = v
			} else {
				w.r32[r.index][lane] = uint32(cut(v, r.width))
			}
			b = b[m.elem:]
		}
	}
	return nil
}

// spread copies one lane to others.
func spread[T word](d *lanes[T], from int, to uint32) {
	v := d[from]
	for ; to != 0; to &= to - 1 {
		d[lowest(to)] = v
	}
}

func element(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func putElement(b []byte, size int, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

func (d *decoder) store() error {
	has, t, err := d.take("global shared local v2 v4" + strings.Replace(hints, " nc", "", 1))
	if err != nil {
		return err
	}
	if err := d.arity(2, 2); err != nil {
		return err
	}
	if !ordered(has, "release") {
		return d.unsupported()
	}
	m, n, err := d.memory(has, t, d.s.args[0])
	if err != nil {
		return err
	}
	m.store = true
	elems, err := d.elements(d.s.args[1], n)
	if err != nil {
		return err
	}
	// A wider register loses what does not fit.
	from := make([]reg, n)
	for i, e := range elems {
		s, err := d.loose(e, t)
		if err != nil {
			return err
		}
		from[i] = reg{class: t.class(), index: s, width: t.bits()}
	}
	if m.elem == 4 && n == 1 {
		d.emit(func(w *warp, mask uint32) error { return w.store32(&m, from[0].index, mask) })
		return nil
	}
	d.emit(func(w *warp, mask uint32) error { return w.storeAny(&m, from, mask) })
	return nil
}

func (w *warp) storeAny(m *access, from []reg, mask uint32) error {
	for ; mask != 0; mask &= mask - 1 {
		lane := lowest(mask)
		b, err := w.bytes(m, lane)
		if err != nil {
			return err
		}
		for _, r := range from {
			var v uint64
			if r.class == class64 {
				v = w.r64[r.index][lane]
			} else {
				v = uint64(w.r32[r.index][lane])
			}
			putElement(b, m.elem, v)
			b = b[m.elem:]
		}
	}
	return nil
}
