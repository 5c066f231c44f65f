//go:build cgo && (linux || darwin)

package cudasim

// #include "table.h"
import "C"

import (
	"strings"
	"unsafe"

	"tarn/cuda"
)

// version is the CUDA version that the driver supports, 12.4.
const version = 12040

//export tarnsim_slot_init
func tarnsim_slot_init(slot C.int, flags C.uint) C.tarn_result {
	m := machineAt(int(slot))
	if m == nil {
		return result(cuda.NoDevice)
	}
	code := m.faults.next("cuInit")
	if code == cuda.Success && flags != 0 {
		code = cuda.InvalidValue
	}
	return result(code)
}

//export tarnsim_slot_driver_get_version
func tarnsim_slot_driver_get_version(slot C.int, out *C.int) C.tarn_result {
	m := machineAt(int(slot))
	if m == nil {
		return result(cuda.NoDevice)
	}
	*out = version
	return result(m.faults.next("cuDriverGetVersion"))
}

//export tarnsim_slot_device_get_count
func tarnsim_slot_device_get_count(slot C.int, out *C.int) C.tarn_result {
	m := machineAt(int(slot))
	if m == nil {
		return result(cuda.NoDevice)
	}
	*out = C.int(len(m.devices))
	return result(m.faults.next("cuDeviceGetCount"))
}

//export tarnsim_slot_device_get
func tarnsim_slot_device_get(slot C.int, out *C.int, ordinal C.int) C.tarn_result {
	m := machineAt(int(slot))
	if m == nil || ordinal < 0 || int(ordinal) >= len(m.devices) {
		return result(invalidDevice)
	}
	*out = C.int(m.devices[ordinal].number())
	return result(m.faults.next("cuDeviceGet"))
}

//export tarnsim_get_error_name
func tarnsim_get_error_name(code C.tarn_result, out **C.char) C.tarn_result {
	name := cuda.Code(code).String()
	if strings.Contains(name, "(") {
		return result(cuda.InvalidValue)
	}
	text, ok := names.Load(name)
	if !ok {
		text, _ = names.LoadOrStore(name, C.CString(name))
	}
	*out = text.(*C.char)
	return 0
}

//export tarnsim_device_get_name
func tarnsim_device_get_name(out *C.char, size C.int, number C.int) C.tarn_result {
	d, code := enterDevice("cuDeviceGetName", number)
	if code == cuda.Success && size < 1 {
		code = cuda.InvalidValue
	}
	if code == cuda.Success {
		text := unsafe.Slice((*byte)(unsafe.Pointer(out)), size)
		text[copy(text[:size-1], d.name())] = 0
	}
	return result(code)
}

//export tarnsim_device_get_uuid
func tarnsim_device_get_uuid(out *C.uchar, number C.int) C.tarn_result {
	d, code := enterDevice("cuDeviceGetUuid", number)
	if code == cuda.Success {
		*(*[16]byte)(unsafe.Pointer(out)) = d.uuid()
	}
	return result(code)
}

//export tarnsim_device_total_mem
func tarnsim_device_total_mem(out *C.size_t, number C.int) C.tarn_result {
	d, code := enterDevice("cuDeviceTotalMem", number)
	if code == cuda.Success {
		*out = C.size_t(d.machine.config.Memory)
	}
	return result(code)
}

//export tarnsim_device_get_attribute
func tarnsim_device_get_attribute(out *C.int, attribute C.int, number C.int) C.tarn_result {
	d, code := enterDevice("cuDeviceGetAttribute", number)
	if code == cuda.Success {
		var value int
		value, code = d.attribute(int(attribute))
		*out = C.int(value)
	}
	return result(code)
}

//export tarnsim_primary_retain
func tarnsim_primary_retain(out *C.tarn_handle, number C.int) C.tarn_result {
	d, code := enterDevice("cuDevicePrimaryCtxRetain", number)
	if code == cuda.Success {
		var c *context
		if c, code = d.retain(); c != nil {
			*out = C.tarn_handle(c.handle)
		}
	}
	return result(code)
}

//export tarnsim_primary_release
func tarnsim_primary_release(number C.int) C.tarn_result {
	d, code := enterDevice("cuDevicePrimaryCtxRelease", number)
	if code == cuda.Success {
		code = d.release()
	}
	return result(code)
}

//export tarnsim_set_current
func tarnsim_set_current(handle C.tarn_handle) C.tarn_result {
	c, ok := lookup[*context](uintptr(handle))
	switch {
	case handle != 0 && !ok:
		return result(invalidContext)
	case ok:
		if code := c.device.fault("cuCtxSetCurrent"); code != cuda.Success {
			return result(code)
		}
	}
	C.tarnsim_set_thread(handle)
	return 0
}

//export tarnsim_synchronize
func tarnsim_synchronize() C.tarn_result {
	k := enter("cuCtxSynchronize")
	if k.ok() {
		k.fail(k.context.sync())
	}
	return result(k.code)
}

//export tarnsim_priority_range
func tarnsim_priority_range(least, most *C.int) C.tarn_result {
	k := enter("cuCtxGetStreamPriorityRange")
	if k.ok() {
		*least, *most = leastPriority, mostPriority
	}
	return result(k.code)
}

//export tarnsim_can_access_peer
func tarnsim_can_access_peer(out *C.int, number, peer C.int) C.tarn_result {
	d, code := enterDevice("cuDeviceCanAccessPeer", number)
	other := deviceAt(int(peer))
	switch {
	case code != cuda.Success:
	case other == nil || other.machine != d.machine:
		code = invalidDevice
	default:
		*out = 0
		if d.canAccess(other) {
			*out = 1
		}
	}
	return result(code)
}

//export tarnsim_enable_peer
func tarnsim_enable_peer(peer C.tarn_handle, flags C.uint) C.tarn_result {
	k := enter("cuCtxEnablePeerAccess")
	if c := argument[*context](&k, peer); k.ok() {
		k.fail(k.context.enablePeer(c, uint32(flags)))
	}
	return result(k.code)
}

//export tarnsim_disable_peer
func tarnsim_disable_peer(peer C.tarn_handle) C.tarn_result {
	k := enter("cuCtxDisablePeerAccess")
	if c := argument[*context](&k, peer); k.ok() {
		k.fail(k.context.disablePeer(c))
	}
	return result(k.code)
}
