//go:build cgo && (linux || darwin)

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/kernels"
	"tarn/kernels/ref"
)

// matrix is an operand on the device and a copy of it on the host.
type matrix struct {
	bytes        []byte
	view, onHost kernels.View
}

// leftOut reports whether case i is one that -short leaves out: under the race
// detector the simulated device is slow.
func leftOut(i int) bool { return testing.Short() && i%5 != 0 }

// matmulLab makes operands and runs products of one dtype.
type matmulLab struct {
	testing.TB
	k     *Kernels
	dtype kernels.DType
	rand  *rand.Rand
}

func newMatMulLab(t testing.TB, d kernels.DType) *matmulLab {
	return &matmulLab{t, simulated(t), d, rand.New(rand.NewPCG(1, 2))}
}

// alloc returns memory of the device with the content b; it is freed after the
// test.
func (l *matmulLab) alloc(b []byte) cuda.DevicePtr {
	l.Helper()
	c := l.k.context
	p, err := c.Alloc(max(int64(len(b)), 1))
	require.NoError(l, err)
	l.Cleanup(func() { require.NoError(l, c.Free(p)) })
	if len(b) > 0 {
		require.NoError(l, c.Upload(0, p, b))
	}
	return p
}

// matrix makes random matrices with the given strides, the first element skip
// elements after an address that is aligned.
func (l *matmulLab) matrix(skip int64, dims, strides []int64) *matrix {
	l.Helper()
	n := skip + 1
	for d := range dims {
		n += max(dims[d]-1, 0) * strides[d]
	}
	size := l.dtype.Size()
	x := &matrix{bytes: make([]byte, n*size)}
	for i := range n {
		v := l.rand.Float64()*2 - 1
		if l.dtype == kernels.Float32 {
			*(*float32)(unsafe.Pointer(&x.bytes[i*4])) = float32(v)
		} else {
			*(*float64)(unsafe.Pointer(&x.bytes[i*8])) = v
		}
	}
	x.view = kernels.View{DType: l.dtype, Rank: int8(len(dims)), Ptr: uintptr(l.alloc(x.bytes)) + uintptr(skip*size)}
	copy(x.view.Dims[:], dims)
	copy(x.view.Strides[:], strides)
	x.onHost = x.view
	x.onHost.Ptr = uintptr(unsafe.Pointer(&x.bytes[skip*size]))
	return x
}

// lies are the ways in which a matrix of m by n may lie: rows, columns, each
// with gaps after it, not aligned, every other element.
func lies(m, n int64) [][2]int64 {
	return [][2]int64{{n, 1}, {1, m}, {n + 4, 1}, {1, m + 8}, {n + 3, 1}, {2*n + 2, 2}}
}

// like returns a matrix with the values of x that lies otherwise.
func (l *matmulLab) like(x *matrix, skip int64, strides [2]int64) *matrix {
	y := l.matrix(skip, x.view.Dims[:2], strides[:])
	size := l.dtype.Size()
	for i := range x.view.Dims[0] {
		for j := range x.view.Dims[1] {
			from := x.onHost.Ptr + uintptr((i*x.view.Strides[0]+j*x.view.Strides[1])*size) - uintptr(unsafe.Pointer(&x.bytes[0]))
			to := y.onHost.Ptr + uintptr((i*strides[0]+j*strides[1])*size) - uintptr(unsafe.Pointer(&y.bytes[0]))
			copy(y.bytes[to:int64(to)+size], x.bytes[from:])
		}
	}
	p := cuda.DevicePtr(y.view.Ptr - uintptr(skip*size))
	require.NoError(l, l.k.context.Upload(0, p, y.bytes))
	return y
}

// fetch returns the elements of the matrices of x on the device, row by row.
func (l *matmulLab) fetch(x *matrix) []float64 {
	l.Helper()
	b := make([]byte, len(x.bytes))
	skip := x.onHost.Ptr - uintptr(unsafe.Pointer(&x.bytes[0]))
	require.NoError(l, l.k.context.Download(0, b, cuda.DevicePtr(x.view.Ptr-skip)))
	return elements(b[skip:], x.view)
}

func elements(b []byte, v kernels.View) []float64 {
	if v.Rank == 2 {
		v.Rank, v.Dims, v.Strides = 3, [8]int64{1, v.Dims[0], v.Dims[1]}, [8]int64{0, v.Strides[0], v.Strides[1]}
	}
	var list []float64
	for b0 := range v.Dims[0] {
		for i := range v.Dims[1] {
			for j := range v.Dims[2] {
				p := unsafe.Pointer(&b[(b0*v.Strides[0]+i*v.Strides[1]+j*v.Strides[2])*v.DType.Size()])
				if v.DType == kernels.Float32 {
					list = append(list, float64(*(*float32)(p)))
				} else {
					list = append(list, *(*float64)(p))
				}
			}
		}
	}
	return list
}

// reference is what kernels/ref makes of the operands. It changes out's copy
// on the host.
func (l *matmulLab) reference(out *matrix, attr kernels.Attr, in ...*matrix) []float64 {
	a := &kernels.Args{Out: []kernels.View{out.onHost}, Attr: attr}
	for _, x := range in {
		a.In = append(a.In, x.onHost)
	}
	require.NoError(l, ref.Table()[kernels.MatMul].Run(nil, a))
	skip := out.onHost.Ptr - uintptr(unsafe.Pointer(&out.bytes[0]))
	return elements(out.bytes[skip:], out.onHost)
}

func (l *matmulLab) args(out *matrix, attr kernels.Attr, in ...*matrix) *kernels.Args {
	a := &kernels.Args{Out: []kernels.View{out.view}, Attr: attr}
	for _, x := range in {
		a.In = append(a.In, x.view)
	}
	return a
}

func (l *matmulLab) near(want, got []float64, terms int64, what any) {
	l.Helper()
	require.Len(l, got, len(want))
	eps := 0x1p-21
	if l.dtype == kernels.Float64 {
		eps = 0x1p-50
	}
	for i := range want {
		if d := math.Abs(want[i] - got[i]); !(d <= eps*(2+math.Sqrt(float64(terms)))) {
			require.Fail(l, "element differs", "%v: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// Every kernel gives the same bits wherever the operands lie, and the right ones.
func TestMatMulKernels(t *testing.T) {
	for _, d := range []kernels.DType{kernels.Float32, kernels.Float64} {
		tiles, _ := matmulTilesOf(d)
		for i := range tiles.list {
			tile := &tiles.list[i]
			t.Run(tile.kernel.module.names[tile.kernel.index], func(t *testing.T) {
				newMatMulLab(t, d).everyLie(tile)
			})
		}
	}
}

func (l *matmulLab) everyLie(tile *matmulTile) {
	m, n, k := tile.m+8, tile.n-12, int64(40)
	x0, y0 := l.matrix(0, []int64{m, k}, []int64{k, 1}), l.matrix(0, []int64{k, n}, []int64{n, 1})
	out0 := l.matrix(0, []int64{m, n}, []int64{n, 1})
	bias := l.matrix(0, []int64{m, n}, []int64{0, 1})
	attr := kernels.Attr{Activation: kernels.Rectify}
	want := l.reference(out0, attr, x0, y0, bias)
	var first []float64
	for i, xlie := range lies(m, k) {
		for j, ylie := range lies(k, n) {
			if leftOut(i*6 + j) {
				continue
			}
			x, y := l.like(x0, int64(i%2*4), xlie), l.like(y0, int64(j%3*4), ylie)
			out := l.like(out0, 0, lies(m, n)[(i+j)%6])
			what := fmt.Sprint("x ", xlie, ", y ", ylie, ", out ", lies(m, n)[(i+j)%6])
			a := l.args(out, attr, x, y, bias)
			b := newBatches(a)
			p := b.first(a)
			wide := p.lie(16 / l.dtype.Size())
			require.Equal(l, i < 4 && j < 4, wide, what)
			if tile.wide && !wide {
				continue
			}
			p.kpart, p.tilesM, p.tilesN = 48, int32(ceil(p.m, tile.m)), int32(ceil(p.n, tile.n))
			require.NoError(l, l.k.launchProduct(0, &p, tile, 1, 1))
			got := l.fetch(out)
			if first == nil {
				first = got
				l.near(want, got, k, what)
			}
			require.Equal(l, first, got, what)
		}
	}
}

// Where K is cut, the parts are added up as the whole is, with any epilogue.
func TestMatMulParts(t *testing.T) {
	for _, d := range []kernels.DType{kernels.Float32, kernels.Float64} {
		l := newMatMulLab(t, d)
		const m, n, k = 33, 20, 800
		x, y := l.matrix(0, []int64{m, k}, []int64{k, 1}), l.matrix(0, []int64{k, n}, []int64{n, 1})
		bias := l.matrix(0, []int64{m, n}, []int64{1, m})
		for i, lie := range lies(m, n) {
			if leftOut(i) {
				continue
			}
			for _, c := range []struct {
				attr kernels.Attr
				in   []*matrix
			}{
				{kernels.Attr{}, []*matrix{x, y}},
				{kernels.Attr{Activation: kernels.Rectify}, []*matrix{x, y, bias}},
				{kernels.Attr{Accumulate: true}, []*matrix{x, y}},
			} {
				out := l.matrix(1, []int64{m, n}, lie[:])
				a := l.args(out, c.attr, c.in...)
				op := l.k.Table()[kernels.MatMul]
				size := op.Workspace(a)
				require.NotZero(t, size)
				require.ErrorIs(t, op.Run(l.k.Queue(0), a), kernels.ErrAddress, "no workspace")
				a.Work.Ptr = uintptr(l.alloc(make([]byte, size)))
				require.NoError(t, op.Run(l.k.Queue(0), a))
				l.near(l.reference(out, c.attr, c.in...), l.fetch(out), k, lie)
			}
		}
	}
}

// The bits are the same on devices of all sizes, whose tiles differ.
func TestMatMulOnDevicesOfAllSizes(t *testing.T) {
	var first []float64
	for _, sms := range []int{1, 16, 1000} {
		k := simulatedAs(t, cudasim.Config{Multiprocessors: sms})
		l := &matmulLab{t, k, kernels.Float32, rand.New(rand.NewPCG(1, 2))}
		const m, n, inner = 128, 128, 200
		x, y := l.matrix(0, []int64{m, inner}, []int64{inner, 1}), l.matrix(0, []int64{inner, n}, []int64{n, 1})
		out := l.matrix(0, []int64{m, n}, []int64{n, 1})
		a := l.args(out, kernels.Attr{}, x, y)
		op := l.k.Table()[kernels.MatMul]
		a.Work.Ptr = uintptr(l.alloc(make([]byte, op.Workspace(a))))
		require.NoError(t, op.Run(l.k.Queue(0), a))
		if got := l.fetch(out); first == nil {
			first = got
		} else {
			require.Equal(t, first, got, "%d multiprocessors", sms)
		}
	}
	require.NotEqual(t, matmulF32.choose(matmulShape{128, 128, 200, 1}, 1, 1, true),
		matmulF32.choose(matmulShape{128, 128, 200, 1}, 1, 1000, true), "the tiles differ")
}

// Every tile is made once where there are more rows of them than are taken
// together.
func TestMatMulManyTiles(t *testing.T) {
	l := newMatMulLab(t, kernels.Float32)
	const m, n, k = 19*32 + 5, 70, 8
	x, y := l.matrix(0, []int64{m, k}, []int64{k, 1}), l.matrix(0, []int64{k, n}, []int64{n, 1})
	out := l.matrix(0, []int64{m, n}, []int64{n, 1})
	attr := kernels.Attr{Accumulate: true} // a tile made twice is wrong
	require.NoError(t, l.k.Table()[kernels.MatMul].Run(l.k.Queue(0), l.args(out, attr, x, y)))
	l.near(l.reference(out, attr, x, y), l.fetch(out), k, "many tiles")
}

// BenchmarkSGEMM multiplies on the simulated device: a square, and a layer of
// a small network, where K is cut.
func BenchmarkSGEMM(b *testing.B) {
	for _, s := range []matmulShape{{256, 256, 256, 1}, {64, 256, 784, 1}} {
		b.Run(fmt.Sprintf("%dx%dx%d", s.m, s.k, s.n), func(b *testing.B) {
			l := newMatMulLab(b, kernels.Float32)
			dense := func(m, n int64) *matrix { return l.matrix(0, []int64{m, n}, []int64{n, 1}) }
			a := l.args(dense(s.m, s.n), kernels.Attr{}, dense(s.m, s.k), dense(s.k, s.n))
			op := l.k.Table()[kernels.MatMul]
			a.Work.Ptr = uintptr(l.alloc(make([]byte, op.Workspace(a))))
			for b.Loop() {
				require.NoError(b, op.Run(l.k.Queue(0), a))
				require.NoError(b, l.k.context.SyncStream(0))
			}
			b.ReportMetric(2*float64(s.m*s.n*s.k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
