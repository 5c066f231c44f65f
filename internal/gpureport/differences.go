package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/memory"
	"tarn/tensor"
)

// differences runs the same ops on the device and on a simulated one and prints
// how far apart the results are, in units of the last place. What is the same to
// the bit on both is what the tests showed there; a device's own approximations
// are what may differ.
func differences(w io.Writer, c *cuda.Context) (err error) {
	m, err := cudasim.Open(cudasim.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	device, err := m.Library().Device(0)
	if err != nil {
		return err
	}
	simulated, err := device.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, simulated.Close()) }()
	fmt.Fprintf(w, "\n%-16s %10s %10s  of the simulator's results differ on the device, by at most so many units\n", "op", "elements", "differ")
	for _, op := range compared {
		ours, err := on(simulated, op.do)
		if err != nil {
			return fmt.Errorf("%s, simulated: %w", op.name, err)
		}
		theirs, err := on(c, op.do)
		if err != nil {
			return fmt.Errorf("%s: %w", op.name, err)
		}
		differ, most := 0, int64(0)
		for i := range ours {
			if d := units(ours[i], theirs[i]); d != 0 {
				differ, most = differ+1, max(most, d)
			}
		}
		fmt.Fprintf(w, "%-16s %10d %10d  %d\n", op.name, len(ours), differ, most)
	}
	return nil
}

// compared are ops of each family of kernels on a matrix x.
var compared = []struct {
	name string
	do   func(x *tensor.Tensor) *tensor.Tensor
}{
	{"add", func(x *tensor.Tensor) *tensor.Tensor { return x.Add(x) }},
	{"div", func(x *tensor.Tensor) *tensor.Tensor { return x.Div(x.AddScalar(3)) }},
	{"exp", (*tensor.Tensor).Exp},
	{"log", func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(x).AddScalar(1e-3).Log() }},
	{"sqrt", func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(x).Sqrt() }},
	{"transpose", func(x *tensor.Tensor) *tensor.Tensor { return x.T().Contiguous() }},
	{"sum", func(x *tensor.Tensor) *tensor.Tensor { return x.Sum(1) }},
	{"max", func(x *tensor.Tensor) *tensor.Tensor { return x.Max(0) }},
	{"matmul", func(x *tensor.Tensor) *tensor.Tensor { return x.MatMul(x.T()) }},
}

// on returns what do makes of the same matrix on a device.
func on(c *cuda.Context, do func(x *tensor.Tensor) *tensor.Tensor) (result []float32, err error) {
	dev, err := tensor.NewCUDA(c, memory.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	scope := tensor.NewScope()
	defer scope.Close()
	const rows, cols = 61, 129
	values := make([]float32, rows*cols)
	for i := range values {
		values[i] = float32(math.Sin(float64(i))) * 4
	}
	return tensor.Data[float32](do(tensor.FromSlice(dev.In(scope), values, rows, cols).NoGrad()))
}

// units counts the floats from a to b.
func units(a, b float32) int64 {
	order := func(x float32) int64 {
		bits := int64(math.Float32bits(x))
		if bits < 1<<31 {
			return bits
		}
		return 1<<31 - bits
	}
	d := order(a) - order(b)
	return max(d, -d)
}
