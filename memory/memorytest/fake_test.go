package memorytest_test

import (
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// fakes are the devices that the fake can be, by name.
func fakes() map[string]memorytest.FakeConfig {
	configs := map[string]memorytest.FakeConfig{
		"plain":        {Capacity: 64 * mib},
		"adjacent":     {Capacity: 64 * mib, Adjacent: true},
		"asynchronous": {Capacity: 64 * mib, Asynchronous: true},
		"virtual":      {Capacity: 64 * mib, Granularity: 2 * mib},
		"fine virtual": {Capacity: 64 * mib, Granularity: 64 * kib, Asynchronous: true},
		"backed":       {Capacity: 64 * mib, Backed: true},
	}
	if runtime.GOOS == "linux" { // elsewhere there is no memory behind ranges
		configs["backed virtual"] = memorytest.FakeConfig{Capacity: 64 * mib, Granularity: 2 * mib, Backed: true, Asynchronous: true}
	}
	return configs
}

// newFake returns a fake that must leak nothing.
func newFake(t *testing.T, cfg memorytest.FakeConfig) *memorytest.Fake {
	t.Helper()
	f := memorytest.NewFake(cfg)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f
}

func TestFakeConformance(t *testing.T) {
	for name, cfg := range fakes() {
		t.Run(name, func(t *testing.T) {
			memorytest.TestUpstream(t, func(t *testing.T) memory.Upstream { return newFake(t, cfg) })
		})
	}
}

func alloc(t *testing.T, u memory.Upstream, size int64) cuda.DevicePtr {
	t.Helper()
	p, err := u.Alloc(size)
	require.NoError(t, err)
	return p
}

func record(t *testing.T, u memory.Upstream, s cuda.Stream) cuda.Event {
	t.Helper()
	e, err := u.RecordEvent(s)
	require.NoError(t, err)
	return e
}

func done(t *testing.T, u memory.Upstream, e cuda.Event) bool {
	t.Helper()
	done, err := u.QueryEvent(e)
	require.NoError(t, err)
	return done
}

// Ensure that what is aligned by luck on one day is not on this device.
func TestFakeAlignsToTheAlignmentOnly(t *testing.T) {
	f := newFake(t, memorytest.FakeConfig{Capacity: mib, Alignment: 256})
	for range 4 {
		p := alloc(t, f, 1024)
		assert.EqualValues(t, 256, p%512)
		require.NoError(t, f.Free(p, 1024))
	}
}

func TestFakeAdjacent(t *testing.T) {
	f := newFake(t, memorytest.FakeConfig{Capacity: mib, Adjacent: true})
	p, q := alloc(t, f, 1024), alloc(t, f, 512)
	assert.Equal(t, p+1024, q)
	assert.ErrorIs(t, f.CheckAccess(p, 1025), memorytest.ErrNoAccess, "two allocations are not one")
	require.NoError(t, f.Free(p, 1024))
	require.NoError(t, f.Free(q, 512))
}

func TestFakeEventsCompleteWhenTold(t *testing.T) {
	f := newFake(t, memorytest.FakeConfig{Capacity: mib, Asynchronous: true})
	a := record(t, f, 1)
	b := record(t, f, 1)
	c := record(t, f, 2)
	assert.False(t, done(t, f, a))
	require.NoError(t, f.SyncEvent(a))
	assert.True(t, done(t, f, a))
	assert.False(t, done(t, f, b), "waiting for the first completes no more than that")
	f.Complete(1)
	assert.True(t, done(t, f, b))
	assert.False(t, done(t, f, c), "another stream")
	d := record(t, f, 1)
	assert.False(t, done(t, f, d), "recorded later")
	f.CompleteAll()
	assert.True(t, done(t, f, c))
	assert.True(t, done(t, f, d))
	for _, e := range []cuda.Event{a, b, c, d} {
		require.NoError(t, f.DestroyEvent(e))
	}
}

// Ensure that a stream which waits for another cannot be done before it, also
// over a third one and after the event was destroyed.
func TestFakeWaitsCarry(t *testing.T) {
	f := newFake(t, memorytest.FakeConfig{Capacity: mib, Asynchronous: true})
	first := record(t, f, 1)
	require.NoError(t, f.WaitEvent(2, first))
	second := record(t, f, 2)
	require.NoError(t, f.WaitEvent(3, second))
	require.NoError(t, f.DestroyEvent(second))
	f.Complete(3)
	assert.True(t, done(t, f, first))
	require.NoError(t, f.DestroyEvent(first))
}

func TestFakeOrdersWork(t *testing.T) {
	const a, b = cuda.Stream(1), cuda.Stream(2)
	// Each runs between a write by stream a and a write by stream b.
	tests := map[string]struct {
		between func(*testing.T, *memorytest.Fake)
		ordered bool
	}{
		"nothing": {func(*testing.T, *memorytest.Fake) {}, false},
		"b waits for a": {func(t *testing.T, f *memorytest.Fake) {
			e := record(t, f, a)
			require.NoError(t, f.WaitEvent(b, e))
			require.NoError(t, f.DestroyEvent(e))
		}, true},
		"a waits for b": {func(t *testing.T, f *memorytest.Fake) {
			e := record(t, f, b)
			require.NoError(t, f.WaitEvent(a, e))
			require.NoError(t, f.DestroyEvent(e))
		}, false},
		"done, but nobody asked": {func(_ *testing.T, f *memorytest.Fake) { f.CompleteAll() }, false},
		"asked, but not done": {func(t *testing.T, f *memorytest.Fake) {
			e := record(t, f, a)
			assert.False(t, done(t, f, e))
			require.NoError(t, f.DestroyEvent(e))
		}, false},
		"done and asked": {func(t *testing.T, f *memorytest.Fake) {
			e := record(t, f, a)
			f.Complete(a)
			assert.True(t, done(t, f, e))
			require.NoError(t, f.DestroyEvent(e))
		}, true},
		"the host waits for a": {func(_ *testing.T, f *memorytest.Fake) { f.Sync(a) }, true},
		"the host waits for b": {func(_ *testing.T, f *memorytest.Fake) { f.Sync(b) }, false},
		"something is freed": {func(t *testing.T, f *memorytest.Fake) {
			require.NoError(t, f.Free(alloc(t, f, 512), 512))
		}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, memorytest.FakeConfig{Capacity: mib, Asynchronous: true})
			p := alloc(t, f, 1024)
			require.NoError(t, f.Write(a, p, 512))
			test.between(t, f)
			require.NoError(t, f.Write(b, p+512, 512), "other bytes")
			err := f.Write(b, p+511, 1)
			if test.ordered {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, memorytest.ErrUnordered)
				assert.ErrorContains(t, err, "write by stream 1 and write by stream 2")
			}
			require.NoError(t, f.Free(p, 1024))
		})
	}
}

func TestFakeReadersNeedNoOrder(t *testing.T) {
	f := newFake(t, memorytest.FakeConfig{Capacity: mib, Asynchronous: true})
	p := alloc(t, f, 1024)
	require.NoError(t, f.Read(1, p, 1024))
	require.NoError(t, f.Read(2, p, 1024))
	f.Sync(1)
	require.ErrorIs(t, f.Write(1, p, 1), memorytest.ErrUnordered, "stream 2 still reads")
	f.Sync(2)
	require.NoError(t, f.Write(1, p, 1))
	require.ErrorIs(t, f.Read(2, p, 1024), memorytest.ErrUnordered, "stream 1 writes")
	require.NoError(t, f.Free(p, 1024))
}

func TestFakeSynchronousWorkIsOrdered(t *testing.T) {
	f := newFake(t, memorytest.FakeConfig{Capacity: mib})
	p := alloc(t, f, 1024)
	require.NoError(t, f.Write(1, p, 1024))
	require.NoError(t, f.Write(2, p, 1024))
	require.NoError(t, f.Free(p, 1024))
}

// mapped returns a fake with one page mapped at p, and undoes it.
func mapped(t *testing.T, cfg memorytest.FakeConfig) (f *memorytest.Fake, p cuda.DevicePtr, pg memory.Page) {
	t.Helper()
	f = memorytest.NewFake(cfg)
	p, err := f.Reserve(4 * cfg.Granularity)
	require.NoError(t, err)
	pg, err = f.Create(cfg.Granularity)
	require.NoError(t, err)
	require.NoError(t, f.Map(p, cfg.Granularity, pg))
	return f, p, pg
}

func TestFakeAccess(t *testing.T) {
	const g = 64 * kib
	f, p, pg := mapped(t, memorytest.FakeConfig{Capacity: mib, Granularity: g})
	require.ErrorIs(t, f.CheckAccess(p, 1), memorytest.ErrNoAccess, "not set yet")
	require.NoError(t, f.SetAccess(p, g))
	require.NoError(t, f.CheckAccess(p, g))
	require.NoError(t, f.CheckAccess(p+g-1, 1))
	require.ErrorIs(t, f.CheckAccess(p, g+1), memorytest.ErrNoAccess, "over the end")
	require.ErrorIs(t, f.Read(1, p+g, 1), memorytest.ErrNoAccess, "reserved only")
	require.ErrorIs(t, f.CheckAccess(0, 1), memorytest.ErrNoAccess)
	require.NoError(t, f.Unmap(p, g))
	require.ErrorIs(t, f.CheckAccess(p, 1), memorytest.ErrNoAccess, "unmapped")
	require.NoError(t, f.Map(p, g, pg))
	require.ErrorIs(t, f.CheckAccess(p, 1), memorytest.ErrNoAccess, "access is not kept over an unmap")
	require.NoError(t, f.Unmap(p, g))
	require.NoError(t, f.Release(pg))
	require.NoError(t, f.ReleaseRange(p, 4*g))
	require.NoError(t, f.Close())
}

func TestFakeFaultsWhenUnmappedUnderWork(t *testing.T) {
	const g = 64 * kib
	cfg := memorytest.FakeConfig{Capacity: mib, Granularity: g, Asynchronous: true}

	f, p, _ := mapped(t, cfg)
	require.NoError(t, f.SetAccess(p, g))
	require.NoError(t, f.Write(1, p, 1))
	f.Complete(1)
	require.NoError(t, f.Unmap(p, g), "a driver does not notice at once")
	_, err := f.Alloc(512)
	require.ErrorIs(t, err, memorytest.ErrFault, "the host did not know that the work was done")
	require.ErrorIs(t, f.Write(1, p, 1), memorytest.ErrFault)
	require.ErrorIs(t, f.Close(), memorytest.ErrFault)

	f, p, pg := mapped(t, cfg)
	require.NoError(t, f.SetAccess(p, g))
	require.NoError(t, f.Write(1, p, 1))
	f.Sync(1)
	require.NoError(t, f.Unmap(p, g))
	require.NoError(t, f.Release(pg))
	require.NoError(t, f.ReleaseRange(p, 4*g))
	require.NoError(t, f.Close())
}

func TestFakeFailsOnDemand(t *testing.T) {
	boom, bang := errors.New("boom"), errors.New("bang")
	f := newFake(t, memorytest.FakeConfig{Capacity: mib, KeepLog: true})
	f.FailAt(memorytest.CallAlloc, 2, boom)
	f.FailAt(memorytest.AnyCall, 3, bang)
	p := alloc(t, f, 512)
	_, err := f.Alloc(512)
	require.ErrorIs(t, err, boom)
	require.ErrorIs(t, f.Free(p, 512), bang)
	assert.Zero(t, f.PendingFailures())
	assert.EqualValues(t, 512, f.Used(), "a failed call does nothing")
	require.NoError(t, f.Free(p, 512))

	assert.Equal(t, "alloc 2, free 2", f.Calls().String())
	assert.EqualValues(t, 4, f.Calls().Driver())
	var lines []string
	for _, entry := range f.Log() {
		lines = append(lines, entry.String())
	}
	assert.Equal(t, strings.Split(`alloc 0x700000000200 512 bytes
alloc 512 bytes: boom
free 0x700000000200 512 bytes: bang
free 0x700000000200 512 bytes`, "\n"), lines)

	before := f.Calls()
	e := record(t, f, 1)
	require.NoError(t, f.DestroyEvent(e))
	since := f.Calls().Since(before)
	assert.EqualValues(t, 2, since.Total())
	assert.Zero(t, since.Driver(), "events are not driver calls")
	assert.Equal(t, "none", f.Calls().Since(f.Calls()).String())
	assert.Panics(t, func() { f.FailAt(memorytest.CallAlloc, 0, boom) })
}

func TestFakeCallsBack(t *testing.T) {
	var calls []memorytest.Call
	f := newFake(t, memorytest.FakeConfig{Capacity: mib, OnCall: func(c memorytest.Call) { calls = append(calls, c) }})
	require.NoError(t, f.Free(alloc(t, f, 512), 512))
	assert.Equal(t, []memorytest.Call{memorytest.CallAlloc, memorytest.CallFree}, calls)
}

func TestFakeTypedRefusals(t *testing.T) {
	f := newFake(t, memorytest.FakeConfig{Capacity: mib})
	err := f.Free(4096, 512)
	var refusal *memorytest.Refusal
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, memorytest.CallFree, refusal.Call)
	assert.EqualError(t, err, "fake: free 0x1000 512 bytes: nothing was allocated there")
	_, err = f.Alloc(2 * mib)
	assert.EqualError(t, err, "fake: alloc 2097152 bytes: memory: upstream is full")
}

func TestFakeListsLeaks(t *testing.T) {
	const g = 64 * kib
	f, p, _ := mapped(t, memorytest.FakeConfig{Capacity: mib, Granularity: g})
	alloc(t, f, 512)
	record(t, f, 3)
	err := f.Close()
	for _, want := range []string{
		"leaked allocation of 512 bytes", "leaked range of 262144 bytes", "leaked mapping of 65536 bytes",
		"leaked page 1 of 65536 bytes", "leaked event 1 of stream 3",
	} {
		assert.ErrorContains(t, err, want)
	}
	require.ErrorIs(t, f.ReleaseRange(p, 4*g), memorytest.ErrRangeMapped)
}

func TestNewFakePanicsOnMisuse(t *testing.T) {
	for _, cfg := range []memorytest.FakeConfig{{}, {Capacity: mib, Granularity: 3}, {Capacity: mib, Alignment: 100}} {
		assert.Panics(t, func() { memorytest.NewFake(cfg) }, "%+v", cfg)
	}
}

// Ensure that a page takes its contents along, and that memory which is not
// accessible cannot be touched.
func TestBackedPagesAreReal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory behind ranges needs Linux")
	}
	const g = 2 * mib
	f, p, pg := mapped(t, memorytest.FakeConfig{Capacity: 16 * mib, Granularity: g, Backed: true})
	assert.Error(t, poke(p, 1), "not accessible yet")
	require.NoError(t, f.SetAccess(p, g))
	require.NoError(t, poke(p, 42))
	require.NoError(t, poke(p+g-1, 43))
	assert.Error(t, poke(p+g, 1), "reserved only")
	require.NoError(t, f.Map(p+2*g, g, pg))
	require.NoError(t, f.SetAccess(p+2*g, g))
	require.NoError(t, f.Unmap(p, g))
	assert.Error(t, poke(p, 1), "unmapped")
	assert.Equal(t, []byte{42, 43}, []byte{*at(p + 2*g), *at(p + 3*g - 1)})
	require.NoError(t, f.Unmap(p+2*g, g))
	require.NoError(t, f.Release(pg))
	require.NoError(t, f.ReleaseRange(p, 4*g))
	require.NoError(t, f.Close())
}

func at(p cuda.DevicePtr) *byte { return *(**byte)(unsafe.Pointer(&p)) }

// poke writes a byte and returns the fault if that is not allowed.
func poke(p cuda.DevicePtr, v byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fault.(error)
		}
	}()
	*at(p) = v
	return nil
}
