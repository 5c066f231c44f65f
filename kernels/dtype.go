package kernels

import "fmt"

// DType is the type of the elements of an operand.
type DType uint8

// The element types. Invalid is the zero value, so that a forgotten dtype
// shows. Float16 is IEEE's binary16, BFloat16 the upper half of a float32; ops
// compute with them in float32 and round the result to nearest even. A Bool is
// a byte, 0 or 1.
const (
	Invalid DType = iota
	Float32
	Float64
	Int64
	Float16
	BFloat16
	Int32
	Uint8
	Bool
	numDTypes
)

var dtypes = [numDTypes]struct {
	name string
	size int64
}{
	Invalid:  {"invalid", 0},
	Float32:  {"float32", 4},
	Float64:  {"float64", 8},
	Int64:    {"int64", 8},
	Float16:  {"float16", 2},
	BFloat16: {"bfloat16", 2},
	Int32:    {"int32", 4},
	Uint8:    {"uint8", 1},
	Bool:     {"bool", 1},
}

// Size returns the bytes of one element, 0 for Invalid.
func (d DType) Size() int64 {
	if d >= numDTypes {
		return 0
	}
	return dtypes[d].size
}

// Valid reports whether d names an element type.
func (d DType) Valid() bool { return d > Invalid && d < numDTypes }

// IsFloat reports whether d is a floating-point type.
func (d DType) IsFloat() bool { return Floats.Has(d) }

// IsInt reports whether d is an integer type; Bool is none.
func (d DType) IsInt() bool { return Ints.Has(d) }

// IsHalf reports whether d is a floating-point type of two bytes.
func (d DType) IsHalf() bool { return Halves.Has(d) }

// Statistic returns the type of a mean or a variance of elements of float type
// d: float64 for float64, else float32.
func (d DType) Statistic() DType {
	if d == Float64 {
		return Float64
	}
	return Float32
}

func (d DType) String() string {
	if d >= numDTypes {
		return fmt.Sprintf("DType(%d)", uint8(d))
	}
	return dtypes[d].name
}

// DTypes is a set of element types.
type DTypes uint32

// Sets of element types that ops take.
const (
	Halves   = DTypes(1<<Float16 | 1<<BFloat16)
	Wides    = DTypes(1<<Float32 | 1<<Float64)
	Floats   = Halves | Wides
	Ints     = DTypes(1<<Int64 | 1<<Int32 | 1<<Uint8)
	Numbers  = Floats | Ints
	AnyDType = Numbers | 1<<Bool
)

// Of returns the set of the given types.
func Of(ds ...DType) DTypes {
	var s DTypes
	for _, d := range ds {
		s |= 1 << d
	}
	return s
}

// Has reports whether d is in the set.
func (s DTypes) Has(d DType) bool { return s>>d&1 == 1 }

// List returns the types in the set.
func (s DTypes) List() []DType {
	var ds []DType
	for d := Invalid + 1; d < numDTypes; d++ {
		if s.Has(d) {
			ds = append(ds, d)
		}
	}
	return ds
}
