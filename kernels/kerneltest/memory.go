package kerneltest

import (
	"bytes"
	"encoding/binary"
	"math"
	"unsafe"

	"tarn/kernels"
)

// redZone is how many bytes lie on each side of the elements of an operand:
// more than two of the widest vectors, so that an access beyond the end stays
// in it and is seen.
const redZone = 192

// poison fills what no one has written. As a float it is NaN and as an int64
// -1, so that a kernel that reads it has a wrong result.
const poison = 0xFF

// memory is what one or more operands of a call lie in. It holds the bytes
// from before the call; each run of the call gets a copy. They are made when
// somebody first looks: a thinned suite makes most calls for nothing.
type memory struct {
	size  int64
	bytes []byte   // nil before the first look
	fills []func() // what is done then
	// writable marks the bytes of output elements; nil: none. All others, gaps
	// between strided elements included, must survive a run.
	writable []bool
}

func newMemory(n int64) *memory { return &memory{size: n} }

// initial returns the bytes from before the call.
func (m *memory) initial() []byte {
	if m.bytes == nil {
		m.bytes = bytes.Repeat([]byte{poison}, int(m.size))
		for _, fill := range m.fills {
			fill()
		}
		m.fills = nil
	}
	return m.bytes
}

func (m *memory) mayWrite(i int) bool { return m.writable != nil && m.writable[i] }

// words returns a copy of m's bytes that starts at a multiple of 8.
func (m *memory) words() []byte {
	initial := m.initial()
	w := make([]uint64, (len(initial)+7)/8+1)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), len(w)*8)[:len(initial)]
	copy(b, initial)
	return b
}

// operand is a View that lies in a memory. view.Ptr is the offset of the first
// element there and becomes an address in a run.
type operand struct {
	mem  *memory
	view kernels.View
}

// offsets calls f with the offset of every element of v in row-major order.
func offsets(v *kernels.View, f func(i int, off int64)) {
	var index [kernels.MaxRank]int64
	off, size := int64(v.Ptr), v.DType.Size()
	for i := range int(v.Len()) {
		f(i, off)
		for d := int(v.Rank) - 1; d >= 0; d-- {
			index[d]++
			off += v.Strides[d] * size
			if index[d] < v.Dims[d] {
				break
			}
			off -= index[d] * v.Strides[d] * size
			index[d] = 0
		}
	}
}

// allowWrites marks the elements of o as an output's.
func (o operand) allowWrites() {
	if o.mem.writable == nil {
		o.mem.writable = make([]bool, len(o.mem.initial()))
	}
	offsets(&o.view, func(_ int, off int64) {
		for b := range o.view.DType.Size() {
			o.mem.writable[off+b] = true
		}
	})
}

// fill sets the elements of o to what g makes.
func (o operand) fill(g generator) operand {
	fill := func() {
		offsets(&o.view, func(i int, off int64) { put(o.mem.bytes[off:], o.view.DType, g(o.view.DType, i)) })
	}
	if o.mem.bytes != nil {
		fill()
	} else {
		o.mem.fills = append(o.mem.fills, fill)
	}
	return o
}

// An element travels as its bits, which keeps NaN payloads, the sign of 0 and
// large int64 values.

func put(b []byte, d kernels.DType, bits uint64) {
	switch d.Size() {
	case 1:
		b[0] = byte(bits)
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(bits))
	case 4:
		binary.NativeEndian.PutUint32(b, uint32(bits))
	default:
		binary.NativeEndian.PutUint64(b, bits)
	}
}

func get(b []byte, d kernels.DType) uint64 {
	switch d.Size() {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// toBits returns x as an element of type d.
func toBits(d kernels.DType, x float64) uint64 {
	switch d {
	case kernels.Float32:
		return uint64(math.Float32bits(float32(x)))
	case kernels.Float64:
		return math.Float64bits(x)
	case kernels.Float16:
		return uint64(kernels.ToF16(float32(x)))
	case kernels.BFloat16:
		return uint64(kernels.ToBF16(float32(x)))
	case kernels.Int32:
		return uint64(uint32(int32(x)))
	case kernels.Uint8:
		return uint64(uint8(int64(x)))
	case kernels.Bool:
		if x != 0 {
			return 1
		}
		return 0
	default:
		return uint64(int64(x))
	}
}

// toFloat returns the value of an element of type d.
func toFloat(d kernels.DType, bits uint64) float64 {
	switch d {
	case kernels.Float32:
		return float64(math.Float32frombits(uint32(bits)))
	case kernels.Float64:
		return math.Float64frombits(bits)
	case kernels.Float16:
		return float64(kernels.F16(bits).Float32())
	case kernels.BFloat16:
		return float64(kernels.BF16(bits).Float32())
	case kernels.Int32:
		return float64(int32(uint32(bits)))
	default:
		return float64(int64(bits))
	}
}
