//go:build unix

package main

import (
	"errors"

	"tarn/tensor"
)

// attention is of shape [B, H, L, S, D], with the flags causal and backward.
func attention(s *tensor.Scope, r *request) (func() error, error) {
	if len(r.Shape) != 5 {
		return nil, errors.New("want B, H, L, S and D")
	}
	b, h, l, n, d := r.Shape[0], r.Shape[1], r.Shape[2], r.Shape[3], r.Shape[4]
	q, k, v := numbers(s, b, h, l, d), numbers(s, b, h, n, d), numbers(s, b, h, n, d)
	o := tensor.AttentionOptions{Causal: r.has("causal")}
	if !r.has("backward") {
		return func() error { return q.Attention(k, v, o).Release() }, nil
	}
	in := []*tensor.Tensor{q.RequireGrad(), k.RequireGrad(), v.RequireGrad()}
	y := []*tensor.Tensor{q.Attention(k, v, o)}
	up := []*tensor.Tensor{numbers(s, b, h, l, d)}
	return func() error {
		grads, err := tensor.Grad(y, in, up, tensor.Retain)
		for _, g := range grads {
			err = errors.Join(err, g.Release())
		}
		return err
	}, nil
}
