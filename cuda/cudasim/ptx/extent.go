package ptx

import "unsafe"

// extent is where an access of a whole warp lies, if that is one piece of memory:
// then the piece is looked up once, and moving the elements needs no checks.
type extent struct {
	base unsafe.Pointer // of the piece
	off  lanes64        // of each lane, from base
	run  bool           // all 32 lanes follow each other
}

// extent finds where an access of the lanes of mask lies, and says so to who
// watches for races. It returns nil where that is not one piece, or a lane may
// not touch it: the lanes must then be looked at one by one.
//
//go:norace
func (w *warp) extent(m *access, mask uint32) *extent {
	s, addresses := &w.where, &w.r64[m.addr.reg]
	bytes, marks, delta := w.piece(m, addresses[lowest(mask)]+m.addr.offset)
	size := uint64(m.size)
	if uint64(len(bytes)) < size {
		return nil
	}
	s.base = unsafe.Pointer(unsafe.SliceData(bytes))
	limit := uint64(len(bytes)) - size
	var union, outside uint64
	s.run = false
	if mask == full {
		var apart uint64
		union, outside, apart = scan(&s.off, addresses, delta, limit, size)
		s.run = apart == 0
	} else {
		union, outside = s.scanSome(addresses, delta, limit, mask)
	}
	// Offsets are aligned as addresses are if their difference is.
	if outside != 0 || (union|(delta-m.addr.offset))&(size-1) != 0 {
		return nil
	}
	if marks != nil && s.isFreed(marks, mask, m.size) {
		return nil
	}
	if races := w.block.races; races != nil && !m.global(addresses[lowest(mask)]+m.addr.offset) && !races.touchAll(w, m, s, mask) {
		return nil
	}
	if raceEnabled && m.space != spaceShared {
		s.tell(bytes, m, mask)
	}
	return s
}

// piece returns the memory that holds an address, the marks of its freed
// blocks, and what makes a register with an address an offset in it.
//
//go:norace
func (w *warp) piece(m *access, address uint64) (bytes, marks []byte, delta uint64) {
	if m.global(address) {
		if a := w.block.view.find(m.id, address); a != nil {
			return a.Bytes, a.Freed, m.addr.offset - a.Ptr
		}
		return nil, nil, 0
	}
	if address&^(sharedWindow-1) == sharedWindow && (m.space == spaceShared || m.space == spaceGeneric) {
		return w.block.shared, nil, m.addr.offset - sharedWindow
	}
	return nil, nil, 0
}

// scanLanes sets the offsets of all lanes, which are their addresses and delta.
// It returns the bits that any of them has, something but 0 if one is above the
// limit, and something but 0 if they do not follow each other at a distance of
// size.
//
//go:norace
func scanLanes(off, addresses *lanes64, delta, limit, size uint64) (union, outside, apart uint64) {
	next := addresses[0] + delta
	for i, address := range addresses {
		at := address + delta
		off[i] = at
		union |= at
		outside |= (limit - at | at) >> 63
		apart |= at ^ next
		next += size
	}
	return union, outside, apart
}

// scanSome is scanLanes for some lanes, which need not follow each other.
//
//go:norace
func (s *extent) scanSome(addresses *lanes64, delta, limit uint64, mask uint32) (union, outside uint64) {
	for ; mask != 0; mask &= mask - 1 {
		i := lowest(mask)
		at := addresses[i] + delta
		s.off[i] = at
		union |= at
		outside |= (limit - at | at) >> 63
	}
	return union, outside
}

// isFreed says whether a lane touches a freed block.
//
//go:norace
func (s *extent) isFreed(marks []byte, mask uint32, size int) bool {
	if s.run {
		return freed(marks, s.off[0], warpSize*size)
	}
	for ; mask != 0; mask &= mask - 1 {
		if freed(marks, s.off[lowest(mask)], size) {
			return true
		}
	}
	return false
}

// tell tells the race detector what the lanes touch, in as few runs as there
// are: it remembers only the last few accesses to a word.
//
//go:norace
func (s *extent) tell(bytes []byte, m *access, mask uint32) {
	size := uint64(m.size)
	start := s.off[lowest(mask)]
	if s.run {
		raceAccess(bytes[start:start+warpSize*size], m.store)
		return
	}
	end := start + size
	for mask &= mask - 1; mask != 0; mask &= mask - 1 {
		switch off := s.off[lowest(mask)]; off {
		case end - size:
		case end:
			end += size
		default:
			raceAccess(bytes[start:end], m.store)
			start, end = off, off+size
		}
	}
	raceAccess(bytes[start:end], m.store)
}
