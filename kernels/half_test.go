package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

// TestHalvesKeepTheirValues: each finite half comes back from float32 as it was,
// and a float32 half-way between two neighbours goes to the even one.
func TestHalvesKeepTheirValues(t *testing.T) {
	for bits := range 1 << 16 {
		h, b := kernels.F16(bits), kernels.BF16(bits)
		if x := h.Float32(); x == x {
			require.Equal(t, h, kernels.ToF16(x), "%#x", bits)
		} else {
			y := kernels.ToF16(x).Float32()
			require.True(t, y != y, "%#x is NaN", bits)
		}
		if x := b.Float32(); x == x {
			require.Equal(t, b, kernels.ToBF16(x), "%#x", bits)
		} else {
			y := kernels.ToBF16(x).Float32()
			require.True(t, y != y, "%#x is NaN", bits)
		}
	}
}

func TestHalvesRoundToEven(t *testing.T) {
	for bits := range 0x7bff { // positive, with a finite neighbour above
		lo, hi := kernels.F16(bits).Float32(), kernels.F16(bits+1).Float32()
		middle := lo + (hi-lo)/2 // exact
		want := kernels.F16(bits + bits&1)
		require.Equal(t, want, kernels.ToF16(middle), "%g", middle)
		require.Equal(t, kernels.F16(bits), kernels.ToF16(math.Nextafter32(middle, 0)), "below %g", middle)
		require.Equal(t, kernels.F16(bits+1), kernels.ToF16(math.Nextafter32(middle, 1e9)), "above %g", middle)
		require.Equal(t, want|0x8000, kernels.ToF16(-middle), "%g", -middle)
	}
	for bits := range 0x7f7f {
		lo := kernels.BF16(bits).Float32()
		middle := math.Float32frombits(math.Float32bits(lo) | 0x8000)
		require.Equal(t, kernels.BF16(bits+bits&1), kernels.ToBF16(middle), "%g", middle)
		require.Equal(t, kernels.BF16(bits), kernels.ToBF16(math.Nextafter32(middle, 0)), "below %g", middle)
		require.Equal(t, kernels.BF16(bits+1), kernels.ToBF16(math.Nextafter32(middle, math.MaxFloat32)), "above %g", middle)
	}
}

func TestHalvesOfLargeNumbers(t *testing.T) {
	require.Equal(t, kernels.F16(0x7bff), kernels.ToF16(65519.996), "the largest")
	require.Equal(t, kernels.F16(0x7c00), kernels.ToF16(65520), "Inf")
	require.Equal(t, kernels.F16(0xfc00), kernels.ToF16(float32(math.Inf(-1))))
	require.Equal(t, kernels.BF16(0x7f80), kernels.ToBF16(math.MaxFloat32))
	require.Equal(t, kernels.F16(0), kernels.ToF16(0x1p-25), "half of the smallest")
	require.Equal(t, kernels.F16(1), kernels.ToF16(math.Nextafter32(0x1p-25, 1)))
}
