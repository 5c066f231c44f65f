package memory

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

const (
	// roundupSlots are the powers of two from 1 MiB on that have divisions of
	// their own.
	roundupSlots = 16

	// maxDivisions is far past what has an effect on any request.
	maxDivisions = 1 << 30
)

// rounded returns the size of the block for a request of size > 0 bytes. Where
// the slot of size has d > 1 divisions, it is the next of the d steps between
// two powers of two, unless those are finer than the granule.
func (s *Settings) rounded(size int64) int64 {
	d := int64(s.RoundupPower2Divisions[roundupSlot(size)])
	if d <= 1 || size <= minBlockSize*d {
		return roundUp(size, minBlockSize)
	}
	floor := int64(1) << (bits.Len64(uint64(size)) - 1)
	return roundUp(size, floor/d)
}

// roundupSlot returns the slot of requests of a size.
func roundupSlot(size int64) int {
	return min(max(bits.Len64(uint64(size)>>20)-1, 0), roundupSlots-1)
}

// rounds reports whether some size is rounded otherwise than to the granule.
func (s *Settings) rounds() bool {
	for i, d := range s.RoundupPower2Divisions {
		largest := int64(mebi)<<(i+1) - 1
		if i == roundupSlots-1 {
			largest = maxRequest
		}
		if d > 1 && largest > minBlockSize*int64(d) {
			return true
		}
	}
	return false
}

// divisionsField has the divisions of all slots. The text is one number for
// all, or a list of MiB:divisions. In that the first entry holds for smaller
// slots too, a slot that is not named has none, and >:divisions is for those
// after the entry before it.
type divisionsField struct{ slots *[roundupSlots]int }

func (f divisionsField) read(v settingValue) (textSpan, string) {
	*f.slots = [roundupSlots]int{}
	if v.list {
		return f.readList(v)
	}
	n, ok := powerOfTwo(v.word)
	if !ok {
		return v.textSpan, fmt.Sprintf("must be a power of two, at most %d", maxDivisions)
	}
	setAll(f.slots[:], n)
	return textSpan{}, ""
}

func (f divisionsField) readList(v settingValue) (textSpan, string) {
	last, first := 0, true
	for _, e := range v.entries {
		n, ok := powerOfTwo(e.word)
		if !ok && e.word != "0" {
			return e.textSpan, fmt.Sprintf("divisions must be 0 or a power of two, at most %d", maxDivisions)
		}
		if e.name == ">" {
			setAll(f.slots[last+1:], n)
			continue
		}
		size, ok := powerOfTwo(e.name)
		if !ok {
			return e.textSpan, "an interval must begin at a power of two of MiB, or be >"
		}
		last = min(bits.Len(uint(size))-1, roundupSlots-1)
		if first {
			setAll(f.slots[:last], n)
			first = false
		}
		f.slots[last] = n
	}
	return textSpan{}, ""
}

// text is one number if all slots have the same, else the shortest list.
func (f divisionsField) text() string {
	n := *f.slots
	if n == [roundupSlots]int{} {
		return ""
	}
	head := 0 // last of the slots that are equal to the first
	for head+1 < roundupSlots && n[head+1] == n[0] {
		head++
	}
	if head == roundupSlots-1 {
		return strconv.Itoa(n[0])
	}
	tail := roundupSlots - 1 // first of those that are equal to the last
	for n[tail-1] == n[tail] {
		tail--
	}
	if tail == roundupSlots-1 || n[tail] == 0 {
		tail = roundupSlots
	}
	var list []string
	for i := head; i < tail; i++ {
		// The slot before the tail is named even where it has none.
		if i == head || n[i] != 0 || i+1 == tail && tail < roundupSlots {
			list = append(list, fmt.Sprintf("%d:%d", 1<<i, n[i]))
		}
	}
	if tail < roundupSlots {
		list = append(list, fmt.Sprintf(">:%d", n[tail]))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (f divisionsField) check() string {
	i := slices.IndexFunc(f.slots[:], func(n int) bool { return n < 0 || n > maxDivisions || n&(n-1) != 0 })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("divisions from %d MiB on must be 0 or a power of two, at most %d", 1<<i, maxDivisions)
}

// powerOfTwo reads a power of two, at most maxDivisions.
func powerOfTwo(word string) (int, bool) {
	n, err := strconv.ParseUint(word, 10, 32)
	return int(n), err == nil && n > 0 && n <= maxDivisions && n&(n-1) == 0
}

func setAll(slots []int, n int) {
	for i := range slots {
		slots[i] = n
	}
}
