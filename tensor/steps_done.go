package tensor

import (
	"errors"
	"fmt"
)

// Done returns how many steps of a parameter are counted, waiting for those that
// are queued.
func (s *Steps) Done(param *Tensor) (int64, error) {
	c := s.of[param.root()]
	switch {
	case c == nil:
		return 0, nil
	case c.cell == nil:
		return c.done, nil
	}
	cell, err := Data[int64](c.cell)
	if err != nil {
		return 0, err
	}
	return cell[0], nil
}

// SetDone makes s count on from so many steps of each of the parameters: an
// optimiser that goes on where another one was. What s has counted is forgotten. An
// error changes nothing.
func (s *Steps) SetDone(params []*Tensor, done []int64) (err error) {
	if len(params) != len(done) {
		return newError("Steps.SetDone", fmt.Errorf("%w: %d numbers for %d parameters", ErrShape, len(done), len(params)))
	}
	type kin struct {
		stream *Stream
		done   int64
	}
	next, byKin := Steps{}, map[kin]*counter{}
	defer func() {
		if err != nil {
			err = errors.Join(err, next.Release())
		}
	}()
	for i, p := range params {
		if err := p.usable(); err != nil {
			return newError("Steps.SetDone", err, p)
		}
		if done[i] < 0 {
			return newError("Steps.SetDone", fmt.Errorf("%w: %d steps", ErrValue, done[i]), p)
		}
		if done[i] == 0 {
			continue
		}
		k := kin{p.storage.homeStream(), done[i]}
		if byKin[k] == nil {
			c, err := counterOf(k.stream, k.done)
			if err != nil {
				return newError("Steps.SetDone", err, p)
			}
			byKin[k] = c
		}
		next.assign(p.root(), byKin[k])
	}
	old := *s
	*s, next = next, Steps{}
	return old.Release()
}

// counterOf returns a counter that begins at a number of steps.
func counterOf(s *Stream, done int64) (*counter, error) {
	if !s.dev.async {
		return &counter{done: done}, nil
	}
	_, e := s.place() // in no scope
	cell, err := newTagged(s, e, Int64, []int64{2}, OptimizerState)
	if err != nil {
		return nil, err
	}
	if err := CopyFrom(cell, []int64{done, 1}); err != nil {
		return nil, errors.Join(err, cell.Release())
	}
	return &counter{cell: cell}, nil
}
