package hostmem_test

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/hostmem"
	"tarn/memory/memorytest"
)

const mib = 1 << 20

func open(t *testing.T, capacity int64) *hostmem.Upstream {
	t.Helper()
	u, err := hostmem.New(hostmem.Config{Capacity: capacity})
	require.NoError(t, err)
	return u
}

func bytesAt(p cuda.DevicePtr, size int64) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), size)
}

func TestConformance(t *testing.T) {
	memorytest.TestUpstream(t, func(t *testing.T) memory.Upstream { return open(t, 64*mib) })
}

func TestConformanceOfTheDefault(t *testing.T) {
	memorytest.TestUpstream(t, func(t *testing.T) memory.Upstream { return open(t, 0) })
}

func TestNewRefusesNegativeCapacity(t *testing.T) {
	_, err := hostmem.New(hostmem.Config{Capacity: -1})
	require.ErrorIs(t, err, hostmem.ErrBadSize)
	assert.ErrorContains(t, err, "-1")
}

// Ensure that memory is zero at first, page aligned, the caller's alone, and
// untouched by garbage collections.
func TestMemoryIsReal(t *testing.T) {
	u := open(t, 64*mib)
	sizes := []int64{1, 100, 4096, 4097, mib, 2 * mib, 2*mib + 1, 5 * mib}
	ptrs := make([]cuda.DevicePtr, len(sizes))
	for i, size := range sizes {
		p, err := u.Alloc(size)
		require.NoError(t, err)
		assert.Zero(t, int(p)%os.Getpagesize())
		for j, b := range bytesAt(p, size) {
			if b != 0 {
				t.Fatalf("byte %d of %d is %#x", j, size, b)
			}
		}
		fill(bytesAt(p, size), byte(i+1))
		ptrs[i] = p
	}
	runtime.GC()
	for i, size := range sizes {
		requireAll(t, bytesAt(ptrs[i], size), byte(i+1))
		require.NoError(t, u.Free(ptrs[i], size))
	}
}

// Ensure that a segment of a huge page or more starts on one.
func TestHugePagesAreAligned(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux takes the advice")
	}
	u := open(t, 64*mib)
	for _, size := range []int64{2 * mib, 2*mib + 4096, 20 * mib} {
		p, err := u.Alloc(size)
		require.NoError(t, err)
		assert.Zero(t, p%(2*mib), "%d bytes at %#x", size, p)
		require.NoError(t, u.Free(p, size))
	}
}

// Ensure that the capacity holds although the system would map more, that
// whole pages count, and that the message has the numbers.
func TestCapacity(t *testing.T) {
	page := int64(os.Getpagesize())
	u := open(t, 4*page)
	p, err := u.Alloc(2*page + 1)
	require.NoError(t, err)
	free, total, err := u.MemInfo()
	require.NoError(t, err)
	assert.Equal(t, page, free)
	assert.Equal(t, 4*page, total)

	_, err = u.Alloc(page + 1)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
	assert.ErrorContains(t, err, fmt.Sprintf("alloc of %d bytes, %d of %d are free", page+1, page, 4*page))

	q, err := u.Alloc(page)
	require.NoError(t, err)
	require.NoError(t, u.Free(p, 2*page+1))
	require.NoError(t, u.Free(q, page))
}

// Ensure that a capacity which is no multiple of the page is not overdrawn by
// rounding up.
func TestCapacityOfAnOddSize(t *testing.T) {
	u := open(t, 100)
	_, err := u.Alloc(1)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
}

// Ensure that a request which the address space cannot hold is "full" too.
func TestSystemRefuses(t *testing.T) {
	u := open(t, math.MaxInt64)
	_, err := u.Alloc(math.MaxInt64 / 2)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
	free, total, err := u.MemInfo()
	require.NoError(t, err)
	assert.Equal(t, total, free, "a refused mapping holds nothing")
}

func TestTypedRefusals(t *testing.T) {
	u := open(t, mib)
	_, err := u.Alloc(0)
	require.ErrorIs(t, err, hostmem.ErrBadSize)
	p, err := u.Alloc(8192)
	require.NoError(t, err)
	require.ErrorIs(t, u.Free(p+64, 8192), hostmem.ErrUnknownPointer)
	require.ErrorIs(t, u.Free(p, 4096), hostmem.ErrWrongSize)
	require.ErrorIs(t, u.Discard(p, 8193), hostmem.ErrWrongSize)
	require.ErrorIs(t, u.Discard(p, 0), hostmem.ErrWrongSize)
	require.ErrorIs(t, u.Discard(p, math.MaxInt64), hostmem.ErrWrongSize)
	require.NoError(t, u.Free(p, 8192))
	require.ErrorIs(t, u.Free(p, 8192), hostmem.ErrUnknownPointer)
	require.ErrorIs(t, u.Discard(p, 8192), hostmem.ErrUnknownPointer)
	require.ErrorIs(t, u.SyncEvent(0), hostmem.ErrUnknownEvent)
}

// Ensure that only whole pages inside the range go, and that the addresses
// stay usable.
func TestDiscard(t *testing.T) {
	u := open(t, 64*mib)
	page := int64(os.Getpagesize())
	const size = 3 * mib
	p, err := u.Alloc(size)
	require.NoError(t, err)
	b := bytesAt(p, size)
	fill(b, 7)
	require.NoError(t, u.Discard(p+1, 3*page))
	requireAll(t, b[:page], 7)
	requireAll(t, b[3*page:], 7)
	if runtime.GOOS == "linux" { // elsewhere the pages go when the system wants them
		requireAll(t, b[page:3*page], 0)
	}
	require.NoError(t, u.Discard(p+1, page-1), "a range with no whole page in it")
	fill(b, 9)
	requireAll(t, b, 9)
	require.NoError(t, u.Discard(p, size))
	fill(b, 3)
	requireAll(t, b, 3)
	require.NoError(t, u.Free(p, size))
}

// Ensure that callers at the same time do not go over the capacity together.
func TestCapacityHoldsConcurrently(t *testing.T) {
	const workers, capacity, size = 8, 4 * mib, mib
	u := open(t, capacity)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			var mine []cuda.DevicePtr
			for range 200 {
				p, err := u.Alloc(size)
				if err != nil {
					assert.ErrorIs(t, err, memory.ErrUpstreamFull)
				} else {
					mine = append(mine, p)
				}
				free, _, _ := u.MemInfo()
				assert.GreaterOrEqual(t, free, int64(0))
				if len(mine) > 0 && (err != nil || len(mine) > 1) {
					assert.NoError(t, u.Free(mine[0], size))
					mine = mine[1:]
				}
			}
			for _, p := range mine {
				assert.NoError(t, u.Free(p, size))
			}
		})
	}
	wg.Wait()
	free, _, err := u.MemInfo()
	require.NoError(t, err)
	assert.EqualValues(t, capacity, free)
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

func requireAll(t *testing.T, b []byte, want byte) {
	t.Helper()
	for i, v := range b {
		if v != want {
			t.Fatalf("byte %d is %#x, want %#x", i, v, want)
		}
	}
}
