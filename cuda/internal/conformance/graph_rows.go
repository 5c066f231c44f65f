package conformance

import "tarn/cuda/internal/shim"

// captured returns the graph of what record queues in the stream, and its
// outcome. A capture that record broke is ended.
func (d *driver) captured(mode uint64, record func()) (graph uint64, code string) {
	d.must(shim.BeginCapture, d.stream, mode, 0, 0)
	record()
	out := d.call(shim.EndCapture, d.stream, 0, 0, 0)
	if out.OK() {
		d.later(shim.GraphDestroy, out.Value, 0)
	}
	return out.Value, d.name(out)
}

// adding returns an executable graph that adds n to a word k times, and the
// word, which is 0.
func (d *driver) adding(n uint64, k int) (exec, word uint64) {
	word = d.alloc(4096)
	d.must(shim.Fill8, word, 0, 8, d.stream)
	return d.instantiate(d.additions(word, n, k)), word
}

func (d *driver) additions(word, n uint64, k int) (graph uint64) {
	f := d.load(program, "add")
	graph, code := d.captured(relaxed, func() {
		for range k {
			d.granted(d.launch(f, d.stream, word, n))
		}
	})
	if code != "OK" {
		d.granted(shim.Out{Entry: shim.EndCapture, Code: 999})
	}
	return graph
}

func (d *driver) instantiate(graph uint64) (exec uint64) {
	exec = d.must(shim.GraphInstantiate, graph, 0, 0, 0)
	d.later(shim.ExecDestroy, exec, 0)
	return exec
}

// after launches an executable graph n times and returns what the word is then.
func (d *driver) after(exec, word uint64, n int) byte {
	for range n {
		d.must(shim.GraphLaunch, exec, d.stream, 0, 0)
	}
	d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
	return d.read(word)
}

func number(got, want byte) string {
	if got == want {
		return "the sum"
	}
	return "another number"
}

var graphRows = []row{
	{"captured work does not run", "0", func(d *driver) string {
		_, word := d.adding(3, 2)
		d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
		if d.read(word) == 0 {
			return "0"
		}
		return "another number"
	}},
	{"an empty capture is a graph", "OK", func(d *driver) string {
		_, code := d.captured(relaxed, func() {})
		return code
	}},
	{"a graph has a node for each launch", "3", func(d *driver) string {
		if d.must(shim.GraphNodes, d.additions(d.alloc(4096), 1, 3), 0, 0, 0) == 3 {
			return "3"
		}
		return "another number"
	}},
	{"a fill and a copy are nodes, an event is none", "2", func(d *driver) string {
		p, e := d.alloc(4096), d.newEvent()
		graph, code := d.captured(relaxed, func() {
			d.must(shim.Fill8, p, 1, 64, d.stream)
			d.must(shim.EventRecord, e, d.stream, 0, 0)
			d.must(shim.StreamWaitEvent, d.stream, e, 0, 0)
			d.must(shim.Copy, p+1024, p, 64, d.stream)
		})
		if code == "OK" && d.must(shim.GraphNodes, graph, 0, 0, 0) == 2 {
			return "2"
		}
		return code + ", another number"
	}},
	{"a graph's copy reads pinned memory when it runs", "the new bytes", func(d *driver) string {
		p := d.alloc(4096)
		at, from := d.pinned(64)
		from[0] = 1
		graph, _ := d.captured(relaxed, func() { d.must(shim.CopyIn, p, at, 64, d.stream) })
		from[0] = 2
		return oldOrNew(d.after(d.instantiate(graph), p, 1))
	}},
	{"an update does not reach a launch that is queued", "the sum", func(d *driver) string {
		exec, word := d.adding(3, 1)
		graph := d.additions(word, 5, 1)
		release := d.block(d.stream)
		d.must(shim.GraphLaunch, exec, d.stream, 0, 0)
		d.must(shim.ExecUpdate, exec, graph, 0, 0)
		release()
		return number(d.after(exec, word, 1), 8)
	}},
	{"an executable graph may be destroyed while it is queued", "the sum", func(d *driver) string {
		word := d.alloc(4096)
		d.must(shim.Fill8, word, 0, 8, d.stream)
		exec := d.must(shim.GraphInstantiate, d.additions(word, 3, 2), 0, 0, 0)
		release := d.block(d.stream)
		d.must(shim.GraphLaunch, exec, d.stream, 0, 0)
		d.must(shim.ExecDestroy, exec, 0, 0, 0)
		release()
		d.must(shim.StreamSynchronize, d.stream, 0, 0, 0)
		return number(d.read(word), 6)
	}},
	{"launches of a graph run one after the other", "the sum", func(d *driver) string {
		exec, word := d.adding(3, 2)
		return number(d.after(exec, word, 4), 24)
	}},
	{"in two streams too", "the sum", func(d *driver) string {
		exec, word := d.adding(3, 2)
		other := d.newStream()
		d.must(shim.StreamWaitEvent, other, d.recorded(d.stream), 0, 0)
		for range 3 {
			d.must(shim.GraphLaunch, exec, d.stream, 0, 0)
			d.must(shim.GraphLaunch, exec, other, 0, 0)
		}
		d.must(shim.StreamSynchronize, other, 0, 0, 0)
		return number(d.after(exec, word, 0), 36)
	}},
	{"an executable graph outlives its graph", "the sum", func(d *driver) string {
		word := d.alloc(4096)
		d.must(shim.Fill8, word, 0, 8, d.stream)
		f := d.load(program, "add")
		d.must(shim.BeginCapture, d.stream, relaxed, 0, 0)
		d.granted(d.launch(f, d.stream, word, 3))
		graph := d.must(shim.EndCapture, d.stream, 0, 0, 0)
		exec := d.instantiate(graph)
		d.must(shim.GraphDestroy, graph, 0, 0, 0)
		return number(d.after(exec, word, 2), 6)
	}},
	{"update to a graph with other arguments", "the sum", func(d *driver) string {
		exec, word := d.adding(3, 2)
		d.must(shim.ExecUpdate, exec, d.additions(word, 5, 2), 0, 0)
		return number(d.after(exec, word, 1), 10)
	}},
	{"update to a graph with another number of nodes", "GRAPH_EXEC_UPDATE_FAILURE", func(d *driver) string {
		exec, word := d.adding(3, 2)
		return d.code(shim.ExecUpdate, exec, d.additions(word, 5, 3), 0, 0)
	}},
	{"update to a graph of other calls", "GRAPH_EXEC_UPDATE_FAILURE", func(d *driver) string {
		exec, word := d.adding(3, 1)
		graph, _ := d.captured(relaxed, func() { d.must(shim.Fill8, word, 1, 8, d.stream) })
		return d.code(shim.ExecUpdate, exec, graph, 0, 0)
	}},
	{"a refused update changes nothing", "the sum", func(d *driver) string {
		exec, word := d.adding(3, 2)
		d.code(shim.ExecUpdate, exec, d.additions(word, 5, 3), 0, 0)
		return number(d.after(exec, word, 1), 6)
	}},
}
