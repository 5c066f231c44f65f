//go:build cgo && (linux || darwin)

package cudasim

// #include "table.h"
import "C"

import "tarn/cuda"

//export tarnsim_stream_create
func tarnsim_stream_create(out *C.tarn_handle, flags C.uint, priority C.int) C.tarn_result {
	k := enter("cuStreamCreateWithPriority")
	if k.ok() {
		s, code := k.context.newStream(uint32(flags), int(priority))
		if k.fail(code); k.ok() {
			*out = C.tarn_handle(s.handle)
		}
	}
	return result(k.code)
}

//export tarnsim_stream_destroy
func tarnsim_stream_destroy(stream C.tarn_handle) C.tarn_result {
	k := enter("cuStreamDestroy")
	if s := k.stream(stream); k.ok() {
		k.fail(s.destroy())
	}
	return result(k.code)
}

//export tarnsim_stream_synchronize
func tarnsim_stream_synchronize(stream C.tarn_handle) C.tarn_result {
	k := enter("cuStreamSynchronize")
	k.strict()
	if s := k.stream(stream); k.ok() {
		k.fail(s.sync())
	}
	return result(k.code)
}

//export tarnsim_stream_query
func tarnsim_stream_query(stream C.tarn_handle) C.tarn_result {
	k := enter("cuStreamQuery")
	k.strict()
	if s := k.stream(stream); k.ok() {
		k.fail(s.query())
	}
	return result(k.code)
}

//export tarnsim_stream_wait_event
func tarnsim_stream_wait_event(stream, event_ C.tarn_handle, flags C.uint) C.tarn_result {
	k := enter("cuStreamWaitEvent")
	s, e := k.stream(stream), argument[*event](&k, event_)
	if k.ok() && flags > 1 {
		k.fail(cuda.InvalidValue)
	}
	if k.ok() {
		k.fail(s.waitEvent(e))
	}
	return result(k.code)
}

//export tarnsim_event_create
func tarnsim_event_create(out *C.tarn_handle, flags C.uint) C.tarn_result {
	k := enter("cuEventCreate")
	if k.ok() {
		e, code := k.context.newEvent(uint32(flags))
		if k.fail(code); k.ok() {
			*out = C.tarn_handle(e.handle)
		}
	}
	return result(k.code)
}

//export tarnsim_event_record
func tarnsim_event_record(event_, stream C.tarn_handle) C.tarn_result {
	k := enter("cuEventRecord")
	s, e := k.stream(stream), argument[*event](&k, event_)
	if k.ok() {
		k.fail(e.record(s))
	}
	return result(k.code)
}

//export tarnsim_event_query
func tarnsim_event_query(event_ C.tarn_handle) C.tarn_result {
	k := enter("cuEventQuery")
	k.strict()
	if e := argument[*event](&k, event_); k.ok() {
		k.fail(e.query())
	}
	return result(k.code)
}

//export tarnsim_event_synchronize
func tarnsim_event_synchronize(event_ C.tarn_handle) C.tarn_result {
	k := enter("cuEventSynchronize")
	k.strict()
	if e := argument[*event](&k, event_); k.ok() {
		k.fail(e.sync())
	}
	return result(k.code)
}

//export tarnsim_event_destroy
func tarnsim_event_destroy(event_ C.tarn_handle) C.tarn_result {
	k := enter("cuEventDestroy")
	if e := argument[*event](&k, event_); k.ok() {
		k.fail(e.destroy())
	}
	return result(k.code)
}

//export tarnsim_event_elapsed
func tarnsim_event_elapsed(out *C.float, from, to C.tarn_handle) C.tarn_result {
	k := enter("cuEventElapsedTime")
	a, b := argument[*event](&k, from), argument[*event](&k, to)
	if k.ok() {
		ms, code := a.elapsed(b)
		if k.fail(code); k.ok() {
			*out = C.float(ms)
		}
	}
	return result(k.code)
}

//export tarnsim_host_function
func tarnsim_host_function(stream C.tarn_handle, function, data C.uintptr_t) C.tarn_result {
	k := enter("cuLaunchHostFunc")
	s := k.stream(stream)
	if k.ok() && function == 0 {
		k.fail(cuda.InvalidValue)
	}
	if k.ok() {
		k.fail(s.hostFunction(func() { C.tarnsim_call(function, data) }))
	}
	return result(k.code)
}
