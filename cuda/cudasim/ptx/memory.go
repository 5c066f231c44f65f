package ptx

import (
	"fmt"
	"math/bits"
	"sort"
)

// view is global memory as one goroutine of a launch sees it: the snapshot,
// with the allocation that each instruction hit last.
type view struct {
	live []Allocation
	last []int32
}

// newView adds the module's variables to a snapshot.
func (k *Kernel) newView(snapshot []Allocation) *view {
	v := &view{live: snapshot, last: make([]int32, k.memOps)}
	if m := k.module; len(m.data) > 0 {
		at := sort.Search(len(snapshot), func(i int) bool { return snapshot[i].Ptr > m.base })
		v.live = append(append(append(make([]Allocation, 0, len(snapshot)+1), snapshot[:at]...),
			Allocation{m.base, m.data}), snapshot[at:]...)
	}
	return v
}

// at returns size bytes of live memory, nil if they are not within one
// allocation.
func (v *view) at(op int, address uint64, size int) []byte {
	if i := v.last[op]; int(i) < len(v.live) {
		a := &v.live[i]
		if off := address - a.Ptr; off < uint64(len(a.Bytes)) && uint64(size) <= uint64(len(a.Bytes))-off {
			return a.Bytes[off : off+uint64(size)]
		}
	}
	i := v.below(address)
	if i < 0 {
		return nil
	}
	a := &v.live[i]
	off := address - a.Ptr
	if off >= uint64(len(a.Bytes)) || uint64(size) > uint64(len(a.Bytes))-off {
		return nil
	}
	v.last[op] = int32(i)
	return a.Bytes[off : off+uint64(size)]
}

// below returns the index of the last allocation at or below address, or -1.
func (v *view) below(address uint64) int {
	return sort.Search(len(v.live), func(i int) bool { return v.live[i].Ptr > address }) - 1
}

// around says what lies at an address that cannot be accessed.
func (v *view) around(address uint64, size int) string {
	i := v.below(address)
	if i >= 0 {
		a := v.live[i]
		n := uint64(len(a.Bytes))
		switch off := address - a.Ptr; {
		case off < n:
			return fmt.Sprintf("%d bytes before the end of the allocation at %#x of %d bytes", n-off, a.Ptr, n)
		case i+1 == len(v.live) || off-n <= v.live[i+1].Ptr-address:
			return fmt.Sprintf("nothing is live there; the nearest is the allocation at %#x of %d bytes, which ends %d bytes below",
				a.Ptr, n, off-n)
		}
	}
	if i+1 < len(v.live) {
		a := v.live[i+1]
		return fmt.Sprintf("nothing is live there; the nearest is the allocation at %#x of %d bytes, which begins %d bytes above",
			a.Ptr, len(a.Bytes), a.Ptr-address)
	}
	return "nothing is live at all"
}

// State spaces of an access.
const (
	spaceGeneric = iota
	spaceGlobal
	spaceShared
	spaceLocal
	spaceParam
	spaceConst
)

var spaceNames = []string{"generic", "global", "shared", "local", "param", "const"}

// access is a memory instruction.
type access struct {
	id      int // of the instruction's cache
	space   int
	elem    int // bytes of an element
	size    int // bytes of all elements
	store   bool
	signed  bool
	uniform bool // all lanes have the same address
	addr    address
	line    int32
}

// address is a register and an offset.
type address struct {
	reg    int // of the 64-bit file
	offset uint64
}

// bytes returns what an access of a lane touches. The kinds of memory are
// told apart by the windows, and then must be what the instruction says.
func (w *warp) bytes(m *access, lane int) ([]byte, error) {
	address := w.r64[m.addr.reg][lane] + m.addr.offset
	if address&uint64(m.size-1) != 0 {
		return nil, w.accessError(m, lane, address, fmt.Sprintf("not aligned to %d bytes", m.size))
	}
	if address < sharedWindow && m.space <= spaceGlobal {
		if b := w.block.view.at(m.id, address, m.size); b != nil {
			return b, nil
		}
		return nil, w.accessError(m, lane, address, w.block.view.around(address, m.size))
	}
	return w.special(m, lane, address)
}

// special is bytes for what is not global memory.
func (w *warp) special(m *access, lane int, address uint64) ([]byte, error) {
	space, at := m.space, address
	window := address &^ (sharedWindow - 1)
	switch {
	case window == sharedWindow && (space == spaceShared || space == spaceGeneric):
		space = spaceShared
	case window == localWindow && (space == spaceLocal || space == spaceGeneric):
		space = spaceLocal
	case window == paramWindow && (space == spaceParam || space == spaceGeneric):
		space = spaceParam
	case window == 0 && space == spaceConst:
		if b := w.block.view.at(m.id, address, m.size); b != nil && address-w.block.kernel.module.base < moduleRange {
			return b, nil
		}
		return nil, w.accessError(m, lane, address, "no variable of the module lies there")
	case window == 0 && space != spaceGeneric && address < 1<<32:
		// An address that was cut to 32 bits is relative to its space.
	default:
		return nil, w.accessError(m, lane, address, "an address of another state space")
	}
	at &= sharedWindow - 1
	var all []byte
	switch space {
	case spaceShared:
		all = w.block.shared
	case spaceLocal:
		n := w.block.kernel.local
		all = w.local[lane*n : (lane+1)*n]
	case spaceParam:
		all = w.block.params
		if m.store {
			return nil, w.accessError(m, lane, address, "parameters cannot be written")
		}
	}
	if at >= uint64(len(all)) || uint64(m.size) > uint64(len(all))-at {
		return nil, w.accessError(m, lane, address, fmt.Sprintf("offset %d of %d bytes of %s memory", at, len(all), spaceNames[space]))
	}
	return all[at : at+uint64(m.size)], nil
}

func (w *warp) accessError(m *access, lane int, address uint64, reason string) error {
	return &AccessError{w.place(m.line, lane), spaceNames[m.space], address, m.size, m.store, reason}
}

// place names a lane at a line.
func (w *warp) place(line int32, lane int) Place {
	b := w.block
	return Place{
		Kernel: b.kernel.Name, Line: int(line), Text: lineText(b.kernel.module.lines, int(line)),
		Block: b.at, Thread: b.dim.at(w.index*warpSize + lane), Warp: w.index, Lane: lane,
	}
}

func lowest(mask uint32) int { return bits.TrailingZeros32(mask) % warpSize }
