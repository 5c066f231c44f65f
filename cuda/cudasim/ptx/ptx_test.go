package ptx

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// device is global memory of a test, with gaps between the allocations.
type device struct {
	live []Allocation
	next uint64
}

func (d *device) Allocations() []Allocation { return d.live }

// alloc puts values into memory of their own; the bytes are shared with it.
func alloc[T any](t testing.TB, d *device, values []T) (ptr uint64, bytes []byte) {
	t.Helper()
	bytes, err := binary.Append(nil, binary.LittleEndian, values)
	require.NoError(t, err)
	if d.next == 0 {
		d.next = 0x7000_0000_0000
	}
	ptr = d.next
	d.next += uint64(align(len(bytes), 512)) + 1<<20
	d.live = append(d.live, Allocation{Ptr: ptr, Bytes: bytes})
	return ptr, bytes
}

// values reads memory back.
func values[T any](t testing.TB, bytes []byte) []T {
	t.Helper()
	var zero T
	v := make([]T, len(bytes)/binary.Size(zero))
	_, err := binary.Decode(bytes, binary.LittleEndian, v)
	require.NoError(t, err)
	return v
}

// pack lays parameters out as a kernel expects them.
func pack(t testing.TB, k *Kernel, args ...any) []byte {
	t.Helper()
	require.Len(t, args, len(k.Params()))
	var b []byte
	for i, p := range k.Params() {
		b = append(b, make([]byte, p.Offset-len(b))...)
		var err error
		b, err = binary.Append(b, binary.LittleEndian, args[i])
		require.NoError(t, err)
		require.Len(t, b, p.Offset+p.Size, "size of %s", p.Name)
	}
	return b
}

// compileFile compiles a module of testdata, which generate.sh there made of
// the .cu file beside it.
func compileFile(t testing.TB, name string) *Module {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".ptx"))
	require.NoError(t, err)
	m, err := Compile(string(text))
	require.NoError(t, err)
	return m
}

func kernelOf(t testing.TB, file, name string) *Kernel {
	t.Helper()
	k, err := compileFile(t, file).Kernel(name)
	require.NoError(t, err)
	return k
}

// lineOf returns the only line of a module's kernel that has a text.
func lineOf(t testing.TB, k *Kernel, text string) int {
	t.Helper()
	found, within := 0, false
	for i, line := range k.module.lines {
		if strings.Contains(line, ".entry") {
			within = strings.Contains(line, ".entry "+k.Name+"(")
		}
		if within && strings.Contains(line, text) {
			require.Zero(t, found, "%q occurs in lines %d and %d", text, found, i+1)
			found = i + 1
		}
	}
	require.NotZero(t, found, "%q does not occur", text)
	return found
}

// numbers are floats without a pattern.
func numbers(n int) []float32 {
	v := make([]float32, n)
	state := uint32(1)
	for i := range v {
		state = state*1664525 + 1013904223
		v[i] = float32(state>>8)/(1<<23) - 1
	}
	return v
}

func flat(n int) Dim3 { return Dim3{n, 1, 1} }

func TestSaxpy(t *testing.T) {
	k := kernelOf(t, "elementwise", "saxpy")
	var d device
	const n = 1000
	x, y := numbers(n), numbers(2 * n)[n:]
	px, _ := alloc(t, &d, x)
	py, got := alloc(t, &d, y)
	require.NoError(t, k.Launch(flat(4), flat(256), 0, pack(t, k, float32(2.5), px, py, int32(n)), &d))
	for i, v := range values[float32](t, got) {
		require.Equal(t, float32(math.FMA(2.5, float64(x[i]), float64(y[i]))), v, "element %d", i)
	}
}

func TestBroadcastAdd(t *testing.T) {
	k := kernelOf(t, "elementwise", "add_broadcast")
	type shape struct {
		Rank, _    int32
		Dims, A, B [8]int64
	}
	s := shape{Rank: 3, Dims: [8]int64{5, 7, 11}, A: [8]int64{77, 11, 1}, B: [8]int64{11, 0, 1}}
	a, b := numbers(5*7*11), numbers(5*11)
	for _, workers := range []int{1, 3} {
		var d device
		pa, _ := alloc(t, &d, a)
		pb, _ := alloc(t, &d, b)
		po, got := alloc(t, &d, make([]float32, len(a)))
		require.NoError(t, k.Spread(workers).Launch(flat(3), flat(64), 0, pack(t, k, pa, pb, po, int64(len(a)), s), &d))
		for i, v := range values[float32](t, got) {
			require.Equal(t, a[i]+b[i/77*11+i%11], v, "element %d", i)
		}
	}
}

func TestSum(t *testing.T) {
	k := kernelOf(t, "reduce", "sum")
	x := numbers(5000)
	want := 0.0
	for _, v := range x {
		want += float64(v)
	}
	for _, workers := range []int{1, 2} {
		var d device
		px, _ := alloc(t, &d, x)
		po, got := alloc(t, &d, []float32{0})
		require.NoError(t, k.Spread(workers).Launch(flat(6), flat(128), 0, pack(t, k, px, po, int32(len(x))), &d))
		require.InDelta(t, want, values[float32](t, got)[0], 1e-3)
	}
}

func TestSoftmax(t *testing.T) {
	k := kernelOf(t, "reduce", "softmax")
	var d device
	const rows, cols = 7, 75
	x := numbers(rows * cols)
	px, _ := alloc(t, &d, x)
	py, got := alloc(t, &d, make([]float32, len(x)))
	require.NoError(t, k.Launch(flat(2), flat(128), 0, pack(t, k, px, py, int32(rows), int32(cols)), &d))
	y := values[float32](t, got)
	for r := range rows {
		total := 0.0
		for _, v := range x[r*cols : (r+1)*cols] {
			total += math.Exp(float64(v))
		}
		for c := range cols {
			require.InEpsilon(t, math.Exp(float64(x[r*cols+c]))/total, y[r*cols+c], 1e-6)
		}
	}
}

func TestMatmul(t *testing.T) {
	k := kernelOf(t, "matmul", "matmul")
	require.Equal(t, 256, k.MaxThreads())
	require.Equal(t, 2*16*16*4, k.SharedBytes())
	var d device
	const m, n, l = 33, 20, 45
	a, b := numbers(m*l), numbers(l*n)
	pa, _ := alloc(t, &d, a)
	pb, _ := alloc(t, &d, b)
	pc, got := alloc(t, &d, make([]float32, m*n))
	require.NoError(t, k.Launch(Dim3{2, 3, 1}, Dim3{16, 16, 1}, 0, pack(t, k, pa, pb, pc, int32(m), int32(n), int32(l)), &d))
	c := values[float32](t, got)
	for i := range m {
		for j := range n {
			want := 0.0
			for p := range l {
				want += float64(a[i*l+p]) * float64(b[p*n+j])
			}
			require.InDelta(t, want, c[i*n+j], 1e-5)
		}
	}
}

func TestPhilox(t *testing.T) {
	k := kernelOf(t, "integer", "philox")
	var d device
	const n, seed, offset = 50, 0x1234567_89abcdef, 0xfffffff0
	po, got := alloc(t, &d, make([]uint32, 4*n))
	require.NoError(t, k.Launch(flat(1), flat(64), 0, pack(t, k, po, uint64(seed), uint64(offset), int32(n)), &d))
	out := values[uint32](t, got)
	for i := range n {
		require.Equal(t, philox(seed, offset+uint64(i)), [4]uint32(out[4*i:]), "counter %d", i)
	}
}

func philox(seed, counter uint64) [4]uint32 {
	key, c := [2]uint32{uint32(seed), uint32(seed >> 32)}, [4]uint32{uint32(counter), uint32(counter >> 32)}
	for range 10 {
		p, q := 0xD2511F53*uint64(c[0]), 0xCD9E8D57*uint64(c[2])
		c = [4]uint32{uint32(q>>32) ^ c[1] ^ key[0], uint32(q), uint32(p>>32) ^ c[3] ^ key[1], uint32(p)}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return c
}

func TestDivergentLoops(t *testing.T) {
	k := kernelOf(t, "integer", "collatz")
	var d device
	const n, untouched = 70, 0xdead
	in, fill := make([]uint32, n), make([]uint32, n)
	for i := range in {
		in[i], fill[i] = uint32(i+1), untouched
	}
	pi, _ := alloc(t, &d, in)
	ps, steps := alloc(t, &d, fill)
	pb, ballots := alloc(t, &d, fill)
	require.NoError(t, k.Launch(flat(1), flat(96), 0, pack(t, k, pi, ps, pb, int32(n)), &d))

	want, votes := make([]uint32, n), [3]uint32{}
	for i := range want {
		want[i] = untouched
		if i%3 == 0 {
			continue
		}
		count := uint32(0)
		for v := in[i]; v != 1; {
			if v%2 == 0 {
				v /= 2
			} else {
				v = 3*v + 1
			}
			if count++; count > 100 {
				break
			}
		}
		want[i] = count
		if count > 20 {
			votes[i/32] |= 1 << (i % 32)
		}
	}
	require.Equal(t, want, values[uint32](t, steps))
	for i, v := range values[uint32](t, ballots) {
		if i%3 != 0 {
			require.Equal(t, votes[i/32], v, "the lanes of warp %d come together again", i/32)
		}
	}
}

func TestLocalMemory(t *testing.T) {
	k := kernelOf(t, "integer", "histogram")
	require.Equal(t, 32, k.LocalBytes())
	var d device
	in, want := make([]byte, 500), make([]int32, 8)
	for i, v := range numbers(len(in)) {
		in[i] = byte(math.Float32bits(v) >> 9)
		want[in[i]&7]++
	}
	pi, _ := alloc(t, &d, in)
	po, got := alloc(t, &d, make([]int32, 8))
	require.NoError(t, k.Launch(flat(1), flat(64), 0, pack(t, k, pi, po, int32(len(in))), &d))
	require.Equal(t, want, values[int32](t, got))
}

func TestDynamicShared(t *testing.T) {
	k := kernelOf(t, "reduce", "dynamic_reverse")
	var d device
	in, want := make([]int32, 100), make([]int32, 100)
	for i := range in {
		in[i], want[99-i] = int32(i), int32(i)
	}
	pi, _ := alloc(t, &d, in)
	po, got := alloc(t, &d, make([]int32, 100))
	params := pack(t, k, pi, po)
	require.NoError(t, k.Launch(flat(1), flat(100), 400, params, &d))
	require.Equal(t, want, values[int32](t, got))

	var e *AccessError
	require.ErrorAs(t, k.Launch(flat(1), flat(100), 396, params, &d), &e)
	require.Equal(t, "shared", e.Space)
	require.Equal(t, 3, e.Lane)
	require.Equal(t, Dim3{99, 0, 0}, e.Thread)
	require.Equal(t, lineOf(t, k, "st.shared"), e.Line)
}

func TestModuleVariables(t *testing.T) {
	m := compileFile(t, "elementwise")
	k, err := m.Kernel("lookup")
	require.NoError(t, err)
	var d device
	po, got := alloc(t, &d, make([]int32, 10))
	for range 2 {
		require.NoError(t, k.Launch(flat(1), flat(10), 0, pack(t, k, po), &d))
	}
	require.Equal(t, []int32{3, 1, 4, 1, 5, 9, 2, 6, 3, 1}, values[int32](t, got))
	calls, ok := m.Global("calls")
	require.True(t, ok)
	require.Equal(t, []int32{2}, values[int32](t, calls.Bytes))
	_, ok = m.Global("lookup")
	require.False(t, ok)
}
