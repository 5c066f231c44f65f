package memorytest

import (
	"tarn/cuda"
	"tarn/memory"
)

// checkGranular refuses sizes and addresses that are not whole pages.
func (f *Fake) checkGranular(e *Entry) error {
	g := f.cfg.Granularity
	switch {
	case g == 0:
		return memory.ErrNotSupported
	case e.Size <= 0:
		return e.refuse(ErrBadSize)
	case e.Size%g != 0 || int64(e.Ptr)%g != 0:
		return e.refuse(ErrUnaligned)
	}
	return nil
}

// Reserve implements [memory.Upstream]. Addresses are free of charge.
func (f *Fake) Reserve(size int64) (cuda.DevicePtr, error) {
	e := &Entry{Call: CallReserve, Size: size}
	err := f.do(e, func() error {
		if err := f.checkGranular(e); err != nil {
			return err
		}
		p, err := f.backing.reserve(size, f.cfg.Granularity)
		if err != nil {
			return err
		}
		f.ranges.insert(region{ptr: p, size: size})
		e.Ptr = p
		return nil
	})
	return e.Ptr, err
}

// ReleaseRange implements [memory.Upstream].
func (f *Fake) ReleaseRange(p cuda.DevicePtr, size int64) error {
	e := &Entry{Call: CallReleaseRange, Ptr: p, Size: size}
	return f.do(e, func() error {
		if err := f.checkGranular(e); err != nil {
			return err
		}
		i, ok := f.ranges.find(p)
		if !ok {
			return e.refuse(ErrUnknownRange)
		}
		if f.ranges[i].size != size {
			return e.refuse(ErrWrongSize)
		}
		if f.mappings.overlaps(p, size) {
			return e.refuse(ErrRangeMapped)
		}
		if err := f.backing.releaseRange(p, size); err != nil {
			return err
		}
		f.ranges.remove(i, i+1)
		return nil
	})
}

// Create implements [memory.Upstream].
func (f *Fake) Create(size int64) (memory.Page, error) {
	e := &Entry{Call: CallCreate, Size: size}
	err := f.do(e, func() error {
		if err := f.checkGranular(e); err != nil {
			return err
		}
		if err := f.take(e, size); err != nil {
			return err
		}
		offset, err := f.backing.create(size)
		if err != nil {
			f.used -= size
			return err
		}
		f.lastPage++
		f.pages[f.lastPage] = &page{size: size, offset: offset}
		e.Page = f.lastPage
		return nil
	})
	return e.Page, err
}

// Release implements [memory.Upstream].
func (f *Fake) Release(pg memory.Page) error {
	e := &Entry{Call: CallRelease, Page: pg}
	return f.do(e, func() error {
		if f.cfg.Granularity == 0 {
			return memory.ErrNotSupported
		}
		p, ok := f.pages[pg]
		if !ok {
			return e.refuse(ErrUnknownPage)
		}
		p.released = true
		delete(f.pages, pg)
		return f.dropPage(p)
	})
}

// dropPage destroys a page that has neither name nor mapping; f.mu is held.
func (f *Fake) dropPage(p *page) error {
	if !p.released || p.mapped > 0 {
		return nil
	}
	f.used -= p.size
	return f.backing.drop(p.offset, p.size)
}

// Map implements [memory.Upstream]. As on a GPU the whole page is mapped, and
// one page may be mapped more than once.
func (f *Fake) Map(p cuda.DevicePtr, size int64, pg memory.Page) error {
	e := &Entry{Call: CallMap, Ptr: p, Size: size, Page: pg}
	return f.do(e, func() error {
		if err := f.checkGranular(e); err != nil {
			return err
		}
		phys, ok := f.pages[pg]
		if !ok {
			return e.refuse(ErrUnknownPage)
		}
		if phys.size != size {
			return e.refuse(ErrWrongSize)
		}
		if i := f.ranges.after(p); i == len(f.ranges) || f.ranges[i].ptr > p || size > int64(f.ranges[i].end()-p) {
			return e.refuse(ErrNotReserved)
		}
		if f.mappings.overlaps(p, size) {
			return e.refuse(ErrDoubleMap)
		}
		if err := f.backing.place(p, size, phys.offset); err != nil {
			return err
		}
		phys.mapped++
		f.mappings.insert(region{ptr: p, size: size, page: phys})
		return nil
	})
}

// SetAccess implements [memory.Upstream].
func (f *Fake) SetAccess(p cuda.DevicePtr, size int64) error {
	e := &Entry{Call: CallAccess, Ptr: p, Size: size}
	return f.do(e, func() error {
		from, to, err := f.wholeMappings(e)
		if err != nil {
			return err
		}
		if err := f.backing.allow(p, size); err != nil {
			return err
		}
		for i := from; i < to; i++ {
			f.mappings[i].accessible = true
		}
		return nil
	})
}

// Unmap implements [memory.Upstream]. It does not wait: work that still uses
// the memory faults the device.
func (f *Fake) Unmap(p cuda.DevicePtr, size int64) error {
	e := &Entry{Call: CallUnmap, Ptr: p, Size: size}
	return f.do(e, func() error {
		from, to, err := f.wholeMappings(e)
		if err != nil {
			return err
		}
		if err := f.backing.remove(p, size); err != nil {
			return err
		}
		f.faultIfInUse(e)
		f.forgetUses(p, size)
		for _, m := range f.mappings[from:to] {
			m.page.mapped--
			if err := f.dropPage(m.page); err != nil {
				return err
			}
		}
		f.mappings.remove(from, to)
		return nil
	})
}

// wholeMappings finds the run of mappings that a call covers exactly.
func (f *Fake) wholeMappings(e *Entry) (from, to int, err error) {
	if err := f.checkGranular(e); err != nil {
		return 0, 0, err
	}
	from, to, whole, ok := f.mappings.cover(e.Ptr, e.Size)
	switch {
	case !ok:
		return 0, 0, e.refuse(ErrNotMapped)
	case !whole:
		return 0, 0, e.refuse(ErrPartialMapping)
	}
	return from, to, nil
}
