package conformance

import (
	"unsafe"

	"tarn/cuda/internal/shim"
)

var memoryRows = []row{
	{"allocate no bytes", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.MemAlloc, 0, 0, 0, 0)
	}},
	{"allocate more than the device has", "OUT_OF_MEMORY", func(d *driver) string {
		return d.code(shim.MemAlloc, 1<<50, 0, 0, 0)
	}},
	{"allocate: aligned to 256 bytes", "aligned", func(d *driver) string {
		for _, size := range []uint64{1, 100, 4097} {
			if d.alloc(size)%256 != 0 {
				return "not aligned"
			}
		}
		return "aligned"
	}},
	{"free of an unknown pointer", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.MemFree, 0x12345600, 0, 0, 0)
	}},
	{"free of the middle of an allocation", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.MemFree, d.alloc(4096)+256, 0, 0, 0)
	}},
	{"free twice", "INVALID_VALUE", func(d *driver) string {
		p := d.must(shim.MemAlloc, 4096, 0, 0, 0)
		d.must(shim.MemFree, p, 0, 0, 0)
		return d.code(shim.MemFree, p, 0, 0, 0)
	}},
	{"free of null", "OK", func(d *driver) string {
		return d.code(shim.MemFree, 0, 0, 0, 0)
	}},
	{"fill past the end of an allocation", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Fill8, d.alloc(page)+page-16, 1, 64<<20, d.stream)
	}},
	{"fill words at an odd address", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Fill32, d.alloc(4096)+1, 1, 4, d.stream)
	}},
	{"fill of no bytes", "OK", func(d *driver) string {
		return d.code(shim.Fill8, d.alloc(4096), 1, 0, d.stream)
	}},
	{"copy from an address that nothing has", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.Copy, d.alloc(4096), 0x12345600, 64, d.stream)
	}},
	{"pageable copy in: the source may change at once", "the old bytes", func(d *driver) string {
		p := d.alloc(4096)
		from := make([]byte, 4096)
		from[0] = 1
		release := d.block(d.stream)
		go release() // a driver may wait for the stream before it takes the bytes
		out := d.call(shim.CopyIn, p, uint64(uintptr(unsafe.Pointer(&from[0]))), 4096, d.stream)
		d.granted(out)
		from[0] = 2
		d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
		return oldOrNew(d.read(p))
	}},
	{"pinned copy in: the source is read when the stream gets there", "the new bytes", func(d *driver) string {
		p := d.alloc(4096)
		at, from := d.pinned(4096)
		from[0] = 1
		release := d.block(d.stream)
		d.must(shim.CopyIn, p, at, 4096, d.stream)
		from[0] = 2
		release()
		d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
		return oldOrNew(d.read(p))
	}},
	{"a kernel reads and writes pinned memory at its host address", "written", func(d *driver) string {
		at, bytes := d.pinned(4096)
		d.granted(d.launch(d.load(program, "store"), d.stream, at, 7))
		d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
		if bytes[0] == 7 {
			return "written"
		}
		return "not written"
	}},
	{"pinned memory freed twice", "INVALID_VALUE", func(d *driver) string {
		p := d.must(shim.HostAlloc, 4096, 0, 0, 0)
		d.must(shim.HostFree, p, 0, 0, 0)
		return d.code(shim.HostFree, p, 0, 0, 0)
	}},
	{"pinned memory that never was", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.HostFree, 0x12345000, 0, 0, 0)
	}},
	{"copy of no bytes", "OK", func(d *driver) string {
		p := d.alloc(4096)
		return d.code(shim.Copy, p, p+1024, 0, d.stream)
	}},
	{"copy past the end of what it reads", "INVALID_VALUE", func(d *driver) string {
		const size = 64 << 20
		return d.code(shim.Copy, d.alloc(size), d.alloc(page)+page-16, size, d.stream)
	}},
	{"free bytes fall with an allocation and come back with its end", "fall, come back", func(d *driver) string {
		const size = 64 << 20
		before := d.must(shim.MemGetInfo, 0, 0, 0, 0)
		p := d.must(shim.MemAlloc, size, 0, 0, 0)
		during := d.must(shim.MemGetInfo, 0, 0, 0, 0)
		d.must(shim.MemFree, p, 0, 0, 0)
		after := d.must(shim.MemGetInfo, 0, 0, 0, 0)
		if during+size <= before && after >= during+size {
			return "fall, come back"
		}
		return "other"
	}},
}

func oldOrNew(b byte) string {
	if b == 1 {
		return "the old bytes"
	}
	return "the new bytes"
}

// program has the kernels of the rows. store writes a number to an address.
const program = `.version 7.0
.target sm_75
.address_size 64

.visible .entry store(.param .u64 at, .param .u64 value)
{
	.reg .b64 %p, %v;
	ld.param.u64 %p, [at];
	ld.param.u64 %v, [value];
	cvta.to.global.u64 %p, %p;
	st.global.u64 [%p], %v;
	ret;
}

.visible .entry add(.param .u64 at, .param .u64 value)
{
	.reg .pred %other;
	.reg .b32 %i;
	.reg .b64 %p, %v, %w;
	mov.u32 %i, %tid.x;
	setp.ne.u32 %other, %i, 0;
	@%other bra DONE;
	ld.param.u64 %p, [at];
	ld.param.u64 %v, [value];
	cvta.to.global.u64 %p, %p;
	ld.global.u64 %w, [%p];
	add.s64 %w, %w, %v;
	st.global.u64 [%p], %w;
DONE:
	ret;
}

.visible .entry stop()
{
	trap;
}
`
