package npy

import (
	"strconv"
	"strings"

	"tarn/tensor"
)

// literal is the header's dict while it is read. Of Python's literals it knows
// those that can stand there: strings, truth values and tuples of integers.
// Nothing nests, so nothing can nest deeply.
type literal struct {
	s       *source
	text    string
	base    int64 // offset of text in the file
	pos     int
	python2 bool // integers may end in L
}

// fault is an Error about the byte of text at pos.
func (l *literal) fault(pos int, format string, args ...any) error {
	return l.s.fault(l.base+int64(pos), "header: "+format, args...)
}

// parseHeader demands the keys descr, fortran_order and shape, once each in any
// order, and no other.
func parseHeader(l *literal) (*header, error) {
	h := &header{}
	if err := l.expect('{'); err != nil {
		return nil, err
	}
	var seen []string
	for !l.accept('}') {
		at := l.pos
		key, err := l.quoted()
		if err == nil {
			err = l.entry(h, key, at, seen)
		}
		if err != nil {
			return nil, err
		}
		seen = append(seen, key)
		if !l.accept(',') {
			if err := l.expect('}'); err != nil {
				return nil, err
			}
			break
		}
	}
	at := l.pos - 1
	if len(seen) < 3 {
		return nil, l.fault(at, "it ends with the keys %q, want descr, fortran_order and shape", seen)
	}
	if l.skip(); l.pos < len(l.text) {
		return nil, l.fault(l.pos, "%q after the dict", l.text[l.pos])
	}
	return h, nil
}

// entry reads what stands behind a key.
func (l *literal) entry(h *header, key string, at int, seen []string) (err error) {
	for _, k := range seen {
		if k == key {
			return l.fault(at, "key %q twice", key)
		}
	}
	if err := l.expect(':'); err != nil {
		return err
	}
	switch l.skip(); key {
	case "descr":
		h.kind, h.order, err = l.descr()
	case "fortran_order":
		h.fortran, err = l.truth()
	case "shape":
		h.shape, h.len, err = l.shape()
	default:
		err = l.fault(at, "key %q, want descr, fortran_order or shape", key)
	}
	return err
}

func (l *literal) truth() (bool, error) {
	for word, value := range map[string]bool{"True": true, "False": false} {
		if rest, ok := strings.CutPrefix(l.text[l.pos:], word); ok {
			l.pos = len(l.text) - len(rest)
			return value, nil
		}
	}
	return false, l.fault(l.pos, "fortran_order is neither True nor False")
}

func (l *literal) shape() (dims []int, n int, err error) {
	start := l.pos
	if err := l.expect('('); err != nil {
		return nil, 0, err
	}
	dims = []int{}
	for !l.accept(')') {
		if len(dims) == tensor.MaxRank {
			return nil, 0, l.fault(l.pos, "more than %d dims", tensor.MaxRank)
		}
		d, err := l.dim(len(dims))
		if err != nil {
			return nil, 0, err
		}
		dims = append(dims, d)
		if l.accept(',') {
			continue
		}
		// In Python (3) is a number and no tuple.
		if l.skip(); len(dims) == 1 {
			return nil, 0, l.fault(l.pos, "want ',' after the only dim")
		}
		if err := l.expect(')'); err != nil {
			return nil, 0, err
		}
		break
	}
	n, ok := count(dims)
	if !ok {
		return nil, 0, l.fault(start, "the bytes of shape %v overflow", tensor.Shape(dims))
	}
	return dims, n, nil
}

func (l *literal) dim(i int) (int, error) {
	l.skip()
	at := l.pos
	for l.pos < len(l.text) && l.text[l.pos] >= '0' && l.text[l.pos] <= '9' {
		l.pos++
	}
	d, err := strconv.Atoi(l.text[at:l.pos])
	if err != nil {
		return 0, l.fault(at, "dim %d is no size from 0 to 2^%d-1", i, strconv.IntSize-1)
	}
	if l.python2 && l.pos < len(l.text) && l.text[l.pos] == 'L' {
		l.pos++
	}
	return d, nil
}

// quoted reads a string without escapes: no name or type that is right has any.
func (l *literal) quoted() (string, error) {
	l.skip()
	rest := l.text[l.pos:]
	if rest == "" || rest[0] != '\'' && rest[0] != '"' {
		return "", l.fault(l.pos, "want a string")
	}
	end := strings.IndexByte(rest[1:], rest[0])
	if end < 0 {
		return "", l.fault(l.pos, "a string that does not end")
	}
	value := rest[1 : 1+end]
	if i := strings.IndexByte(value, '\\'); i >= 0 {
		return "", l.fault(l.pos+1+i, "a backslash in a string")
	}
	l.pos += end + 2
	return value, nil
}

func (l *literal) skip() {
	for l.pos < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.pos]) >= 0 {
		l.pos++
	}
}

// accept steps over c, where that is what comes next.
func (l *literal) accept(c byte) bool {
	l.skip()
	if l.pos < len(l.text) && l.text[l.pos] == c {
		l.pos++
		return true
	}
	return false
}

func (l *literal) expect(c byte) error {
	if l.accept(c) {
		return nil
	}
	if l.pos == len(l.text) {
		return l.fault(l.pos, "it ends where %q should be", c)
	}
	return l.fault(l.pos, "%q where %q should be", l.text[l.pos], c)
}
