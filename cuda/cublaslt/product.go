package cublaslt

import (
	"errors"
	"math"

	"tarn/cuda"
)

// Type is an element type.
type Type uint8

// The element types.
const (
	Float32 Type = iota
	Float64
	BF16
	F16
	numTypes
)

// types are the library's numbers: cudaDataType_t of the elements and of alpha
// and beta, cublasComputeType_t of the sums.
var types = [numTypes]struct {
	name                   string
	number, compute, scale int
}{
	Float32: {"float32", 0, 68, 0},
	Float64: {"float64", 1, 70, 1},
	BF16:    {"bf16", 14, 68, 0},
	F16:     {"f16", 2, 68, 0},
}

func typeNumber(t Type) int { return types[t].number }

func (t Type) String() string {
	if t >= numTypes {
		return "unknown"
	}
	return types[t].name
}

// Matrices are an operand: as many matrices as a product has of them.
type Matrices struct {
	Ptr             cuda.DevicePtr // of the first element of the first matrix
	Batch, Row, Col int64          // strides in elements from one matrix, row, column to the next
}

// Product is Batch products Out = act(X Y + Bias), with X of M by K and Y of K
// by N, and all four numbers at least 1. Each operand is dense along rows or
// along columns. Out overlaps none of the others.
type Product struct {
	Type, OutType  Type // of X and Y; of Out and Bias: the same, or Float32 for BF16 and F16
	M, N, K, Batch int64
	X, Y, Out      Matrices
	Bias           Matrices // one for all of a row or column of Out, whichever is not dense; none if its Ptr is 0
	Rectify        bool     // act is max(x, 0), else nothing
	Accumulate     bool     // the products are added to Out before Bias
}

// ErrNotSupported is matched by the errors of products that cuBLASLt has no way
// or no words for. Nothing was done then.
var ErrNotSupported = errors.New("cublaslt: not supported")

// refusal is why a product is not given to the library.
type refusal string

func (r refusal) Error() string { return "cublaslt: " + string(r) }

// Unwrap returns ErrNotSupported.
func (refusal) Unwrap() error { return ErrNotSupported }

const (
	badTypes   refusal = "no product of such types"
	badSizes   refusal = "a size is less than 1 or more than 31 bits"
	badFactor  refusal = "a factor is dense neither along rows nor along columns"
	badOut     refusal = "the output is dense neither along rows nor along columns, or overlaps itself"
	badBias    refusal = "the bias is not one number for each element of a dense row or column"
	badBatches refusal = "a stride from matrix to matrix is negative"
)

// side is an operand as the library sees it, column by column.
type side struct {
	transposed bool
	lead       int64 // stride from column to column
	step       int64 // from matrix to matrix
	alignment  int64 // of the address, in bytes, up to maxAlignment
}

// maxAlignment is the most that the library makes a difference of.
const maxAlignment = 256

// shape is all of a product that the library is asked about.
type shape struct {
	typ, out      Type
	epilogue      uint8
	accumulate    bool
	biasAlignment int64
	biasStep      int64
	m, n, k       int64
	batch         int64
	a, b, d       side
}

// Values of cublasLtEpilogue_t, which are added up.
const (
	epilogueNone = 1
	epilogueReLU = 2
	epilogueBias = 4
)

// columns says how the library sees the product, and which operands are its A
// and B. It takes matrices column by column, so where out's rows are dense it
// is asked for the transposed product, out^T = y^T x^T, whose columns they are.
func (p *Product) columns() (s shape, a, b cuda.DevicePtr, err error) {
	_, rows := lead(p.Out.Col, p.N, p.Out.Row, p.M)
	q := *p
	if rows && (p.N > 1 || p.Out.Row != 1) {
		q.X, q.Y, q.M, q.N = p.Y.turned(), p.X.turned(), p.N, p.M
		q.Out, q.Bias = p.Out.turned(), p.Bias.turned()
	}
	s, err = q.shape()
	return s, q.X.Ptr, q.Y.Ptr, err
}

func (m Matrices) turned() Matrices { return Matrices{m.Ptr, m.Batch, m.Col, m.Row} }

// shape describes a product whose columns are dense in Out.
func (p *Product) shape() (s shape, err error) {
	if p.Type >= numTypes || p.OutType >= numTypes || p.OutType != p.Type && (p.OutType != Float32 || p.Type == Float64) {
		return s, badTypes
	}
	for _, n := range [...]int64{p.M, p.N, p.K, p.Batch} {
		if n < 1 || n > math.MaxInt32 {
			return s, badSizes
		}
	}
	s = shape{typ: p.Type, out: p.OutType, accumulate: p.Accumulate, epilogue: epilogueNone,
		m: p.M, n: p.N, k: p.K, batch: p.Batch}
	var xOK, yOK, outOK bool
	s.a, xOK = p.X.side(p.M, p.K, p.Batch)
	s.b, yOK = p.Y.side(p.K, p.N, p.Batch)
	s.d, outOK = p.Out.side(p.M, p.N, p.Batch)
	switch {
	case !xOK || !yOK:
		return s, badFactor
	case !outOK || s.d.transposed || p.Batch > 1 && s.d.step == 0:
		return s, badOut
	case s.a.step < 0 || s.b.step < 0 || s.d.step < 0:
		return s, badBatches
	}
	return s, s.finish(p)
}

// finish adds what is done to the sums.
func (s *shape) finish(p *Product) error {
	if p.Rectify {
		s.epilogue = epilogueReLU
	}
	if p.Bias.Ptr == 0 {
		return nil
	}
	if p.Bias.Row != 1 && p.M > 1 || p.Bias.Col != 0 && p.N > 1 {
		return badBias
	}
	s.epilogue = s.epilogue&epilogueReLU | epilogueBias
	s.biasAlignment = alignment(p.Bias.Ptr)
	if p.Batch > 1 {
		s.biasStep = p.Bias.Batch
	}
	if s.biasStep < 0 {
		return badBatches
	}
	return nil
}

// side says how matrices of so many rows and columns lie. What has one row or
// one column may have any stride there.
func (m *Matrices) side(rows, columns, batch int64) (s side, ok bool) {
	s.alignment = alignment(m.Ptr)
	if batch > 1 {
		s.step = m.Batch
	}
	if s.lead, ok = lead(m.Row, rows, m.Col, columns); ok {
		return s, true
	}
	s.transposed = true
	s.lead, ok = lead(m.Col, columns, m.Row, rows)
	return s, ok
}

// lead returns the stride from one dense run of length elements to the next, of
// which there are count, if that is how a matrix lies.
func lead(dense, length, stride, count int64) (int64, bool) {
	switch {
	case dense != 1 && length > 1:
		return 0, false
	case count == 1:
		return length, true
	}
	return stride, stride >= length
}

func alignment(p cuda.DevicePtr) int64 {
	if p%maxAlignment == 0 {
		return maxAlignment
	}
	return int64(p & -p)
}
