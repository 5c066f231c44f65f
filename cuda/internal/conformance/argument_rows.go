package conformance

import "tarn/cuda/internal/shim"

// argumentRows are about numbers that no call takes.
var argumentRows = []row{
	{"reserve no bytes", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Reserve, 0, 0, 0, 0)
	}},
	{"reserve with an alignment that is no power of two", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Reserve, page, 3*page, 0, 0)
	}},
	{"reserve with an alignment", "aligned", func(d *driver) string {
		for range 3 {
			p := d.must(shim.Reserve, page, 64*page, 0, 0)
			d.later(shim.ReleaseRange, p, page)
			if p%(64*page) != 0 {
				return "not aligned"
			}
		}
		return "aligned"
	}},
	{"create no bytes", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Create, d.device, 0, 0, 0)
	}},
	{"map no bytes", "refused", func(d *driver) string {
		return d.code(shim.Map, d.reserve(1), 0, d.create(1), 0)
	}},
	{"map at an address that is no multiple of the granularity", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Map, d.reserve(2)+4096, page, d.create(1), 0)
	}},
	{"set access for a device that there is not", "refused", func(d *driver) string {
		return d.code(shim.SetAccess, d.mapped(1), page, 1000, 0)
	}},
	{"an event with flags that there are not", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.EventCreate, 1<<8, 0, 0, 0)
	}},
	{"a stream with flags that there are not", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.StreamCreate, 1<<8, 0, 0, 0)
	}},
	{"a device that there is not", "INVALID_DEVICE", func(d *driver) string {
		return d.code(shim.DeviceGet, 1000, 0, 0, 0)
	}},
	{"an attribute of the device that there is not", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.DeviceGetAttribute, d.device, 100_000, 0, 0)
	}},
	{"an attribute of a kernel that there is not", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.FunctionGetAttribute, d.load(program, "store"), 100_000, 0, 0)
	}},
	{"a mode of capture that there is not", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.BeginCapture, d.stream, 7, 0, 0)
	}},
	{"a device as its own peer", "INVALID_DEVICE", func(d *driver) string {
		return d.code(shim.EnablePeer, uint64(d.context), 0, 0, 0)
	}},
}
