package nn

import (
	"errors"
	"fmt"
	"math"

	"tarn/tensor"
)

// ErrNotFinite means that the norm of the gradients is a NaN or an infinity.
var ErrNotFinite = errors.New("nn: the norm of the gradients is not finite")

// normSlack keeps the norm away from a division by zero, as PyTorch's 1e-6.
const normSlack = 1e-6

// ClipGradNorm scales the gradients of params so that their norm together, the
// p-norm of all elements, is at most max, and returns what it was before. p is
// 2, 1, any other positive number, or +Inf for the largest magnitude. Parameters
// without a gradient count as 0; gradients within max stay as they are.
//
// A norm that is not finite is [ErrNotFinite], and no gradient is changed. The
// norms of single gradients are computed in their dtype, of half types in float32,
// and added up in float64.
//
// It waits once for each device that the gradients are on, and so cannot be
// captured. Beside the gradients it takes memory of at most three times the
// largest, eight times where that is of a half type.
func ClipGradNorm(params []Parameter, max, p float64) (float64, error) {
	if err := atLeast0("max", max); err != nil {
		return 0, err
	}
	if !(p > 0) {
		return 0, fmt.Errorf("%w: the norm's p is %v, must be above 0", ErrHyperparameter, p)
	}
	grads, err := gradients(params)
	if err != nil {
		return 0, err
	}
	norm, err := normOf(grads, p)
	switch {
	case err != nil:
		return 0, fmt.Errorf("nn: norm of the gradients: %w", err)
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		return norm, fmt.Errorf("%w: %v", ErrNotFinite, norm)
	case max/(norm+normSlack) < 1:
		err = scale(grads, max/(norm+normSlack))
	}
	if err != nil {
		return norm, fmt.Errorf("nn: clip the gradients: %w", err)
	}
	return norm, nil
}

// ClipGradValue moves each element of the gradients of params into [-max, max];
// a NaN stays one. It waits for nothing. Beside the gradients it takes memory of
// at most four times the largest.
func ClipGradValue(params []Parameter, max float64) error {
	if err := atLeast0("max", max); err != nil {
		return err
	}
	grads, err := gradients(params)
	if err != nil {
		return err
	}
	for _, g := range grads {
		if err := clamp(g, max); err != nil {
			return fmt.Errorf("nn: clip the gradient of %s: %w", g.Name, err)
		}
	}
	return nil
}

// gradients returns the gradients that there are, under their parameters' names.
func gradients(params []Parameter) ([]Parameter, error) {
	var grads []Parameter
	for _, p := range params {
		if p.Err() != nil {
			return nil, fmt.Errorf("nn: parameter %s: %w", p.Name, p.Err())
		}
		if g := p.Grad(); g != nil {
			grads = append(grads, Parameter{p.Name, g})
		}
	}
	return grads, nil
}

// normOf queues all that the norm takes before it waits for any of it.
func normOf(grads []Parameter, p float64) (norm float64, err error) {
	scope := tensor.NewScope()
	defer func() { err = errors.Join(err, scope.Close()) }()
	count := map[*tensor.Device]int{}
	for _, g := range grads {
		count[g.Device()]++
	}
	parts := map[*tensor.Device]*tensor.Tensor{}
	var devices []*tensor.Device // in an order that is the same each time
	for _, g := range grads {
		d := g.Device()
		if parts[d] == nil {
			parts[d] = tensor.Zeros(d.In(scope), tensor.Float64, count[d])
			devices = append(devices, d)
		}
		count[d]--
		if err := part(parts[d].Slice(0, count[d], count[d]+1, 1), g.Tensor, p, scope.Child()); err != nil {
			return 0, fmt.Errorf("%s: %w", g.Name, err)
		}
	}
	for _, d := range devices {
		values, err := tensor.Data[float64](parts[d])
		if err != nil {
			return 0, err
		}
		for _, v := range values {
			norm = join(norm, v, p)
		}
	}
	if math.IsInf(p, 1) {
		return norm, nil
	}
	return math.Pow(norm, 1/p), nil
}

func join(a, b, p float64) float64 {
	if math.IsInf(p, 1) {
		return math.Max(a, b) // which hands a NaN on
	}
	return a + b
}

// part writes to, of one element, the sum of the p-th powers of g's magnitudes,
// or the largest magnitude. What it makes on the way goes with s.
func part(to, g *tensor.Tensor, p float64, s *tensor.Scope) (err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	if g.Len() == 0 {
		return to.Err()
	}
	g = g.NoGrad().In(s)
	if g.DType().IsHalf() { // the powers of its elements need not fit
		g = g.To(tensor.Float32)
	}
	var sum *tensor.Tensor
	switch {
	case p == 2:
		sum = g.Mul(g).Sum()
	case math.IsInf(p, 1):
		sum = magnitude(g).Max()
	case p == 1:
		sum = magnitude(g).Sum()
	default: // the log of 0 is -Inf, whose power is 0
		m := magnitude(g)
		l := m.Log()
		m.Release()
		scaled := l.MulScalar(p)
		l.Release()
		sum = scaled.Exp().Sum()
	}
	return to.CopyInPlace(sum)
}

// magnitude returns |g| and takes twice g's memory on the way.
func magnitude(g *tensor.Tensor) *tensor.Tensor {
	minus := g.Neg()
	below := minus.ReLU()
	minus.Release()
	above := g.ReLU()
	defer below.Release()
	defer above.Release()
	return above.Add(below)
}

// scale multiplies the gradients by factor.
func scale(grads []Parameter, factor float64) error {
	for _, g := range grads {
		by := tensor.Scalar(g.Device(), g.DType(), factor)
		if err := errors.Join(g.MulInPlace(by), by.Release()); err != nil {
			return fmt.Errorf("%s: %w", g.Name, err)
		}
	}
	return nil
}

// clamp puts g beside a bound along a new dim, whose maximum is exact where
// sums and differences would round.
func clamp(g Parameter, bound float64) (err error) {
	s := tensor.NewScope()
	defer func() { err = errors.Join(err, s.Close()) }()
	shape := append([]int{2}, g.Shape()...)
	both := tensor.Full(g.Device().In(s), g.DType(), -bound, shape...)
	place := both.Slice(0, 0, 1, 1)
	for range 2 { // from below, then, negated, from above
		if err := place.CopyInPlace(g.Tensor); err != nil {
			return err
		}
		above := both.Max(0)
		negated := above.Neg()
		if err := errors.Join(g.CopyInPlace(negated), above.Release(), negated.Release()); err != nil {
			return err
		}
	}
	return nil
}
