package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestSmallestOfTheFirstFew has three blocks in a bin that are all large enough,
// in each order: the smallest leaves the least.
func TestSmallestOfTheFirstFew(t *testing.T) {
	const size = 1 << 30
	for _, order := range [][]int64{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}} {
		var recs records
		bs := new(bins)
		for _, granules := range order {
			i, b := recs.get()
			b.size = size + granules*minBlockSize
			bs.insert(&recs, i, b)
		}
		assert.EqualValues(t, size+minBlockSize, recs.at(bs.find(&recs, size, unlimited)).size, "%v", order)
		assert.EqualValues(t, size+2*minBlockSize, recs.at(bs.find(&recs, size+2*minBlockSize, unlimited)).size, "%v", order)
		assert.Zero(t, bs.find(&recs, size, size+minBlockSize), "all are too good for it")
	}
}
