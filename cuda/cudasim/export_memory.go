//go:build cgo && (linux || darwin)

package cudasim

// #include "table.h"
import "C"

import (
	"unsafe"

	"tarn/cuda"
)

//export tarnsim_mem_get_info
func tarnsim_mem_get_info(free, total *C.size_t) C.tarn_result {
	k := enter("cuMemGetInfo")
	if k.ok() {
		f, t := k.context.device.info()
		*free, *total = C.size_t(f), C.size_t(t)
	}
	return result(k.code)
}

//export tarnsim_mem_alloc
func tarnsim_mem_alloc(out *C.tarn_address, size C.size_t) C.tarn_result {
	k := enter("cuMemAlloc")
	k.strict()
	if k.ok() {
		p, code := k.context.memAlloc(uint64(size))
		if k.fail(code); k.ok() {
			*out = C.tarn_address(p)
		}
	}
	return result(k.code)
}

//export tarnsim_mem_free
func tarnsim_mem_free(p C.tarn_address) C.tarn_result {
	k := enter("cuMemFree")
	k.strict()
	if k.ok() && p != 0 {
		k.fail(k.context.free(uint64(p)))
	}
	return result(k.code)
}

//export tarnsim_copy_in
func tarnsim_copy_in(to C.tarn_address, from unsafe.Pointer, size C.size_t, stream C.tarn_handle) C.tarn_result {
	k := enter("cuMemcpyHtoDAsync")
	if s := k.stream(stream); k.ok() {
		k.fail(s.copyIn(uint64(to), uintptr(from), uint64(size)))
	}
	return result(k.code)
}

//export tarnsim_copy_out
func tarnsim_copy_out(to unsafe.Pointer, from C.tarn_address, size C.size_t, stream C.tarn_handle) C.tarn_result {
	k := enter("cuMemcpyDtoHAsync")
	if s := k.stream(stream); k.ok() {
		k.fail(s.copyOut(uintptr(to), uint64(from), uint64(size)))
	}
	return result(k.code)
}

//export tarnsim_copy
func tarnsim_copy(to, from C.tarn_address, size C.size_t, stream C.tarn_handle) C.tarn_result {
	k := enter("cuMemcpyDtoDAsync")
	if s := k.stream(stream); k.ok() {
		k.fail(s.copy(uint64(to), uint64(from), uint64(size)))
	}
	return result(k.code)
}

//export tarnsim_copy_peer
func tarnsim_copy_peer(to C.tarn_address, toContext C.tarn_handle, from C.tarn_address, fromContext C.tarn_handle, size C.size_t, stream C.tarn_handle) C.tarn_result {
	k := enter("cuMemcpyPeerAsync")
	s, t, f := k.stream(stream), argument[*context](&k, toContext), argument[*context](&k, fromContext)
	if k.ok() {
		k.fail(s.copyPeer(uint64(to), t, uint64(from), f, uint64(size)))
	}
	return result(k.code)
}

//export tarnsim_fill8
func tarnsim_fill8(to C.tarn_address, value C.uchar, count C.size_t, stream C.tarn_handle) C.tarn_result {
	k := enter("cuMemsetD8Async")
	if s := k.stream(stream); k.ok() {
		k.fail(s.fill(k.name, uint64(to), uint32(value), 1, uint64(count)))
	}
	return result(k.code)
}

//export tarnsim_fill32
func tarnsim_fill32(to C.tarn_address, value C.uint, count C.size_t, stream C.tarn_handle) C.tarn_result {
	k := enter("cuMemsetD32Async")
	if s := k.stream(stream); k.ok() {
		k.fail(s.fill(k.name, uint64(to), uint32(value), 4, uint64(count)))
	}
	return result(k.code)
}

//export tarnsim_host_alloc
func tarnsim_host_alloc(out *C.uintptr_t, size C.size_t, flags C.uint) C.tarn_result {
	k := enter("cuMemHostAlloc")
	k.strict()
	if k.ok() && flags > 7 {
		k.fail(cuda.InvalidValue)
	}
	if k.ok() {
		p, code := k.context.hostAlloc(uint64(size))
		if k.fail(code); k.ok() {
			*out = C.uintptr_t(p)
		}
	}
	return result(k.code)
}

//export tarnsim_host_free
func tarnsim_host_free(p unsafe.Pointer) C.tarn_result {
	k := enter("cuMemFreeHost")
	k.strict()
	if k.ok() {
		k.fail(k.context.hostFree(uint64(uintptr(p))))
	}
	return result(k.code)
}

//export tarnsim_default_pool
func tarnsim_default_pool(out *C.tarn_handle, number C.int) C.tarn_result {
	d, code := enterDevice("cuDeviceGetDefaultMemPool", number)
	if code == cuda.Success {
		*out = C.tarn_handle(d.pool.handle)
	}
	return result(code)
}

// enterPool begins a call that is about a pool.
func enterPool(name string, handle C.tarn_handle) (*pool, cuda.Code) {
	p, ok := lookup[*pool](uintptr(handle))
	if !ok {
		return nil, cuda.InvalidValue
	}
	_, code := enterDevice(name, C.int(p.device.number()))
	return p, code
}

//export tarnsim_pool_set_attribute
func tarnsim_pool_set_attribute(handle C.tarn_handle, attribute C.int, value unsafe.Pointer) C.tarn_result {
	p, code := enterPool("cuMemPoolSetAttribute", handle)
	if code == cuda.Success {
		code = p.set(int(attribute), *(*uint64)(value))
	}
	return result(code)
}

//export tarnsim_pool_get_attribute
func tarnsim_pool_get_attribute(handle C.tarn_handle, attribute C.int, value unsafe.Pointer) C.tarn_result {
	p, code := enterPool("cuMemPoolGetAttribute", handle)
	if code == cuda.Success {
		*(*uint64)(value), code = p.get(int(attribute))
	}
	return result(code)
}

//export tarnsim_pool_trim
func tarnsim_pool_trim(handle C.tarn_handle, keep C.size_t) C.tarn_result {
	p, code := enterPool("cuMemPoolTrimTo", handle)
	if code == cuda.Success {
		code = p.trim(uint64(keep))
	}
	return result(code)
}

//export tarnsim_alloc_async
func tarnsim_alloc_async(out *C.tarn_address, size C.size_t, stream C.tarn_handle) C.tarn_result {
	k := enter("cuMemAllocAsync")
	if s := k.stream(stream); k.ok() {
		p, code := s.allocAsync(uint64(size))
		if k.fail(code); k.ok() {
			*out = C.tarn_address(p)
		}
	}
	return result(k.code)
}

//export tarnsim_free_async
func tarnsim_free_async(p C.tarn_address, stream C.tarn_handle) C.tarn_result {
	k := enter("cuMemFreeAsync")
	if s := k.stream(stream); k.ok() {
		k.fail(s.freeAsync(uint64(p)))
	}
	return result(k.code)
}
