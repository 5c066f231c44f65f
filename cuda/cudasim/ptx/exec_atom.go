package ptx

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// atomicOp gives what memory holds afterwards, from what it held and the
// operands.
type atomicOp func(old, b, c uint64) uint64

// atomics by operation and type.
var atomics = map[string]atomicOp{}

func init() {
	for _, w := range []struct {
		names []string
		bits  int
	}{{[]string{"u32", "s32", "b32"}, 32}, {[]string{"u64", "s64", "b64"}, 64}} {
		unsigned, signed, plain := w.names[0], w.names[1], w.names[2]
		atomics["exch."+plain] = func(_, b, _ uint64) uint64 { return b }
		atomics["and."+plain] = func(old, b, _ uint64) uint64 { return old & b }
		atomics["or."+plain] = func(old, b, _ uint64) uint64 { return old | b }
		atomics["xor."+plain] = func(old, b, _ uint64) uint64 { return old ^ b }
		atomics["cas."+plain] = func(old, b, c uint64) uint64 {
			if old == b {
				return c
			}
			return old
		}
		sum := func(old, b, _ uint64) uint64 { return old + b }
		atomics["add."+unsigned] = sum
		if w.bits == 32 {
			atomics["add."+signed] = sum
		}
		shift := 64 - w.bits
		atomics["min."+unsigned] = func(old, b, _ uint64) uint64 { return min(old, b) }
		atomics["max."+unsigned] = func(old, b, _ uint64) uint64 { return max(old, b) }
		atomics["min."+signed] = func(old, b, _ uint64) uint64 {
			return uint64(min(int64(old<<shift), int64(b<<shift)) >> shift)
		}
		atomics["max."+signed] = func(old, b, _ uint64) uint64 {
			return uint64(max(int64(old<<shift), int64(b<<shift)) >> shift)
		}
	}
	atomics["inc.u32"] = func(old, b, _ uint64) uint64 {
		if old >= b {
			return 0
		}
		return old + 1
	}
	atomics["dec.u32"] = func(old, b, _ uint64) uint64 {
		if old == 0 || old > b {
			return b
		}
		return old - 1
	}
	atomics["add.f32"] = func(old, b, _ uint64) uint64 {
		return uint64(math.Float32bits(math.Float32frombits(uint32(old)) + math.Float32frombits(uint32(b))))
	}
	atomics["add.f64"] = func(old, b, _ uint64) uint64 {
		return math.Float64bits(math.Float64frombits(old) + math.Float64frombits(b))
	}
}

const atomicWords = "global shared relaxed acquire release acq_rel cta gpu sys " +
	"exch and or xor cas add min max inc dec"

// atomic is atom[.space].op.type d, [a], b[, c], and red without d. The lanes
// of a warp come in their order.
func (d *decoder) atomic() error {
	has, t, err := d.take(atomicWords)
	if err != nil {
		return err
	}
	var f atomicOp
	operands := 1
	for name, op := range atomics {
		for word := range has {
			if name == word+"."+d.s.op[len(d.s.op)-1] {
				f = op
				if word == "cas" {
					operands = 2
				}
			}
		}
	}
	returns := d.s.op[0] == "atom"
	if f == nil || !returns && operands == 2 {
		return d.unsupported()
	}
	n := operands + 1 + int(bit(returns))
	if err := d.arity(n, n); err != nil {
		return err
	}
	args := d.s.args
	to := d.temp(t.class())
	if returns {
		if to, err = d.target(args[0], t); err != nil {
			return err
		}
		args = args[1:]
	}
	m, _, err := d.memory(has, t, args[0])
	if err != nil {
		return err
	}
	m.store, m.strong = true, true
	if m.space > spaceShared {
		return d.unsupported()
	}
	b, err := d.source(args[1], t)
	if err != nil {
		return err
	}
	c := b
	if operands == 2 {
		if c, err = d.source(args[2], t); err != nil {
			return err
		}
	}
	d.emit(func(w *warp, mask uint32) error { return w.atomic(&m, f, t, to, b, c, mask) })
	return nil
}

func (w *warp) atomic(m *access, f atomicOp, t dtype, to, b, c int, mask uint32) error {
	if o := w.block.order; raceEnabled && o != nil {
		raceOrder(o)
	}
	value := func(r, lane int) uint64 {
		if t.class() == class64 {
			return w.r64[r][lane]
		}
		return uint64(w.r32[r][lane])
	}
	for ; mask != 0; mask &= mask - 1 {
		lane := lowest(mask)
		bytes, err := w.locate(m, lane)
		if err != nil {
			return err
		}
		old := update(bytes, func(old uint64) uint64 { return f(old, value(b, lane), value(c, lane)) })
		if t.class() == class64 {
			w.r64[to][lane] = old
		} else {
			w.r32[to][lane] = uint32(old)
		}
	}
	return nil
}

// update changes 2, 4 or 8 bytes in one step, also for other launches, and
// returns what they held. [Allocation] asks for memory that is aligned.
func update(b []byte, f func(old uint64) uint64) uint64 {
	raceHide()
	defer raceShow(b)
	p := unsafe.Pointer(unsafe.SliceData(b))
	switch len(b) {
	case 2: // within a word of 4, the host has no smaller ones
		half := int(uintptr(p) & 2)
		old := update32((*uint32)(unsafe.Add(p, -half)), func(old uint64) uint64 {
			return old&^(0xffff<<(8*half)) | f(old>>(8*half)&0xffff)<<(8*half)
		})
		return old >> (8 * half) & 0xffff
	case 4:
		return update32((*uint32)(p), f)
	}
	word := (*uint64)(p)
	for {
		if old := atomic.LoadUint64(word); atomic.CompareAndSwapUint64(word, old, f(old)) {
			return old
		}
	}
}

func update32(word *uint32, f func(old uint64) uint64) uint64 {
	for {
		if old := atomic.LoadUint32(word); atomic.CompareAndSwapUint32(word, old, uint32(f(uint64(old)))) {
			return uint64(old)
		}
	}
}
