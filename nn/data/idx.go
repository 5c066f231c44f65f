package data

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
)

// The IDX format: two zero bytes, the element type, the rank, one big-endian
// uint32 a dim, the elements in row-major order, nothing more.
const (
	typeUint8 = 0x08
	typeAt    = 2 // offset of the element type
	rankAt    = 3 // offset of the rank
	dimsAt    = 4 // offset of the first dim
	dimBytes  = 4

	// maxRank is one more than a colour image needs.
	maxRank = 5
	// maxElements bounds what a small, well compressed file can make of
	// itself. It is 22 times MNIST, twice the largest set of its family.
	maxElements = 1 << 30
	// firstRead is how much is allocated on the word of a header alone.
	firstRead = 1 << 20
)

// IDX is an array of unsigned bytes, read from a file.
type IDX struct {
	Name string // as errors quote it
	Dims []int
	Data []byte // the product of Dims, row-major
}

// ReadIDX reads an IDX file of unsigned bytes, plain or compressed by gzip, up
// to the end of r. Errors call it name. A file that is damaged, truncated,
// longer than it says or of another type is refused with a [*FormatError].
func ReadIDX(r io.Reader, name string) (*IDX, error) {
	d := &decoder{name: name}
	if err := d.open(r); err != nil {
		return nil, err
	}
	dims, n, err := d.header()
	if err != nil {
		return nil, err
	}
	data, err := d.elements(n)
	if err != nil {
		return nil, err
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	return &IDX{Name: name, Dims: dims, Data: data}, nil
}

// headerBytes is the offset of the first element.
func (x *IDX) headerBytes() int64 { return int64(dimsAt + dimBytes*len(x.Dims)) }

// fault is a FormatError about a byte that was read.
func (x *IDX) fault(offset int64, format string, args ...any) error {
	return &FormatError{File: x.Name, Offset: offset, Msg: fmt.Sprintf(format, args...)}
}

// decoder reads a file from front to back and knows where it is.
type decoder struct {
	r    io.Reader
	name string
	off  int64 // bytes read so far, after decompression
}

func (d *decoder) open(r io.Reader) error {
	plain := bufio.NewReader(r)
	d.r = plain
	// An IDX file begins with two zero bytes, so these cannot be its first.
	if head, _ := plain.Peek(2); string(head) != "\x1f\x8b" {
		return nil
	}
	z, err := gzip.NewReader(plain)
	if err != nil {
		return d.cut("gzip header", err)
	}
	d.r = z
	return nil
}

func (d *decoder) header() (dims []int, n int, err error) {
	var magic [dimsAt]byte
	if err := d.fill(magic[:]); err != nil {
		return nil, 0, d.cut("the file ends in its magic number", err)
	}
	for i, b := range magic[:typeAt] {
		if b != 0 {
			return nil, 0, d.fault(int64(i), "magic number starts with 0x%02x, want 0: not an IDX file", b)
		}
	}
	if t := magic[typeAt]; t != typeUint8 {
		return nil, 0, d.fault(typeAt, "element type 0x%02x, want 0x%02x (unsigned byte)", t, typeUint8)
	}
	rank := int(magic[rankAt])
	if rank < 1 || rank > maxRank {
		return nil, 0, d.fault(rankAt, "rank %d, want 1 to %d", rank, maxRank)
	}
	dims, n = make([]int, rank), 1
	for i := range dims {
		var b [dimBytes]byte
		at := d.off
		if err := d.fill(b[:]); err != nil {
			return nil, 0, d.cut(fmt.Sprintf("the file ends in dim %d of %d", i+1, rank), err)
		}
		size := int64(binary.BigEndian.Uint32(b[:]))
		// n is at most 2^30 and size below 2^32: the product cannot overflow.
		if size > maxElements || int64(n)*size > maxElements {
			return nil, 0, d.fault(at, "dim %d is %d: more than %d elements", i+1, size, maxElements)
		}
		dims[i], n = int(size), n*int(size)
	}
	return dims, n, nil
}

// elements reads n bytes into memory that grows as they arrive, so that a
// header alone cannot make it large.
func (d *decoder) elements(n int) ([]byte, error) {
	start := d.off
	buf := make([]byte, min(n, firstRead))
	for have := 0; ; {
		if err := d.fill(buf[have:]); err != nil {
			return nil, d.cut(fmt.Sprintf("the file ends after %d of %d elements", d.off-start, n), err)
		}
		have = len(buf)
		if have == n {
			return buf, nil
		}
		larger := make([]byte, min(n, 2*have))
		copy(larger, buf)
		buf = larger
	}
}

// end demands that nothing follows; it is also what makes gzip compare its
// checksum.
func (d *decoder) end() error {
	var b [1]byte
	switch _, err := io.ReadFull(d.r, b[:]); err {
	case io.EOF:
		return nil
	case nil:
		return d.fault(d.off, "bytes after the last element")
	default:
		return d.cut("after the last element", err)
	}
}

// fill reads len(b) bytes; the file's end before them is
// io.ErrUnexpectedEOF.
func (d *decoder) fill(b []byte) error {
	n, err := io.ReadFull(d.r, b)
	d.off += int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (d *decoder) fault(offset int64, format string, args ...any) error {
	return &FormatError{File: d.name, Offset: offset, Msg: fmt.Sprintf(format, args...)}
}

// cut is a FormatError about the byte that could not be read.
func (d *decoder) cut(msg string, err error) error {
	return &FormatError{File: d.name, Offset: d.off, Msg: msg, Err: err}
}
