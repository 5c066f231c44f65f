package conformance

import (
	"bytes"
	"strconv"

	"tarn/cuda/internal/shim"
)

// refused loads what the driver's compiler must not take.
func (d *driver) refused(text string) string {
	log := make([]byte, 4<<10)
	out := d.table.ModuleLoad(d.context, append([]byte(text), 0), log)
	if out.OK() {
		d.later(shim.ModuleUnload, out.Value, 0)
		return "OK"
	}
	if bytes.IndexByte(log, 0) == 0 {
		return d.name(out) + " without a word"
	}
	return d.name(out)
}

// attribute asks what the driver says of a kernel.
func (d *driver) attribute(text, kernel string, number uint64) string {
	return strconv.Itoa(int(d.must(shim.FunctionGetAttribute, d.load(text, kernel), number, 0, 0)))
}

// changed launches store with a record that change has spoilt.
func (d *driver) changed(change func(l *shim.Launch)) string {
	l := d.record(d.load(program, "store"), d.stream, d.alloc(4096), 1)
	change(l)
	return d.name(d.table.Launch(l))
}

var moduleRows = []row{
	{"a module that is no PTX", "INVALID_PTX or INVALID_IMAGE", func(d *driver) string {
		return d.refused(".version 7.0\n.target sm_75\n.address_size 64\nnonsense\n")
	}},
	{"a module with an unknown instruction", "INVALID_PTX", func(d *driver) string {
		return d.refused(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry f()\n{\n\tfrobnicate.b32;\n\tret;\n}\n")
	}},
	{"an instruction that is newer than .version", "INVALID_PTX", func(d *driver) string {
		return d.refused(".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry f()\n{\n\t.reg .f32 %f;\n" +
			"\tmov.f32 %f, 0f3F800000;\n\ttanh.approx.f32 %f, %f;\n\tret;\n}\n")
	}},
	{"PTX newer than the driver", "UNSUPPORTED_PTX_VERSION or INVALID_PTX", func(d *driver) string {
		return d.refused(".version 99.0\n.target sm_75\n.address_size 64\n")
	}},
	{"PTX for a newer device", "NO_BINARY_FOR_GPU or INVALID_PTX", func(d *driver) string {
		return d.refused(".version 7.0\n.target sm_999\n.address_size 64\n")
	}},
	{"a kernel that the module has not", "NOT_FOUND", func(d *driver) string {
		log := make([]byte, 4<<10)
		m := d.table.ModuleLoad(d.context, []byte(program+"\x00"), log)
		d.granted(m)
		d.later(shim.ModuleUnload, m.Value, 0)
		return d.name(d.table.ModuleGetFunction(d.context, uintptr(m.Value), "nowhere"))
	}},
	{"a launch with too few bytes of arguments", "refused", func(d *driver) string {
		return d.changed(func(l *shim.Launch) { l.Size = 8 })
	}},
	{"a launch with too many bytes of arguments", "refused", func(d *driver) string {
		return d.changed(func(l *shim.Launch) { l.Size = 24 })
	}},
	{"a launch of no blocks", "INVALID_VALUE", func(d *driver) string {
		return d.changed(func(l *shim.Launch) { l.Grid[0] = 0 })
	}},
	{"a launch of no threads", "INVALID_VALUE", func(d *driver) string {
		return d.changed(func(l *shim.Launch) { l.Block[1] = 0 })
	}},
	{"a launch of blocks of 1,025 threads", "INVALID_VALUE", func(d *driver) string {
		return d.changed(func(l *shim.Launch) { l.Block[0] = 1025 })
	}},
	{"a launch of more than 65,535 blocks in Y", "INVALID_VALUE", func(d *driver) string {
		return d.changed(func(l *shim.Launch) { l.Grid[1] = 65536 })
	}},
	{"a block of another shape than .reqntid", "refused", func(d *driver) string {
		return d.name(d.launch(d.load(fixed, "fixed"), d.stream))
	}},
	{"a block of more threads than .maxntid", "refused", func(d *driver) string {
		return d.name(d.launch(d.load(fixed, "most"), d.stream))
	}},
	{"the target that a kernel was written for", "75", func(d *driver) string {
		return d.attribute(counted, "counted", 5)
	}},
	{"the bytes of a kernel's constants", "24", func(d *driver) string {
		return d.attribute(counted, "counted", 2)
	}},
	{"a kernel has registers", "some", func(d *driver) string {
		if n := d.attribute(counted, "counted", 4); n == "0" {
			return "none"
		}
		return "some"
	}},
	{"a global of a module keeps its value", "2", func(d *driver) string {
		f, p := d.load(counter, "count"), d.alloc(4096)
		for range 2 {
			d.granted(d.launch(f, d.stream, p))
		}
		d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
		return strconv.Itoa(int(d.read(p)))
	}},
	{"a text that is loaded twice has two of its globals", "1", func(d *driver) string {
		p := d.alloc(4096)
		for range 2 {
			d.granted(d.launch(d.load(counter, "count"), d.stream, p))
		}
		d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
		return strconv.Itoa(int(d.read(p)))
	}},
	{"48 KiB of dynamic shared memory", "OK", func(d *driver) string {
		return d.changed(func(l *shim.Launch) { l.Shared = 48 << 10 })
	}},
	{"more than that without asking for it", "INVALID_VALUE", func(d *driver) string {
		return d.changed(func(l *shim.Launch) { l.Shared = 48<<10 + 1 })
	}},
	{"more than that after asking for it", "OK", func(d *driver) string {
		f := d.load(program, "store")
		const dynamic = 8
		d.must(shim.FunctionSetAttribute, f, dynamic, 64<<10, 0)
		l := d.record(f, d.stream, d.alloc(4096), 1)
		l.Shared = 64 << 10
		return d.name(d.table.Launch(l))
	}},
	{"asking for more than the device has", "INVALID_VALUE", func(d *driver) string {
		return d.code(shim.FunctionSetAttribute, d.load(program, "store"), 8, 10<<20, 0)
	}},
}

// counted has a kernel that reads constants.
const counted = `.version 7.0
.target sm_75
.address_size 64

.const .align 8 .b64 table[3] = {1, 2, 3};

.visible .entry counted(.param .u64 at)
{
	.reg .b32 %i;
	.reg .b64 %p, %n;
	mov.u32 %i, %tid.x;
	and.b32 %i, %i, 1;
	mul.wide.u32 %n, %i, 8;
	mov.u64 %p, table;
	add.s64 %p, %p, %n;
	ld.const.u64 %n, [%p];
	ld.param.u64 %p, [at];
	cvta.to.global.u64 %p, %p;
	st.global.u64 [%p], %n;
	ret;
}
`

// fixed has kernels that do not take a block of 32 threads.
const fixed = `.version 7.0
.target sm_75
.address_size 64

.visible .entry fixed()
.reqntid 64, 1, 1
{
	ret;
}

.visible .entry most()
.maxntid 16, 1, 1
{
	ret;
}
`

// counter has a kernel that counts its launches, and says how many there were.
const counter = `.version 7.0
.target sm_75
.address_size 64

.visible .global .align 8 .u64 launches = 0;

.visible .entry count(.param .u64 at)
{
	.reg .pred %other;
	.reg .b32 %i;
	.reg .b64 %p, %n;
	mov.u32 %i, %tid.x;
	setp.ne.u32 %other, %i, 0;
	@%other bra DONE;
	ld.param.u64 %p, [at];
	cvta.to.global.u64 %p, %p;
	ld.global.u64 %n, [launches];
	add.s64 %n, %n, 1;
	st.global.u64 [launches], %n;
	st.global.u64 [%p], %n;
DONE:
	ret;
}
`
