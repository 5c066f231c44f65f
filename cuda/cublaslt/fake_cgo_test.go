//go:build cgo && linux

package cublaslt

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/internal/dl"
)

// built has the libraries by how they were compiled, each once.
var built = map[string][]byte{}

// build compiles a library for the test and returns its path: each a copy, with a
// state of its own.
func build(t testing.TB, name string, sources []string, macros ...string) string {
	t.Helper()
	library := filepath.Join(t.TempDir(), name)
	args := []string{"-Wall", "-shared", "-fPIC", "-pthread"}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	args = append(append(args, sources...), "-lm", "-ldl")
	key := strings.Join(args, " ")
	if image, ok := built[key]; ok {
		require.NoError(t, os.WriteFile(library, image, 0o755))
		return library
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("the fake library needs a C compiler: %v", err)
	}
	out, err := exec.Command(compiler, append(args, "-o", library)...).CombinedOutput()
	require.NoError(t, err, string(out))
	built[key], err = os.ReadFile(library)
	require.NoError(t, err)
	return library
}

func buildFake(t testing.TB, macros ...string) string {
	return build(t, "libcublasLt.so.12", []string{filepath.Join("testdata", "fakelt.c")}, macros...)
}

// fakeDevice opens a device of the fake driver, which has host memory.
func fakeDevice(t testing.TB) *cuda.Context {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join("..", "testdata", "*.c"))
	require.NoError(t, err)
	path := build(t, "libcuda.so.1", sources)
	t.Setenv("FAKE_LT_DRIVER", path)
	lib, err := dl.Open(path)
	require.NoError(t, err)
	driver, err := cuda.NewLibrary("fake", lib.Symbol)
	require.NoError(t, err)
	device, err := driver.Device(0)
	require.NoError(t, err)
	c, err := device.Open()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

// lab makes operands of products on a device, and multiplies.
type lab struct {
	testing.TB
	c    *cuda.Context
	l    *Library
	rand *rand.Rand
	work cuda.DevicePtr // of the most that a product may want
	path string         // of the fake library
	// lenient lets the library have no way to do a product.
	lenient bool
	held    []cuda.DevicePtr
}

func newLab(t testing.TB) *lab {
	t.Helper()
	c := fakeDevice(t)
	path := buildFake(t)
	l, err := open(c, []string{path})
	require.NoError(t, err)
	b := &lab{TB: t, c: c, l: l, rand: rand.New(rand.NewPCG(1, 2)), path: path}
	t.Cleanup(func() {
		if c.Lost() != nil {
			return
		}
		b.release(0)
		require.NoError(t, l.Close())
		for _, kind := range []string{"handle", "product", "layout", "preference"} {
			assert.Zero(t, b.live(kind), "%ss are left", kind)
		}
	})
	b.work = b.alloc(make([]byte, l.most))
	return b
}

// counter returns a variable of the fake library.
func (b *lab) counter(name string) *[128]int32 {
	b.Helper()
	lib, err := dl.Open(b.path)
	require.NoError(b, err)
	address, err := lib.Symbol(name)
	require.NoError(b, err)
	return (*[128]int32)(*(*unsafe.Pointer)(unsafe.Pointer(&address)))
}

func (b *lab) live(kind string) int {
	return int(b.counter("fake_lt_live")[map[string]byte{"handle": 'H', "product": 'P', "layout": 'L', "preference": 'R'}[kind]])
}

func (b *lab) alloc(data []byte) cuda.DevicePtr {
	b.Helper()
	p, err := b.c.Alloc(int64(len(data)))
	require.NoError(b, err)
	b.held = append(b.held, p)
	require.NoError(b, b.c.Upload(0, p, data))
	return p
}

// release frees all but the first n allocations.
func (b *lab) release(n int) {
	for _, p := range b.held[n:] {
		assert.NoError(b, b.c.Free(p))
	}
	b.held = b.held[:n]
}

func (t Type) size() int64 { return []int64{4, 8, 2, 2}[t] }

// encode and decode are of values that the types have exactly.
func (t Type) encode(b []byte, v float64) {
	switch t {
	case Float64:
		binary.NativeEndian.PutUint64(b, math.Float64bits(v))
	case Float32:
		binary.NativeEndian.PutUint32(b, math.Float32bits(float32(v)))
	case BF16:
		binary.NativeEndian.PutUint16(b, uint16(math.Float32bits(float32(v))>>16))
	case F16:
		fraction, exponent := math.Frexp(math.Abs(v))
		h := uint16(0)
		if v < 0 {
			h = 1 << 15
		}
		if v != 0 {
			h |= uint16(exponent+14)<<10 | uint16(fraction*2048)&1023
		}
		binary.NativeEndian.PutUint16(b, h)
	}
}

func (t Type) decode(b []byte) float64 {
	switch t {
	case Float64:
		return math.Float64frombits(binary.NativeEndian.Uint64(b))
	case Float32:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))
	case BF16:
		return float64(math.Float32frombits(uint32(binary.NativeEndian.Uint16(b)) << 16))
	}
	h := binary.NativeEndian.Uint16(b)
	v := math.Ldexp(float64(h&1023)+1024, int(h>>10&31)-25)
	if h>>10&31 == 0 {
		v = math.Ldexp(float64(h&1023), -24)
	}
	if h>>15 == 1 {
		v = -v
	}
	return v
}

// matrices is an operand and its values, matrix by matrix, row by row.
type matrices struct {
	Matrices
	typ               Type
	batch, rows, cols int64
	skip, bytes       int64 // elements before the first; all bytes
	values            []float64
}

// lie is how a matrix of so many rows and columns lies: the strides, and how many
// elements after an aligned address it begins.
type lie struct {
	name           string
	row, col, skip int64
}

func lies(rows, cols int64) []lie {
	return []lie{{"rows", cols, 1, 0}, {"columns", 1, rows, 0}, {"rows with gaps", cols + 3, 1, 1}, {"columns with gaps", 1, rows + 8, 8}}
}

// operand makes matrices of small whole numbers, so that sums are exact.
func (b *lab) operand(t Type, batch, rows, cols int64, at lie, step int64) matrices {
	b.Helper()
	m := matrices{typ: t, batch: batch, rows: rows, cols: cols, skip: at.skip}
	size := t.size()
	m.bytes = (at.skip + (batch-1)*step + (rows-1)*at.row + (cols-1)*at.col + 1) * size
	data := make([]byte, m.bytes)
	each := func(do func(place []byte)) {
		for i := range batch {
			for r := range rows {
				for c := range cols {
					do(data[(at.skip+i*step+r*at.row+c*at.col)*size:])
				}
			}
		}
	}
	each(func(place []byte) { t.encode(place, float64(b.rand.IntN(9)-4)) })
	each(func(place []byte) { m.values = append(m.values, t.decode(place)) }) // the last where places repeat
	m.Matrices = Matrices{b.alloc(data) + cuda.DevicePtr(at.skip*size), step, at.row, at.col}
	return m
}

// fetch returns what the operand has now, and how many bytes between its elements
// are not 0 any more.
func (b *lab) fetch(m matrices) (values []float64, strays int) {
	b.Helper()
	size := m.typ.size()
	data := make([]byte, m.bytes)
	require.NoError(b, b.c.Download(0, data, m.Ptr-cuda.DevicePtr(m.skip*size)))
	for i := range m.batch {
		for r := range m.rows {
			for c := range m.cols {
				place := data[(m.skip+i*m.Batch+r*m.Row+c*m.Col)*size:][:size]
				values = append(values, m.typ.decode(place))
				clear(place)
			}
		}
	}
	for _, x := range data {
		if x != 0 {
			strays++
		}
	}
	return values, strays
}

// reference is what the product makes of its operands.
func reference(p Product, x, y, out, bias []float64) []float64 {
	var want []float64
	for i := range p.Batch {
		for r := range p.M {
			for c := range p.N {
				sum := 0.0
				for k := range p.K {
					sum += x[(i*p.M+r)*p.K+k] * y[(i*p.K+k)*p.N+c]
				}
				if p.Accumulate {
					sum += out[(i*p.M+r)*p.N+c]
				}
				if bias != nil {
					sum += bias[(i*p.M+r)*p.N+c]
				}
				if p.Rectify {
					sum = max(sum, 0)
				}
				want = append(want, sum)
			}
		}
	}
	return want
}
