package memory

import "math/bits"

// The free blocks of a pool lie in two-level bins by size (TLSF): a level for
// each power of two, cut into subBins equal parts. A bitmap a level says which
// of its bins hold something, so that the next larger one is found by two bit
// scans. See doc.go.
const (
	subBins     = 1 << subBinShift
	subBinShift = 4

	// numLevels covers sizes up to maxRequest. Level 0 has the sizes below
	// subBins granules, one a bin.
	numLevels = 60 - minBlockShift - subBinShift + 2

	// scanLimit bounds the search for the best block within a bin. Each step
	// is a cache miss, and blocks of one bin differ by at most 1/16 in size. Of
	// 8,000 live blocks of random sizes, 1 reserved 1.29 × the peak, 4 1.154,
	// 8 1.148, 16 1.133 and a full scan 1.124.
	scanLimit = 8
)

// bins is an index of free blocks, of which it uses bin, binPrev and binNext.
type bins struct {
	levels uint64            // bit l is set iff subs[l] != 0
	subs   [numLevels]uint16 // bit s is set iff heads[l*subBins+s] != 0
	heads  [numLevels * subBins]uint32
}

// binOf returns the bin of blocks of a size.
func binOf(size int64) uint16 {
	granules := uint64(size) >> minBlockShift
	if granules < subBins {
		return uint16(granules)
	}
	shift := bits.Len64(granules) - 1 - subBinShift
	return uint16(shift+1)<<subBinShift | uint16(granules>>shift)%subBins
}

// insert puts b, record i, at the head of its bin: what was freed last is
// still warm in the caches of the device.
func (bs *bins) insert(r *records, i uint32, b *block) {
	bin := binOf(b.size)
	head := bs.heads[bin]
	b.bin, b.binPrev, b.binNext = bin, 0, head
	if head != 0 {
		r.at(head).binPrev = i
	} else {
		level := bin >> subBinShift
		bs.subs[level] |= 1 << (bin % subBins)
		bs.levels |= 1 << level
	}
	bs.heads[bin] = i
}

// remove takes b out of its bin.
func (bs *bins) remove(r *records, b *block) {
	if b.binNext != 0 {
		r.at(b.binNext).binPrev = b.binPrev
	}
	if b.binPrev != 0 {
		r.at(b.binPrev).binNext = b.binNext
	} else if bs.heads[b.bin] = b.binNext; b.binNext == 0 {
		level := b.bin >> subBinShift
		if bs.subs[level] &^= 1 << (b.bin % subBins); bs.subs[level] == 0 {
			bs.levels &^= 1 << level
		}
	}
	b.binPrev, b.binNext = 0, 0
}

// find returns a block of at least size and less than most bytes, 0 if there
// is none. It is the best of the first scanLimit blocks of the lowest bin that
// has one (good fit). It finds a block whenever there is one, however deep in
// its bin.
func (bs *bins) find(r *records, size, most int64) uint32 {
	bin := binOf(size)
	found, rest := best(r, bs.heads[bin], size, most, scanLimit)
	if found != 0 {
		return found
	}
	if above := bs.above(bin); above != 0 {
		found, restAbove := best(r, bs.heads[above], size, most, scanLimit)
		if found == 0 { // blocks of most bytes or more hide a smaller one
			found, _ = best(r, restAbove, size, most, int(r.fresh))
		}
		if found != 0 {
			return found
		}
	}
	found, _ = best(r, rest, size, most, int(r.fresh))
	return found
}

// best returns the smallest block of at least size and less than most bytes
// among the next limit ones from i on, and where a further scan goes on.
func best(r *records, i uint32, size, most int64, limit int) (found, rest uint32) {
	var least int64
	for ; i != 0 && limit > 0; limit-- {
		b := r.at(i)
		if b.size == size {
			return i, 0
		}
		if b.size > size && b.size < most && (found == 0 || b.size < least) {
			found, least = i, b.size
		}
		i = b.binNext
	}
	return found, i
}

// above returns the lowest bin above bin that holds something, 0 if none.
func (bs *bins) above(bin uint16) uint16 {
	level, sub := bin>>subBinShift, bin%subBins
	if subs := bs.subs[level] >> sub >> 1; subs != 0 {
		return bin + 1 + uint16(bits.TrailingZeros16(subs))
	}
	levels := bs.levels >> level >> 1
	if levels == 0 {
		return 0
	}
	level += 1 + uint16(bits.TrailingZeros64(levels))
	return level<<subBinShift | uint16(bits.TrailingZeros16(bs.subs[level]))
}

// largest returns the size of the largest free block, 0 if there is none.
func (bs *bins) largest(r *records) int64 {
	if bs.levels == 0 {
		return 0
	}
	level := bits.Len64(bs.levels) - 1
	bin := level<<subBinShift | (bits.Len16(bs.subs[level]) - 1)
	var size int64
	for i := bs.heads[bin]; i != 0; i = r.at(i).binNext {
		size = max(size, r.at(i).size)
	}
	return size
}

// each calls f for each block.
func (bs *bins) each(r *records, f func(i uint32, b *block)) {
	for levels := bs.levels; levels != 0; levels &= levels - 1 {
		level := bits.TrailingZeros64(levels)
		for subs := bs.subs[level]; subs != 0; subs &= subs - 1 {
			for i := bs.heads[level<<subBinShift|bits.TrailingZeros16(subs)]; i != 0; i = r.at(i).binNext {
				f(i, r.at(i))
			}
		}
	}
}
