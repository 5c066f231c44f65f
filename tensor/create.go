package tensor

import (
	"fmt"

	"tarn/kernels"
)

// Zeros returns a tensor of the given dtype and shape filled with 0, at p. No
// dims make a scalar.
func Zeros(p Place, dt DType, shape ...int) *Tensor { return full("Zeros", p, dt, 0, shape) }

// Ones returns a tensor filled with 1.
func Ones(p Place, dt DType, shape ...int) *Tensor { return full("Ones", p, dt, 1, shape) }

// Full returns a tensor filled with value, converted to dt as PyTorch does it: an
// integer is truncated, a Bool is whether value is not 0, and what dt cannot hold
// is [ErrValue]. That is a value beyond an integer, NaN for an integer, and a
// finite value beyond float32; beyond a half it becomes infinite.
func Full(p Place, dt DType, value float64, shape ...int) *Tensor {
	return full("Full", p, dt, value, shape)
}

func full(op string, p Place, dt DType, value float64, shape []int) *Tensor {
	t := create(op, p, dt, shape)
	if t.err == nil {
		if err := fill(t, value); err != nil {
			return t.discard(newError(op, err, t))
		}
	}
	return t
}

// Scalar returns a tensor with no dims that holds value, converted as [Full]
// does it. On the CPU it is a constant that may join operands of any device.
func Scalar(p Place, dt DType, value float64) *Tensor { return Full(p, dt, value) }

// FromSlice returns a tensor of the given shape with a copy of data, in
// row-major order. The lengths must agree; with no shape the tensor has one
// dim, the slice's length.
func FromSlice[T Element](p Place, data []T, shape ...int) *Tensor {
	if shape == nil {
		shape = []int{len(data)}
	}
	t := create("FromSlice", p, dtypeOf[T](), shape)
	if t.err != nil {
		return t
	}
	err := transferable[T](len(data), t)
	if err == nil {
		err = t.write("FromSlice", bytesOf(data))
	}
	if err != nil {
		return t.discard(newError("FromSlice", err, t))
	}
	return t
}

// create makes a tensor with undefined contents.
func create(op string, p Place, dt DType, shape []int) *Tensor {
	if p == nil {
		panic("tensor: " + op + " at a nil Place")
	}
	dev, e := p.place()
	var buf [MaxRank]int64
	dims, err := dimsOf(&buf, shape)
	if err == nil && dev.err != nil {
		err = dev.err
	}
	var t *Tensor
	if err == nil {
		t, err = newTagged(dev.streamOf(e), e, dt, dims, dataTag)
	}
	if err != nil {
		v, _, _ := dense(dt, dims)
		return failed(newError(op, fmt.Errorf("%v of shape %v: %w", dt, Shape(shape), err)), dev, e, v)
	}
	return t
}

// FromError releases t and returns a tensor of its shape that carries err: what
// a function that makes tensors returns when a later step failed.
func FromError(t *Tensor, err error) *Tensor { return t.discard(err) }

// discard releases t and returns a tensor in its place that carries err.
func (t *Tensor) discard(err error) *Tensor {
	t.Release()
	return failed(err, t.dev, t.env, t.view)
}

func (d *Device) streamOf(e *env) *Stream {
	if s := e.get().stream; s != nil {
		return s
	}
	return d.stream
}

// ZerosLike returns zeros of t's shape and dtype on t's device and home stream,
// in no scope: what an optimiser keeps beside a parameter.
func ZerosLike(t *Tensor) *Tensor {
	if err := t.usable(); err != nil {
		return failed(newError("ZerosLike", err, t), t.dev, t.env, t.view)
	}
	return full("ZerosLike", t.storage.homeStream(), t.view.DType, 0, t.Shape())
}

// fullLike returns a tensor like t, in its scope and on its stream, filled with
// value and not recorded.
func fullLike(t *Tensor, value float64) *Tensor {
	out, err := newTensor(t.dev.streamOf(t.env), t.env, t.view.DType, t.view.Dims[:t.view.Rank])
	if err == nil {
		if err = fill(out, value); err != nil {
			out.Release()
		}
	}
	if err != nil {
		return failed(newError("Full", err, t), t.dev, t.env, t.view)
	}
	return out
}

// fill sets every element of t on its stream.
func fill(t *Tensor, value float64) error {
	value, err := held(t.view.DType, value)
	if err != nil {
		return err
	}
	a := kernels.NewArgs()
	defer a.Put()
	a.Out = append(a.Out, t.view)
	a.Attr.Alpha = value
	return t.dev.streamOf(t.env).launch(kernels.Fill, a, []*Tensor{t}, nil)
}

// constantOn returns t's one value, on the stream's device.
func (t *Tensor) constantOn(s *Stream, e *env) (*Tensor, error) {
	out, err := newTensor(s, e, t.view.DType, nil)
	if err != nil {
		return nil, err
	}
	if err := out.setConstant(t); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// setConstant sets t to the one value of u, of the same dtype on another device:
// by a launch, which a capture can record, where a float64 holds the value.
func (t *Tensor) setConstant(u *Tensor) error {
	if u.view.DType == Int64 {
		var v [1]int64
		if err := u.read("Item", bytesOf(v[:])); err != nil {
			return err
		}
		return t.write("CopyFrom", bytesOf(v[:]))
	}
	v, err := u.Item()
	if err != nil {
		return err
	}
	return fill(t, v)
}

// copyOf runs the copy kernel on s from src into dst, which have the same dims.
func (s *Stream) copyOf(dst, src *Tensor) error {
	a := kernels.NewArgs()
	defer a.Put()
	a.Out = append(a.Out, dst.view)
	a.In = append(a.In, src.view)
	return s.launch(kernels.Copy, a, []*Tensor{dst}, []*Tensor{src})
}

// cloneOn returns a dense copy of t made on s, not recorded.
func cloneOn(s *Stream, e *env, t *Tensor) *Tensor {
	if t.err != nil {
		return t
	}
	out, err := newTensor(s, e, t.view.DType, t.view.Dims[:t.view.Rank])
	if err == nil {
		if err = s.copyOf(out, t); err != nil {
			out.Release()
		}
	}
	if err != nil {
		return failed(newError("Clone", err, t), t.dev, e, t.view)
	}
	return out
}
