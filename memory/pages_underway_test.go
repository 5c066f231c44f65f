package memory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/memory/memorytest"
)

// TestPagesUnderWay has two requests that look for pages at one time: what the
// first has found the second leaves alone.
func TestPagesUnderWay(t *testing.T) {
	var b, c memory.Block
	for _, call := range []memorytest.Call{memorytest.CallCreate, memorytest.CallMap, memorytest.CallAccess} {
		t.Run("grow, "+call.String(), func(t *testing.T) {
			during(t, memorytest.FakeConfig{Granularity: page}, memory.Config{}, call, 1,
				func(f *memorytest.Fake, a *memory.Allocator) {
					b = alloc(t, a, 3*page, 0)
					require.NoError(t, f.Write(0, b.Ptr, b.Size))
				},
				func(f *memorytest.Fake, a *memory.Allocator) {
					var err error
					if c, err = a.Alloc(3*page, 1, memory.Untagged); assert.NoError(t, err) {
						assert.NoError(t, f.Write(1, c.Ptr, c.Size))
					}
				})
			assert.NotEqual(t, b.Ptr, c.Ptr)
		})
	}
	for call, n := range map[memorytest.Call]int32{ // the first ones of the remap
		memorytest.CallUnmap: 1, memorytest.CallMap: 11, memorytest.CallAccess: 6,
	} {
		t.Run("remap, "+call.String(), func(t *testing.T) {
			during(t, memorytest.FakeConfig{Granularity: page, Capacity: 10 * page}, memory.Config{}, call, n,
				func(f *memorytest.Fake, a *memory.Allocator) {
					blocks := row(t, f, a, 0, 3, 1, 3, 1, 2)
					for _, i := range []int{0, 2} {
						free(t, a, blocks[i])
					}
					b = alloc(t, a, 6*page, 0)
					require.NoError(t, f.Write(0, b.Ptr, b.Size))
				},
				func(_ *memorytest.Fake, a *memory.Allocator) {
					_, err := a.Alloc(3*page, 1, memory.Untagged)
					var oom *memory.OutOfMemoryError
					assert.ErrorAs(t, err, &oom)
				})
		})
	}
}

// TestLimitCountsPagesUnderWay has two requests that fit the limit only one at
// a time.
func TestLimitCountsPagesUnderWay(t *testing.T) {
	during(t, memorytest.FakeConfig{Granularity: page}, memory.Config{Limit: 5 * page}, memorytest.CallCreate, 1,
		func(f *memorytest.Fake, a *memory.Allocator) {
			alloc(t, a, 3*page, 0)
			assert.Equal(t, 3*page, f.Used())
		},
		func(_ *memorytest.Fake, a *memory.Allocator) {
			_, err := a.Alloc(3*page, 1, memory.Untagged)
			var oom *memory.OutOfMemoryError
			assert.ErrorAs(t, err, &oom)
		})
}

// TestPartOfTheWindowIsTaken has somebody else on the stream take the bytes in
// which the window of a request begins, while its pages are on their way from
// a stream that is at work. They stay, and are not taken for idle: the work on
// them still runs.
func TestPartOfTheWindowIsTaken(t *testing.T) {
	const edge = 3 * mib / 2
	during(t, memorytest.FakeConfig{Granularity: page, Capacity: 5 * page, Asynchronous: true}, memory.Config{}, memorytest.CallWaitEvent, 1,
		func(f *memorytest.Fake, a *memory.Allocator) {
			write(t, f, a, 2*page-edge, 1)
			b := write(t, f, a, 3*page, 0)
			free(t, a, b)
			outOfMemory(t, a, edge+3*page, 1)
			assert.Equal(t, b.Ptr, write(t, f, a, 3*page, 2).Ptr)
		},
		func(f *memorytest.Fake, a *memory.Allocator) {
			b, err := a.Alloc(edge, 1, memory.Untagged)
			if assert.NoError(t, err) {
				assert.NoError(t, f.Write(1, b.Ptr, b.Size))
			}
		})
}

// TestCloseWhilePagesMove closes the allocator in the middle of a haul: it
// waits, and everything goes back.
func TestCloseWhilePagesMove(t *testing.T) {
	for _, call := range []memorytest.Call{memorytest.CallCreate, memorytest.CallMap, memorytest.CallAccess} {
		t.Run(call.String(), func(t *testing.T) {
			during(t, memorytest.FakeConfig{Granularity: page}, memory.Config{}, call, 1,
				func(_ *memorytest.Fake, a *memory.Allocator) {
					_, err := a.Alloc(3*page, 0, memory.Untagged)
					assert.ErrorIs(t, err, memory.ErrClosed)
				},
				func(f *memorytest.Fake, a *memory.Allocator) {
					assert.NoError(t, a.Close())
					assert.Zero(t, f.Used())
					assert.Zero(t, a.Stats().ReservedBytes.All.Current)
				})
		})
	}
}

// TestFailedGrowthUnderWay is TestGrowthUnderWay for pages: the limit refuses a
// request only because of a growth that then fails.
func TestFailedGrowthUnderWay(t *testing.T) {
	during(t, memorytest.FakeConfig{Capacity: 30 * page, Granularity: page}, memory.Config{Limit: 50 * page}, memorytest.CallCreate, 1,
		func(_ *memorytest.Fake, a *memory.Allocator) {
			outOfMemory(t, a, 45*page, 0)
		},
		func(_ *memorytest.Fake, a *memory.Allocator) {
			_, err := a.Alloc(25*page, 1, memory.Untagged)
			assert.NoError(t, err)
		})
}

// TestPagesOnTheirWayBack has a request that fits only when the pages that
// somebody else is giving back have arrived.
func TestPagesOnTheirWayBack(t *testing.T) {
	for _, call := range []memorytest.Call{memorytest.CallUnmap, memorytest.CallRelease} {
		during(t, memorytest.FakeConfig{Capacity: 50 * page, Granularity: page}, memory.Config{}, call, 1,
			func(_ *memorytest.Fake, a *memory.Allocator) {
				free(t, a, alloc(t, a, 30*page, 0))
				assert.NoError(t, a.EmptyCache())
			},
			func(_ *memorytest.Fake, a *memory.Allocator) {
				_, err := a.Alloc(45*page, 1, memory.Untagged)
				assert.NoError(t, err)
			})
	}
}

// TestFailedHaulUnderWay has a request find nothing but pages that are on their
// way to another one, which then fails.
func TestFailedHaulUnderWay(t *testing.T) {
	during(t, memorytest.FakeConfig{Capacity: 10 * page, Granularity: page}, memory.Config{}, memorytest.CallUnmap, 1,
		func(f *memorytest.Fake, a *memory.Allocator) {
			blocks := row(t, f, a, 0, 3, 1, 3, 1, 2)
			free(t, a, blocks[0])
			free(t, a, blocks[2])
			f.FailAt(memorytest.CallAccess, 1, errBroken)
			_, err := a.Alloc(6*page, 0, memory.Untagged)
			assert.ErrorIs(t, err, errBroken)
		},
		func(_ *memorytest.Fake, a *memory.Allocator) {
			_, err := a.Alloc(3*page, 1, memory.Untagged)
			assert.NoError(t, err)
		})
}

// TestCheckWhileClosing looks at the books before each call of a Close.
func TestCheckWhileClosing(t *testing.T) {
	bothKinds(t, func(t *testing.T, fake memorytest.FakeConfig) {
		var a *memory.Allocator
		closing, calls := false, 0
		fake.OnCall = func(c memorytest.Call) {
			if closing {
				calls++
				assert.NoError(t, a.Check(), "%v", c)
			}
		}
		f, a2 := device(t, fake, memory.Config{})
		a = a2
		free(t, a, write(t, f, a, 3*page, 0))
		free(t, a, write(t, f, a, 1000, 1))
		closing = true
		require.NoError(t, a.Close())
		assert.Positive(t, calls)
	})
}
