package cudasim

import "tarn/cuda"

// graph is recorded work. It does not change.
type graph struct {
	machine *Machine
	handle  uintptr
	nodes   []*node // each after those that it depends on
}

func (g *graph) owner() *Machine { return g.machine }

// exec is a graph that can be launched. It is guarded by the machine.
type exec struct {
	machine *Machine
	handle  uintptr
	nodes   []*node
	uses    []*usage
	last    *op // newest launch: an exec does not run twice at a time
}

func (x *exec) owner() *Machine { return x.machine }

// destroy is cuGraphDestroy. Execs of the graph stay.
func (g *graph) destroy() cuda.Code {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if !g.machine.graphs[g] {
		return cuda.InvalidValue
	}
	delete(g.machine.graphs, g)
	drop(g.handle)
	return cuda.Success
}

// destroy is cuGraphExecDestroy. Launches that are queued go on.
func (x *exec) destroy() cuda.Code {
	x.machine.mu.Lock()
	defer x.machine.mu.Unlock()
	if !x.machine.execs[x] {
		return cuda.InvalidValue
	}
	delete(x.machine.execs, x)
	drop(x.handle)
	return cuda.Success
}

// instantiate is cuGraphInstantiateWithFlags.
func (g *graph) instantiate(flags uint64) (*exec, cuda.Code) {
	if flags != 0 {
		return nil, cuda.InvalidValue
	}
	x := &exec{machine: g.machine, nodes: g.nodes, uses: uses(g.nodes)}
	x.handle = add(x)
	m := g.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	m.execs[x] = true
	return x, cuda.Success
}

// launchGraph is cuGraphLaunch.
func (s *stream) launchGraph(x *exec) cuda.Code {
	m := s.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	nodes := x.nodes
	if unloaded(nodes) {
		m.report(&MisuseError{"cuGraphLaunch", "the module of a kernel in it was unloaded"})
		return cuda.InvalidHandle
	}
	w := work{name: "cuGraphLaunch", kind: nodeGraph, uses: x.uses, run: func() error { return replay(nodes) }}
	var after []*op
	if x.last != nil {
		after = append(after, x.last)
	}
	o, code := s.submit(w, after...)
	if o != nil {
		x.last = o
	}
	return code
}

// The results of cuGraphExecUpdate.
const (
	updated           = 0
	topologyChanged   = 2
	kindChanged       = 3
	parametersChanged = 5
)

// update is cuGraphExecUpdate: the exec does what the graph does, if the two
// differ only in kernels and in what nodes work on. Launches that are queued keep the
// old work.
func (x *exec) update(g *graph) (result int, code cuda.Code) {
	m := x.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(x.nodes) != len(g.nodes) {
		return topologyChanged, execUpdateFailure
	}
	for i, n := range g.nodes {
		if result := x.nodes[i].accepts(n); result != updated {
			return result, execUpdateFailure
		}
	}
	x.nodes, x.uses = g.nodes, uses(g.nodes)
	return updated, cuda.Success
}

func (n *node) accepts(other *node) int {
	switch {
	case len(n.after) != len(other.after):
		return topologyChanged
	case n.work.kind != other.work.kind:
		return kindChanged
	case n.work.way != other.work.way:
		return parametersChanged
	}
	for i := range n.after {
		if n.after[i].index != other.after[i].index {
			return topologyChanged
		}
	}
	return updated
}

// uses returns what the nodes use, each thing once.
func uses(nodes []*node) (all []*usage) {
	seen := map[*usage]bool{}
	for _, n := range nodes {
		for _, u := range n.work.uses {
			if !seen[u] {
				seen[u] = true
				all = append(all, u)
			}
		}
	}
	return all
}

// unloaded reports whether a module that nodes need is gone.
func unloaded(nodes []*node) bool {
	for _, n := range nodes {
		if mod := n.work.of; mod != nil && !mod.context.modules[mod] {
			return true
		}
	}
	return false
}
