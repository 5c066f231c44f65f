package ptx

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"
)

// view is global memory as one goroutine of a launch sees it: the snapshot and
// the variables of the module, with the allocation that each instruction hit
// last.
type view struct {
	live      []Allocation
	variables Allocation
	last      []*Allocation // by access, nil before its first hit
}

// find returns the allocation that an address lies in, or nil.
//
//go:norace
func (v *view) find(id int, address uint64) *Allocation {
	if a := v.last[id]; a != nil && address-a.Ptr < uint64(len(a.Bytes)) {
		return a
	}
	a := &v.variables
	if i := v.below(address); address-a.Ptr >= uint64(len(a.Bytes)) {
		if i < 0 || address-v.live[i].Ptr >= uint64(len(v.live[i].Bytes)) {
			return nil
		}
		a = &v.live[i]
	}
	v.last[id] = a
	return a
}

// at returns size bytes of live memory, nil if they are not within one
// allocation or in a freed block.
//
//go:norace
func (v *view) at(id int, address uint64, size int) []byte {
	a := v.find(id, address)
	if a == nil {
		return nil
	}
	off := address - a.Ptr
	if uint64(size) > uint64(len(a.Bytes))-off || freed(a.Freed, off, size) {
		return nil
	}
	return a.Bytes[off : off+uint64(size)]
}

// below returns the index of the last allocation at or below address, or -1.
func (v *view) below(address uint64) int {
	return sort.Search(len(v.live), func(i int) bool { return v.live[i].Ptr > address }) - 1
}

// around says what lies at an address that cannot be accessed.
func (v *view) around(address uint64, size int) string {
	if len(v.variables.Bytes) > 0 {
		at := v.below(v.variables.Ptr) + 1
		v = &view{live: slices.Insert(slices.Clone(v.live), at, v.variables)}
	}
	i := v.below(address)
	if i >= 0 {
		a := v.live[i]
		n := uint64(len(a.Bytes))
		switch off := address - a.Ptr; {
		case off < n && freed(a.Freed, off, min(size, int(n-off))):
			return aroundFreed(&a, off)
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
	strong  bool // atomic, or ordered like one
	uniform bool // all lanes have the same address
	addr    address
	line    int32
}

// address is a register and an offset.
type address struct {
	reg    int // of the 64-bit file
	offset uint64
}

// bytes returns what an access of a lane touches, and tells who watches for
// races.
//
//go:norace
func (w *warp) bytes(m *access, lane int) ([]byte, error) {
	b, err := w.locate(m, lane)
	if raceEnabled && err == nil && m.global(w.r64[m.addr.reg][lane]+m.addr.offset) {
		raceAccess(b, m.store)
	}
	return b, err
}

// locate is bytes for who tells by himself. The kinds of memory are told apart
// by the windows, and then must be what the instruction says.
//
//go:norace
func (w *warp) locate(m *access, lane int) ([]byte, error) {
	address := w.r64[m.addr.reg][lane] + m.addr.offset
	if address&uint64(m.size-1) != 0 {
		return nil, w.accessError(m, lane, address, fmt.Sprintf("not aligned to %d bytes", m.size))
	}
	if m.global(address) {
		if b := w.block.view.at(m.id, address, m.size); b != nil {
			return b, nil
		}
		return nil, w.accessError(m, lane, address, w.block.view.around(address, m.size))
	}
	return w.special(m, lane, address)
}

// global says whether an access goes to global memory, as far as it goes
// anywhere.
func (m *access) global(address uint64) bool { return address < sharedWindow && m.space <= spaceGlobal }

// special is bytes for what is not global memory.
//
//go:norace
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
	if races := w.block.races; races != nil && space == spaceShared {
		if err := races.touch(w, m, lane, int(at)); err != nil {
			return nil, err
		}
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
