package npy

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"tarn/tensor"
)

// A file begins with the magic, two bytes of version, the length of the header
// as 2 bytes (4 from version 2 on), and the header: a Python dict as text, with
// spaces and a newline behind it. All that is a multiple of headerAlign bytes,
// so that a file mapped to memory has its elements aligned.
const (
	magic       = "\x93NUMPY"
	headerAlign = 64
	// maxHeader is more than a dict of these three keys can need, and what a
	// header of version 1 can have.
	maxHeader = 1<<16 - 1
	// growthDigits is the room that NumPy leaves for the first dim to grow where
	// it lies.
	growthDigits = 21
)

// header is what the dict says.
type header struct {
	kind    *kind
	order   binary.ByteOrder
	fortran bool
	shape   []int // never nil
	len     int   // the product of shape
}

// header reads everything before the elements.
func (s *source) header() (*header, error) {
	var start [len(magic) + 2]byte
	if err := s.fill(start[:], "the magic and the version"); err != nil {
		return nil, err
	}
	for i := range magic {
		if start[i] != magic[i] {
			return nil, s.fault(int64(i), "0x%02x where the magic has 0x%02x: no .npy file", start[i], magic[i])
		}
	}
	major, minor := start[len(magic)], start[len(magic)+1]
	if major < 1 || major > 3 || minor != 0 {
		return nil, s.fault(int64(len(magic)), "version %d.%d, want 1.0, 2.0 or 3.0", major, minor)
	}
	text, err := s.headerText(major)
	if err != nil {
		return nil, err
	}
	return parseHeader(&literal{s: s, base: s.off - int64(len(text)), text: text, python2: major < 3})
}

func (s *source) headerText(major byte) (string, error) {
	at := s.off
	width := 2
	if major > 1 {
		width = 4
	}
	var b [4]byte
	if err := s.fill(b[:width], "the length of the header"); err != nil {
		return "", err
	}
	n := int64(binary.LittleEndian.Uint32(b[:]))
	if n > maxHeader {
		return "", s.fault(at, "a header of %d bytes, at most %d", n, maxHeader)
	}
	if s.end >= 0 && n > s.end-s.off {
		return "", s.fault(at, "a header of %d bytes where %d follow", n, s.end-s.off)
	}
	text := make([]byte, n)
	if err := s.fill(text, "the header"); err != nil {
		return "", err
	}
	if major == 3 && !utf8.Valid(text) {
		return "", s.fault(at+int64(width), "the header is no UTF-8")
	}
	return string(text), nil
}

// count returns the product of the dims, false where the bytes of the elements,
// in the file or in a tensor, overflow. A dim of 0 does not hide an overflow of
// the others, as in package tensor.
func count(shape []int) (n int, ok bool) {
	const widest = 8
	product, empty := uint64(1), false
	for _, d := range shape {
		if d == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(product, uint64(d))
		if hi != 0 || lo > math.MaxInt/widest {
			return 0, false
		}
		product = lo
	}
	if empty {
		return 0, true
	}
	return int(product), true
}

// formatHeader returns everything before the elements of a tensor.
func formatHeader(dt tensor.DType, shape tensor.Shape) []byte {
	var b strings.Builder
	b.WriteString("{'descr': '" + descrs[dt] + "', 'fortran_order': False, 'shape': " + tuple(shape) + ", }")
	if len(shape) > 0 {
		b.WriteString(strings.Repeat(" ", growthDigits-len(strconv.Itoa(shape[0]))))
	}
	const before = len(magic) + 4
	fill := headerAlign - (before+b.Len()+1)%headerAlign
	b.WriteString(strings.Repeat(" ", fill) + "\n")
	out := binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(b.Len()))
	return append(out, b.String()...)
}

// tuple is the shape as Python prints it.
func tuple(shape tensor.Shape) string {
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = strconv.Itoa(d)
	}
	s := strings.Join(dims, ", ")
	if len(shape) == 1 {
		s += ","
	}
	return "(" + s + ")"
}
