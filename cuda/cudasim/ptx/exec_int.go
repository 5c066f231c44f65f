package ptx

import "math/bits"

// Integer arithmetic wraps. What differs between signed and unsigned is
// written for a register's type T and the type S that it is read as.
type (
	word     interface{ uint32 | uint64 }
	integral interface {
		int32 | int64 | uint32 | uint64
	}
)

var table32 = map[string]entry32{}

var table64 = map[string]entry64{
	"mul.hi.u64": {mulHighU64, 2}, "mul.hi.s64": {mulHighS64, 2},
	"mad.hi.u64": {madHighU64, 3}, "mad.hi.s64": {madHighS64, 3},
	"brev.b64": {reverse64, 1},
	"bfe.u64":  {bitExtractU64, 3}, "bfe.s64": {bitExtractS64, 3},
}

// short are the operations that exist on 16 bits.
var short = []string{"add", "sub", "mul", "mad", "div", "rem", "min", "max", "abs", "neg", "and", "or", "xor", "not", "shl", "shr"}

var narrow = map[string]opNarrow{"popc.b64": countOnes64, "clz.b64": leadingZeros64}

var wide = map[string]entryWide{
	"mul.wide.u32": {mulWideU, 2}, "mul.wide.s32": {mulWideS, 2},
	"mad.wide.u32": {madWideU, 3}, "mad.wide.s32": {madWideS, 3},
}

func init() {
	addIntegers(func(key string, f op32, sources int) { table32[key+"32"] = entry32{f, sources} },
		integers[uint32, int32]())
	addIntegers(func(key string, f op64, sources int) { table64[key+"64"] = entry64{f, sources} },
		integers[uint64, int64]())
	for key, e := range map[string]entry32{
		"mul.hi.u32": {mulHighU32, 2}, "mul.hi.s32": {mulHighS32, 2},
		"mad.hi.u32": {madHighU32, 3}, "mad.hi.s32": {madHighS32, 3},
		"popc.b32": {countOnes32, 1}, "clz.b32": {leadingZeros32, 1}, "brev.b32": {reverse32, 1},
		"bfe.u32": {bitExtractU32, 3}, "bfe.s32": {bitExtractS32, 3}, "prmt.b32": {permute, 3},
		"shf.l.wrap.b32": {funnelLeftWrap, 3}, "shf.r.wrap.b32": {funnelRightWrap, 3},
		"shf.l.clamp.b32": {funnelLeftClamp, 3}, "shf.r.clamp.b32": {funnelRightClamp, 3},
	} {
		table32[key] = e
	}
}

// integer is an operation that both widths have, under keys without the width.
type integer[T word] struct {
	keys    []string
	f       func(d, a, b, c *lanes[T])
	sources int
}

func addIntegers[T word](add func(key string, f func(d, a, b, c *lanes[T]), sources int), table []integer[T]) {
	for _, e := range table {
		for _, key := range e.keys {
			add(key, e.f, e.sources)
		}
	}
}

func integers[T word, S integral]() []integer[T] {
	both := func(name string) []string { return []string{name + ".u", name + ".s"} }
	return []integer[T]{
		{both("add"), add[T], 2}, {both("sub"), sub[T], 2}, {both("mul.lo"), mulLow[T], 2}, {both("mad.lo"), madLow[T], 3},
		{[]string{"div.u"}, div[T, T], 2}, {[]string{"div.s"}, div[T, S], 2},
		{[]string{"rem.u"}, rem[T, T], 2}, {[]string{"rem.s"}, rem[T, S], 2},
		{[]string{"min.u"}, minimum[T, T], 2}, {[]string{"min.s"}, minimum[T, S], 2},
		{[]string{"max.u"}, maximum[T, T], 2}, {[]string{"max.s"}, maximum[T, S], 2},
		{[]string{"abs.s"}, absolute[T, S], 1}, {[]string{"neg.s"}, negate[T], 1},
		{[]string{"and.b"}, and[T], 2}, {[]string{"or.b"}, or[T], 2}, {[]string{"xor.b"}, xor[T], 2},
		{[]string{"not.b"}, not[T], 1}, {[]string{"shl.b"}, shiftLeft[T], 2},
		{[]string{"shr.u", "shr.b"}, shiftRight[T, T], 2}, {[]string{"shr.s"}, shiftRight[T, S], 2},
	}
}

//go:norace
func add[T word](d, a, b, _ *lanes[T]) {
	for i := range d {
		d[i] = a[i] + b[i]
	}
}

//go:norace
func sub[T word](d, a, b, _ *lanes[T]) {
	for i := range d {
		d[i] = a[i] - b[i]
	}
}

//go:norace
func mulLow[T word](d, a, b, _ *lanes[T]) {
	for i := range d {
		d[i] = a[i] * b[i]
	}
}

//go:norace
func madLow[T word](d, a, b, c *lanes[T]) {
	for i := range d {
		d[i] = a[i]*b[i] + c[i]
	}
}

// div by zero is undefined in PTX; devices give all ones, and so does this.
//
//go:norace
func div[T word, S integral](d, a, b, _ *lanes[T]) {
	for i := range d {
		if b[i] == 0 {
			d[i] = ^T(0)
		} else {
			d[i] = T(S(a[i]) / S(b[i]))
		}
	}
}

// rem of a division by zero is the dividend.
//
//go:norace
func rem[T word, S integral](d, a, b, _ *lanes[T]) {
	for i := range d {
		if b[i] == 0 {
			d[i] = a[i]
		} else {
			d[i] = T(S(a[i]) % S(b[i]))
		}
	}
}

//go:norace
func minimum[T word, S integral](d, a, b, _ *lanes[T]) {
	for i := range d {
		d[i] = T(min(S(a[i]), S(b[i])))
	}
}

//go:norace
func maximum[T word, S integral](d, a, b, _ *lanes[T]) {
	for i := range d {
		d[i] = T(max(S(a[i]), S(b[i])))
	}
}

//go:norace
func absolute[T word, S integral](d, a, _, _ *lanes[T]) {
	for i := range d {
		if S(a[i]) < 0 {
			d[i] = -a[i]
		} else {
			d[i] = a[i]
		}
	}
}

//go:norace
func negate[T word](d, a, _, _ *lanes[T]) {
	for i := range d {
		d[i] = -a[i]
	}
}

//go:norace
func and[T word](d, a, b, _ *lanes[T]) {
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

//go:norace
func or[T word](d, a, b, _ *lanes[T]) {
	for i := range d {
		d[i] = a[i] | b[i]
	}
}

//go:norace
func xor[T word](d, a, b, _ *lanes[T]) {
	for i := range d {
		d[i] = a[i] ^ b[i]
	}
}

//go:norace
func not[T word](d, a, _, _ *lanes[T]) {
	for i := range d {
		d[i] = ^a[i]
	}
}

// Shifts by the width or more are as far as shifts go, in PTX as in Go; but
// the distance is the low 32 bits.
//
//go:norace
func shiftLeft[T word](d, a, b, _ *lanes[T]) {
	for i := range d {
		d[i] = a[i] << uint32(b[i])
	}
}

//go:norace
func shiftRight[T word, S integral](d, a, b, _ *lanes[T]) {
	for i := range d {
		d[i] = T(S(a[i]) >> uint32(b[i]))
	}
}

//go:norace
func mulWideU(d *lanes64, a, b *lanes32, _ *lanes64) {
	for i := range d {
		d[i] = uint64(a[i]) * uint64(b[i])
	}
}

//go:norace
func mulWideS(d *lanes64, a, b *lanes32, _ *lanes64) {
	for i := range d {
		d[i] = uint64(int64(int32(a[i])) * int64(int32(b[i])))
	}
}

//go:norace
func madWideU(d *lanes64, a, b *lanes32, c *lanes64) {
	for i := range d {
		d[i] = uint64(a[i])*uint64(b[i]) + c[i]
	}
}

//go:norace
func madWideS(d *lanes64, a, b *lanes32, c *lanes64) {
	for i := range d {
		d[i] = uint64(int64(int32(a[i]))*int64(int32(b[i]))) + c[i]
	}
}

//go:norace
func countOnes64(d *lanes32, a *lanes64) {
	for i := range d {
		d[i] = uint32(bits.OnesCount64(a[i]))
	}
}

//go:norace
func leadingZeros64(d *lanes32, a *lanes64) {
	for i := range d {
		d[i] = uint32(bits.LeadingZeros64(a[i]))
	}
}
