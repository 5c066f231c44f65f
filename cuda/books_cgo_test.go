//go:build cgo && (linux || darwin)

package cuda

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

// Memory may be freed by way of any context, and leaves the books of the one that
// made it; all else is its maker's alone.
func TestBooksOfTwoContexts(t *testing.T) {
	l, err := open(fakeDriver(t))
	require.NoError(t, err)
	t.Cleanup(func() { requireNothingLeft(t, l) })
	a, b := openDevice(t, l, 0), openDevice(t, l, 0)
	p, err := a.Alloc(100)
	require.NoError(t, err)
	h, err := a.AllocPinned(100)
	require.NoError(t, err)
	require.NoError(t, b.Free(p))
	require.NoError(t, b.FreePinned(h))
	requireCode(t, b.Free(p), "cuMemFree", InvalidValue)

	e, err := a.NewEvent()
	require.NoError(t, err)
	s, err := a.NewStream(0)
	require.NoError(t, err)
	requireCode(t, b.DestroyEvent(e), "cuEventDestroy", InvalidHandle)
	requireCode(t, b.DestroyStream(s), "cuStreamDestroy", InvalidHandle)
	require.EqualError(t, a.Close(), "cuda: cuda:0 cannot be closed: live are 1 streams, 1 events")
	require.NoError(t, a.DestroyEvent(e))
	requireCode(t, a.DestroyEvent(e), "cuEventDestroy", InvalidHandle)
	require.NoError(t, a.DestroyStream(s))
	require.NoError(t, a.inUse())
	require.NoError(t, b.inUse())
}

// What the driver refuses to take away stays in the books.
func TestBooksOfARefusal(t *testing.T) {
	c := openFake(t)
	m, err := c.Load(ptx)
	require.NoError(t, err)
	inject(t, shim.ModuleUnload, 1, InvalidValue)
	requireCode(t, m.Unload(), "cuModuleUnload", InvalidValue)
	nothingFails(t)
	f := function(t, m, "nothing")
	require.NoError(t, m.Unload())
	_, err = m.Function("scale")
	requireCode(t, err, "cuModuleGetFunction", InvalidHandle)
	requireCode(t, m.Unload(), "cuModuleUnload", InvalidHandle)
	requireCode(t, f.Prepare().Run(0, one), "cuLaunchKernel", InvalidHandle)
	requireCode(t, f.SetMaxShared(64), "cuFuncSetAttribute", InvalidHandle)
	_, err = f.Attributes()
	requireCode(t, err, "cuFuncGetAttribute", InvalidHandle)
}

// A number that C has no room for does not become another one.
func TestNumbersThatCHasNoRoomFor(t *testing.T) {
	c := openFake(t)
	m := load(t, c)
	f := function(t, m, "scale")
	for _, bytes := range []int{-1, 1 << 32, 1<<32 + 100} {
		requireCode(t, f.SetMaxShared(bytes), "cuFuncSetAttribute", InvalidValue)
	}
	_, err := m.Function("scale\x00s")
	requireCode(t, err, "cuModuleGetFunction", InvalidValue)
	for _, priority := range []int{1 << 40, -1 << 40} {
		s, err := c.NewStream(priority)
		require.NoError(t, err)
		require.NoError(t, c.DestroyStream(s))
	}
}

// goexit is set in the process that TestGoexitInAHostFunction kills.
const goexit = "TARN_TEST_GOEXIT"

// A host function that does not return would hold its stream up for ever.
func TestGoexitInAHostFunction(t *testing.T) {
	if os.Getenv(goexit) != "" {
		c := openFake(t)
		require.NoError(t, c.CallHost(0, runtime.Goexit))
		require.NoError(t, c.SyncStream(0))
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestGoexitInAHostFunction$", "-test.timeout=60s")
	child.Env = append(os.Environ(), goexit+"=1")
	out, err := child.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "shim: a host function has ended its goroutine")
}
