package tensor

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// The net under graphs: a device knows its open graphs, by what is in them, and
// so can close what nobody has any more. The garbage collector only marks a graph
// as dropped, since to close it is to wait for its stream.

// openGraphs are the graphs of a device that are not closed.
type openGraphs struct {
	mu  sync.Mutex
	all map[*graph]struct{} // guarded by mu
	// dropped is set where one of them may have lost its Graph.
	dropped atomic.Bool
}

// handle returns the Graph of g, which is open.
func (g *graph) handle() *Graph {
	open := &g.stream.dev.graphs
	open.mu.Lock()
	defer open.mu.Unlock()
	if open.all == nil {
		open.all = map[*graph]struct{}{}
	}
	open.all[g] = struct{}{}
	h := &Graph{g}
	guardGraph(h)
	return h
}

// drop notes that the Graph of g is gone.
func (g *graph) drop() {
	g.dropped.Store(true)
	g.stream.dev.graphs.dropped.Store(true)
}

// forget takes a graph that is closed from the list.
func (o *openGraphs) forget(g *graph) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, g)
}

func (o *openGraphs) list() []*graph {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.all))
}

// close closes all of them.
func (o *openGraphs) close() error {
	var errs []error
	for _, g := range o.list() {
		errs = append(errs, g.close())
	}
	return errors.Join(errs...)
}

// sweepGraphs closes the graphs that were dropped, unless a capture forbids to
// wait. It reports whether it closed any.
func (d *Device) sweepGraphs() (did bool, err error) {
	if d.capture.Load() != nil || !d.graphs.dropped.Swap(false) {
		return false, nil
	}
	var errs []error
	for _, g := range d.graphs.list() {
		if g.dropped.Load() {
			did = true
			errs = append(errs, g.close())
		}
	}
	return did, errors.Join(errs...)
}
