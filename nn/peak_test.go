package nn_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/internal/fixture"
	"tarn/kernels/cpu"
	"tarn/memory"
	"tarn/memory/hostmem"
	"tarn/nn"
	"tarn/tensor"
)

func newDevice(t testing.TB) *tensor.Device { return newDeviceOf(t, memory.Config{}) }

func newDeviceOf(t testing.TB, cfg memory.Config) *tensor.Device {
	t.Helper()
	up, err := hostmem.New(hostmem.Config{Capacity: 4 << 30})
	require.NoError(t, err)
	d, err := tensor.NewDevice(tensor.NewHostBackend(up, cpu.Table()), cfg)
	require.NoError(t, err)
	return d
}

func mlp(t testing.TB, d *tensor.Device, sizes []int) *nn.Sequential {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	m := nn.NewSequential()
	for i := 1; i < len(sizes); i++ {
		if i > 1 {
			m.Modules = append(m.Modules, nn.ReLU{})
		}
		l, err := nn.NewLinear(d, tensor.Float32, sizes[i-1], sizes[i], r)
		require.NoError(t, err)
		m.Modules = append(m.Modules, l)
	}
	return m
}

// peakOf returns the most bytes asked for at once while f ran, without
// workspaces, which have a tag of their own.
func peakOf(t *testing.T, d *tensor.Device, f func()) int64 {
	t.Helper()
	live := int64(0)
	for _, tag := range d.Memory().Stats().Tags {
		if tag.Tag != memory.Workspace.String() {
			live += tag.Bytes.Current
		}
	}
	d.Memory().RecordHistory(memory.History{Events: 1 << 16})
	defer d.Memory().RecordHistory(memory.History{})
	f()
	events := d.Memory().Snapshot().Events()
	require.NotEmpty(t, events)
	peak := live
	for _, e := range events {
		if e.Tag == memory.Workspace.String() {
			continue
		}
		switch e.Action {
		case memory.ActionAlloc:
			live += e.Size
		case memory.ActionFreeCompleted:
			live -= e.Size
		}
		peak = max(peak, live)
	}
	return peak
}

// TestPeaksAgainstPyTorch: a step needs no more than 5 % above the sum of
// PyTorch's live tensors, and a NoGrad forward parameters, input and the two
// largest activations.
func TestPeaksAgainstPyTorch(t *testing.T) {
	f, err := fixture.Load[fixture.Peaks]("testdata/torch/peaks.json")
	require.NoError(t, err)
	for _, c := range f.Cases {
		t.Run(c.Optimizer, func(t *testing.T) {
			d := newDevice(t)
			m := mlp(t, d, c.Sizes)
			x := tensor.Ones(d, tensor.Float32, c.Batch, c.Sizes[0])
			if c.Optimizer == "" {
				peak := peakOf(t, d, func() {
					y := m.Forward(x.NoGrad())
					require.NoError(t, y.Err())
					require.NoError(t, y.Release())
				})
				t.Logf("forward of %d layers: %d bytes, PyTorch %d", len(c.Sizes)-1, peak, c.PeakBytes)
				require.LessOrEqual(t, peak, c.PeakBytes)
				return
			}
			labels := tensor.FromSlice(d, make([]int64, c.Batch))
			opt := optimizerNamed(t, c.Optimizer, m.Parameters())
			step := func() {
				s := tensor.NewScope()
				require.NoError(t, opt.ZeroGrad())
				logits := m.Forward(x.In(s))
				loss := nn.CrossEntropy(logits, labels)
				require.NoError(t, logits.Release())
				require.NoError(t, loss.Backward())
				require.NoError(t, opt.Step())
				require.NoError(t, s.Close())
			}
			step()
			peak := peakOf(t, d, step)
			t.Logf("%v batch %d %s: %d bytes, PyTorch %d: %.3f", c.Sizes, c.Batch, c.Optimizer, peak, c.PeakBytes, float64(peak)/float64(c.PeakBytes))
			require.LessOrEqual(t, float64(peak), 1.05*float64(c.PeakBytes))
		})
	}
}

// optimizerNamed has a learning rate so small that a benchmark's model does not
// converge on its one batch.
func optimizerNamed(t testing.TB, name string, params []nn.Parameter) nn.Optimizer {
	t.Helper()
	const rate = 1e-6
	switch name {
	case "adamw":
		o := nn.DefaultAdamW()
		o.LR = rate
		opt, err := nn.NewAdamW(params, o)
		require.NoError(t, err)
		return opt
	case "sgd_momentum":
		opt, err := nn.NewSGD(params, nn.SGDOptions{LR: rate, Momentum: 0.9})
		require.NoError(t, err)
		return opt
	}
	opt, err := nn.NewSGD(params, nn.SGDOptions{LR: rate})
	require.NoError(t, err)
	return opt
}
