//go:build cgo && (linux || darwin)

package cudasim

// #include "table.h"
import "C"

import (
	"unsafe"

	"tarn/cuda"
)

// place returns the device that memory is asked of.
func (k *call) place(what *C.struct_tarn_allocation) *device {
	if !k.ok() {
		return nil
	}
	d := k.machine.device(int(what.location.id))
	if what._type != 1 || what.location._type != 1 || d == nil {
		k.fail(cuda.InvalidValue)
	}
	return d
}

//export tarnsim_granularity
func tarnsim_granularity(out *C.size_t, what *C.struct_tarn_allocation, option C.int) C.tarn_result {
	k := enter("cuMemGetAllocationGranularity")
	if k.place(what); k.ok() {
		*out = C.size_t(k.machine.config.Granularity)
	}
	return result(k.code)
}

//export tarnsim_reserve
func tarnsim_reserve(out *C.tarn_address, size, alignment C.size_t, hint C.tarn_address, flags C.ulonglong) C.tarn_result {
	k := enter("cuMemAddressReserve")
	if k.ok() && flags != 0 {
		k.fail(cuda.InvalidValue)
	}
	if k.ok() {
		p, code := k.machine.reserve(uint64(size), uint64(alignment))
		if k.fail(code); k.ok() {
			*out = C.tarn_address(p)
		}
	}
	return result(k.code)
}

//export tarnsim_release_range
func tarnsim_release_range(p C.tarn_address, size C.size_t) C.tarn_result {
	k := enter("cuMemAddressFree")
	if k.ok() {
		k.fail(k.machine.releaseRange(uint64(p), uint64(size)))
	}
	return result(k.code)
}

//export tarnsim_create
func tarnsim_create(out *C.uint64_t, size C.size_t, what *C.struct_tarn_allocation, flags C.ulonglong) C.tarn_result {
	k := enter("cuMemCreate")
	d := k.place(what)
	if k.ok() && flags != 0 {
		k.fail(cuda.InvalidValue)
	}
	if k.ok() {
		pg, code := d.create(uint64(size))
		if k.fail(code); k.ok() {
			*out = C.uint64_t(pg.handle)
		}
	}
	return result(k.code)
}

//export tarnsim_release
func tarnsim_release(page C.uint64_t) C.tarn_result {
	k := enter("cuMemRelease")
	if k.ok() {
		k.fail(k.machine.release(uintptr(page)))
	}
	return result(k.code)
}

//export tarnsim_map
func tarnsim_map(p C.tarn_address, size, offset C.size_t, page C.uint64_t, flags C.ulonglong) C.tarn_result {
	k := enter("cuMemMap")
	if k.ok() && flags != 0 {
		k.fail(cuda.InvalidValue)
	}
	if k.ok() {
		k.fail(k.machine.mapPage(uint64(p), uint64(size), uint64(offset), uintptr(page)))
	}
	return result(k.code)
}

//export tarnsim_unmap
func tarnsim_unmap(p C.tarn_address, size C.size_t) C.tarn_result {
	k := enter("cuMemUnmap")
	if k.ok() {
		k.fail(k.machine.unmap(uint64(p), uint64(size)))
	}
	return result(k.code)
}

//export tarnsim_set_access
func tarnsim_set_access(p C.tarn_address, size C.size_t, who *C.struct_tarn_access, count C.size_t) C.tarn_result {
	k := enter("cuMemSetAccess")
	if k.ok() && (who == nil || count == 0 || count > maxDevices) {
		k.fail(cuda.InvalidValue)
	}
	if k.ok() {
		var list []access
		for _, w := range unsafe.Slice(who, count) {
			if w.location._type != 1 {
				k.fail(cuda.InvalidValue)
			}
			list = append(list, access{int(w.location.id), int(w.flags)})
		}
		if k.ok() {
			k.fail(k.machine.setAccess(uint64(p), uint64(size), list))
		}
	}
	return result(k.code)
}
