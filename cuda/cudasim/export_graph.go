//go:build cgo && (linux || darwin)

package cudasim

// #include "table.h"
import "C"

import "tarn/cuda"

//export tarnsim_begin_capture
func tarnsim_begin_capture(stream C.tarn_handle, mode C.int) C.tarn_result {
	k := enter("cuStreamBeginCapture")
	if s := k.stream(stream); k.ok() {
		k.fail(s.beginCapture(int(mode), k.thread))
	}
	return result(k.code)
}

//export tarnsim_end_capture
func tarnsim_end_capture(stream C.tarn_handle, out *C.tarn_handle) C.tarn_result {
	k := enter("cuStreamEndCapture")
	*out = 0
	if s := k.stream(stream); k.ok() {
		g, code := s.endCapture(k.thread)
		if k.fail(code); k.ok() {
			*out = C.tarn_handle(g.handle)
		}
	}
	return result(k.code)
}

//export tarnsim_is_capturing
func tarnsim_is_capturing(stream C.tarn_handle, out *C.int) C.tarn_result {
	k := enter("cuStreamIsCapturing")
	if s := k.stream(stream); k.ok() {
		status, code := s.capturing()
		k.fail(code)
		*out = C.int(status)
	}
	return result(k.code)
}

//export tarnsim_graph_nodes
func tarnsim_graph_nodes(handle C.tarn_handle, nodes *C.tarn_handle, count *C.size_t) C.tarn_result {
	k := enter("cuGraphGetNodes")
	g := argument[*graph](&k, handle)
	if k.ok() && nodes != nil {
		k.fail(notSupported) // a node has no handle here
	}
	if k.ok() {
		*count = C.size_t(len(g.nodes))
	}
	return result(k.code)
}

//export tarnsim_graph_destroy
func tarnsim_graph_destroy(handle C.tarn_handle) C.tarn_result {
	k := enter("cuGraphDestroy")
	if g := argument[*graph](&k, handle); k.ok() {
		k.fail(g.destroy())
	}
	return result(k.code)
}

//export tarnsim_graph_instantiate
func tarnsim_graph_instantiate(out *C.tarn_handle, handle C.tarn_handle, flags C.ulonglong) C.tarn_result {
	k := enter("cuGraphInstantiateWithFlags")
	if g := argument[*graph](&k, handle); k.ok() {
		x, code := g.instantiate(uint64(flags))
		if k.fail(code); k.ok() {
			*out = C.tarn_handle(x.handle)
		}
	}
	return result(k.code)
}

//export tarnsim_graph_launch
func tarnsim_graph_launch(handle, stream C.tarn_handle) C.tarn_result {
	k := enter("cuGraphLaunch")
	x, s := argument[*exec](&k, handle), k.stream(stream)
	if k.ok() {
		k.fail(s.launchGraph(x))
	}
	return result(k.code)
}

//export tarnsim_exec_destroy
func tarnsim_exec_destroy(handle C.tarn_handle) C.tarn_result {
	k := enter("cuGraphExecDestroy")
	if x := argument[*exec](&k, handle); k.ok() {
		k.fail(x.destroy())
	}
	return result(k.code)
}

//export tarnsim_exec_update
func tarnsim_exec_update(handle, graph_ C.tarn_handle, node *C.tarn_handle, out *C.int) C.tarn_result {
	k := enter("cuGraphExecUpdate")
	x, g := argument[*exec](&k, handle), argument[*graph](&k, graph_)
	if !k.ok() {
		return result(k.code)
	}
	if node == nil || out == nil {
		return result(cuda.InvalidValue)
	}
	outcome, code := x.update(g)
	*node, *out = 0, C.int(outcome)
	return result(code)
}
