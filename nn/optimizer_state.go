package nn

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"tarn/tensor"
)

// Stateful is an optimiser that can go on where another one was: [Save] and [Load]
// take it beside the module.
type Stateful interface {
	Optimizer
	// State returns what the optimiser keeps of its parameters, by PyTorch's name of
	// it and the parameter's, such as "exp_avg.0.weight". The tensors stay the
	// optimiser's.
	State() ([]Parameter, error)
	// SetState makes copies of the given tensors, on the CPU, the optimiser's state,
	// in place of what it has. An error, [ErrState] where they do not fit the
	// parameters, changes nothing.
	SetState(state []Parameter) error
}

// State returns "exp_avg", "exp_avg_sq" and, in a new tensor on the CPU, "step" of
// each parameter that has had a step.
func (a *AdamW) State() ([]Parameter, error) {
	state := append(a.named("exp_avg", a.first), a.named("exp_avg_sq", a.second)...)
	for i, p := range a.parameters {
		if a.first == nil || a.first[i] == nil {
			continue
		}
		done, err := a.steps.Done(p.Tensor)
		if err != nil {
			return nil, fmt.Errorf("nn: steps of %s: %w", p.Name, err)
		}
		state = append(state, Parameter{"step." + p.Name, tensor.FromSlice(tensor.CPU(), []int64{done})})
	}
	return state, nil
}

// SetState takes what State of another AdamW over parameters of the same names
// returned.
func (a *AdamW) SetState(state []Parameter) (err error) {
	given := byName(state)
	var first, second []*tensor.Tensor
	defer func() { err = errors.Join(err, releaseAll(first, second)) }() // the old ones, or after an error the new
	if first, err = a.restored("exp_avg", given); err != nil {
		return err
	}
	if second, err = a.restored("exp_avg_sq", given); err != nil {
		return err
	}
	done, params := make([]int64, len(a.parameters)), make([]*tensor.Tensor, len(a.parameters))
	for i, p := range a.parameters {
		params[i] = p.Tensor
		step := given["step."+p.Name]
		delete(given, "step."+p.Name)
		if (first[i] == nil) != (second[i] == nil) || (first[i] == nil) != (step == nil) {
			return fmt.Errorf("%w: only a part of exp_avg, exp_avg_sq and step of %s", ErrState, p.Name)
		}
		if step == nil {
			continue
		}
		n, err := tensor.Data[int64](step)
		if err != nil {
			return fmt.Errorf("nn: steps of %s: %w", p.Name, err)
		}
		if len(n) != 1 || n[0] < 0 {
			return fmt.Errorf("%w: step of %s is %v", ErrState, p.Name, n)
		}
		done[i] = n[0]
	}
	if err := noneLeft(given); err != nil {
		return err
	}
	if err := a.steps.SetDone(params, done); err != nil {
		return err
	}
	a.first, first = first, a.first
	a.second, second = second, a.second
	return nil
}

// State returns "momentum_buffer" of each parameter that has one.
func (s *SGD) State() ([]Parameter, error) {
	return s.named("momentum_buffer", s.buffers), nil
}

// SetState takes what State of another SGD over parameters of the same names
// returned.
func (s *SGD) SetState(state []Parameter) (err error) {
	given := byName(state)
	var buffers []*tensor.Tensor
	defer func() { err = errors.Join(err, releaseAll(buffers)) }() // the old ones, or after an error the new
	if buffers, err = s.restored("momentum_buffer", given); err != nil {
		return err
	}
	if err := noneLeft(given); err != nil {
		return err
	}
	s.buffers, buffers = buffers, s.buffers
	s.moved = make([]bool, len(s.buffers))
	for i, b := range s.buffers {
		s.moved[i] = b != nil
	}
	return nil
}

// named returns the state of a kind that there is.
func (ps parameters) named(kind string, state []*tensor.Tensor) []Parameter {
	var all []Parameter
	for i, t := range state {
		if t != nil {
			all = append(all, Parameter{kind + "." + ps[i].Name, t})
		}
	}
	return all
}

func byName(state []Parameter) map[string]*tensor.Tensor {
	given := map[string]*tensor.Tensor{}
	for _, p := range state {
		given[p.Name] = p.Tensor
	}
	return given
}

// restored returns copies of what is given of a kind, beside their parameters, and
// takes it out of given.
func (ps parameters) restored(kind string, given map[string]*tensor.Tensor) (state []*tensor.Tensor, err error) {
	state = make([]*tensor.Tensor, len(ps))
	for i, p := range ps {
		name := kind + "." + p.Name
		from := given[name]
		if from == nil {
			continue
		}
		delete(given, name)
		if err = fits(name, p.Tensor, from); err == nil {
			state[i] = tensor.ZerosLike(p.Tensor)
			err = errors.Join(state[i].SetTag(tensor.OptimizerState), overwrite(state[i], from))
		}
		if err != nil {
			return state, fmt.Errorf("nn: state of %s: %w", p.Name, err)
		}
	}
	return state, nil
}

// fits returns why t cannot be overwritten with from.
func fits(name string, t, from *tensor.Tensor) error {
	if err := errors.Join(t.Err(), from.Err()); err != nil {
		return err
	}
	if !from.Shape().Equal(t.Shape()) || from.DType() != t.DType() {
		return fmt.Errorf("%w: %s is %v %v, not %v %v", ErrState, name, from.DType(), from.Shape(), t.DType(), t.Shape())
	}
	return nil
}

// noneLeft returns an error that names what nobody has taken.
func noneLeft(given map[string]*tensor.Tensor) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		return fmt.Errorf("%w: there is a %s for nothing here", ErrState, name)
	}
	return nil
}
