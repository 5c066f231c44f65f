package conformance

import "tarn/cuda/internal/shim"

// reserve returns a range of n pages with nothing mapped in it.
func (d *driver) reserve(n uint64) uint64 {
	p := d.must(shim.Reserve, n*page, 0, 0, 0)
	d.later(shim.ReleaseRange, p, n*page)
	return p
}

// create returns the handle of n pages of physical memory. drop takes it back
// at once.
func (d *driver) create(n uint64) (handle uint64) {
	handle = d.must(shim.Create, d.device, n*page, 0, 0)
	d.later(shim.Release, handle, 0)
	return handle
}

// mapAt maps a handle of n pages; usable also gives the device access.
func (d *driver) mapAt(p, n, handle uint64) {
	d.must(shim.Map, p, n*page, handle, 0)
	d.later(shim.Unmap, p, n*page)
}

// mapped returns n pages at an address, of one handle each, with access.
func (d *driver) mapped(n uint64) uint64 {
	p := d.reserve(n)
	for i := range n {
		d.mapAt(p+i*page, 1, d.create(1))
	}
	d.must(shim.SetAccess, p, n*page, d.device, 0)
	return p
}

// fill writes a byte and waits; the code is that of the first call that failed.
func (d *driver) fill(p uint64, value uint64) string {
	if code := d.code(shim.Fill8, p, value, 64, d.stream); code != "OK" {
		return code
	}
	return d.code(shim.StreamSynchronize, d.stream, 0, 0, 0)
}

var virtualRows = []row{
	{"the granularity of pages divides 2 MiB", "divides", func(d *driver) string {
		if g := d.must(shim.Granularity, d.device, 0, 0, 0); g == 0 || page%g != 0 {
			return "does not divide"
		}
		return "divides"
	}},
	{"reserve a size that is no multiple of the granularity", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Reserve, page+4096, 0, 0, 0)
	}},
	{"create a size that is no multiple of the granularity", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Create, d.device, page+4096, 0, 0)
	}},
	{"create more than the device has", "OUT_OF_MEMORY", func(d *driver) string {
		return d.code(shim.Create, d.device, 1<<50, 0, 0)
	}},
	{"map outside of a reserved range", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Map, 0x12300000000, page, d.create(1), 0)
	}},
	{"map with an offset into the handle", "refused", func(d *driver) string {
		return d.code(shim.Map, d.reserve(1), page, d.create(2), page)
	}},
	{"map a part of a handle", "INVALID_VALUE or OK", func(d *driver) string {
		p := d.reserve(2)
		out := d.call(shim.Map, p, page, d.create(2), 0)
		if out.OK() {
			d.later(shim.Unmap, p, page)
		}
		return d.name(out)
	}},
	{"map where something is mapped", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Map, d.mapped(1), page, d.create(1), 0)
	}},
	{"map a handle at two addresses: one memory", "one memory", func(d *driver) string {
		p, handle := d.reserve(2), d.create(1)
		d.mapAt(p, 1, handle)
		d.mapAt(p+page, 1, handle)
		d.must(shim.SetAccess, p, 2*page, d.device, 0)
		d.fill(p, 5)
		if d.read(p+page) == 5 {
			return "one memory"
		}
		return "two memories"
	}},
	{"memory of a released handle stays while it is mapped", "stays", func(d *driver) string {
		p := d.reserve(1)
		handle := d.must(shim.Create, d.device, page, 0, 0)
		d.mapAt(p, 1, handle)
		d.must(shim.Release, handle, 0, 0, 0)
		d.must(shim.SetAccess, p, page, d.device, 0)
		if d.fill(p, 5) == "OK" && d.read(p) == 5 {
			return "stays"
		}
		return "goes"
	}},
	{"a released handle cannot be mapped", "refused", func(d *driver) string {
		handle := d.must(shim.Create, d.device, page, 0, 0)
		d.must(shim.Release, handle, 0, 0, 0)
		return d.code(shim.Map, d.reserve(1), page, handle, 0)
	}},
	{"release a handle twice", "refused", func(d *driver) string {
		handle := d.must(shim.Create, d.device, page, 0, 0)
		d.must(shim.Release, handle, 0, 0, 0)
		return d.code(shim.Release, handle, 0, 0, 0)
	}},
	{"fill mapped memory without access", "refused", func(d *driver) string {
		p := d.reserve(1)
		d.mapAt(p, 1, d.create(1))
		return d.code(shim.Fill8, p, 1, 64, d.stream)
	}},
	{"set access over a hole", "INVALID_VALUE", func(d *driver) string {
		p := d.reserve(3)
		d.mapAt(p, 1, d.create(1))
		d.mapAt(p+2*page, 1, d.create(1))
		return d.code(shim.SetAccess, p, 3*page, d.device, 0)
	}},
	{"set access over several mappings", "OK", func(d *driver) string {
		p := d.reserve(2)
		d.mapAt(p, 1, d.create(1))
		d.mapAt(p+page, 1, d.create(1))
		return d.code(shim.SetAccess, p, 2*page, d.device, 0)
	}},
	{"unmap a part of a mapping", "INVALID_VALUE", func(d *driver) string {
		p := d.reserve(2)
		d.mapAt(p, 2, d.create(2))
		return d.code(shim.Unmap, p, page, 0, 0)
	}},
	{"unmap several mappings", "OK", func(d *driver) string {
		p := d.reserve(2)
		d.must(shim.Map, p, page, d.create(1), 0)
		d.must(shim.Map, p+page, page, d.create(1), 0)
		return d.code(shim.Unmap, p, 2*page, 0, 0)
	}},
	{"unmap where nothing is mapped", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Unmap, d.reserve(1), page, 0, 0)
	}},
	{"unmapped memory cannot be filled", "INVALID_VALUE", func(d *driver) string {
		p := d.reserve(1)
		d.must(shim.Map, p, page, d.create(1), 0)
		d.must(shim.SetAccess, p, page, d.device, 0)
		d.must(shim.Unmap, p, page, 0, 0)
		return d.code(shim.Fill8, p, 1, 64, d.stream)
	}},
	{"unmap twice", "INVALID_VALUE", func(d *driver) string {
		p := d.reserve(1)
		d.must(shim.Map, p, page, d.create(1), 0)
		d.must(shim.Unmap, p, page, 0, 0)
		return d.code(shim.Unmap, p, page, 0, 0)
	}},
	{"unmap one of three pages: the others stay", "stay", func(d *driver) string {
		p := d.reserve(3)
		for i := range uint64(3) {
			d.must(shim.Map, p+i*page, page, d.create(1), 0)
		}
		d.must(shim.SetAccess, p, 3*page, d.device, 0)
		d.must(shim.Unmap, p+page, page, 0, 0)
		d.later(shim.Unmap, p, page)
		d.later(shim.Unmap, p+2*page, page)
		if d.fill(p, 1) == "OK" && d.fill(p+2*page, 1) == "OK" {
			return "stay"
		}
		return "go"
	}},
	{"fill over the border of two mapped pages", "OK", func(d *driver) string {
		return d.fill(d.mapped(2)+page-32, 1)
	}},
	{"reserved addresses with nothing there cannot be filled", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Fill8, d.reserve(1), 1, 64, d.stream)
	}},
	{"set access where nothing is mapped", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.SetAccess, d.reserve(1), page, d.device, 0)
	}},
	{"the bytes of a released handle come back with its last mapping", "come back", func(d *driver) string {
		const n = 32
		p := d.reserve(n)
		handle := d.must(shim.Create, d.device, n*page, 0, 0)
		d.must(shim.Map, p, n*page, handle, 0)
		d.must(shim.Release, handle, 0, 0, 0)
		mapped := d.must(shim.MemGetInfo, 0, 0, 0, 0)
		d.must(shim.Unmap, p, n*page, 0, 0)
		if d.must(shim.MemGetInfo, 0, 0, 0, 0) >= mapped+n*page {
			return "come back"
		}
		return "stay away"
	}},
	{"a page mapped elsewhere needs access anew", "refused", func(d *driver) string {
		p, handle := d.reserve(2), d.create(1)
		d.must(shim.Map, p, page, handle, 0)
		d.must(shim.SetAccess, p, page, d.device, 0)
		d.must(shim.Unmap, p, page, 0, 0)
		d.mapAt(p+page, 1, handle)
		return d.code(shim.Fill8, p+page, 1, 64, d.stream)
	}},
	{"a page keeps its bytes when it moves", "keeps", func(d *driver) string {
		p, handle := d.reserve(2), d.create(1)
		d.must(shim.Map, p, page, handle, 0)
		d.must(shim.SetAccess, p, page, d.device, 0)
		d.fill(p, 5)
		d.must(shim.Unmap, p, page, 0, 0)
		d.mapAt(p+page, 1, handle)
		d.must(shim.SetAccess, p+page, page, d.device, 0)
		if d.read(p+page) == 5 {
			return "keeps"
		}
		return "loses"
	}},
	{"give back a range in which something is mapped", "refused", func(d *driver) string {
		return d.code(shim.ReleaseRange, d.mapped(1), page, 0, 0)
	}},
	{"give back a range twice", "refused", func(d *driver) string {
		p := d.must(shim.Reserve, page, 0, 0, 0)
		d.must(shim.ReleaseRange, p, page, 0, 0)
		return d.code(shim.ReleaseRange, p, page, 0, 0)
	}},
	{"give back a part of a range", "refused", func(d *driver) string {
		return d.code(shim.ReleaseRange, d.reserve(2), page, 0, 0)
	}},
	{"plain free of mapped memory", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.MemFree, d.mapped(1), 0, 0, 0)
	}},
	{"unmap while other memory is in use by a stream", "does not wait", func(d *driver) string {
		p := d.reserve(1)
		d.must(shim.Map, p, page, d.create(1), 0)
		return d.waits(func() { d.must(shim.Unmap, p, page, 0, 0) })
	}},
	{"map and set access while a stream works", "does not wait", func(d *driver) string {
		p, handle := d.reserve(1), d.create(1)
		return d.waits(func() {
			d.mapAt(p, 1, handle)
			d.must(shim.SetAccess, p, page, d.device, 0)
		})
	}},
	{"plain free while a stream works", "waits", func(d *driver) string {
		p := d.must(shim.MemAlloc, page, 0, 0, 0)
		return d.waits(func() { d.must(shim.MemFree, p, 0, 0, 0) })
	}},
}
