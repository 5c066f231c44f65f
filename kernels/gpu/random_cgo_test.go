//go:build cgo && (linux || darwin)

package gpu

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/kernels"
	"tarn/kernels/ref"
)

// TestRandom compares the numbers with the reference's, uniform ones to the bit,
// in operands of odd sizes and places, with seeds and offsets of all 64 bits.
func TestRandom(t *testing.T) {
	k := simulated(t)
	for _, wide := range []bool{false, true} {
		k.wide = wide
		for _, n := range []int64{0, 1, 2, 3, 4, 5, 1023} {
			k.randomIs(t, n, 3, 0)
			k.randomIs(t, n, 0xfedcba9876543210, 1<<32-1)
			k.randomIs(t, n, 1, math.MaxUint64)
		}
	}
}

func (k *Kernels) randomIs(t *testing.T, n int64, seed, offset uint64) {
	const mean, deviation = -3, 0.5
	x32 := k.vector(t, make([]float32, n+1))
	x32.Ptr, x32.Dims[0] = x32.Ptr+4, n
	x64 := k.dense(t, kernels.Float64, make([]byte, n*8), n)

	require.NoError(t, k.RandomUniform(k.Queue(0), &x32, seed, offset))
	for i, x := range k.values(t, x32) {
		require.Equal(t, ref.Uniform32(seed, offset, uint64(i)), x, "number %d of seed %#x", i, seed)
	}
	require.NoError(t, k.RandomUniform(k.Queue(0), &x64, seed, offset))
	for i, x := range k.values64(t, x64) {
		require.Equal(t, ref.Uniform64(seed, offset, uint64(i)), x, "number %d of seed %#x", i, seed)
	}
	require.NoError(t, k.RandomNormal(k.Queue(0), &x32, seed, offset, mean, deviation))
	for i, x := range k.values(t, x32) {
		want := mean + deviation*float64(ref.Normal32(seed, offset, uint64(i)))
		require.InDelta(t, want, float64(x), 4e-6, "number %d of seed %#x", i, seed)
	}
	require.NoError(t, k.RandomNormal(k.Queue(0), &x64, seed, offset, mean, deviation))
	for i, x := range k.values64(t, x64) {
		want := mean + deviation*ref.Normal64(seed, offset, uint64(i))
		require.InDelta(t, want, x, 1e-14, "number %d of seed %#x", i, seed)
	}
}

// TestRandomOrder: numbers go by the index of an element, not by its place.
func TestRandomOrder(t *testing.T) {
	k := simulated(t)
	x := k.matrix(t, make([]float32, 35), 5, 7)
	x.Dims, x.Strides = [8]int64{7, 5}, [8]int64{1, 7}
	require.NoError(t, k.RandomUniform(k.Queue(0), &x, 9, 2))
	x.Dims, x.Strides = [8]int64{35}, [8]int64{1}
	x.Rank = 1
	for i, got := range k.values(t, x) {
		require.Equal(t, ref.Uniform32(9, 2, uint64(i%7*5+i/7)), got, "element %d", i)
	}
}

func TestRandomBlocks(t *testing.T) {
	require.EqualValues(t, 0, RandomBlocks(kernels.Float32, 0))
	require.EqualValues(t, 1, RandomBlocks(kernels.Float32, 4))
	require.EqualValues(t, 2, RandomBlocks(kernels.Float32, 5))
	require.EqualValues(t, 3, RandomBlocks(kernels.Float64, 5))
	k := simulated(t)
	require.ErrorIs(t, k.RandomUniform(k.Queue(0), &kernels.View{DType: kernels.Int64}, 0, 0), kernels.ErrDType)
}

func (k *Kernels) values64(t testing.TB, v kernels.View) []float64 {
	x := make([]float64, v.Len())
	require.NoError(t, k.context.Download(0, bytesOf(x), cuda.DevicePtr(v.Ptr)))
	return x
}
