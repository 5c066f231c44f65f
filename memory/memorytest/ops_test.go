package memorytest_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/memory/memorytest"
)

// Ensure that random lists have every kind of op and of size.
func TestGenerateCoversAll(t *testing.T) {
	kinds := make(map[memorytest.OpKind]int)
	pools := make(map[int]int)
	var small, large, own, zero int
	for _, op := range memorytest.Generate(rand.New(rand.NewPCG(0, 0)), 2000) {
		kinds[op.Kind]++
		pools[op.Pool]++
		assert.Less(t, uint64(op.Stream), uint64(4))
		assert.NotEmpty(t, op.String())
		if op.Kind != memorytest.OpAlloc {
			continue
		}
		switch {
		case op.Size == 0:
			zero++
		case op.Size <= mib:
			small++
		case op.Size < 10*mib:
			large++
		default:
			own++
		}
	}
	for kind := memorytest.OpAlloc; kind <= memorytest.OpClosePool; kind++ {
		assert.Positive(t, kinds[kind], "%v", kind)
	}
	assert.Greater(t, kinds[memorytest.OpAlloc], kinds[memorytest.OpFree])
	assert.Len(t, pools, 3)
	assert.Greater(t, pools[0], pools[1]+pools[2])
	assert.Greater(t, small, large)
	assert.Greater(t, large, own)
	assert.Positive(t, own)
	assert.Positive(t, zero)
}

func TestDecodeIgnoresWhatIsNoWholeOp(t *testing.T) {
	assert.Empty(t, memorytest.Decode(nil))
	assert.Empty(t, memorytest.Decode(make([]byte, 4)))
	ops := memorytest.Decode([]byte{0, 7, 2, 9, 0, 1})
	require.Len(t, ops, 1)
	assert.Equal(t, memorytest.Op{Kind: memorytest.OpAlloc, Stream: 3, Size: 3 << 9}, ops[0])
	assert.Equal(t, "alloc 1536 s3 p0", ops[0].String())
}

func TestNaive(t *testing.T) {
	f := newFake(t, memorytest.FakeConfig{Capacity: mib})
	n := memorytest.NewNaive(f)
	p, err := n.Alloc(1)
	require.NoError(t, err)
	q, err := n.Alloc(513)
	require.NoError(t, err)
	assert.EqualValues(t, []int64{2, 514, 1536}, []int64{n.Blocks, n.Requested, n.Allocated})
	assert.EqualValues(t, 1536, f.Used())
	require.NoError(t, n.Free(p))
	assert.EqualValues(t, []int64{1, 513, 1024}, []int64{n.Blocks, n.Requested, n.Allocated})
	assert.EqualValues(t, []int64{514, 1536}, []int64{n.PeakRequested, n.PeakAllocated})
	assert.ErrorIs(t, n.Free(p), memory.ErrStaleHandle)
	_, err = n.Alloc(2 * mib)
	require.ErrorIs(t, err, memory.ErrUpstreamFull)
	none, err := n.Alloc(0)
	require.NoError(t, err)
	require.NoError(t, n.Free(none))
	require.NoError(t, n.Free(q))
	assert.Zero(t, n.Requested+n.Allocated)
}

// Ensure that books which cannot be are noticed.
func TestCheckStats(t *testing.T) {
	a, err := memory.New(memorytest.NewFake(memorytest.FakeConfig{Capacity: 64 * mib}), memory.Config{})
	require.NoError(t, err)
	b, err := a.Alloc(1000, 0, memory.Untagged)
	require.NoError(t, err)
	require.NoError(t, memorytest.CheckStats(a.Stats()))
	for name, spoil := range map[string]func(*memory.Stats){
		"sum of pools":      func(s *memory.Stats) { s.Active.Large.Current++; s.Active.Large.Allocated++; s.Active.Large.Peak++ },
		"freed":             func(s *memory.Stats) { s.Segment.All.Freed++ },
		"peak":              func(s *memory.Stats) { s.RequestedBytes.Small.Peak = 0 },
		"more than active":  func(s *memory.Stats) { s.ActiveBytes = memory.Family{} },
		"less than active":  func(s *memory.Stats) { s.ReservedBytes = memory.Family{} },
		"pending":           func(s *memory.Stats) { s.PendingBytes = 1 },
		"pinned":            func(s *memory.Stats) { s.PinnedBytes-- },
		"largest free":      func(s *memory.Stats) { s.LargestFree = 2 * mib },
		"blocks not active": func(s *memory.Stats) { s.Active = memory.Family{} },
	} {
		s := a.Stats()
		spoil(&s)
		assert.Error(t, memorytest.CheckStats(s), name)
	}
	require.NoError(t, a.Free(b.Handle))
	require.NoError(t, errors.Join(a.Close(), a.Check()))
}
