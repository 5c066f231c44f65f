package memory

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBinsCoverAllSizes(t *testing.T) {
	assert.EqualValues(t, 1, binOf(minBlockSize))
	assert.EqualValues(t, numLevels*subBins, int(binOf(2*maxRequest-minBlockSize))+1, "the last bin is used")
	last := uint16(0)
	for granules := int64(1); granules < 1<<14; granules++ {
		bin := binOf(granules * minBlockSize)
		if bin != last {
			require.Equal(t, last+1, bin, "at %d granules", granules)
		}
		last = bin
	}
	for shift := minBlockShift + subBinShift; shift <= 60; shift++ {
		size := int64(1) << shift
		assert.Equal(t, binOf(size-minBlockSize)+1, binOf(size), "a power of two opens a bin: 1<<%d", shift)
		assert.Equal(t, binOf(size), binOf(size+size/subBins-minBlockSize), "a bin is 1/16 wide: 1<<%d", shift)
		assert.Equal(t, binOf(size)+1, binOf(size+size/subBins), "and not wider: 1<<%d", shift)
	}
}

// naiveBins is a set of free blocks with exact best fit.
type naiveBins map[uint32]int64

// best returns the smallest size that is at least size, 0 if there is none.
func (n naiveBins) best(size int64) int64 {
	best := int64(0)
	for _, s := range n {
		if s >= size && (best == 0 || s < best) {
			best = s
		}
	}
	return best
}

// TestBinsAgainstBestFit holds the bins to what they promise: they find a
// block whenever there is one, and lose at most a bin's width against the best
// one of the request's bin, or against the best one above that bin.
func TestBinsAgainstBestFit(t *testing.T) {
	const steps = 5_000
	for _, tc := range []struct {
		name string
		size func(r *rand.Rand) int64
	}{
		{"all sizes", func(r *rand.Rand) int64 { return roundUp(r.Int64N(512<<r.IntN(30))+1, minBlockSize) }},
		{"one bin", func(r *rand.Rand) int64 { return 1<<30 + r.Int64N(1<<26/minBlockSize)*minBlockSize }},
		{"one size", func(*rand.Rand) int64 { return 4096 }},
		{"exact bins", func(r *rand.Rand) int64 { return minBlockSize * (1 + r.Int64N(31)) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			var recs records
			bs := new(bins)
			naive := naiveBins{}
			for range steps {
				size := tc.size(r)
				if r.IntN(100) < 55 {
					i, b := recs.get()
					b.size = size
					bs.insert(&recs, i, b)
					naive[i] = size
					continue
				}
				best := naive.best(size)
				i := bs.find(&recs, size, unlimited)
				if best == 0 {
					require.Zero(t, i, "found a block where none has %d bytes", size)
					continue
				}
				require.NotZero(t, i, "missed a block of %d bytes for %d", best, size)
				b := recs.at(i)
				require.Equal(t, naive[i], b.size)
				require.GreaterOrEqual(t, b.size, size)
				if b.bin != binOf(size) {
					best = naive.best(binEnd(binOf(size)))
				}
				require.Less(t, b.size, best+max(best/subBins, minBlockSize))
				bs.remove(&recs, b)
				recs.put(i)
				delete(naive, i)
			}
			count, largest := 0, int64(0)
			bs.each(&recs, func(i uint32, b *block) {
				require.Equal(t, naive[i], b.size)
				count++
				largest = max(largest, b.size)
			})
			require.Len(t, naive, count)
			require.Equal(t, largest, bs.largest(&recs))
		})
	}
}

// binEnd returns the smallest size above a bin.
func binEnd(bin uint16) int64 {
	granules := int64(bin) + 1
	if bin >= subBins {
		granules = (subBins + int64(bin%subBins) + 1) << (bin/subBins - 1)
	}
	return granules * minBlockSize
}

func TestFindLooksPastTheScanLimit(t *testing.T) {
	var recs records
	bs := new(bins)
	put := func(size int64) uint32 {
		i, b := recs.get()
		b.size = size
		bs.insert(&recs, i, b)
		return i
	}
	const size = 1 << 30
	only := put(size + 2*minBlockSize)
	for range 2 * scanLimit {
		put(size)
	}
	assert.Equal(t, only, bs.find(&recs, size+minBlockSize, unlimited), "the only block that fits lies deep in the bin")
}
