package conformance

import "tarn/cuda/internal/shim"

// The attribute of a pool that is its bytes in use.
const poolUsed = 7

// poolRows are about memory in the order of a stream.
var poolRows = []row{
	{"stream-ordered: used bytes come and go with the pool's", "0, size, 0", func(d *driver) string {
		pool := d.must(shim.DefaultPool, d.device, 0, 0, 0)
		before := d.must(shim.PoolGetAttribute, pool, poolUsed, 0, 0)
		p := d.must(shim.AllocAsync, page, d.stream, 0, 0)
		during := d.must(shim.PoolGetAttribute, pool, poolUsed, 0, 0)
		d.must(shim.FreeAsync, p, d.stream, 0, 0)
		d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
		after := d.must(shim.PoolGetAttribute, pool, poolUsed, 0, 0)
		if before == 0 && during >= page && after == 0 {
			return "0, size, 0"
		}
		return "other"
	}},
	{"stream-ordered: freed twice", "INVALID_VALUE", func(d *driver) string {
		p := d.must(shim.AllocAsync, 4096, d.stream, 0, 0)
		d.must(shim.FreeAsync, p, d.stream, 0, 0)
		return d.code(shim.FreeAsync, p, d.stream, 0, 0)
	}},
	{"stream-ordered: allocate and free while the stream works", "does not wait", func(d *driver) string {
		return d.waits(func() {
			p := d.must(shim.AllocAsync, 4096, d.stream, 0, 0)
			d.must(shim.FreeAsync, p, d.stream, 0, 0)
		})
	}},
	{"stream-ordered: what a stream has freed is there for its next allocation", "OK", func(d *driver) string {
		size := d.must(shim.MemGetInfo, 0, 0, 0, 0) / 8 * 5 // more than half of what is free
		p := d.must(shim.AllocAsync, size, d.stream, 0, 0)
		d.block(d.stream)
		d.must(shim.FreeAsync, p, d.stream, 0, 0)
		out := d.call(shim.AllocAsync, size, d.stream, 0, 0)
		if out.OK() {
			d.must(shim.FreeAsync, out.Value, d.stream, 0, 0)
		}
		return d.name(out)
	}},
	{"stream-ordered: plain free of the pool's memory", "OK", func(d *driver) string {
		p := d.must(shim.AllocAsync, 4096, d.stream, 0, 0)
		d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
		return d.code(shim.MemFree, p, 0, 0, 0)
	}},
	{"stream-ordered: free of plain memory", "OK", func(d *driver) string {
		p := d.must(shim.MemAlloc, 4096, 0, 0, 0)
		return d.code(shim.FreeAsync, p, d.stream, 0, 0)
	}},
}
