package ref

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPhilox has the known answers that the generator's authors publish.
func TestPhilox(t *testing.T) {
	require.Equal(t, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, Philox(0, 0))
	ones := uint32(math.MaxUint32)
	require.Equal(t, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		philox([4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}))
	require.Equal(t, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		philox([4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}))
}

// TestRandomMoments: numbers have the mean and the deviation of their
// distribution, within four standard errors.
func TestRandomMoments(t *testing.T) {
	const n = 40_000
	for name, c := range map[string]struct {
		number          func(i uint64) float64
		mean, deviation float64
	}{
		"uniform32": {func(i uint64) float64 { return float64(Uniform32(3, 1<<40, i, 24)) }, 0.5, math.Sqrt(1.0 / 12)},
		"uniform64": {func(i uint64) float64 { return Uniform64(3, 7, i) }, 0.5, math.Sqrt(1.0 / 12)},
		"normal32":  {func(i uint64) float64 { return Normal32(1<<60, 9, i) }, 0, 1},
		"normal64":  {func(i uint64) float64 { return Normal64(5, 0, i) }, 0, 1},
	} {
		var sum, squares float64
		for i := range uint64(n) {
			x := c.number(i)
			sum += x
			squares += (x - c.mean) * (x - c.mean)
		}
		require.InDelta(t, c.mean, sum/n, 4*c.deviation/math.Sqrt(n), name)
		require.InDelta(t, c.deviation, math.Sqrt(squares/n), 4*c.deviation/math.Sqrt(n), name)
	}
}
