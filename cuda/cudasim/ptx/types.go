package ptx

// dtype is one of PTX's fundamental types: its kind and its width.
type dtype uint16

// Kinds of types.
const (
	kindBits dtype = (iota + 1) << 8
	kindUnsigned
	kindSigned
	kindFloat
	kindPred
	kindHalves // two f16
	kindBrain  // bf16
	kindBrains // two bf16
	kindTensor // tf32
)

const (
	b8   = kindBits | 8
	b16  = kindBits | 16
	b32  = kindBits | 32
	b64  = kindBits | 64
	u8   = kindUnsigned | 8
	u16  = kindUnsigned | 16
	u32  = kindUnsigned | 32
	u64  = kindUnsigned | 64
	s8   = kindSigned | 8
	s16  = kindSigned | 16
	s32  = kindSigned | 32
	s64  = kindSigned | 64
	f32  = kindFloat | 32
	f64  = kindFloat | 64
	f16  = kindFloat | 16
	pred = kindPred | 1

	f16x2  = kindHalves | 32
	bf16   = kindBrain | 16
	bf16x2 = kindBrains | 32
	tf32   = kindTensor | 32
)

// formats are types that few instructions have.
var formats = map[string]dtype{"f16x2": f16x2, "bf16": bf16, "bf16x2": bf16x2, "tf32": tf32}

var dtypes = map[string]dtype{
	"b8": b8, "b16": b16, "b32": b32, "b64": b64, "u8": u8, "u16": u16, "u32": u32, "u64": u64,
	"s8": s8, "s16": s16, "s32": s32, "s64": s64, "f16": f16, "f32": f32, "f64": f64, "pred": pred,
}

// typeNamed is the type or format of a name, 0 if there is none.
func typeNamed(name string) dtype {
	if t, ok := dtypes[name]; ok {
		return t
	}
	return formats[name]
}

func (t dtype) bits() int   { return int(t & 0xff) }
func (t dtype) bytes() int  { return t.bits() / 8 }
func (t dtype) kind() dtype { return t &^ 0xff }

// packed says whether a type is two floats in 32 bits; half is that of one.
func (t dtype) packed() bool { return t == f16x2 || t == bf16x2 }

func (t dtype) half() dtype {
	if t == f16x2 {
		return f16
	}
	return bf16
}

// class says which of a warp's register files holds values of the type.
func (t dtype) class() class {
	switch {
	case t == pred:
		return classPred
	case t.bits() == 64:
		return class64
	}
	return class32
}

// class is a register file of a warp.
type class uint8

const (
	class32   class = iota // registers of up to 32 bits; narrower ones have zeros above
	class64                // of 64 bits
	classPred              // predicates, a bit a lane
	numClasses
)

// reg is a register of a kernel: its file and its place there.
type reg struct {
	class class
	index int
	width int // declared bits
	kind  dtype
}

// fits says whether an instruction of type t may have the register: their
// widths are the same, and an integer is no float. Two halves are no f32 either,
// but may be an integer.
func (r reg) fits(t dtype) bool {
	integer := func(k dtype) bool { return k == kindSigned || k == kindUnsigned }
	switch {
	case r.width != t.bits():
		return false
	case r.kind == kindFloat:
		return t.kind() == kindFloat || t.kind() == kindBits || t == bf16
	case r.kind == kindHalves:
		return t.kind() != kindFloat
	}
	return !integer(r.kind) || t.kind() != kindFloat && t.kind() < kindHalves
}
