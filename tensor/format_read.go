package tensor

import (
	"fmt"

	"tarn/cuda"
	"tarn/kernels"
)

// elides reports whether the middles of t's long dims are not printed.
func (t *Tensor) elides() bool { return t.view.Len() > shortLen }

// cells reads and writes all elements that are printed.
func (t *Tensor) cells(verb rune, digits int) (cells, error) {
	if err := t.printable(); err != nil {
		return cells{}, err
	}
	floats := func(values []float64) cells { return floatCells(values, verb, digits) }
	switch t.view.DType {
	case Float32:
		return written(t, floats, number[float32])
	case Float64:
		return written(t, floats, number[float64])
	case Float16:
		return written(t, floats, number[F16])
	case BFloat16:
		return written(t, floats, number[BF16])
	case Int64:
		return written(t, intCells, func(v int64) int64 { return v })
	case Int32:
		return written(t, intCells, func(v int32) int64 { return int64(v) })
	case Uint8:
		return written(t, intCells, func(v uint8) int64 { return int64(v) })
	default:
		return written(t, truthCells, func(v bool) bool { return v })
	}
}

// written reads what is printed of t and writes it as a wider type.
func written[T Element, W any](t *Tensor, write func([]W) cells, widen func(T) W) (cells, error) {
	values, err := readShown[T](t, t.view)
	wide := make([]W, len(values))
	for i, v := range values {
		wide[i] = widen(v)
	}
	return write(wide), err
}

// printable returns why t cannot be read now. Reading finds out as well, but a
// recording that somebody tried to read from has failed.
func (t *Tensor) printable() error {
	if err := t.usable(); err != nil {
		return err
	}
	if c := t.dev.capture.Load(); c != nil && c.hides(t.dev.streamOf(t.env), t.storage) {
		return fmt.Errorf("%w: its values are being recorded", ErrCapture)
	}
	return nil
}

// hides reports whether a host that works on s cannot see st.
func (c *capture) hides(s *Stream, st *Storage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.touched[st]
	return s.capture.Load() == c || r != nil && (r.writes || !r.outer)
}

// peeker is a backend whose CopyOut tells what earlier work found wrong with its
// data, once. A peek leaves that to who can return an error.
type peeker interface {
	peek(s cuda.Stream, dst []byte, src cuda.DevicePtr) error
}

// readShown reads what is printed of v, a view of t's storage.
func readShown[T Element](t *Tensor, v kernels.View) ([]T, error) {
	shown := v
	if t.elides() && !edges(&shown) {
		return readRows[T](t, v)
	}
	values := make([]T, shown.Len())
	out := t.dev.backend.CopyOut
	if p, ok := t.dev.backend.(peeker); ok {
		out = p.peek
	}
	if err := t.seenAs(shown).readBy("Format", bytesOf(values), out); err != nil {
		return nil, err
	}
	return values, nil
}

// edges leaves the middles of long dims out: of such a dim it makes two, which
// end and which element there. It reports false where v then has too many dims.
func edges(v *kernels.View) bool {
	w := kernels.View{Ptr: v.Ptr, DType: v.DType}
	for d := range int(v.Rank) {
		n, stride := v.Dims[d], v.Strides[d]
		if n > 2*edgeItems {
			if w.Rank == MaxRank {
				return false
			}
			w.Dims[w.Rank], w.Strides[w.Rank] = 2, (n-edgeItems)*stride
			w.Rank++
			n = edgeItems
		}
		if w.Rank == MaxRank {
			return false
		}
		w.Dims[w.Rank], w.Strides[w.Rank] = n, stride
		w.Rank++
	}
	*v = w
	return true
}

// readRows is readShown for a v of too many long dims: one index of its first
// dim after the other.
func readRows[T Element](t *Tensor, v kernels.View) (values []T, err error) {
	n := int(v.Dims[0])
	for i := 0; i < n; i++ {
		if i == edgeItems && n > 2*edgeItems {
			i = n - edgeItems
		}
		row := v
		slice(&row, 0, i, i+1, 1)
		part, err := readShown[T](t, without(row, 0))
		if err != nil {
			return nil, err
		}
		values = append(values, part...)
	}
	return values, nil
}
