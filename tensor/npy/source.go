package npy

import (
	"fmt"
	"io"
)

// source is an array's bytes from front to back; it knows where it is.
type source struct {
	r    io.Reader
	name string
	off  int64 // bytes read so far
	end  int64 // where the array must end; -1: wherever its header says
	// there is set where the bytes up to end are certain to come, so that memory
	// for them may be taken at once.
	there bool
}

// fill reads len(b) bytes; an end before them is io.ErrUnexpectedEOF.
func (s *source) fill(b []byte, what string) error {
	n, err := io.ReadFull(s.r, b)
	s.off += int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return &Error{Name: s.name, Offset: s.off, What: "cannot read " + what, Err: err}
	}
	return nil
}

// finish demands that nothing follows. It is also what makes an archive compare
// its checksum.
func (s *source) finish() error {
	var b [1]byte
	switch _, err := io.ReadFull(s.r, b[:]); err {
	case io.EOF:
		return nil
	case nil:
		return s.fault(s.off, "bytes after the last element")
	default:
		return &Error{Name: s.name, Offset: s.off, What: "after the last element", Err: err}
	}
}

func (s *source) fault(offset int64, format string, args ...any) error {
	return &Error{Name: s.name, Offset: offset, What: fmt.Sprintf(format, args...)}
}
