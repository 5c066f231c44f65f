package tensor

import (
	"errors"
	"slices"

	"tarn/kernels"
)

// Steps counts the steps of an optimiser, for each parameter by itself. The zero
// value has counted none. On a device that works on after a launch returned, the
// numbers lie in its memory and launches count them, so that each Replay of a
// captured step counts as well. It is one goroutine's at a time.
type Steps struct{ of map[*Tensor]*counter }

// counter is how many steps parameters have done that did all of them together.
type counter struct {
	params int
	done   int64   // where ops run at once
	cell   *Tensor // else: two int64, the steps done and a 1 to add; no scope's
}

// StepAdamW is the function of that name at the next step of each parameter,
// which it counts; the Step of h is not looked at. [Capture] can record it, but
// for the first step of a parameter. An error before the first launch has
// counted nothing.
func (s *Steps) StepAdamW(params, first, second []*Tensor, h ...AdamW) error {
	return stepAdamW(s, params, first, second, h)
}

// Release gives back the memory that the numbers take; no step has been counted
// then.
func (s *Steps) Release() error {
	var errs []error
	for _, c := range s.of { // a second Release of one that is shared does nothing
		errs = append(errs, c.release())
	}
	s.of = nil
	return errors.Join(errs...)
}

// next returns the counter of each parameter for a step of all of them. They
// share one as far as they have done the same steps; a counter of others too is
// copied first. grads are the gradients.
func (s *Steps) next(params, grads []*Tensor) ([]*counter, error) {
	if c := s.of[params[0].root()]; c != nil && s.isOf(c, params) {
		return slices.Repeat([]*counter{c}, len(params)), nil
	}
	type kin struct {
		stream *Stream
		old    *counter
	}
	here := map[*counter]int{}
	for _, p := range params {
		here[s.of[p.root()]]++
	}
	counters, byKin := make([]*counter, len(params)), map[kin]*counter{}
	for i, p := range params {
		k := kin{p.storage.homeStream(), s.of[p.root()]}
		if byKin[k] == nil {
			c, err := k.old, error(nil)
			if c == nil || here[c] < c.params {
				c, err = newCounter(k.stream, k.old, grads[i])
			}
			if err != nil {
				for k, c := range byKin {
					if c != k.old {
						err = errors.Join(err, c.release())
					}
				}
				return nil, err
			}
			byKin[k] = c
		}
		counters[i] = byKin[k]
	}
	for i, p := range params {
		s.assign(p.root(), counters[i])
	}
	return counters, nil
}

// isOf reports whether c counts for these parameters and no others.
func (s *Steps) isOf(c *counter, params []*Tensor) bool {
	return c.params == len(params) &&
		!slices.ContainsFunc(params, func(p *Tensor) bool { return s.of[p.root()] != c })
}

func (s *Steps) assign(p *Tensor, c *counter) {
	old := s.of[p]
	if old == c {
		return
	}
	if old != nil {
		old.params--
	}
	if s.of == nil {
		s.of = map[*Tensor]*counter{}
	}
	s.of[p] = c
	c.params++
}

// newCounter returns a counter of nothing, or one that begins where old is. Its
// memory is of s.
func newCounter(s *Stream, old *counter, grad *Tensor) (*counter, error) {
	if !s.dev.async {
		c := &counter{}
		if old != nil {
			c.done = old.done
		}
		return c, nil
	}
	if c := s.dev.capture.Load(); c != nil {
		if err := c.refuseOp(s, grad, "the steps of a parameter begin to be counted apart from those of others; the first run has to do that"); err != nil {
			return nil, err
		}
	}
	_, e := s.place() // in no scope
	cell, err := newTagged(s, e, Int64, []int64{2}, OptimizerState)
	if err != nil {
		return nil, err
	}
	c := &counter{cell: cell}
	if old != nil {
		err = s.copyOf(cell, old.cell)
	} else if err = fill(cell, 1); err == nil {
		err = c.change(s, kernels.Sub)
	}
	if err != nil {
		return nil, errors.Join(err, c.release())
	}
	return c, nil
}

// attr returns a with the step that comes after those done: as a number, or as 0
// where the device has it.
func (c *counter) attr(a kernels.Attr) kernels.Attr {
	a.AdamW.Step = 0
	if c.cell == nil {
		a.AdamW.Step = c.done + 1
	}
	return a
}

// number and one are the elements of the cell.

func (c *counter) number() kernels.View { return kernels.View{Ptr: c.cell.view.Ptr, DType: Int64} }

func (c *counter) one() kernels.View {
	return kernels.View{Ptr: c.cell.view.Ptr + uintptr(Int64.Size()), DType: Int64}
}

// change counts one step more, on s, by the op Add, or one less by Sub.
func (c *counter) change(s *Stream, id kernels.ID) error {
	if c.cell == nil {
		if id == kernels.Sub {
			c.done--
		} else {
			c.done++
		}
		return nil
	}
	a := kernels.NewArgs()
	defer a.Put()
	a.Out = append(a.Out, c.number())
	a.In = append(a.In, c.number(), c.one())
	return s.launch(id, a, []*Tensor{c.cell}, nil)
}

func (c *counter) release() error {
	if c.cell == nil {
		return nil
	}
	return c.cell.Release()
}
