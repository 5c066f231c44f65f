package npy

import (
	"encoding/binary"
	"strings"

	"tarn/tensor"
)

// kind is a type of elements in a file.
type kind struct {
	size int // bytes of an element
	// read makes the tensor of the elements that come.
	read func(s *source, h *header, p tensor.Place) (*tensor.Tensor, error)
}

// descrs is how the types of tensors are written. NumPy has no bfloat16.
var descrs = map[tensor.DType]string{
	tensor.Float32: "<f4", tensor.Float64: "<f8", tensor.Float16: "<f2",
	tensor.Int64: "<i8", tensor.Int32: "<i4", tensor.Uint8: "|u1", tensor.Bool: "|b1",
}

// kinds is what can be read, by NumPy's code without the byte order.
var kinds = map[string]*kind{
	"f4": {4, reader(4, same[float32])},
	"f8": {8, reader(8, same[float64])},
	"f2": {2, reader(2, halves)},
	"i8": {8, reader(8, same[int64])},
	"i4": {4, reader(4, same[int32])},
	"u1": {1, reader(1, same[uint8])},
	"b1": {1, reader(1, truths)},
	"i1": {1, reader(1, widened[int8, int32])},
	"i2": {2, reader(2, widened[int16, int32])},
	"u2": {2, reader(2, widened[uint16, int32])},
	"u4": {4, reader(4, widened[uint32, int64])},
}

// refused has the codes that other files have, the first that fits counting.
var refused = []struct{ start, name string }{
	{"u8", "uint64, whose values int64 has not all"},
	{"c8", "complex64"},
	{"c16", "complex128"},
	{"c", "longer complex"},
	{"f16", "longdouble"},
	{"f12", "longdouble"},
	{"O", "objects, which are code to run"},
	{"V2", "2 raw bytes, which may be bfloat16: write float32"},
	{"V", "raw bytes or a structure"},
	{"S", "bytes"},
	{"U", "text"},
	{"M8", "datetime64"},
	{"m8", "timedelta64"},
}

// descr reads the type of the elements.
func (l *literal) descr() (*kind, binary.ByteOrder, error) {
	at := l.pos
	if at < len(l.text) && l.text[at] == '[' {
		return nil, nil, l.fault(at, "dtype: a structure, want one number an element")
	}
	code, err := l.quoted()
	if err != nil {
		return nil, nil, err
	}
	if code == "" {
		return nil, nil, l.fault(at, "dtype: empty")
	}
	for _, r := range refused {
		if strings.HasPrefix(code[1:], r.start) {
			return nil, nil, l.fault(at, "dtype %q: %s", code, r.name)
		}
	}
	k := kinds[code[1:]]
	switch {
	case k == nil:
	case code[0] == '<', code[0] == '|' && k.size == 1:
		return k, binary.LittleEndian, nil
	case code[0] == '>':
		return k, binary.BigEndian, nil
	default: // '=' is the order of the machine that wrote it
		return nil, nil, l.fault(at, "dtype %q: byte order %q, want < or >", code, code[0])
	}
	return nil, nil, l.fault(at, "dtype %q: want float16, 32 or 64, bool, int8 to 64 or uint8 to 32, as in \"<f4\"", code)
}
