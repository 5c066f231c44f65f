package conformance

import "tarn/cuda/internal/shim"

// lostRows lose the device: what is lost stays lost, so that each is asked of
// a driver that was not asked anything before.
var lostRows = []row{
	{"a kernel that stores to no memory: the error comes later", "OK, ILLEGAL_ADDRESS", func(d *driver) string {
		f := d.load(program, "store")
		return d.name(d.launch(f, d.stream, 0, 1)) + ", " + d.code(shim.StreamSynchronize, d.stream, 0, 0, 0)
	}},
	{"everything after it has the same error", "ILLEGAL_ADDRESS", func(d *driver) string {
		d.launch(d.load(program, "store"), d.stream, 0, 1)
		d.call(shim.StreamSynchronize, d.stream, 0, 0, 0)
		return d.code(shim.MemAlloc, 4096, 0, 0, 0)
	}},
	{"an event behind it has the same error", "ILLEGAL_ADDRESS", func(d *driver) string {
		d.launch(d.load(program, "store"), d.stream, 0, 1)
		return d.code(shim.EventSynchronize, d.recorded(d.stream), 0, 0, 0)
	}},
	{"another stream has the same error", "ILLEGAL_ADDRESS", func(d *driver) string {
		other := d.newStream()
		d.launch(d.load(program, "store"), d.stream, 0, 1)
		d.call(shim.StreamSynchronize, d.stream, 0, 0, 0)
		return d.code(shim.StreamQuery, other, 0, 0, 0)
	}},
	{"a kernel that stores to a page which was unmapped", "ILLEGAL_ADDRESS", func(d *driver) string {
		p, f := d.reserve(1), d.load(program, "store")
		d.must(shim.Map, p, page, d.create(1), 0)
		d.must(shim.SetAccess, p, page, d.device, 0)
		d.must(shim.Unmap, p, page, 0, 0)
		d.launch(f, d.stream, p, 1)
		return d.code(shim.StreamSynchronize, d.stream, 0, 0, 0)
	}},
	{"a kernel that stores to a mapped page without access", "ILLEGAL_ADDRESS", func(d *driver) string {
		p, f := d.reserve(1), d.load(program, "store")
		d.mapAt(p, 1, d.create(1))
		d.launch(f, d.stream, p, 1)
		return d.code(shim.StreamSynchronize, d.stream, 0, 0, 0)
	}},
	{"an address that is not aligned", "MISALIGNED_ADDRESS", func(d *driver) string {
		d.launch(d.load(program, "store"), d.stream, d.alloc(4096)+4, 1)
		return d.code(shim.StreamSynchronize, d.stream, 0, 0, 0)
	}},
	{"a kernel that traps", "LAUNCH_FAILED or ILLEGAL_INSTRUCTION", func(d *driver) string {
		d.launch(d.load(program, "stop"), d.stream)
		return d.code(shim.StreamSynchronize, d.stream, 0, 0, 0)
	}},
}
