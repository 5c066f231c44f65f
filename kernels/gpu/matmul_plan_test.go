package gpu

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The parts of K cover it, are multiples of what kernels take at once, and are
// the same for the transposed product.
func TestMatMulCut(t *testing.T) {
	for _, tiles := range []*matmulTiles{matmulF32, matmulF64} {
		for _, m := range []int64{1, 10, 64, 129, 4096, 1 << 33} {
			for _, n := range []int64{1, 256, 5000} {
				for _, k := range []int64{0, 1, 15, 16, 127, 128, 784, 50257, 1<<31 + 5} {
					s := matmulShape{m, n, k, 1}
					c := tiles.cut(s)
					require.Equal(t, c, tiles.cut(s), "asked again")
					parts, part := c.parts, c.part
					require.NotZero(t, parts, s)
					require.Zero(t, part%matmulStep, s)
					require.LessOrEqual(t, part, int64(matmulMaxPart), s)
					require.GreaterOrEqual(t, parts*part, k, s)
					require.True(t, parts == 1 || (parts-1)*part < k, s)
					transposed := tiles.cut(matmulShape{n, m, k, 1})
					require.Equal(t, []int64{parts, part}, []int64{transposed.parts, transposed.part}, s)
				}
			}
		}
	}
}

// The products of small layers fill a device; large ones are not cut.
func TestMatMulFillsADevice(t *testing.T) {
	for _, c := range []struct {
		s      matmulShape
		sms    int64
		blocks int64 // at least
		tile   int64 // rows of the tile, 0: any
	}{
		{matmulShape{64, 256, 784, 1}, 80, 60, 0},
		{matmulShape{784, 256, 64, 1}, 80, 80, 0},
		{matmulShape{64, 10, 256, 1}, 80, 16, 32},
		{matmulShape{256, 10, 60000, 1}, 80, 80, 0},
		{matmulShape{1, 4096, 4096, 1}, 108, 108, 0},
		{matmulShape{4096, 4096, 4096, 1}, 108, 1024, 128},
		{matmulShape{512, 512, 512, 16}, 40, 256, 128},
	} {
		parts := matmulF32.cut(c.s).parts
		tile := matmulF32.choose(c.s, parts, c.sms, true)
		what := fmt.Sprint(c.s, parts, " parts, tile of ", tile.m)
		assert.GreaterOrEqual(t, tile.blocks(c.s, parts), c.blocks, what)
		if c.tile != 0 {
			assert.Equal(t, c.tile, tile.m, what)
		}
		assert.False(t, matmulF32.choose(c.s, parts, c.sms, false).wide, what)
	}
}

func TestMatMulLie(t *testing.T) {
	for _, c := range []struct {
		ptr                   uintptr
		sx, sk, n, k, batch   int64
		alongK, whole, inLong bool
	}{
		{0x100, 64, 1, 8, 64, 0, true, true, true},
		{0x100, 1, 64, 8, 64, 0, false, true, true},
		{0x100, 1, 64, 10, 64, 0, false, true, false},  // rows end within 16 bytes
		{0x100, 65, 1, 8, 64, 0, true, false, false},   // and begin there
		{0x104, 64, 1, 8, 64, 0, true, false, false},   // all begin there
		{0x100, 64, 1, 8, 64, 2, true, false, false},   // other products do
		{0x100, 0, 1, 1, 64, 0, true, true, true},      // one row
		{0x100, 128, 2, 8, 64, 0, true, false, false},  // gaps
		{0x100, 2, 128, 8, 64, 0, false, false, false}, // gaps
	} {
		alongK, whole := along(c.ptr, c.sx, c.sk, c.n, c.k, c.batch, 4)
		assert.Equal(t, []bool{c.alongK, c.whole}, []bool{alongK, whole}, c)
		p := product{x: c.ptr, y: c.ptr, xm: c.sx, yn: c.sx, xk: c.sk, yk: c.sk, m: c.n, n: c.n, k: c.k,
			xbatch: c.batch, ybatch: c.batch}
		assert.Equal(t, c.inLong, p.lie(4), c)
	}
}
