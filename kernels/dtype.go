package kernels

import "fmt"

// DType is the type of the elements of an operand.
type DType uint8

// The element types. Invalid is the zero value, so that a forgotten dtype
// shows.
const (
	Invalid DType = iota
	Float32
	Float64
	Int64
	numDTypes
)

var dtypes = [numDTypes]struct {
	name string
	size int64
}{
	Invalid: {"invalid", 0},
	Float32: {"float32", 4},
	Float64: {"float64", 8},
	Int64:   {"int64", 8},
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
func (d DType) IsFloat() bool { return d == Float32 || d == Float64 }

func (d DType) String() string {
	if d >= numDTypes {
		return fmt.Sprintf("DType(%d)", uint8(d))
	}
	return dtypes[d].name
}

// DTypes is a set of element types.
type DTypes uint32

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
