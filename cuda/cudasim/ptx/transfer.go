package ptx

import "unsafe"

// Moving elements between registers and an extent. All of it is within the
// extent's piece; that was checked when the extent was found, and is not again.
// Like a device's, memory has the low byte first; so have all hosts that this
// runs on.

// load reads an extent if it can, or else lane by lane.
//
//go:norace
//go:nocheckptr
func (w *warp) load(m *access, into []reg, mask uint32) error {
	s := w.extent(m, mask)
	if s == nil {
		return w.loadAny(m, into, mask)
	}
	switch m.elem {
	case 1:
		loadLanes[uint8](s, w.r32, into, mask)
	case 2:
		loadLanes[uint16](s, w.r32, into, mask)
	case 4:
		switch {
		case mask != full:
			loadLanes[uint32](s, w.r32, into, mask)
		case len(into) == 4:
			load4(s, &w.r32[into[0].index], &w.r32[into[1].index], &w.r32[into[2].index], &w.r32[into[3].index])
		case s.run && len(into) == 1:
			w.r32[into[0].index] = *(*lanes32)(unsafe.Add(s.base, s.off[0]))
		default:
			for n, r := range into {
				loadAll(s, &w.r32[r.index], n)
			}
		}
	default:
		if s.run && len(into) == 1 {
			w.r64[into[0].index] = *(*lanes64)(unsafe.Add(s.base, s.off[0]))
			return nil
		}
		loadLanes[uint64](s, w.r64, into, mask)
	}
	return nil
}

// store is to storeAny what load is to loadAny. Where lanes write to the same
// place, the last one stays.
//
//go:norace
//go:nocheckptr
func (w *warp) store(m *access, from []reg, mask uint32) error {
	s := w.extent(m, mask)
	if s == nil {
		return w.storeAny(m, from, mask)
	}
	switch m.elem {
	case 1:
		storeLanes[uint8](s, w.r32, from, mask)
	case 2:
		storeLanes[uint16](s, w.r32, from, mask)
	case 4:
		switch {
		case mask != full || len(from) == 2:
			storeLanes[uint32](s, w.r32, from, mask)
		case len(from) == 4:
			store4(s, &w.r32[from[0].index], &w.r32[from[1].index], &w.r32[from[2].index], &w.r32[from[3].index])
		case s.run:
			*(*lanes32)(unsafe.Add(s.base, s.off[0])) = w.r32[from[0].index]
		default:
			storeAll(s, &w.r32[from[0].index])
		}
	default:
		if s.run && len(from) == 1 {
			*(*lanes64)(unsafe.Add(s.base, s.off[0])) = w.r64[from[0].index]
			return nil
		}
		storeLanes[uint64](s, w.r64, from, mask)
	}
	return nil
}

type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}

// ref is element n of a lane.
func ref[E unsigned](s *extent, lane, n int) *E {
	var e E
	return (*E)(unsafe.Add(s.base, int(s.off[lane])+n*int(unsafe.Sizeof(e))))
}

//go:norace
//go:nocheckptr
func loadLanes[E unsigned, T word](s *extent, file []lanes[T], into []reg, mask uint32) {
	for n, r := range into {
		d := &file[r.index]
		for rest := mask; rest != 0; rest &= rest - 1 {
			i := lowest(rest)
			d[i] = T(*ref[E](s, i, n))
		}
	}
}

//go:norace
//go:nocheckptr
func storeLanes[E unsigned, T word](s *extent, file []lanes[T], from []reg, mask uint32) {
	for ; mask != 0; mask &= mask - 1 {
		i := lowest(mask)
		for n, r := range from {
			*ref[E](s, i, n) = E(file[r.index][i])
		}
	}
}

//go:norace
//go:nocheckptr
func loadAll(s *extent, d *lanes32, n int) {
	base := unsafe.Add(s.base, 4*n)
	for i, off := range &s.off {
		d[i] = *(*uint32)(unsafe.Add(base, off))
	}
}

//go:norace
//go:nocheckptr
func storeAll(s *extent, v *lanes32) {
	for i, off := range &s.off {
		*(*uint32)(unsafe.Add(s.base, off)) = v[i]
	}
}

// load4 loads four elements of 4 bytes into each lane, as products of matrices
// do most.
//
//go:norace
//go:nocheckptr
func load4(s *extent, a, b, c, d *lanes32) {
	for i, off := range &s.off {
		v := (*[4]uint32)(unsafe.Add(s.base, off))
		a[i], b[i], c[i], d[i] = v[0], v[1], v[2], v[3]
	}
}

//go:norace
//go:nocheckptr
func store4(s *extent, a, b, c, d *lanes32) {
	for i, off := range &s.off {
		v := (*[4]uint32)(unsafe.Add(s.base, off))
		v[0], v[1], v[2], v[3] = a[i], b[i], c[i], d[i]
	}
}
