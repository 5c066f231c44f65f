//go:build unix

package main

import (
	"errors"

	"tarn/tensor"
)

// batchnorm is of shape [N, C, ...], in training, with w, b and running
// statistics; its flag may be backward.
func batchnorm(s *tensor.Scope, r *request) (func() error, error) {
	if len(r.Shape) < 2 {
		return nil, errors.New("want N and C")
	}
	c := r.Shape[1]
	x, w, b := numbers(s, r.Shape...), numbers(s, c), numbers(s, c)
	mean, variance := numbers(s, c), tensor.Ones(tensor.CPU().In(s), tensor.Float32, c)
	op := func() *tensor.Tensor {
		return x.BatchNorm(w, b, mean, variance, tensor.BatchNormOptions{Training: true, Momentum: 0.1, Eps: 1e-5})
	}
	if !r.has("backward") {
		return func() error { return op().Release() }, nil
	}
	return gradientsOf(op, numbers(s, r.Shape...), x, w, b), nil
}

// gradientsOf returns a call that makes the gradients of in, of what op makes of
// them, for up, the gradient of that.
func gradientsOf(op func() *tensor.Tensor, up *tensor.Tensor, in ...*tensor.Tensor) func() error {
	for _, t := range in {
		t.RequireGrad()
	}
	y := []*tensor.Tensor{op()}
	return func() error {
		grads, err := tensor.Grad(y, in, []*tensor.Tensor{up}, tensor.Retain)
		for _, g := range grads {
			err = errors.Join(err, g.Release())
		}
		return err
	}
}
