//go:build unix

package main

import (
	"errors"

	"tarn/tensor"
)

// conv is of shape [N, C, H, O, K, stride, padding, groups], H by H pixels under K
// by K kernels. With the flag input or weight it is the gradient of that.
func conv(s *tensor.Scope, r *request) (func() error, error) {
	if len(r.Shape) != 8 {
		return nil, errors.New("want N, C, H, O, K, stride, padding and groups")
	}
	n, c, h, o, k, stride, pad, groups := r.Shape[0], r.Shape[1], r.Shape[2], r.Shape[3], r.Shape[4], r.Shape[5], r.Shape[6], r.Shape[7]
	p := tensor.Conv{Stride: [2]int{stride, stride}, Padding: [2]int{pad, pad}, Groups: groups}
	x, w, b := numbers(s, n, c, h, h), numbers(s, o, c/max(groups, 1), k, k), numbers(s, o)
	switch {
	case r.has("input"):
		return gradient(s, x, func() *tensor.Tensor { return x.Conv2D(w, b, p) })
	case r.has("weight"):
		return gradient(s, w, func() *tensor.Tensor { return x.Conv2D(w, b, p) })
	}
	return func() error { return x.Conv2D(w, b, p).Release() }, nil
}

// pool is of shape [N, C, H, K, stride, padding], a maximum or with the flag mean
// a mean, with the flag input its gradient.
func pool(s *tensor.Scope, r *request) (func() error, error) {
	if len(r.Shape) != 6 {
		return nil, errors.New("want N, C, H, K, stride and padding")
	}
	k, stride, pad := r.Shape[3], r.Shape[4], r.Shape[5]
	p := tensor.Pool{Kernel: [2]int{k, k}, Stride: [2]int{stride, stride}, Padding: [2]int{pad, pad}}
	x := numbers(s, r.Shape[0], r.Shape[1], r.Shape[2], r.Shape[2])
	pooled := func() *tensor.Tensor { return x.MaxPool2D(p) }
	if r.has("mean") {
		pooled = func() *tensor.Tensor { return x.AvgPool2D(p) }
	}
	if r.has("input") {
		return gradient(s, x, pooled)
	}
	return func() error { return pooled().Release() }, nil
}

// gradient returns what takes the gradient of f's result by x.
func gradient(s *tensor.Scope, x *tensor.Tensor, f func() *tensor.Tensor) (func() error, error) {
	x.RequireGrad()
	y := f()
	if err := y.Err(); err != nil {
		return nil, err
	}
	up := numbers(s, y.Shape()...)
	return func() error {
		grads, err := tensor.Grad([]*tensor.Tensor{y}, []*tensor.Tensor{x}, []*tensor.Tensor{up}, tensor.Retain)
		for _, g := range grads {
			err = errors.Join(err, g.Release())
		}
		return err
	}, nil
}
