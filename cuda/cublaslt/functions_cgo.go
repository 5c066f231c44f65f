//go:build cgo && (linux || darwin)

package cublaslt

// #include <stdlib.h>
// #include "cublaslt.h"
import "C"

import (
	"fmt"
	"unsafe"

	"tarn/cuda/internal/dl"
)

// symbols are the functions. They are C memory, which is never freed, like the
// library that it leads to.
type symbols struct{ table *C.struct_lt_table }

// find finds the functions by their names.
func find(lib *dl.Library) (functions, error) {
	s := symbols{(*C.struct_lt_table)(C.calloc(1, C.sizeof_struct_lt_table))}
	for i := C.int(0); ; i++ {
		name := C.lt_symbol(i)
		if name == nil {
			return s, nil
		}
		address, err := lib.Symbol(C.GoString(name))
		if err != nil {
			C.free(unsafe.Pointer(s.table))
			return nil, fmt.Errorf("it has no %s: %w", C.GoString(name), err)
		}
		C.lt_set(s.table, i, C.uintptr_t(address))
	}
}

func (s symbols) name(function int) string { return C.GoString(C.lt_symbol(C.int(function))) }

func (s symbols) create(d on) (handle uintptr, o outcome) {
	out := C.lt_create(s.table, device(d))
	return uintptr(out.value), result(out)
}

func (s symbols) destroy(d on, handle uintptr) outcome {
	return result(C.lt_destroy(s.table, device(d), pointer(handle)))
}

func (s symbols) plan(d on, handle uintptr, p shape, bias uintptr, workspace int64) (uintptr, int64, outcome) {
	types := &types[p.typ]
	c := C.struct_lt_product{
		_type: C.int(types.number), out_type: C.int(typeNumber(p.out)),
		compute: C.int(types.compute), scale: C.int(types.scale),
		a_transposed: number(p.a.transposed), b_transposed: number(p.b.transposed),
		epilogue: C.int(p.epilogue), accumulate: number(p.accumulate), batch: C.int(p.batch),
		m: C.uint64_t(p.m), n: C.uint64_t(p.n), k: C.uint64_t(p.k),
		a_lead: C.int64_t(p.a.lead), b_lead: C.int64_t(p.b.lead), d_lead: C.int64_t(p.d.lead),
		a_step: C.int64_t(p.a.step), b_step: C.int64_t(p.b.step), d_step: C.int64_t(p.d.step),
		bias_step:   C.int64_t(p.biasStep),
		a_alignment: C.uint32_t(p.a.alignment), b_alignment: C.uint32_t(p.b.alignment), d_alignment: C.uint32_t(p.d.alignment),
		bias: C.uintptr_t(bias), workspace: C.uint64_t(workspace),
	}
	out := C.lt_plan_create(s.table, device(d), pointer(handle), &c)
	if out.value == 0 {
		return 0, 0, result(out)
	}
	plan := (*C.struct_lt_plan)(pointer(uintptr(out.value)))
	return uintptr(out.value), int64(plan.workspace), result(out)
}

func (s symbols) drop(plan uintptr) outcome {
	return result(C.lt_plan_destroy(s.table, (*C.struct_lt_plan)(pointer(plan))))
}

func (s symbols) run(d on, plan, x, y, out, bias, work, stream uintptr) outcome {
	return result(C.lt_plan_run(s.table, device(d), (*C.struct_lt_plan)(pointer(plan)), C.uintptr_t(x), C.uintptr_t(y),
		C.uintptr_t(out), C.uintptr_t(bias), C.uintptr_t(work), C.uintptr_t(stream)))
}

func device(d on) C.struct_lt_device {
	return C.struct_lt_device{set_current: C.uintptr_t(d.setCurrent), context: C.uintptr_t(d.context)}
}

// pointer is for C memory, whose addresses are kept as numbers.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

func result(o C.struct_lt_out) outcome {
	return outcome{code: int(o.code), function: int(o.function)}
}

func number(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
