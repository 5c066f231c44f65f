package kernels

import "fmt"

// ID names an op. The comment at each ID is its specification, which all
// bodies (ref, cpu, gpu) follow. "Float" means the four floating-point types,
// "Int" the three integer types, "Number" both; Bool is apart. All operands of
// an op have the dtype of Out[0] unless said otherwise. Operands may have any
// strides; an input dim that is broadcast has stride 0. An output never has
// stride 0 on a dim larger than 1 and does not overlap an input, except that an
// elementwise op may write over an input with the same dims and strides. An
// empty output is no error, and nothing is written.
//
// Results of Float16 and BFloat16 are those of float32, rounded once at the
// end: half types are for storing, not for computing.
type ID uint8

// IDs are numbered through the files op_*.go: each block goes on where the one
// before it ended.
const (
	// Fill sets every element of Out[0] to Attr.Alpha. Any dtype.
	Fill ID = iota
	// Copy writes In[0] to Out[0], same dims, converting the dtype. A float
	// becomes an integer by truncation to int64, of which the low bits are kept:
	// beyond int64, and for NaN, the result has no meaning. To a smaller float it
	// is rounded to nearest even, from float64 to a half by way of float32. Bool
	// is whether the element is not 0, NaN included. Any dtypes.
	Copy

	endCopies
)

// NumOps is the number of ops: IDs are 0 to NumOps-1.
const NumOps = int(numOps)

func (id ID) String() string {
	if id >= numOps {
		return fmt.Sprintf("ID(%d)", uint8(id))
	}
	return specs[id].name
}
