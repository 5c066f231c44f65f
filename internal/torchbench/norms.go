//go:build unix

package main

import (
	"errors"

	"tarn/tensor"
)

// norms is of shape [rows, columns]; its first flag is the op, softmax,
// log_softmax, layer_norm or rms_norm, and backward may follow.
func norms(s *tensor.Scope, r *request) (func() error, error) {
	if len(r.Shape) != 2 || len(r.Flags) == 0 {
		return nil, errors.New("want rows, columns and the op")
	}
	x, w, b := numbers(s, r.Shape...), numbers(s, r.Shape[1]), numbers(s, r.Shape[1])
	ops := map[string]func() *tensor.Tensor{
		"softmax":     func() *tensor.Tensor { return x.Softmax(1) },
		"log_softmax": func() *tensor.Tensor { return x.LogSoftmax(1) },
		"layer_norm":  func() *tensor.Tensor { return x.LayerNorm(w, b, 1e-5) },
		"rms_norm":    func() *tensor.Tensor { return x.RMSNorm(w, 1e-5) },
	}
	op := ops[r.Flags[0]]
	if op == nil {
		return nil, errors.New("no such op")
	}
	if !r.has("backward") {
		return func() error { return op().Release() }, nil
	}
	in := []*tensor.Tensor{x}
	switch r.Flags[0] {
	case "layer_norm":
		in = append(in, w, b)
	case "rms_norm":
		in = append(in, w)
	}
	return gradientsOf(op, numbers(s, r.Shape...), in...), nil
}
