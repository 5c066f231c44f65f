//go:build cgo && (linux || darwin)

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

// built has the libraries by their macros; each is compiled once.
var built = map[string][]byte{}

// fakeDriver builds the library of testdata with the given macros and returns
// the path of a copy, which has a state of its own.
func fakeDriver(t testing.TB, macros ...string) string {
	t.Helper()
	library := filepath.Join(t.TempDir(), "libcuda.so.1")
	key := strings.Join(macros, " ")
	if image, ok := built[key]; ok {
		require.NoError(t, os.WriteFile(library, image, 0o755))
		return library
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("the fake driver needs a C compiler: %v", err)
	}
	args := []string{"-Wall", "-shared", "-fPIC", "-pthread", "-o", library}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	sources, err := filepath.Glob(filepath.Join("testdata", "*.c"))
	require.NoError(t, err)
	out, err := exec.Command(compiler, append(args, sources...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	built[key], err = os.ReadFile(library)
	require.NoError(t, err)
	return library
}

// openFake opens device 0 of a fake driver. After the test nothing may be left
// on any device.
func openFake(t testing.TB, macros ...string) *Context {
	t.Helper()
	l, err := open(fakeDriver(t, macros...))
	require.NoError(t, err)
	t.Cleanup(func() { requireNothingLeft(t, l) })
	return openDevice(t, l, 0)
}

// openDevice opens a device and closes it after the test, if that did not.
func openDevice(t testing.TB, l *Library, i int) *Context {
	t.Helper()
	d, err := l.Device(i)
	require.NoError(t, err)
	c, err := d.Open()
	require.NoError(t, err)
	t.Cleanup(func() {
		if !c.closed.Load() {
			require.NoError(t, c.Close())
		}
	})
	return c
}

// The kinds of things that the fake driver counts, by number.
var fakeKinds = []string{"contexts", "streams", "events", "allocations", "pinned allocations",
	"ranges", "pages", "mappings", "modules", "functions", "graphs", "executable graphs"}

// left returns what a device of the fake driver still has.
func left(l *Library, device int) map[string]int64 {
	counts := map[string]int64{}
	for i, kind := range fakeKinds {
		q := query{t: l.table, handle: device}
		if n := q.attribute(uint64(10000 + i)); n != 0 || q.err != nil {
			counts[kind] = n
		}
	}
	return counts
}

func requireNothingLeft(t testing.TB, l *Library) {
	t.Helper()
	for i := range l.Devices() {
		require.Empty(t, left(l, i), "device %d", i)
	}
}

// injections counts them, so that no two are the same to the fake driver.
var injections int

// inject lets the n-th call of a function from now on return code, until the
// test ends or nothingFails.
func inject(t testing.TB, e shim.Entry, n int, code Code) {
	t.Helper()
	injections++
	failing(t, fmt.Sprintf("%s:%d:%d:%d", shim.Names(e)[0], n, code, injections))
}

func nothingFails(t testing.TB) { failing(t, "") }

// failing does not bring back an earlier value after the test, as t.Setenv
// would, while the test's own cleanups still run.
func failing(t testing.TB, value string) {
	t.Helper()
	require.NoError(t, os.Setenv("FAKE_FAIL", value))
	t.Cleanup(func() { require.NoError(t, os.Unsetenv("FAKE_FAIL")) })
}

// ptx is a real program. The fake driver looks at what its kernels are called
// and at the sizes of their parameters.
const ptx = `.version 7.0
.target sm_75
.address_size 64

.visible .entry scale(.param .u64 at, .param .u32 count, .param .f32 by)
{
	.reg .pred %out;
	.reg .b32 %i, %n;
	.reg .f32 %v, %f;
	.reg .b64 %p, %o;
	ld.param.u64 %p, [at];
	ld.param.u32 %n, [count];
	ld.param.f32 %f, [by];
	mov.u32 %i, %tid.x;
	setp.ge.u32 %out, %i, %n;
	@%out bra DONE;
	cvta.to.global.u64 %p, %p;
	mul.wide.u32 %o, %i, 4;
	add.s64 %p, %p, %o;
	ld.global.f32 %v, [%p];
	mul.f32 %v, %v, %f;
	st.global.f32 [%p], %v;
DONE:
	ret;
}

.visible .entry mixed(.param .u32 a, .param .u64 b, .param .b16 c, .param .u32 d)
{
	ret;
}

.visible .entry nothing()
{
	ret;
}

.visible .entry fault()
{
	.reg .b64 %p;
	mov.u64 %p, 0;
	st.global.u64 [%p], %p;
	ret;
}
`

// one is the smallest launch.
var one = Grid{Blocks: [3]uint32{1}, Threads: [3]uint32{32}}

// load loads ptx for the length of the test.
func load(t testing.TB, c *Context) *Module {
	t.Helper()
	m, err := c.Load(ptx)
	require.NoError(t, err)
	t.Cleanup(func() {
		if c.usable() == nil {
			require.NoError(t, m.Unload())
		}
	})
	return m
}

func function(t testing.TB, m *Module, name string) *Function {
	t.Helper()
	f, err := m.Function(name)
	require.NoError(t, err)
	return f
}

// alloc allocates for the length of the test.
func alloc(t testing.TB, c *Context, size int64) DevicePtr {
	t.Helper()
	p, err := c.Alloc(size)
	require.NoError(t, err)
	t.Cleanup(func() {
		if c.usable() == nil {
			require.NoError(t, c.Free(p))
		}
	})
	return p
}

// requireCode requires an error of that call with that code.
func requireCode(t testing.TB, err error, op string, code Code) {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, op, e.Op)
	require.Equal(t, code, e.Code)
}
