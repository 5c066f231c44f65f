package ptx

// Integer arithmetic that is less than 32 bits wide, or limited.

func init() {
	short = append(short, "sad", "cnot")
	for key, e := range map[string]entry32{
		"mul24.lo.u32": {mul24(0, false), 2}, "mul24.lo.s32": {mul24(0, true), 2},
		"mul24.hi.u32": {mul24(16, false), 2}, "mul24.hi.s32": {mul24(16, true), 2},
		"mad24.lo.u32": {mul24(0, false), 3}, "mad24.lo.s32": {mul24(0, true), 3},
		"mad24.hi.u32": {mul24(16, false), 3}, "mad24.hi.s32": {mul24(16, true), 3},
		"mad24.hi.sat.s32": {limited(func(a, b, c int64) int64 { return int24(a)*int24(b)>>16 + c }), 3},
		"mad.hi.sat.s32":   {limited(func(a, b, c int64) int64 { return a*b>>32 + c }), 3},
		"add.sat.s32":      {limited(func(a, b, _ int64) int64 { return a + b }), 2},
		"sub.sat.s32":      {limited(func(a, b, _ int64) int64 { return a - b }), 2},
		"dp4a.u32.u32":     {dot4(false, false), 3}, "dp4a.u32.s32": {dot4(false, true), 3},
		"dp4a.s32.u32": {dot4(true, false), 3}, "dp4a.s32.s32": {dot4(true, true), 3},
	} {
		table32[key] = e
	}
	for half, name := range []string{"lo", "hi"} {
		for a, signedA := range map[string]bool{"u32": false, "s32": true} {
			for b, signedB := range map[string]bool{"u32": false, "s32": true} {
				key := "dp2a." + name + "." + a + "." + b
				table32[key], newer[key] = entry32{dot2(half, signedA, signedB), 3}, need{500, 61}
			}
		}
	}
	addIntegers(func(key string, f op32, sources int) { table32[key+"32"] = entry32{f, sources} }, moreIntegers[uint32, int32]())
	addIntegers(func(key string, f op64, sources int) { table64[key+"64"] = entry64{f, sources} }, moreIntegers[uint64, int64]())
}

func moreIntegers[T word, S integral]() []integer[T] {
	return []integer[T]{
		{[]string{"sad.u"}, distance[T, T], 3}, {[]string{"sad.s"}, distance[T, S], 3}, {[]string{"cnot.b"}, isZero[T], 1},
	}
}

// distance adds how far apart a and b are to c.
func distance[T word, S integral](d, a, b, c *lanes[T]) {
	for i := range d {
		if S(a[i]) < S(b[i]) {
			d[i] = c[i] + b[i] - a[i]
		} else {
			d[i] = c[i] + a[i] - b[i]
		}
	}
}

// isZero is C's logical not.
func isZero[T word](d, a, _, _ *lanes[T]) {
	for i := range d {
		d[i] = T(bit(a[i] == 0))
	}
}

func int24(v int64) int64 { return v << 40 >> 40 }

// mul24 is the low 32 bits of a product of 24 bits each, or those from bit 16
// on, plus c.
func mul24(shift int, signed bool) op32 {
	return func(d, a, b, c *lanes32) {
		for i := range d {
			p := int64(a[i]&0xffffff) * int64(b[i]&0xffffff)
			if signed {
				p = int24(int64(a[i])) * int24(int64(b[i]))
			}
			d[i] = uint32(p>>shift) + c[i]
		}
	}
}

// limited clamps to the range of s32.
func limited(f func(a, b, c int64) int64) op32 {
	return func(d, a, b, c *lanes32) {
		for i := range d {
			d[i] = uint32(min(max(f(int64(int32(a[i])), int64(int32(b[i])), int64(int32(c[i]))), -1<<31), 1<<31-1))
		}
	}
}

// partOf is bits of v from at on, n of them, by its sign or not.
func partOf(v uint32, at, n int, signed bool) int32 {
	if v = v << (32 - at - n); signed {
		return int32(v) >> (32 - n)
	}
	return int32(v >> (32 - n))
}

func dot4(signedA, signedB bool) op32 {
	return func(d, a, b, c *lanes32) {
		for i := range d {
			sum := c[i]
			for k := range 4 {
				sum += uint32(partOf(a[i], 8*k, 8, signedA) * partOf(b[i], 8*k, 8, signedB))
			}
			d[i] = sum
		}
	}
}

// dot2 multiplies both halves of a by two bytes of b, of its low or high half.
func dot2(half int, signedA, signedB bool) op32 {
	return func(d, a, b, c *lanes32) {
		for i := range d {
			sum := c[i]
			for k := range 2 {
				sum += uint32(partOf(a[i], 16*k, 16, signedA) * partOf(b[i], 16*half+8*k, 8, signedB))
			}
			d[i] = sum
		}
	}
}

// mulHigh16 is for 16 bits extended to 32, whose product has no more.
func mulHigh16(d, a, b, c *lanes32) {
	for i := range d {
		d[i] = a[i]*b[i]>>16 + c[i]
	}
}
