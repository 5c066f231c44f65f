package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

// TestCompact: the copy of an operand is dense in the operand's own order, and
// repeats what that repeats.
func TestCompact(t *testing.T) {
	type dims = []int64
	for name, c := range map[string]struct {
		dims, strides, want dims
		elements            int64
	}{
		"scalar":       {dims{}, dims{}, dims{}, 1},
		"dense":        {dims{2, 3, 5}, dims{15, 5, 1}, dims{15, 5, 1}, 30},
		"padded":       {dims{2, 3}, dims{100, 7}, dims{3, 1}, 6},
		"transposed":   {dims{3, 5}, dims{1, 3}, dims{1, 3}, 15},
		"permuted":     {dims{2, 3, 5}, dims{5, 10, 1}, dims{5, 10, 1}, 30},
		"reversed":     {dims{4, 3}, dims{3, -1}, dims{3, 1}, 12},
		"broadcast":    {dims{7, 3}, dims{0, 2}, dims{0, 1}, 3},
		"one of all":   {dims{7, 3}, dims{0, 0}, dims{0, 0}, 1},
		"odd dim of 1": {dims{2, 1, 3}, dims{3, 1 << 40, 1}, dims{3, 6, 1}, 6},
		"fixed dim":    {dims{1, 3}, dims{0, 1}, dims{1, 1}, 3},
		"empty":        {dims{0, 3}, dims{3, 1}, dims{3, 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := view(kernels.BFloat16, c.dims, c.strides)
			got, elements := compact(&v, 0x5000)
			require.Equal(t, c.elements, elements)
			require.Equal(t, kernels.Float32, got.DType)
			require.Equal(t, uintptr(0x5000), got.Ptr)
			require.True(t, got.SameDims(&v))
			for d, n := range c.dims {
				if n > 1 {
					require.Equal(t, c.want[d], got.Strides[d], "dim %d", d)
				}
			}
			o := once(&got)
			require.Equal(t, elements, o.Len())
		})
	}
}

// TestPeriod: how short a piece of the bits of an element fills memory alike.
func TestPeriod(t *testing.T) {
	for _, c := range []struct {
		pattern      uint64
		size, period int64
		repeated     uint64
	}{
		{0xab, 1, 1, 0xabababababababab},
		{0xabab, 2, 1, 0xabababababababab},
		{0x3c00, 2, 2, 0x3c003c003c003c00},
		{0x3c003c00, 4, 2, 0x3c003c003c003c00},
		{0x12345678, 4, 4, 0x1234567812345678},
		{0, 8, 1, 0},
		{0x1234567812345678, 8, 4, 0x1234567812345678},
		{0x123456789abcdef0, 8, 8, 0x123456789abcdef0},
	} {
		p := period(c.pattern, c.size)
		require.Equal(t, c.period, p, "%#x of %d bytes", c.pattern, c.size)
		require.Equal(t, c.repeated, repeated(c.pattern, p), "%#x of %d bytes", c.pattern, c.size)
	}
}
