package tensor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels/ref"
	"tarn/memory"
	"tarn/memory/hostmem"
	"tarn/tensor"
)

// TestOps tries every op of the op table, with every type that it takes, on
// every device: results against kernels/ref, floats in float64, and gradients in
// float64 against differences. The files ops_samples_* have what each op is tried
// with; an op without a sample fails. With -short, layouts and types take turns.
func TestOps(t *testing.T) {
	bench := newOpBench(t)
	known := map[string]bool{}
	for _, op := range tensor.Ops() {
		known[op.Name] = true
		samples := opSamples[op.Name]
		if len(samples) == 0 {
			t.Errorf("%s has no sample", op.Name)
			continue
		}
		t.Run(op.Name, func(t *testing.T) {
			for i, s := range samples {
				bench.try(t, op, i, s)
			}
		})
	}
	for name := range opSamples {
		require.True(t, known[name], "samples for %s, which is no op", name)
	}
	t.Logf("%d ops: %d results and %d gradients compared", len(known), bench.results, bench.gradients)
}

// opBench is what ops are tried on.
type opBench struct {
	devices            map[string]*tensor.Device
	reference          *tensor.Device
	results, gradients int
}

func newOpBench(t *testing.T) *opBench {
	b := &opBench{devices: map[string]*tensor.Device{}, reference: newReference(t)}
	for _, kind := range testDevices {
		b.devices[kind.name] = kind.open(t)
	}
	return b
}

// newReference returns a device whose ops are those of kernels/ref.
func newReference(t testing.TB) *tensor.Device {
	up, err := hostmem.New(hostmem.Config{Name: "ref"})
	require.NoError(t, err)
	d, err := tensor.NewDevice(tensor.NewHostBackend(up, ref.Table()), memory.Config{})
	require.NoError(t, err)
	return d
}

// try compares op on sample number i.
func (b *opBench) try(t *testing.T, op tensor.OpInfo, i int, s opSample) {
	for l := range layouts {
		if l > 0 && (i+l)%len(layouts) != 0 && testing.Short() {
			continue
		}
		for n, dt := range op.DTypes {
			if dt != tensor.Float64 && (i+l+n)%4 != 0 && testing.Short() {
				continue
			}
			b.forward(t, op, s, layouts[l], dt, uint64(i))
		}
		if op.Differentiable && !s.constant {
			b.gradient(t, op, s, layouts[l], uint64(i))
		}
	}
}

// make returns the inputs of s at p, for type dt: the leaves, and what the op
// sees of them.
func (s *opSample) make(t *testing.T, p tensor.Place, dt tensor.DType, lie layout, data [][]float64) (leaves, seen []*tensor.Tensor) {
	for i, in := range s.in {
		to := in.dtype
		if to == 0 {
			to = dt
		}
		leaf := tensor.FromSlice(p, data[i], lie.base(in.shape)...)
		if to != tensor.Float64 {
			leaf = leaf.To(to)
		}
		require.NoError(t, leaf.Err())
		leaves = append(leaves, leaf)
		seen = append(seen, lie.view(leaf, in.shape))
	}
	return leaves, seen
}

// data draws the inputs' numbers, rounded to type dt.
func (s *opSample) data(t *testing.T, b *opBench, dt tensor.DType, lie layout, seed uint64) [][]float64 {
	r := rand.New(rand.NewPCG(seed, uint64(len(lie.name))))
	all := make([][]float64, len(s.in))
	for i, in := range s.in {
		to := in.dtype
		if to == 0 {
			to = dt
		}
		all[i] = make([]float64, tensor.Shape(lie.base(in.shape)).Len())
		for j := range all[i] {
			all[i][j] = in.number(r, to)
		}
		if to == tensor.Float64 {
			continue
		}
		rounded, err := tensor.Data[float64](tensor.FromSlice(b.reference, all[i]).To(to).To(tensor.Float64))
		require.NoError(t, err)
		all[i] = rounded
	}
	return all
}

func (b *opBench) forward(t *testing.T, op tensor.OpInfo, s opSample, lie layout, dt tensor.DType, seed uint64) {
	data := s.data(t, b, dt, lie, seed)
	exact := dt
	if dt.IsFloat() {
		exact = tensor.Float64
	}
	_, in := s.make(t, b.reference, exact, lie, data)
	want := s.f(in)
	for name, d := range b.devices {
		_, in := s.make(t, d, dt, lie, data)
		got := s.f(in)
		says := fmt.Sprintf("%s of %v %v, %s, on %s", op.Name, dt, s, lie.name, name)
		require.NoError(t, got.Err(), says)
		require.NoError(t, want.Err(), says)
		require.Equal(t, want.Shape(), got.Shape(), says)
		within(t, want, got, op.Error, says)
		require.NoError(t, got.Release())
		b.results++
	}
}

// within demands that got is want but for eps epsilons of its type.
func within(t *testing.T, want, got *tensor.Tensor, eps float64, says string) {
	t.Helper()
	w, err := tensor.Data[float64](want.Detach().To(tensor.Float64))
	require.NoError(t, err, says)
	g, err := tensor.Data[float64](got.Detach().To(tensor.Float64))
	require.NoError(t, err, says)
	scale := 1.0
	for _, x := range w {
		if !math.IsInf(x, 0) && !math.IsNaN(x) {
			scale = max(scale, math.Abs(x))
		}
	}
	allowed := 0.0
	if got.DType().IsFloat() {
		allowed = (eps + 1) * epsilons[got.DType()] * scale // 1: want is rounded too
	}
	for i := range w {
		same := w[i] == g[i] || math.IsNaN(w[i]) && math.IsNaN(g[i]) || math.Abs(w[i]-g[i]) <= allowed
		require.True(t, same, "%s: element %d is %v, want %v within %v", says, i, g[i], w[i], allowed)
	}
}

var epsilons = map[tensor.DType]float64{
	tensor.Float64: 0x1p-52, tensor.Float32: 0x1p-23, tensor.Float16: 0x1p-10, tensor.BFloat16: 0x1p-7,
}

// gradient compares the gradients of the leaves, under an upstream that differs
// at every element, with differences of the reference.
func (b *opBench) gradient(t *testing.T, op tensor.OpInfo, s opSample, lie layout, seed uint64) {
	data := s.data(t, b, tensor.Float64, lie, seed)
	value := func() []float64 {
		_, in := s.make(t, b.reference, tensor.Float64, lie, data)
		y, err := tensor.Data[float64](s.f(in).To(tensor.Float64))
		require.NoError(t, err)
		return y
	}
	r := rand.New(rand.NewPCG(seed, 99))
	up := make([]float64, len(value()))
	for i := range up {
		up[i] = r.NormFloat64()
	}
	want := s.differences(data, up, value)
	for name, d := range b.devices {
		says := fmt.Sprintf("gradient of %s of %v, %s, on %s", op.Name, s, lie.name, name)
		got := s.gradients(t, d, lie, data, up, says)
		for i := range want {
			for j, w := range want[i] {
				if math.IsNaN(w) {
					continue // the value is NaN, which no number is part of
				}
				require.InDelta(t, w, got[i][j], 2e-6*max(1, math.Abs(w)), "%s: input %d element %d", says, i, j)
			}
			b.gradients++
		}
	}
}

// gradients returns those of the leaves on d; nil for one that has none.
func (s *opSample) gradients(t *testing.T, d *tensor.Device, lie layout, data [][]float64, up []float64, says string) [][]float64 {
	leaves, _ := s.make(t, d, tensor.Float64, lie, data)
	seen := make([]*tensor.Tensor, len(leaves))
	for i, in := range s.in {
		if in.isLeaf() {
			leaves[i] = leaves[i].RequireGrad()
		}
		seen[i] = lie.view(leaves[i], in.shape)
	}
	y := s.f(seen)
	require.NoError(t, y.Err(), says)
	require.NoError(t, y.BackwardWith(tensor.FromSlice(d, up, y.Shape()...)), says)
	all := make([][]float64, len(leaves))
	for i, in := range s.in {
		if !in.isLeaf() {
			continue
		}
		require.NotNil(t, leaves[i].Grad(), says)
		require.Equal(t, leaves[i].Shape(), leaves[i].Grad().Shape(), says)
		g, err := tensor.Data[float64](leaves[i].Grad())
		require.NoError(t, err, says)
		all[i] = g
	}
	return all
}

// differences returns the central differences of the sum of up times the values,
// for each number of each leaf.
func (s *opSample) differences(data [][]float64, up []float64, value func() []float64) [][]float64 {
	all := make([][]float64, len(data))
	for i, in := range s.in {
		if !in.isLeaf() {
			continue
		}
		all[i] = make([]float64, len(data[i]))
		for j := range data[i] {
			const h = 1e-5
			was := data[i][j]
			data[i][j] = was + h
			above := value()
			data[i][j] = was - h
			below := value()
			data[i][j] = was
			for k := range up {
				all[i][j] += up[k] * (above[k] - below[k]) / (2 * h)
			}
		}
	}
	return all
}
