package ptx

import "encoding/binary"

// load32 is loadAny for the commonest load: all lanes read one piece of memory,
// so that it is looked up once.
//
//go:norace
func (w *warp) load32(m *access, to int, mask uint32) error {
	d, addresses := &w.r32[to], &w.r64[m.addr.reg]
	if m.uniform {
		b, err := w.bytes(m, lowest(mask))
		if err != nil {
			return err
		}
		fill(&w.t32, binary.LittleEndian.Uint32(b))
		blend(d, &w.t32, mask)
		return nil
	}
	if mask != full {
		return w.load32Rest(m, to, mask)
	}
	p := w.piece(m)
	bytes, delta, limit := p.bytes, p.delta, p.limit
	for lane, address := range addresses {
		off := address + delta
		if off%4 != 0 || off >= limit {
			return w.load32Rest(m, to, full<<lane)
		}
		d[lane] = binary.LittleEndian.Uint32(bytes[off:])
	}
	if raceEnabled && m.space != spaceShared {
		p.touched(addresses, raceRead)
	}
	return nil
}

// load32Rest looks each lane's memory up.
//
//go:norace
func (w *warp) load32Rest(m *access, to int, mask uint32) error {
	for ; mask != 0; mask &= mask - 1 {
		lane := lowest(mask)
		b, err := w.bytes(m, lane)
		if err != nil {
			return err
		}
		w.r32[to][lane] = binary.LittleEndian.Uint32(b)
		if raceEnabled && m.space != spaceShared {
			raceRead(b)
		}
	}
	return nil
}

// store32 is to storeAny what load32 is to loadAny.
//
//go:norace
func (w *warp) store32(m *access, from int, mask uint32) error {
	s, addresses := &w.r32[from], &w.r64[m.addr.reg]
	p := w.piece(m)
	if mask == full && p.holds(addresses) {
		for lane, address := range addresses {
			binary.LittleEndian.PutUint32(p.bytes[address+p.delta:], s[lane])
		}
		if raceEnabled && m.space != spaceShared {
			p.touched(addresses, raceWrite)
		}
		return nil
	}
	for ; mask != 0; mask &= mask - 1 {
		lane := lowest(mask)
		if off := addresses[lane] + p.delta; off%4 == 0 && off < p.limit {
			binary.LittleEndian.PutUint32(p.bytes[off:], s[lane])
			if raceEnabled && m.space != spaceShared {
				raceWrite(p.bytes[off : off+4])
			}
			continue
		}
		b, err := w.bytes(m, lane)
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint32(b, s[lane])
		if raceEnabled && m.space != spaceShared {
			raceWrite(b)
		}
	}
	return nil
}

// piece is memory where an access of 4 bytes probably lies: a lane's address
// and delta give a place there, right if it is aligned and below limit.
type piece struct {
	bytes        []byte
	delta, limit uint64
}

// holds says whether all lanes may touch the piece.
//
//go:norace
func (p *piece) holds(addresses *lanes64) bool {
	for _, address := range addresses {
		if off := address + p.delta; off%4 != 0 || off >= p.limit {
			return false
		}
	}
	return true
}

// touched tells the race detector what all lanes have touched, in as few runs
// as there are: it remembers only the last few accesses to a word.
//
//go:norace
func (p *piece) touched(addresses *lanes64, tell func([]byte)) {
	start := addresses[0] + p.delta
	end := start + 4
	for _, address := range addresses[1:] {
		switch off := address + p.delta; off {
		case end - 4:
		case end:
			end += 4
		default:
			tell(p.bytes[start:end])
			start, end = off, off+4
		}
	}
	tell(p.bytes[start:end])
}

func (w *warp) piece(m *access) piece {
	base, bytes := uint64(0), []byte(nil)
	switch m.space {
	case spaceShared:
		base, bytes = sharedWindow, w.block.shared
	case spaceGlobal, spaceGeneric:
		v := w.block.view
		if i := v.last[m.id]; int(i) < len(v.live) {
			base, bytes = v.live[i].Ptr, v.live[i].Bytes
		}
	}
	if base%4 != 0 || len(bytes) < 4 {
		return piece{}
	}
	return piece{bytes, m.addr.offset - base, uint64(len(bytes) - 3)}
}
