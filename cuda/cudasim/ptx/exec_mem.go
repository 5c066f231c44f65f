package ptx

import (
	"encoding/binary"
)

var spaces = map[string]int{
	"global": spaceGlobal, "shared": spaceShared, "local": spaceLocal, "param": spaceParam, "const": spaceConst,
}

// Hints are modifiers of loads and stores that change nothing here: memory is
// always coherent.
const (
	loadHints  = " nc ca cg cs cv lu volatile relaxed acquire weak cta gpu sys L2::64B L2::128B L2::256B" + cacheHints
	storeHints = " cg cs wb wt volatile relaxed release weak cta gpu sys" + cacheHints
	cacheHints = " L1::no_allocate L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last"
)

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
	m = access{elem: t.bytes(), size: t.bytes() * n, line: int32(d.s.line), signed: t.kind() == kindSigned,
		strong: has["volatile"] || has["relaxed"] || has["acquire"] || has["release"]}
	if m.size > 16 {
		return m, 0, d.unsupported()
	}
	if err := d.hintNeeds(has); err != nil {
		return m, 0, err
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
	has, t, err := d.take("global shared local param const v2 v4" + loadHints)
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
	switch {
	case m.uniform:
		d.emit(func(w *warp, mask uint32) error { return w.loadUniform(&m, into, mask) })
	case m.space == spaceParam:
		d.emit(func(w *warp, mask uint32) error { return w.loadParam(&m, into, mask) })
	case isDirect(&m, into):
		d.emit(func(w *warp, mask uint32) error { return w.load(&m, into, mask) })
	default:
		d.emit(func(w *warp, mask uint32) error { return w.loadAny(&m, into, mask) })
	}
	return nil
}

// isDirect says whether elements go between memory and registers as they are:
// none is extended by its sign or cut.
func isDirect(m *access, regs []reg) bool {
	for _, r := range regs {
		if (m.elem == 8) != (r.class == class64) || m.signed && r.width > 8*m.elem {
			return false
		}
	}
	return true
}

// loadUniform loads what is the same for all lanes, most of it parameters.
//
//go:norace
func (w *warp) loadUniform(m *access, into []reg, mask uint32) error {
	first := lowest(mask)
	var b []byte
	if at := w.r64[m.addr.reg][first] + m.addr.offset - paramWindow; m.space == spaceParam && at&uint64(m.size-1) == 0 &&
		at < uint64(len(w.block.params)) && uint64(m.size) <= uint64(len(w.block.params))-at {
		b = w.block.params[at:]
	} else {
		var err error
		if b, err = w.bytes(m, first); err != nil {
			return err
		}
	}
	for _, r := range into {
		if v := m.value(b); r.class == class64 {
			spread(&w.r64[r.index], v, mask)
		} else {
			spread(&w.r32[r.index], uint32(cut(v, r.width)), mask)
		}
		b = b[m.elem:]
	}
	return nil
}

// loadParam loads from an address in a register, which is mostly the same for
// all lanes.
//
//go:norace
func (w *warp) loadParam(m *access, into []reg, mask uint32) error {
	addresses := &w.r64[m.addr.reg]
	first := addresses[lowest(mask)]
	for rest := mask; rest != 0; rest &= rest - 1 {
		if addresses[lowest(rest)] != first {
			return w.loadAny(m, into, mask)
		}
	}
	return w.loadUniform(m, into, mask)
}

//go:norace
func (w *warp) loadAny(m *access, into []reg, mask uint32) error {
	for ; mask != 0; mask &= mask - 1 {
		lane := lowest(mask)
		b, err := w.bytes(m, lane)
		if err != nil {
			return err
		}
		// A register of the address may be overwritten, but no lane reads
		// another's.
		for _, r := range into {
			if v := m.value(b); r.class == class64 {
				w.r64[r.index][lane] = v
			} else {
				w.r32[r.index][lane] = uint32(cut(v, r.width))
			}
			b = b[m.elem:]
		}
	}
	return nil
}

// value is the first element, extended to 64 bits.
func (m *access) value(b []byte) uint64 {
	v := element(b, m.elem)
	if m.signed {
		v = uint64(int64(v<<(64-8*m.elem)) >> (64 - 8*m.elem))
	}
	return v
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
	has, t, err := d.take("global shared local v2 v4" + storeHints)
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
	d.emit(func(w *warp, mask uint32) error { return w.store(&m, from, mask) })
	return nil
}

//go:norace
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
