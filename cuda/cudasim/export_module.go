//go:build cgo && (linux || darwin)

package cudasim

// #include "table.h"
import "C"

import (
	"unsafe"

	"tarn/cuda"
	"tarn/cuda/cudasim/ptx"
)

// The options of cuModuleLoadDataEx that are looked at.
const (
	optionErrorLog     = 5
	optionErrorLogSize = 6
)

//export tarnsim_module_load
func tarnsim_module_load(out *C.tarn_handle, image unsafe.Pointer, count C.uint, options *C.int, values *unsafe.Pointer) C.tarn_result {
	k := enter("cuModuleLoadDataEx")
	if k.ok() && image == nil {
		k.fail(cuda.InvalidValue)
	}
	if !k.ok() {
		return result(k.code)
	}
	mod, log, code := k.context.load(C.GoString((*C.char)(image)))
	if k.fail(code); k.ok() {
		*out = C.tarn_handle(mod.handle)
	}
	var buffer *byte
	size := uintptr(0)
	for i, option := range unsafe.Slice(options, count) {
		value := unsafe.Slice(values, count)[i]
		switch option {
		case optionErrorLog:
			buffer = (*byte)(value)
		case optionErrorLogSize:
			size = uintptr(value)
		}
	}
	if buffer != nil && size > 0 {
		text := unsafe.Slice(buffer, size)
		text[copy(text[:size-1], log)] = 0
	}
	return result(k.code)
}

//export tarnsim_module_unload
func tarnsim_module_unload(handle C.tarn_handle) C.tarn_result {
	k := enter("cuModuleUnload")
	if mod := argument[*module](&k, handle); k.ok() {
		k.fail(mod.unload())
	}
	return result(k.code)
}

//export tarnsim_module_get_function
func tarnsim_module_get_function(out *C.tarn_handle, handle C.tarn_handle, name *C.char) C.tarn_result {
	k := enter("cuModuleGetFunction")
	if mod := argument[*module](&k, handle); k.ok() {
		f, code := mod.function(C.GoString(name))
		if k.fail(code); k.ok() {
			*out = C.tarn_handle(f.handle)
		}
	}
	return result(k.code)
}

//export tarnsim_function_set_attribute
func tarnsim_function_set_attribute(handle C.tarn_handle, attribute, value C.int) C.tarn_result {
	k := enter("cuFuncSetAttribute")
	if f := argument[*function](&k, handle); k.ok() {
		k.fail(f.setAttribute(int(attribute), int(value)))
	}
	return result(k.code)
}

//export tarnsim_function_get_attribute
func tarnsim_function_get_attribute(out *C.int, attribute C.int, handle C.tarn_handle) C.tarn_result {
	k := enter("cuFuncGetAttribute")
	if f := argument[*function](&k, handle); k.ok() {
		value, code := f.attribute(int(attribute))
		k.fail(code)
		*out = C.int(value)
	}
	return result(k.code)
}

//export tarnsim_launch_kernel
func tarnsim_launch_kernel(handle C.tarn_handle, gx, gy, gz, bx, by, bz, shared C.uint, stream C.tarn_handle, parameters, extra *unsafe.Pointer) C.tarn_result {
	k := enter("cuLaunchKernel")
	f, s := argument[*function](&k, handle), k.stream(stream)
	if !k.ok() {
		return result(k.code)
	}
	args, ok := packed(f.kernel, parameters, extra)
	if !ok {
		return result(cuda.InvalidValue)
	}
	k.fail(s.launch(f, shape{
		grid:   ptx.Dim3{X: int(gx), Y: int(gy), Z: int(gz)},
		block:  ptx.Dim3{X: int(bx), Y: int(by), Z: int(bz)},
		shared: int(shared),
	}, args))
	return result(k.code)
}

// packed copies the arguments of a launch, which come as pointers to each or as
// a list that leads to a buffer.
func packed(kernel *ptx.Kernel, parameters, extra *unsafe.Pointer) ([]byte, bool) {
	if parameters != nil {
		if extra != nil {
			return nil, false
		}
		args := make([]byte, kernel.ParamBytes())
		params := kernel.Params()
		for i, from := range unsafe.Slice(parameters, len(params)) {
			p := params[i]
			copy(args[p.Offset:], unsafe.Slice((*byte)(from), p.Size))
		}
		return args, true
	}
	const bufferPointer, bufferSize = 1, 2
	var buffer *byte
	size := uintptr(0)
	for extra != nil && *extra != nil {
		pair := unsafe.Slice(extra, 3)
		switch uintptr(pair[0]) {
		case bufferPointer:
			buffer = (*byte)(pair[1])
		case bufferSize:
			size = *(*uintptr)(pair[1])
		default:
			return nil, false
		}
		extra = &pair[2]
	}
	if buffer == nil || size > maxArguments {
		return nil, size == 0
	}
	return append([]byte(nil), unsafe.Slice(buffer, size)...), true
}

const maxArguments = 4096 // bytes
