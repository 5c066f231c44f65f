package ptx

import "math/bits"

// warpSize is how many lanes run together.
const warpSize = 32

// full is the mask of all lanes.
const full = 1<<warpSize - 1

// lanes is one register of a warp, lane by lane.
type lanes[T uint32 | uint64] [warpSize]T

type (
	lanes32 = lanes[uint32]
	lanes64 = lanes[uint64]
)

// Arithmetic works on whole registers, for idle lanes too, whose results are
// then dropped: so it must be defined for every input. d may be a, b or c.
type (
	op32     = func(d, a, b, c *lanes32)
	op64     = func(d, a, b, c *lanes64)
	opWide   = func(d *lanes64, a, b *lanes32, c *lanes64)
	opNarrow = func(d *lanes32, a *lanes64)
)

type runner = func(w *warp, mask uint32) error

func run32(f op32, d, a, b, c int) runner {
	return func(w *warp, mask uint32) error {
		if mask == full {
			f(&w.r32[d], &w.r32[a], &w.r32[b], &w.r32[c])
			return nil
		}
		f(&w.t32, &w.r32[a], &w.r32[b], &w.r32[c])
		blend(&w.r32[d], &w.t32, mask)
		return nil
	}
}

func run64(f op64, d, a, b, c int) runner {
	return func(w *warp, mask uint32) error {
		if mask == full {
			f(&w.r64[d], &w.r64[a], &w.r64[b], &w.r64[c])
			return nil
		}
		f(&w.t64, &w.r64[a], &w.r64[b], &w.r64[c])
		blend(&w.r64[d], &w.t64, mask)
		return nil
	}
}

func (d *decoder) emit32(f op32, to, a, b, c int) {
	in := d.emit(run32(f, to, a, b, c))
	in.all32, in.regs = f, [4]int32{int32(to), int32(a), int32(b), int32(c)}
}

func (d *decoder) emit64(f op64, to, a, b, c int) {
	in := d.emit(run64(f, to, a, b, c))
	in.all64, in.regs = f, [4]int32{int32(to), int32(a), int32(b), int32(c)}
}

func widening(f opWide, d, a, b, c int) runner {
	return func(w *warp, mask uint32) error {
		if mask == full {
			f(&w.r64[d], &w.r32[a], &w.r32[b], &w.r64[c])
			return nil
		}
		f(&w.t64, &w.r32[a], &w.r32[b], &w.r64[c])
		blend(&w.r64[d], &w.t64, mask)
		return nil
	}
}

func narrowing(f opNarrow, d, a int) runner {
	return func(w *warp, mask uint32) error {
		if mask == full {
			f(&w.r32[d], &w.r64[a])
			return nil
		}
		f(&w.t32, &w.r64[a])
		blend(&w.r32[d], &w.t32, mask)
		return nil
	}
}

// blend copies the lanes of mask.
//
//go:norace
func blend[T uint32 | uint64](d, s *lanes[T], mask uint32) {
	if mask == full {
		*d = *s
		return
	}
	for ; mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros32(mask) % warpSize
		d[i] = s[i]
	}
}

// spread gives the lanes of mask a value.
//
//go:norace
func spread[T word](d *lanes[T], v T, mask uint32) {
	if mask == full {
		for i := range d {
			d[i] = v
		}
		return
	}
	for ; mask != 0; mask &= mask - 1 {
		d[lowest(mask)] = v
	}
}

func fill(d *lanes32, v uint32) { spread(d, v, full) }

//go:norace
func truncateLanes(d *lanes32, a *lanes64) {
	for i := range d {
		d[i] = uint32(a[i])
	}
}

//go:norace
func zeroExtend(d *lanes64, a, _ *lanes32, _ *lanes64) {
	for i := range d {
		d[i] = uint64(a[i])
	}
}

//go:norace
func signExtend(d *lanes64, a, _ *lanes32, _ *lanes64) {
	for i := range d {
		d[i] = uint64(int64(int32(a[i])))
	}
}
