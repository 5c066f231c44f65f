package main

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"tarn/cuda"
	"tarn/kernels"
	"tarn/kernels/gpu"
	"tarn/memory"
	"tarn/nn"
	"tarn/tensor"
)

func (m *meter) allocator() error {
	a := m.dev.Memory()
	t, err := m.host(10*m.scale.calls, func() error {
		b, err := a.Alloc(1<<20, 0, memory.Untagged)
		if err != nil {
			return err
		}
		return a.Free(b.Handle)
	})
	if err != nil {
		return err
	}
	m.say("alloc_free_us", 1e6*t)
	return nil
}

func (m *meter) elementwise() error {
	scope := tensor.NewScope()
	defer scope.Close()
	place, n := m.dev.In(scope), m.scale.elements
	small, one := tensor.Zeros(place, tensor.Float32, 256), tensor.Ones(place, tensor.Float32, 256)
	t, err := m.host(m.scale.calls, func() error { return small.AddInPlace(one) })
	if err != nil {
		return err
	}
	m.say("launch_us", 1e6*t)
	x, y := tensor.Zeros(place, tensor.Float32, n), tensor.Ones(place, tensor.Float32, n)
	for _, c := range []struct {
		name  string
		moved float64 // in units of the operand's bytes
		do    func() error
	}{
		{"copy_gb_s", 2, func() error { return x.CopyInPlace(y) }},
		{"add_gb_s", 3, func() error { return x.AddInPlace(y) }},
		{"sum_gb_s", 1, func() error {
			sum := x.NoGrad().Sum()
			return errors.Join(sum.Err(), sum.Release())
		}},
	} {
		t, err := m.best(max(m.scale.calls/10, 1), c.do)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		m.say(c.name, c.moved*4*float64(n)/t/1e9)
	}
	return nil
}

func (m *meter) products() error {
	for _, n := range m.scale.sides {
		scope := tensor.NewScope()
		place := m.dev.In(scope)
		a, b := tensor.Ones(place, tensor.Float32, n, n), tensor.Ones(place, tensor.Float32, n, n)
		t, err := m.best(max(m.scale.calls*10/n, 2), func() error {
			c := a.NoGrad().MatMul(b)
			return errors.Join(c.Err(), c.Release())
		})
		scope.Close()
		if err != nil {
			return err
		}
		m.say(fmt.Sprintf("sgemm_%d_tflop_s", n), 2*cube(n)/t/1e12)
	}
	return nil
}

func cube(n int) float64 { return float64(n) * float64(n) * float64(n) }

func (m *meter) tensorCores() error {
	k := gpu.New(m.ctx)
	if !k.HasTensorCores() {
		return nil
	}
	for _, n := range m.scale.sides {
		if err := m.tensorCore(k, int64(n)); err != nil {
			return errors.Join(err, k.Close())
		}
	}
	return k.Close()
}

func (m *meter) tensorCore(k *gpu.Kernels, n int64) (err error) {
	var operands [3]cuda.DevicePtr
	for i := range operands {
		if operands[i], err = m.ctx.Alloc(4 * n * n); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.ctx.Free(operands[i])) }()
		if err := m.ctx.Fill32(0, operands[i], 0x3f803f80, n*n); err != nil { // ones
			return err
		}
	}
	at := func(i int) gpu.Matrices { return gpu.Matrices{Ptr: operands[i], Row: n, Col: 1} }
	p := &gpu.TensorProduct{Type: gpu.BF16, M: n, N: n, K: n, Batch: 1, X: at(0), Y: at(1), Out: at(2), HalfOut: true}
	var q kernels.Queue = k.Queue(0)
	t, err := m.best(max(m.scale.calls*10/int(n), 2), func() error { return k.MatMulTensor(q, p) })
	if err != nil {
		return err
	}
	m.say(fmt.Sprintf("bf16_%d_tflop_s", n), 2*cube(int(n))/t/1e12)
	return nil
}

// training is a step of the MLP 784-256-10 with SGD and momentum, op by op and
// as a graph.
func (m *meter) training() error {
	for _, batch := range m.scale.batches {
		if err := m.mlp(batch); err != nil {
			return fmt.Errorf("MLP at batch %d: %w", batch, err)
		}
	}
	return nil
}

func (m *meter) mlp(batch int) (err error) {
	r := rand.New(rand.NewPCG(1, 0))
	hidden, err := nn.NewLinear(m.dev, tensor.Float32, 784, 256, r)
	if err != nil {
		return err
	}
	out, err := nn.NewLinear(m.dev, tensor.Float32, 256, 10, r)
	if err != nil {
		return err
	}
	model := nn.NewSequential(hidden, nn.ReLU{}, out)
	opt, err := nn.NewSGD(model.Parameters(), nn.SGDOptions{LR: 0.05, Momentum: 0.9})
	if err != nil {
		return err
	}
	x, y := tensor.Ones(m.dev, tensor.Float32, batch, 784), tensor.Zeros(m.dev, tensor.Int64, batch)
	defer func() { err = errors.Join(err, x.Release(), y.Release(), opt.Release(), nn.Release(model)) }()
	step := func() error {
		s := tensor.NewScope()
		defer s.Close()
		loss := nn.CrossEntropy(model.Forward(x.In(s)), y)
		if err := opt.ZeroGrad(); err != nil {
			return err
		}
		if err := loss.Backward(); err != nil {
			return err
		}
		return opt.Step()
	}
	t, err := m.best(m.scale.calls, step)
	if err != nil {
		return err
	}
	m.say(fmt.Sprintf("mlp_%d_eager_us", batch), 1e6*t)
	graph, err := tensor.Capture(m.dev.DefaultStream(), step)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, graph.Close()) }()
	if t, err = m.best(m.scale.calls, graph.Replay); err != nil {
		return err
	}
	m.say(fmt.Sprintf("mlp_%d_graph_us", batch), 1e6*t)
	return nil
}
