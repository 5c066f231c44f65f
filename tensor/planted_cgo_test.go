//go:build cgo && (linux || darwin)

package tensor_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/kernels"
	"tarn/memory"
	"tarn/tensor"
)

// These bugs were planted, and this is what finds each of them.
//
// A wait between two streams is left out, found by the race detector in 20 of 20
// runs, and in none where it is there:
//
//	kernels and copies of tensors, step, replay    tensor: TestRaces, the first eight
//	reuse of a block, pages taken, pages moved     tensor: TestRaces, "block reused" and on
//	memory of a graph given to another stream      tensor: TestRaces, "memory of a graph"
//	the driver's copies, fills, kernels, graphs    cuda/cudasim: TestRaces
//	in the interpreter                             cuda/cudasim/ptx: TestRaceDetector
//	it is not queued at all                        tensor: TestReadAfterWriteWaits and what follows it
//
// A kernel or a copy touches what it may not:
//
//	one element past the end, into a freed block   tensor: TestPlantedOverrun
//	one element past an allocation                 kernels/gpu: TestPlantedOverrun; cuda/cudasim: TestKernelOverTheEnd; ptx: TestPlanted, TestOverrun
//	use of a freed block                           tensor: TestGuardSeesAUseAfterFree; cuda/cudasim: TestPoison, TestPoolUseAfterFree; ptx: TestFreedBlocks
//	pages unmapped under work                      cuda/cudasim: TestUnmapUnderWork
//	an element that is not aligned                 tensor: TestPlantedMisaligned; ptx: TestMisaligned
//	a vector that is not aligned                   kernels/gpu: TestPlantedMisalignedVector; ptx: TestPlanted
//	ranges of a copy that overlap                  cuda/cudasim: TestOverlap
//
// Threads of a block are not in order:
//
//	each barrier of our float32 kernels            kernels/gpu: TestPlantedMissingBarrier
//	a barrier is missing                           cuda/cudasim: TestSharedRaces; ptx: TestPlanted, TestNoRaces
//	some threads pass by a barrier                 ptx: TestBarrierMissed, TestPassedBarrier, TestTwoBarriers
//	asynchronous copies are not waited for         ptx: TestAsyncCopyRaces
//
// What is given back:
//
//	twice, to the allocator                        tensor: TestPlantedDoubleFree; memory: TestBadHandles, TestFreeUnderWay
//	twice, to the driver                           tensor: TestPlantedDoubleFree; cuda/internal/conformance
//	not at all, each kind of thing                 tensor: TestPlantedLeaks; cuda/cudasim: TestCloseSaysWhatIsLeft
//	while a copy or a kernel uses it               cuda/cudasim: TestFreePinnedUnderCopy, TestUnloadUnderKernel
//
// The allocator's books:
//
//	memory of a graph that lives goes to others    tensor: TestPlantedTheft
//	each of its records is wrong                   memory: TestCheckFindsFaults
//	lines of its code are changed                  memory/memorytest/mutants

// found demands that the work queued on a device is a fault, and that the first
// report says so.
func found(t *testing.T, m *cudasim.Machine, d *tensor.Device, want string) {
	t.Helper()
	require.ErrorIs(t, d.Synchronize(), tensor.ErrDeviceLost)
	require.NotEmpty(t, m.Reports())
	require.ErrorContains(t, m.Reports()[0], want)
	t.Log(m.Reports()[0])
}

// TestPlantedOverrun: the element past the end is in a block that is free.
func TestPlantedOverrun(t *testing.T) {
	m, _, d := newContext(t, cudasim.Config{})
	require.NoError(t, d.SetGuard(m))
	const n = 128 // elements of a whole block
	x, next := tensor.Ones(d, tensor.Float32, n), tensor.Ones(d, tensor.Float32, n)
	require.Equal(t, tensor.Pointer(x)+4*n, tensor.Pointer(next))
	require.NoError(t, next.Release())
	require.NoError(t, x.Fill(2))
	require.NoError(t, d.Synchronize(), "all of x and no more")
	y := tensor.Elsewhere(x, 4)
	require.NoError(t, y.MulInPlace(y))
	found(t, m, d, "freed block")
}

func TestPlantedMisaligned(t *testing.T) {
	_, _, d := newContext(t, cudasim.Config{})
	err := tensor.Elsewhere(tensor.Ones(d, tensor.Float32, 100), 2).Exp().Err()
	require.ErrorIs(t, err, kernels.ErrAddress, "before it is launched")
	t.Log(err)
}

func TestPlantedDoubleFree(t *testing.T) {
	_, c, d := newContext(t, cudasim.Config{})
	x := tensor.Ones(d, tensor.Float32, 100)
	require.NoError(t, d.Memory().Free(tensor.Handle(x)))
	err := x.Release()
	require.ErrorIs(t, err, memory.ErrStaleHandle, "a tensor's block, freed behind its back")
	t.Log(err)

	var y *tensor.Tensor
	g, err := tensor.Capture(d.DefaultStream(), func() error {
		y = tensor.Ones(d, tensor.Float32, 100)
		return y.Err()
	})
	require.NoError(t, err)
	require.NoError(t, d.Memory().Free(tensor.Handle(y)))
	err = errors.Join(y.Release(), g.Close())
	require.ErrorIs(t, err, memory.ErrStaleHandle, "a block of a graph")
	t.Log(err)

	p, err := c.Alloc(100)
	require.NoError(t, err)
	require.NoError(t, c.Free(p))
	err = c.Free(p)
	var call *cuda.Error
	require.ErrorAs(t, err, &call)
	require.Equal(t, cuda.InvalidValue, call.Code)
	t.Log(err)
}

// TestPlantedTheft: memory that a graph writes is given to another tensor. The
// allocator does not do so, for want of memory if need be; where it is made to,
// the next replay spoils the tensor, and faults when that was freed.
func TestPlantedTheft(t *testing.T) {
	const pages, pageful = 2, 3 << 17 // elements of 1.5 MiB: two tensors of them do not share a page
	plant := func(t *testing.T) (m *cudasim.Machine, c *cuda.Context, d *tensor.Device, g *tensor.Graph, written uintptr) {
		m, c, d = newContext(t, cudasim.Config{Memory: pages * 2 << 20})
		require.NoError(t, d.SetGuard(m))
		x := tensor.Ones(d, tensor.Float32, pageful)
		g, err := tensor.Capture(d.DefaultStream(), func() error {
			y := x.AddScalar(1)
			written = tensor.Pointer(y)
			return errors.Join(y.Err(), y.Release())
		})
		require.NoError(t, err)
		require.NoError(t, g.Replay())
		var oom *memory.OutOfMemoryError
		require.ErrorAs(t, tensor.Empty(d, tensor.Float32, pageful).Err(), &oom)
		return m, c, d, g, written
	}
	t.Run("given away", func(t *testing.T) {
		m, _, d, g, written := plant(t)
		require.NoError(t, g.GiveAway())
		other := tensor.Full(d, tensor.Float32, 7, pageful)
		require.NoError(t, other.Err())
		at := int(written-tensor.Pointer(other)) / 4
		require.Equal(t, float32(7), data32(t, other)[at])
		require.NoError(t, g.Replay())
		got := data32(t, other)[at]
		require.Equal(t, float32(2), got, "the replay wrote it")
		t.Logf("a tensor of sevens holds %v after the replay", got)
		require.NoError(t, other.Release())
		require.NoError(t, g.Replay(), "the launch itself")
		found(t, m, d, "freed block")
	})
	t.Run("unmapped", func(t *testing.T) {
		m, c, d, g, written := plant(t)
		require.NoError(t, d.Synchronize())
		require.NoError(t, c.Unmap(cuda.DevicePtr(written), 2<<20))
		require.NoError(t, g.Replay(), "the launch itself")
		found(t, m, d, "nothing is live there")
	})
}

// TestPlantedLeaks leaves one thing of each kind behind.
func TestPlantedLeaks(t *testing.T) {
	const empty = ".version 7.0\n.target sm_75\n.address_size 64\n"
	capture := func(c *cuda.Context) (*cuda.Graph, error) {
		if err := c.BeginCapture(0); err != nil {
			return nil, err
		}
		return c.EndCapture(0)
	}
	for _, leak := range []struct {
		where, kind string
		leave       func(c *cuda.Context) error
	}{
		{"cuda:0", "contexts", func(*cuda.Context) error { return nil }},
		{"cuda:0", "streams", func(c *cuda.Context) error { _, err := c.NewStream(0); return err }},
		{"cuda:0", "events", func(c *cuda.Context) error { _, err := c.NewEvent(); return err }},
		{"cuda:0", "modules", func(c *cuda.Context) error { _, err := c.Load(empty); return err }},
		{"cuda:0", "allocations", func(c *cuda.Context) error { _, err := c.Alloc(1); return err }},
		{"cuda:0", "pinned allocations", func(c *cuda.Context) error { _, err := c.AllocPinned(1); return err }},
		{"cuda:0", "pages", func(c *cuda.Context) error { _, err := c.Create(2 << 20); return err }},
		{"cuda:0", "pool allocations", func(c *cuda.Context) error {
			p, err := c.Pool()
			if err == nil {
				_, err = p.Alloc(1, 0)
			}
			return err
		}},
		{"host", "address ranges", func(c *cuda.Context) error { _, err := c.Reserve(2<<20, 0); return err }},
		{"host", "graphs", func(c *cuda.Context) error { _, err := capture(c); return err }},
		{"host", "executable graphs", func(c *cuda.Context) error {
			g, err := capture(c)
			if err == nil {
				_, err = g.Instantiate()
			}
			return errors.Join(err, g.Close())
		}},
	} {
		t.Run(leak.kind, func(t *testing.T) {
			m, err := cudasim.Open(cudasim.Config{Memory: 16 << 20})
			require.NoError(t, err)
			device, err := m.Library().Device(0)
			require.NoError(t, err)
			c, err := device.Open()
			require.NoError(t, err)
			require.NoError(t, leak.leave(c))
			want := map[string]map[string]int{"cuda:0": {"contexts": 1}}
			if want[leak.where] == nil {
				want[leak.where] = map[string]int{}
			}
			want[leak.where][leak.kind] = 1
			err = m.Close()
			var left *cudasim.LeakError
			require.ErrorAs(t, err, &left)
			require.Equal(t, want, left.Live)
			t.Log(err)
		})
	}
	t.Run("tensors", func(t *testing.T) {
		d, err := tensor.NewCUDA(contextOf(t), memory.Config{})
		require.NoError(t, err)
		x := tensor.Ones(d, tensor.Float32, 1000)
		err = d.Close()
		var live *memory.LiveBlocksError
		require.ErrorAs(t, err, &live)
		require.EqualValues(t, []int64{1, 4096}, []int64{live.Count, live.Bytes})
		t.Log(err)
		require.NoError(t, x.Err())
	})
}

// contextOf returns a context of a machine of the test's own.
func contextOf(t *testing.T) *cuda.Context {
	device, err := newMachine(t, cudasim.Config{}).Library().Device(0)
	require.NoError(t, err)
	c, err := device.Open()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
