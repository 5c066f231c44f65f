package data

import (
	"errors"
	"fmt"
	"iter"

	"tarn/tensor"
)

// Batch is some examples as tensors: X [n, Features] float32 and Y [n] int64.
type Batch struct {
	X, Y *tensor.Tensor
}

// Batches yields the set batch by batch as tensors at p. The iterator owns
// them: a batch is released when the loop asks for the next, or ends. What the
// loop made of it lives on by itself. An error, of the options or of the
// device, is yielded once and ends the loop.
func (s *Set) Batches(p tensor.Place, o BatchOptions) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		var features []float32
		var labels []int64
		for idx, err := range s.Indices(o) {
			if err != nil {
				yield(Batch{}, err)
				return
			}
			if features == nil {
				features, labels = make([]float32, len(idx)*s.Features()), make([]int64, len(idx))
			}
			f, l := features[:len(idx)*s.Features()], labels[:len(idx)]
			s.Gather(f, l, idx)
			b := Batch{tensor.FromSlice(p, f, len(idx), s.Features()), tensor.FromSlice(p, l, len(idx))}
			if err := errors.Join(b.X.Err(), b.Y.Err()); err != nil {
				yield(Batch{}, fmt.Errorf("data: batch of %d examples: %w", len(idx), errors.Join(err, b.release())))
				return
			}
			more, err := b.lend(yield)
			if err != nil && more {
				yield(Batch{}, fmt.Errorf("data: release a batch: %w", err))
			}
			if err != nil || !more {
				return
			}
		}
	}
}

// lend shows b to the loop and releases it, even where the loop panics.
func (b Batch) lend(yield func(Batch, error) bool) (more bool, err error) {
	defer func() { err = b.release() }()
	return yield(b, nil), nil
}

func (b Batch) release() error { return errors.Join(b.X.Release(), b.Y.Release()) }
