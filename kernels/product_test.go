package kernels_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

// TestProductFolds: as few products as the strides allow, of the right sizes.
func TestProductFolds(t *testing.T) {
	none := func(v kernels.View, dims int) kernels.View { clear(v.Strides[:dims]); return v }
	for _, c := range []struct {
		name       string
		out, x, y  kernels.View
		m, n       int64
		dims       []int64
		xrow, ycol int64
	}{
		{"rank 2", view(f32, 2, 4), view(f32, 2, 3), view(f32, 3, 4), 2, 4, []int64{}, 3, 1},
		{"dense batch", view(f32, 5, 6, 2, 4), view(f32, 5, 6, 2, 3), view(f32, 5, 6, 3, 4), 2, 4, []int64{30}, 3, 1},
		{"one matrix for all", view(f32, 5, 6, 2, 4), view(f32, 5, 6, 2, 3), none(view(f32, 5, 6, 3, 4), 2), 60, 4, []int64{}, 3, 1},
		{"one for some", view(f32, 5, 6, 2, 4), view(f32, 5, 6, 2, 3), strided(view(f32, 5, 6, 3, 4), 12, 0), 12, 4, []int64{5}, 3, 1},
		{"one row each", view(f32, 5, 1, 4), strided(view(f32, 5, 1, 3), 100, 1<<40, 1), none(view(f32, 5, 3, 4), 1), 5, 4, []int64{}, 100, 1},
		{"rows outside of the batch", strided(view(f32, 5, 2, 4), 4, 20, 1), strided(view(f32, 5, 2, 3), 3, 15, 1), none(view(f32, 5, 3, 4), 1), 10, 4, []int64{}, 3, 1},
		{"columns", strided(view(f32, 5, 2, 4), 4, 20, 1), none(view(f32, 5, 2, 3), 1), strided(view(f32, 5, 3, 4), 4, 20, 1), 2, 20, []int64{}, 3, 1},
		{"gaps between the products", strided(view(f32, 5, 2, 4), 9, 4, 1), view(f32, 5, 2, 3), none(view(f32, 5, 3, 4), 1), 2, 4, []int64{5}, 3, 1},
		{"dims of 1", view(f32, 1, 5, 1, 2, 4), view(f32, 1, 5, 1, 2, 3), view(f32, 1, 5, 1, 3, 4), 2, 4, []int64{5}, 3, 1},
	} {
		p := kernels.NewProduct(args(1, c.out, c.x, c.y))
		require.Equal(t, c.m, p.M, c.name)
		require.Equal(t, c.n, p.N, c.name)
		require.Equal(t, int64(3), p.K, c.name)
		require.Equal(t, c.dims, p.Dims[:p.Rank], c.name)
		require.Equal(t, c.xrow, p.X.Row, c.name)
		require.Equal(t, c.ycol, p.Y.Col, c.name)
	}
}

func TestProductNth(t *testing.T) {
	const base = 1 << 20
	out := at(strided(view(f32, 2, 3, 2, 4), 100, 9, 4, 1), base)
	p := kernels.NewProduct(args(1, out, at(view(f32, 2, 3, 2, 3), 2*base), at(strided(view(f32, 2, 3, 3, 4), 0, 12, 4, 1), 3*base)))
	require.Equal(t, int64(6), p.Count())
	one := p.Nth(4, 4)
	require.Equal(t, int64(1), one.Count())
	require.Equal(t, []uintptr{base + 4*109, 2*base + 4*24, 3*base + 4*12, 0}, []uintptr{one.Out.Ptr, one.X.Ptr, one.Y.Ptr, one.Bias.Ptr})
}
