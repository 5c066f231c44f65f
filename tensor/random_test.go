package tensor_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/tensor"
)

// drawn64 returns a tensor's elements as float64.
func drawn64(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	v, err := tensor.Data[float64](x.To(tensor.Float64))
	require.NoError(t, err)
	return v
}

// TestRandomNumbersOfDevices: every device draws the same, of every dtype.
func TestRandomNumbersOfDevices(t *testing.T) {
	draw := func(d *tensor.Device) (all [][]float64) {
		g := tensor.NewGenerator(7)
		for _, dt := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16} {
			all = append(all, drawn64(t, tensor.Rand(d, g, dt, 5, 7)), drawn64(t, tensor.RandUniform(d, g, dt, -2, 3, 11)),
				drawn64(t, tensor.Rand(d, g, dt, 9).Bernoulli(g)))
		}
		for _, dt := range []tensor.DType{tensor.Float32, tensor.Int64, tensor.Int32, tensor.Uint8} {
			all = append(all, drawn64(t, tensor.Randint(d, g, dt, 0, 200, 33)))
		}
		return append(all, drawn64(t, tensor.Bernoulli(d, g, tensor.Bool, 0.3, 40)))
	}
	normal := func(d *tensor.Device) []float64 {
		return drawn64(t, tensor.Randn(d, tensor.NewGenerator(7), tensor.Float32, 41))
	}
	want, wantNormal := draw(tensor.CPU()), normal(tensor.CPU())
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		require.Equal(t, want, draw(d))
		require.InDeltaSlice(t, wantNormal, normal(d), 1e-6)
	})
}

// TestGenerator: calls take ranges that do not meet, a state comes back, and
// goroutines that share a generator get each range once.
func TestGenerator(t *testing.T) {
	cpu := tensor.CPU()
	whole := drawn64(t, tensor.Rand(cpu, tensor.NewGenerator(1), tensor.Float32, 24))
	g := tensor.NewGenerator(1)
	first := drawn64(t, tensor.Rand(cpu, g, tensor.Float32, 5)) // two blocks, of which three words go by
	state := g.State()
	require.Equal(t, tensor.GeneratorState{Seed: 1, Offset: 2}, state)
	rest := drawn64(t, tensor.Rand(cpu, g, tensor.Float32, 16))
	require.Equal(t, whole[:5], first)
	require.Equal(t, whole[8:], rest)
	g.SetState(state)
	require.Equal(t, rest, drawn64(t, tensor.Rand(cpu, g, tensor.Float32, 16)))
	require.NotEqual(t, whole[:16], drawn64(t, tensor.Rand(cpu, tensor.NewGenerator(2), tensor.Float32, 16)))

	shared, seen := tensor.NewGenerator(1), map[float64]bool{}
	var lock sync.Mutex
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			x, err := tensor.Data[float32](tensor.Rand(cpu, shared, tensor.Float32, 4))
			lock.Lock()
			defer lock.Unlock()
			if err == nil {
				for _, v := range x {
					seen[float64(v)] = true
				}
			}
		})
	}
	all.Wait()
	for _, v := range whole {
		require.True(t, seen[v])
	}
}

// moments returns the mean and the variance of x.
func moments(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, variance
}

// TestDistributions: the numbers of fixed seeds have the moments of their
// distributions within four standard errors.
func TestDistributions(t *testing.T) {
	const n = 40_000
	cpu, g := tensor.CPU(), tensor.NewGenerator(11)
	for _, c := range []struct {
		name                   string
		x                      *tensor.Tensor
		mean, variance, fourth float64 // the last is the fourth central moment
	}{
		{"uniform", tensor.RandUniform(cpu, g, tensor.Float32, -1, 3, n), 1, 4.0 / 3, 16.0 / 5},
		{"uniform of bfloat16", tensor.Rand(cpu, g, tensor.BFloat16, n), 0.5 - 1.0/512, 1.0 / 12, 1.0 / 80},
		{"normal", tensor.Randn(cpu, g, tensor.Float32, n), 0, 1, 3},
		{"normal of float64", tensor.RandNormal(cpu, g, tensor.Float64, 5, 2, n), 5, 4, 48},
		{"bernoulli", tensor.Bernoulli(cpu, g, tensor.Uint8, 0.2, n), 0.2, 0.16, 0.2*math.Pow(0.8, 4) + 0.8*math.Pow(0.2, 4)},
	} {
		mean, variance := moments(drawn64(t, c.x))
		require.InDelta(t, c.mean, mean, 4*math.Sqrt(c.variance/n), c.name)
		require.InDelta(t, c.variance, variance, 4*math.Sqrt((c.fourth-c.variance*c.variance)/n), c.name)
	}
}

// TestRandintChiSquare: each of the numbers comes as often as it should, alone
// and after each of the others. The bounds are the quantiles of 99.9 %.
func TestRandintChiSquare(t *testing.T) {
	const n, k = 60_000, 6
	x, err := tensor.Data[int64](tensor.Randint(tensor.CPU(), tensor.NewGenerator(5), tensor.Int64, -2, k-2, n))
	require.NoError(t, err)
	var alone [k]float64
	var pairs [k * k]float64
	for i, v := range x {
		alone[v+2]++
		pairs[(x[(i+1)%n]+2)*k+v+2]++
	}
	chi := func(counts []float64) (sum float64) {
		want := n / float64(len(counts))
		for _, c := range counts {
			sum += (c - want) * (c - want) / want
		}
		return sum
	}
	require.Less(t, chi(alone[:]), 20.5) // 5 degrees of freedom
	require.Less(t, chi(pairs[:]), 66.6) // 35
}

// TestCallsAreIndependent: what one call draws has no correlation with what the
// next one does, nor have neighbouring seeds.
func TestCallsAreIndependent(t *testing.T) {
	const n = 20_000
	g := tensor.NewGenerator(3)
	a, b := drawn64(t, tensor.Randn(tensor.CPU(), g, tensor.Float64, n)), drawn64(t, tensor.Randn(tensor.CPU(), g, tensor.Float64, n))
	c := drawn64(t, tensor.Randn(tensor.CPU(), tensor.NewGenerator(4), tensor.Float64, n))
	for _, pair := range [][2][]float64{{a, b}, {a, c}, {a[1:], a[:n-1]}} {
		sum := 0.0
		for i, v := range pair[0] {
			sum += v * pair[1][i]
		}
		require.InDelta(t, 0, sum/n, 4/math.Sqrt(n))
	}
}

// TestRandomInPlace: numbers go by the index, whatever the layout, and in-place
// rules hold.
func TestRandomInPlace(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		x := tensor.Zeros(d, tensor.Float32, 3, 4)
		require.NoError(t, x.T().RandUniform(tensor.NewGenerator(2), 0, 1))
		require.Equal(t, drawn64(t, tensor.Rand(d, tensor.NewGenerator(2), tensor.Float32, 4, 3)), drawn64(t, x.T()))
		require.NoError(t, x.RandNormal(tensor.NewGenerator(2), 3, 0))
		require.Equal(t, []float64{3, 3, 3, 3}, drawn64(t, x)[:4])
		w := tensor.Zeros(d, tensor.Float32, 3).RequireGrad()
		require.ErrorIs(t, w.RandNormal(tensor.NewGenerator(2), 0, 1), tensor.ErrInPlace)
		require.NoError(t, w.NoGrad().RandNormal(tensor.NewGenerator(2), 0, 1))
	})
}

func TestRandomBadInput(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		g, before := tensor.NewGenerator(1), live(d)
		ints, float := tensor.Zeros(d, tensor.Int64, 2), tensor.Zeros(d, tensor.Float32)
		for _, c := range []struct {
			x    *tensor.Tensor
			is   error
			says string
		}{
			{tensor.Rand(d, g, tensor.Int64, 2), tensor.ErrDType, "RandUniform"},
			{tensor.RandUniform(d, g, tensor.Float32, 2, 1, 2), kernels.ErrAttr, "[2, 1)"},
			{tensor.RandNormal(d, g, tensor.Float32, 0, -1, 2), kernels.ErrAttr, "deviation -1"},
			{tensor.Randint(d, g, tensor.Uint8, 0, 257, 2), kernels.ErrAttr, "from 0 to 255"},
			{tensor.Randint(d, g, tensor.Int64, 3, 3), kernels.ErrAttr, "[3, 3)"},
			{tensor.Randn(d, g, tensor.Float32, -1), tensor.ErrShape, "negative"},
			{tensor.Bernoulli(d, g, tensor.Bool, 1.5, 2), kernels.ErrAttr, "probability 1.5"},
			{ints.Bernoulli(g), tensor.ErrDType, "int64"},
			{ints.Dropout(g, 0.5, true), tensor.ErrDType, "int64"},
			{float.Dropout(g, -1, true), kernels.ErrAttr, "Dropout"},
		} {
			require.ErrorIs(t, c.x.Err(), c.is)
			require.ErrorContains(t, c.x.Err(), c.says)
		}
		require.NoError(t, ints.Release())
		require.NoError(t, float.Release())
		require.Equal(t, before, live(d))
	})
	require.Panics(t, func() { tensor.Rand(tensor.CPU(), nil, tensor.Float32, 2) })
}
