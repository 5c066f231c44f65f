//go:build cgo && linux

package cudamem_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudamem"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// withFake is set in the process that runs the tests, to the folder where its
// loader finds the fake driver of package cuda, over host memory, in place of a
// real one, and in another folder the fake management library of package nvml.
const withFake = "TARN_TEST_FAKE_DRIVER"

func TestMain(m *testing.M) {
	if os.Getenv(withFake) != "" {
		m.Run()
		return
	}
	if err := runWithFake(); err != nil {
		panic(fmt.Sprint("the tests with the fake driver: ", err))
	}
}

// runWithFake builds the driver and runs this program again: the loader reads
// where to look when a process starts.
func runWithFake() error {
	dir, err := os.MkdirTemp("", "tarn-fake-driver")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	sources, err := filepath.Glob(filepath.Join("..", "testdata", "*.c"))
	if err != nil {
		return err
	}
	args := []string{"-Wall", "-shared", "-fPIC", "-pthread", "-DCAPACITY=(256<<20)", "-o", filepath.Join(dir, "libcuda.so.1")}
	management := filepath.Join(dir, "management")
	if err := os.Mkdir(management, 0o777); err != nil {
		return err
	}
	for _, args := range [][]string{append(args, sources...), {"-Wall", "-shared", "-fPIC", "-DFIRST=getpid()",
		"-o", filepath.Join(management, "libnvidia-ml.so.1"), filepath.Join("..", "nvml", "testdata", "fakenvml.c")}} {
		if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	again := exec.Command(os.Args[0], os.Args[1:]...)
	again.Env = append(os.Environ(), withFake+"="+dir, "LD_LIBRARY_PATH="+dir+":"+management)
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	return again.Run()
}

// device describes a device of the fake driver.
func device(t testing.TB, i int) *cuda.Device {
	t.Helper()
	library, err := cuda.Open()
	require.NoError(t, err)
	d, err := library.Device(i)
	require.NoError(t, err)
	return d
}

// open returns device 0, which nothing may be left on after the test.
func open(t testing.TB) (*cuda.Context, *cudamem.Upstream) {
	t.Helper()
	c, err := device(t, 0).Open()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(), "what is left") })
	u, err := cudamem.New(c)
	require.NoError(t, err)
	return c, u
}

// streams is an upstream whose streams are called by small numbers, as the
// suites do.
type streams struct {
	*cudamem.Upstream
	handles [8]cuda.Stream
}

func openStreams(t testing.TB) streams {
	c, u := open(t)
	s := streams{Upstream: u}
	for i := range s.handles[1:] {
		h, err := c.NewStream(0)
		require.NoError(t, err)
		s.handles[i+1] = h
		t.Cleanup(func() { assert.NoError(t, c.DestroyStream(h)) })
	}
	return s
}

func (s streams) RecordEvent(n cuda.Stream) (cuda.Event, error) {
	return s.Upstream.RecordEvent(s.handles[n])
}

func (s streams) WaitEvent(n cuda.Stream, e cuda.Event) error {
	return s.Upstream.WaitEvent(s.handles[n], e)
}

func (s streams) AllocAsync(size int64, n cuda.Stream) (cuda.DevicePtr, error) {
	return s.Upstream.AllocAsync(size, s.handles[n])
}

func (s streams) FreeAsync(p cuda.DevicePtr, size int64, n cuda.Stream) error {
	return s.Upstream.FreeAsync(p, size, s.handles[n])
}

func TestUpstream(t *testing.T) {
	memorytest.TestUpstream(t, func(t *testing.T) memory.Upstream { return openStreams(t) })
}

// TestAllocator runs the allocator's suite over the driver's calls: by pages, by
// segments, and by the driver's own pool.
func TestAllocator(t *testing.T) {
	for name, settings := range map[string]memory.Settings{
		"pages": {}, "segments": {Expandable: memory.ExpandableOff}, "pool": {Backend: "cudaMallocAsync"},
	} {
		t.Run(name, func(t *testing.T) {
			memorytest.TestAllocator(t, func(t *testing.T) memorytest.Target {
				up := openStreams(t)
				a, err := memory.New(up, memory.Config{NoBackgroundGC: true, Settings: settings})
				require.NoError(t, err)
				return memorytest.Target{Allocator: a, Upstream: up, Readable: true}
			})
		})
	}
}

// TestBackend has the driver's pool serve an allocator.
func TestBackend(t *testing.T) {
	c, u := open(t)
	pool, err := c.Pool()
	require.NoError(t, err)
	a, err := memory.New(u, memory.Config{NoBackgroundGC: true, Settings: memory.Settings{Backend: "cudaMallocAsync"}})
	require.NoError(t, err)
	used := func(want int64) {
		t.Helper()
		bytes, _, err := pool.Used()
		require.NoError(t, err)
		assert.Equal(t, want, bytes)
		assert.Equal(t, want, a.Stats().ReservedBytes.All.Current)
		assert.NoError(t, a.Check())
	}
	b, err := a.Alloc(1000, 0, memory.Untagged)
	require.NoError(t, err)
	big, err := a.Alloc(30<<20, 0, memory.Untagged)
	require.NoError(t, err)
	used(1024 + 30<<20)
	require.NoError(t, c.Fill8(0, big.Ptr, 1, big.Size))
	require.NoError(t, a.Free(b.Handle))
	used(30 << 20)
	require.NoError(t, a.Free(big.Handle))
	used(0)
	kept, _, err := pool.Reserved()
	require.NoError(t, err)
	assert.Positive(t, kept, "the driver's cache")
	require.NoError(t, a.EmptyCache())
	kept, _, err = pool.Reserved()
	require.NoError(t, err)
	assert.Zero(t, kept)

	_, total, err := u.MemInfo()
	require.NoError(t, err)
	_, err = a.Alloc(total+1, 0, memory.Untagged)
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, err, &oom)
	require.NoError(t, a.Close())
}

func TestFullIsFull(t *testing.T) {
	_, u := open(t)
	_, total, err := u.MemInfo()
	require.NoError(t, err)
	_, err = u.Alloc(total + 1)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
	var call *cuda.Error
	require.ErrorAs(t, err, &call, "the driver's own words are there too")
	assert.Equal(t, cuda.OutOfMemory, call.Code)
}

func TestProps(t *testing.T) {
	_, u := open(t)
	p := u.Props()
	assert.Equal(t, "cuda:0", p.Name)
	assert.True(t, p.VirtualMemory && p.Asynchronous && p.StreamOrdered)
	assert.Positive(t, p.Granularity)
	assert.Empty(t, p.Peers, "it was told of no other device")
	assert.Empty(t, p.ShareableHandle)
	assert.False(t, p.RDMA)
}

func TestPeers(t *testing.T) {
	c, _ := open(t)
	u, err := cudamem.New(c, device(t, 1), device(t, 0), device(t, 1))
	require.NoError(t, err)
	assert.Equal(t, []int{1}, u.Props().Peers)

	without := *device(t, 1)
	without.VirtualMemory = false
	u, err = cudamem.New(c, &without)
	require.NoError(t, err)
	assert.Empty(t, u.Props().Peers)
}
