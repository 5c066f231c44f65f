//go:build cgo && (linux || darwin)

package cuda

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/shim"
)

func TestStream(t *testing.T) {
	c := openFake(t)
	least, most, err := c.Priorities()
	require.NoError(t, err)
	require.Equal(t, []int{0, -5}, []int{least, most})
	s, err := c.NewStream(most)
	require.NoError(t, err)
	require.NotEqual(t, c.Default(), s)
	require.NoError(t, c.SyncStream(s))
	require.NoError(t, c.SyncStream(0))
	done, err := c.QueryStream(s)
	require.NoError(t, err)
	require.True(t, done)

	inject(t, shim.StreamQuery, 1, NotReady)
	done, err = c.QueryStream(0)
	require.NoError(t, err, "not ready is an answer")
	require.False(t, done)

	require.NoError(t, c.DestroyStream(s))
	for _, gone := range []Stream{s, 0, c.Default()} {
		requireCode(t, c.DestroyStream(gone), "cuStreamDestroy", InvalidHandle)
	}
	requireCode(t, c.SyncStream(s), "cuStreamSynchronize", InvalidHandle)
}

func TestEvent(t *testing.T) {
	c := openFake(t)
	s, err := c.NewStream(0)
	require.NoError(t, err)
	e, err := c.NewEvent()
	require.NoError(t, err)
	require.NoError(t, c.Record(e, 0))
	require.NoError(t, c.WaitEvent(s, e))
	require.NoError(t, c.Record(e, s))
	require.NoError(t, c.WaitEvent(0, e))
	require.NoError(t, c.SyncEvent(e))
	done, err := c.QueryEvent(e)
	require.NoError(t, err)
	require.True(t, done)

	inject(t, shim.EventQuery, 2, NotReady)
	for _, want := range []bool{true, false, true} {
		done, err = c.QueryEvent(e)
		require.NoError(t, err)
		require.Equal(t, want, done)
	}
	require.NoError(t, c.DestroyEvent(e))
	requireCode(t, c.DestroyEvent(e), "cuEventDestroy", InvalidHandle)
	requireCode(t, c.Record(0, s), "cuEventRecord", InvalidHandle)
	require.NoError(t, c.DestroyStream(s))
}

// A stream from elsewhere does what ours do, and is not ours to destroy.
func TestForeignStream(t *testing.T) {
	c := openFake(t)
	other, err := c.Device().Open() // the same primary context
	require.NoError(t, err)
	s, err := other.NewStream(0)
	require.NoError(t, err)
	p := alloc(t, c, 4)
	require.NoError(t, c.Fill32(s, p, 7, 1))
	require.NoError(t, c.SyncStream(s))
	requireCode(t, c.DestroyStream(s), "cuStreamDestroy", InvalidHandle)
	require.Zero(t, c.live[kindStream].Load())
	require.NoError(t, other.DestroyStream(s))
	require.NoError(t, other.Close())
}

func TestElapsed(t *testing.T) {
	c := openFake(t)
	var e [2]Event
	for i := range e {
		var err error
		e[i], err = c.NewTimingEvent()
		require.NoError(t, err)
	}
	_, err := c.Elapsed(e[0], e[1])
	requireCode(t, err, "cuEventElapsedTime", InvalidHandle)
	for i := range e {
		require.NoError(t, c.Record(e[i], 0))
	}
	took, err := c.Elapsed(e[0], e[1])
	require.NoError(t, err)
	require.Equal(t, 500*time.Microsecond, took)
	took, err = c.Elapsed(e[1], e[0])
	require.NoError(t, err)
	require.Equal(t, -500*time.Microsecond, took)

	timeless, err := c.NewEvent()
	require.NoError(t, err)
	require.NoError(t, c.Record(timeless, 0))
	_, err = c.Elapsed(e[0], timeless)
	requireCode(t, err, "cuEventElapsedTime", InvalidHandle)
	require.NoError(t, errors.Join(c.DestroyEvent(e[0]), c.DestroyEvent(e[1]), c.DestroyEvent(timeless)))
}

func TestCallHost(t *testing.T) {
	c := openFake(t)
	var order []int
	for i := range 3 {
		require.NoError(t, c.CallHost(0, func() { order = append(order, i) }))
	}
	require.NoError(t, c.SyncStream(0))
	require.Equal(t, []int{0, 1, 2}, order)
	requireCode(t, c.CallHost(0, nil), "cuLaunchHostFunc", InvalidValue)
	requireCode(t, c.CallHost(4711, func() { t.Error("called") }), "cuStreamIsCapturing", InvalidHandle)
	inject(t, shim.HostFunction, 1, 999)
	requireCode(t, c.CallHost(0, func() { t.Error("called") }), "cuLaunchHostFunc", 999)
}

// A driver that can capture nothing has nothing to ask.
func TestCallHostWithoutGraphs(t *testing.T) {
	c := openFake(t, "cuGraphLaunch=absent")
	called := false
	require.NoError(t, c.CallHost(0, func() { called = true }))
	require.True(t, called)
	require.ErrorIs(t, c.BeginCapture(0), ErrNotSupported)
}

func TestAttributes(t *testing.T) {
	c := openFake(t)
	f := function(t, load(t, c), "scale")
	require.NoError(t, f.SetMaxShared(64<<10))
	a, err := f.Attributes()
	require.NoError(t, err)
	require.Equal(t, Attributes{MaxThreads: 1024, Registers: 24, Local: 32, Shared: 128, Constant: 64,
		MaxShared: 64 << 10, PTX: 70, Binary: 75}, a)
	inject(t, shim.FunctionGetAttribute, 3, 999)
	a, err = f.Attributes()
	requireCode(t, err, "cuFuncGetAttribute", 999)
	require.Zero(t, a)
}

func TestModule(t *testing.T) {
	c := openFake(t)
	m := load(t, c)
	require.Equal(t, "scale", function(t, m, "scale").Name())
	f, err := m.Function("scales")
	require.Nil(t, f)
	require.ErrorContains(t, err, `kernel "scales": cuda: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (500)`)

	other, err := c.Load(ptx)
	require.NoError(t, err)
	gone := function(t, other, "nothing")
	require.NoError(t, other.Unload())
	requireCode(t, other.Unload(), "cuModuleUnload", InvalidHandle)
	requireCode(t, gone.Prepare().Run(0, one), "cuLaunchKernel", InvalidHandle)
}

func TestCompileError(t *testing.T) {
	c := openFake(t)
	m, err := c.Load("// no version\n" + ptx)
	require.Nil(t, m)
	var compile *CompileError
	require.ErrorAs(t, err, &compile)
	require.Equal(t, "ptxas application ptx input, line 1; fatal   : Missing .version directive\n", compile.Log)
	requireCode(t, err, "cuModuleLoadDataEx", 218)
	require.EqualError(t, err, "cuda: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): the PTX does not compile:\n"+
		"ptxas application ptx input, line 1; fatal   : Missing .version directive")

	// The driver would read on after the end of the text, or stop before it.
	for _, text := range []string{"", ptx + "\x00" + ptx} {
		_, err := c.Load(text)
		requireCode(t, err, "cuModuleLoadDataEx", InvalidValue)
	}
	inject(t, shim.ModuleLoad, 1, 222)
	_, err = c.Load(ptx)
	require.EqualError(t, err, "cuda: cuModuleLoadDataEx: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): the PTX is newer than the driver")
}

func TestLaunch(t *testing.T) {
	c := openFake(t)
	m := load(t, c)
	p := alloc(t, c, 16)
	in := []byte{0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 128, 191, 0, 0, 0, 0} // 1, 2, -1, 0
	require.NoError(t, c.Upload(0, p, in))
	require.NoError(t, function(t, m, "scale").Prepare().Ptr(p).Int32(3).Float32(2).Run(0, one))
	out := make([]byte, 16)
	require.NoError(t, c.Download(0, out, p))
	require.Equal(t, []byte{0, 0, 0, 64, 0, 0, 128, 64, 0, 0, 0, 192, 0, 0, 0, 0}, out)
}

// Arguments lie where C would put them.
func TestLaunchPacks(t *testing.T) {
	c := openFake(t)
	f := function(t, load(t, c), "mixed")
	l := f.Prepare().Uint32(1).Int64(-2).Bytes([]byte{3, 4}, 2).Uint32(5)
	require.Equal(t, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0xfe, 255, 255, 255, 255, 255, 255, 255, 3, 4, 0, 0, 5, 0, 0, 0},
		masked(l.rec.Args[:l.rec.Size], 4, 5, 6, 7, 18, 19))
	require.NoError(t, l.Run(0, one))
}

// masked clears padding, which is whatever an earlier launch left.
func masked(b []byte, padding ...int) []byte {
	b = append([]byte(nil), b...)
	for _, i := range padding {
		b[i] = 0
	}
	return b
}

func TestLaunchIsRefused(t *testing.T) {
	c := openFake(t)
	m := load(t, c)
	f := function(t, m, "nothing")
	for name, g := range map[string]Grid{
		"no blocks":     {Threads: [3]uint32{1}},
		"no threads":    {Blocks: [3]uint32{1}},
		"many threads":  {Blocks: [3]uint32{1}, Threads: [3]uint32{1024, 2}},
		"shared memory": {Blocks: [3]uint32{1}, Threads: [3]uint32{1}, Shared: 64 << 10},
	} {
		err := f.Prepare().Run(0, g)
		requireCode(t, err, "cuLaunchKernel", InvalidValue)
		require.ErrorContains(t, err, `kernel "nothing": `, name)
	}
	require.NoError(t, f.SetMaxShared(64<<10))
	require.NoError(t, f.Prepare().Run(0, Grid{Blocks: [3]uint32{2, 3, 4}, Threads: [3]uint32{32, 2, 2}, Shared: 64 << 10}))
	requireCode(t, f.SetMaxShared(1<<20), "cuFuncSetAttribute", InvalidValue)

	scale := function(t, m, "scale")
	for _, l := range []*Launch{scale.Prepare(), scale.Prepare().Int64(0), scale.Prepare().Int64(0).Int64(0).Int32(0)} {
		requireCode(t, l.Run(0, one), "cuLaunchKernel", InvalidValue)
	}
	l := scale.Prepare().Bytes(make([]byte, MaxArgs), 16)
	requireCode(t, l.Run(0, one), "cuLaunchKernel", InvalidValue)
	l = scale.Prepare().Bytes(make([]byte, MaxArgs-3), 16).Int32(1).Int32(1)
	require.EqualError(t, l.Run(0, one), `cuda: kernel "scale": its arguments are more than 4096 bytes`)
}

func TestLaunchIsUsedUp(t *testing.T) {
	c := openFake(t)
	l := function(t, load(t, c), "nothing").Prepare()
	require.PanicsWithValue(t, "cuda: an argument's alignment of 3 is no power of two", func() { l.Bytes(nil, 3) })
	l.Discard()
	require.PanicsWithValue(t, "cuda: a launch was used up twice", l.Discard)
	require.PanicsWithValue(t, "cuda: a launch was used up twice", func() { _ = l.Run(0, one) })
	require.PanicsWithValue(t, "cuda: a launch that is used up got an argument", func() { l.Int32(1) })
}

// With TARN_LAUNCH_BLOCKING=1 a fault names its kernel.
func TestLaunchBlocking(t *testing.T) {
	t.Setenv("TARN_LAUNCH_BLOCKING", "1")
	c := openFake(t)
	m := load(t, c)
	require.NoError(t, function(t, m, "nothing").Prepare().Run(0, one))
	err := function(t, m, "fault").Prepare().Run(0, one)
	require.ErrorIs(t, err, ErrDeviceLost)
	require.ErrorContains(t, err, `kernel "fault": `)
	require.NoError(t, c.Close())
}

// Without it a fault is not blamed on the launch that happens to notice it.
func TestLaunchIsNotBlamed(t *testing.T) {
	c := openFake(t)
	m := load(t, c)
	nothing := function(t, m, "nothing")
	require.NoError(t, function(t, m, "fault").Prepare().Run(0, one))
	err := nothing.Prepare().Run(0, one)
	require.ErrorIs(t, err, ErrDeviceLost)
	require.NotContains(t, err.Error(), "nothing")
	require.ErrorContains(t, err, "with the fault in it or in earlier work")
	require.NoError(t, c.Close())
}
