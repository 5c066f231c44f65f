//go:build cgo && linux

package cublaslt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
)

// TestDriver is for machines with a GPU and cuBLASLt.
func TestDriver(t *testing.T) {
	driver, err := cuda.Open()
	if err != nil {
		t.Skipf("no usable CUDA driver on this machine: %v", err)
	}
	d, err := driver.Device(0)
	require.NoError(t, err)
	c, err := d.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	l, err := Open(c)
	if err != nil {
		t.Skipf("no usable cuBLASLt on this machine: %v", err)
	}
	defer func() { require.NoError(t, l.Close()) }()
	t.Logf("%s: %s", d.Name, l.Name())
	b := &lab{TB: t, c: c, l: l, rand: rand.New(rand.NewPCG(1, 2))}
	defer b.release(0)
	b.work = b.alloc(make([]byte, l.most))
	b.driverProducts()
	b.rectifiedNaN()
}

// driverProducts compares products with plain sums. The numbers are whole and
// small, so that all is exact in any order. What the library does not do is
// logged, but all products in float32 it must do, and plain ones in float64.
func (b *lab) driverProducts() {
	const m, n, k = 64, 48, 16
	x, y, out := lies(m, k), lies(k, n), lies(m, n)
	for _, typ := range [][2]Type{{Float32, Float32}, {Float64, Float64}, {BF16, Float32}, {BF16, BF16}, {F16, Float32}, {F16, F16}} {
		for flags := range 8 {
			b.lenient = typ[0] != Float32 && (typ[0] != Float64 || flags&^2 != 0)
			for i := range 16 {
				p := Product{Type: typ[0], OutType: typ[1], M: m, N: n, K: k, Batch: 1, Rectify: flags&1 != 0, Accumulate: flags&2 != 0}
				if i&8 != 0 && flags == 0 {
					p.Batch = 3
				}
				b.check(p, x[i&1], y[i>>1&1], out[2*(i>>2&1)], flags&4 != 0)
			}
		}
	}
}

// rectifiedNaN logs what a ReLU makes of NaN.
func (b *lab) rectifiedNaN() {
	p := b.dense(64, 64, 64)
	nan := make([]byte, 4*64*64)
	for i := 0; i < len(nan); i += 4 {
		Float32.encode(nan[i:], math.NaN())
	}
	require.NoError(b, b.c.Upload(0, p.X.Ptr, nan))
	p.Rectify = true
	if err := b.l.Run(0, p, b.work); err != nil {
		b.Logf("relu of NaN: %v", err)
		return
	}
	got := make([]byte, 4)
	require.NoError(b, b.c.Download(0, got, p.Out.Ptr))
	b.Logf("relu of NaN is %v", Float32.decode(got))
}
