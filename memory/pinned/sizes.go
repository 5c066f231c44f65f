package pinned

import "math/bits"

const (
	pageShift = 12
	pageSize  = 1 << pageShift // bytes; what the system can lock

	// Each power of two of pages is cut into classesPerDouble classes, the
	// first into single pages: a block is less than 1/8 above the request.
	classShift       = 3
	classesPerDouble = 1 << classShift
	wasteShift       = 3 // the bound on waste is size >> wasteShift

	smallMax    = 256 << 10 // largest request that shares a segment
	numClasses  = 32        // classOf(smallMax) + 1
	slabSize    = 1 << 20   // most bytes of a shared segment
	large       = -1        // the class of segments of one block, of any size
	maxRequest  = 1 << 60
	leastWasted = pageSize
)

// request is a size on its way to a block.
type request struct {
	size    int64 // bytes asked for, > 0
	class   int   // or large
	block   int64 // bytes of a block made for it
	segment int64 // bytes of a segment made for it: a multiple of block
}

func newRequest(size int64) request {
	if size > smallMax {
		exact := (size + pageSize - 1) &^ (pageSize - 1)
		return request{size, large, exact, exact}
	}
	class, block := classOf(size)
	return request{size, class, block, slabSize / block * block}
}

// classOf returns the class of a small size and the bytes of its blocks.
func classOf(size int64) (class int, block int64) {
	last := uint64(size-1) >> pageShift // index of the last page that is touched
	shift := max(bits.Len64(last)-1-classShift, 0)
	step := last >> shift
	return shift<<classShift + int(step), int64(step+1) << shift << pageShift
}

// fits reports whether a request of size bytes may have a block.
func fits(size, block int64) bool {
	return size <= block && block-size <= max(size>>wasteShift, leastWasted)
}
