package ptx

import (
	"math/bits"
	"slices"
)

// Arithmetic on numbers of several words: .cc leaves a carry or a borrow, one
// bit a thread, that addc, subc and madc take in.

// carry is the predicate register that stands for it.
func (d *decoder) carry() int {
	if d.carries == 0 {
		d.carries = d.temp(classPred) + 1
	}
	return d.carries - 1
}

// carrying is add, sub and mad with .cc, and addc, subc and madc.
func (d *decoder) carrying() error {
	op := slices.Clone(d.s.op)
	t, ok := dtypes[op[len(op)-1]]
	if !ok || t.bits() < 32 || t.kind() != kindUnsigned && t.kind() != kindSigned {
		return d.unsupported()
	}
	in, out, name := false, false, op[0]
	switch name {
	case "add", "sub", "mad":
	case "addc", "subc", "madc":
		in, name = true, name[:3]
	default:
		return d.unsupported()
	}
	rest := op[1 : len(op)-1]
	if n := len(rest) - 1; n >= 0 && rest[n] == "cc" {
		out, rest = true, rest[:n]
	}
	high, sources := false, 2
	if name == "mad" {
		if len(rest) != 1 || rest[0] != "hi" && rest[0] != "lo" {
			return d.unsupported()
		}
		high, sources, rest = rest[0] == "hi", 3, nil
	}
	if len(rest) != 0 {
		return d.unsupported()
	}
	s, err := d.sources(sources, t)
	if err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], t)
	if err != nil {
		return err
	}
	c := d.carry()
	d.emit(func(w *warp, mask uint32) error {
		var flags uint32
		for i := range warpSize {
			var carry uint64
			if in {
				carry = uint64(w.pred[c] >> i & 1)
			}
			var x, y uint64
			if t.class() == class64 {
				x, y = w.r64[s[0]][i], w.r64[s[1]][i]
				if sources == 3 {
					x, y = product64(x, y, high, t.kind() == kindSigned), w.r64[s[2]][i]
				}
			} else {
				x, y = uint64(w.r32[s[0]][i]), uint64(w.r32[s[1]][i])
				if sources == 3 {
					x, y = product32(uint32(x), uint32(y), high, t.kind() == kindSigned), uint64(w.r32[s[2]][i])
				}
			}
			r, flag := sumWithCarry(x, y, carry, name == "sub", t.bits())
			w.t64[i] = r
			flags |= uint32(flag) << i
		}
		w.write(t, to, mask)
		if out {
			w.setPred(c, flags, mask)
		}
		return nil
	})
	return nil
}

// sumWithCarry is x+y+carry, or x-y-carry, in so many bits, and what is carried
// or borrowed.
func sumWithCarry(x, y, carry uint64, minus bool, width int) (r, flag uint64) {
	switch {
	case width == 64 && minus:
		return bits.Sub64(x, y, carry)
	case width == 64:
		return bits.Add64(x, y, carry)
	case minus:
		r = x - y - carry
	default:
		r = x + y + carry
	}
	return r & 0xffffffff, r >> 32 & 1
}

func product32(x, y uint32, high, signed bool) uint64 {
	p := uint64(x) * uint64(y)
	if signed {
		p = uint64(int64(int32(x)) * int64(int32(y)))
	}
	if high {
		return p >> 32
	}
	return p & 0xffffffff
}

func product64(x, y uint64, high, signed bool) uint64 {
	switch {
	case !high:
		return x * y
	case signed:
		return highSigned(x, y)
	}
	hi, _ := bits.Mul64(x, y)
	return hi
}
