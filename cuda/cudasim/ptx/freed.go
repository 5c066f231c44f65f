package ptx

import "fmt"

// FreedGranule is the number of bytes that one byte of [Allocation.Freed]
// speaks of.
const FreedGranule = 512

// freed says whether a granule that size bytes at an offset touch is freed. Its
// owner may free others meanwhile, so the race detector does not look.
//
//go:norace
func freed(marks []byte, off uint64, size int) bool {
	if len(marks) == 0 {
		return false
	}
	for g := off / FreedGranule; g <= (off+uint64(size)-1)/FreedGranule; g++ {
		if g < uint64(len(marks)) && marks[g] != 0 {
			return true
		}
	}
	return false
}

// aroundFreed describes the run of freed granules that an access begins or ends in.
func aroundFreed(a *Allocation, off uint64) string {
	first := int(off / FreedGranule)
	if !freed(a.Freed, off, 1) {
		first++
	}
	end := first
	for first > 0 && freed(a.Freed, uint64(first-1)*FreedGranule, 1) {
		first--
	}
	for end < len(a.Freed) && freed(a.Freed, uint64(end)*FreedGranule, 1) {
		end++
	}
	return fmt.Sprintf("a freed block: bytes %d to %d of the allocation at %#x were given back",
		first*FreedGranule, min(end*FreedGranule, len(a.Bytes)), a.Ptr)
}
