package cuda

import (
	"fmt"

	"tarn/cuda/internal/shim"
)

// Graph is captured work. It does nothing by itself; Instantiate makes something
// that can be launched. Of a graph, and of what was made of it, one goroutine at
// a time may call a method.
type Graph struct {
	context *Context
	handle  uintptr // CUgraph; 0 when closed
}

// GraphExec is a graph made ready to run.
type GraphExec struct {
	context *Context
	handle  uintptr // CUgraphExec; 0 when closed
}

// UpdateError means that an executable graph cannot become another graph, and is
// as it was: instantiate that one anew. It wraps the driver's [Error].
type UpdateError struct {
	Reason int // CUgraphExecUpdateResult
	Err    error
}

func (e *UpdateError) Error() string {
	reasons := [...]string{2: "its topology is another", 3: "a node is of another type", 4: "a kernel is of another context or module",
		5: "a parameter cannot be changed", 6: "a node cannot be changed"}
	reason := fmt.Sprintf("CUgraphExecUpdateResult(%d)", e.Reason)
	if e.Reason > 1 && e.Reason < len(reasons) {
		reason = reasons[e.Reason]
	}
	return fmt.Sprintf("%v: %s", e.Err, reason)
}

// Unwrap returns the driver's error.
func (e *UpdateError) Unwrap() error { return e.Err }

// Nodes returns how many pieces of work the graph has.
func (g *Graph) Nodes() (int, error) {
	if err := g.context.usableGraph(shim.GraphNodes, g.handle); err != nil {
		return 0, err
	}
	out, err := g.context.call(shim.GraphNodes, uint64(g.handle), 0, 0, 0)
	return int(out.Value), err
}

// Close takes the graph away. What was instantiated of it stays.
func (g *Graph) Close() error { return g.context.closeGraph(kindGraph, shim.GraphDestroy, &g.handle) }

// Instantiate makes the graph ready to run, as it is now. Modules and memory
// that it uses must stay until the result is closed.
func (g *Graph) Instantiate() (*GraphExec, error) {
	if err := g.context.usableGraph(shim.GraphInstantiate, g.handle); err != nil {
		return nil, err
	}
	handle, err := g.context.begin(kindExec, shim.GraphInstantiate, uint64(g.handle), 0, 0, 0)
	if err != nil {
		return nil, err
	}
	return &GraphExec{context: g.context, handle: uintptr(handle)}, nil
}

// Launch queues all of the graph in a stream: after the work that is there, and
// before what comes later. Launches of one GraphExec never overlap.
func (x *GraphExec) Launch(s Stream) error {
	c := x.context
	if err := c.usableGraph(shim.GraphLaunch, x.handle); err != nil {
		return err
	}
	if _, err := c.call(shim.GraphLaunch, uint64(x.handle), c.on(s), 0, 0); err != nil {
		return err
	}
	return c.check(c.settle(c.on(s)))
}

// Update has later launches do what g does: the same calls in the same order,
// with other arguments. An [UpdateError] means that g is too different.
func (x *GraphExec) Update(g *Graph) error {
	for _, handle := range []uintptr{x.handle, g.handle} {
		if err := x.context.usableGraph(shim.ExecUpdate, handle); err != nil {
			return err
		}
	}
	out, err := x.context.call(shim.ExecUpdate, uint64(x.handle), uint64(g.handle), 0, 0)
	if out.Entry == shim.ExecUpdate && Code(out.Code) == UpdateFailure {
		return &UpdateError{Reason: int(out.Value), Err: err}
	}
	return err
}

// Close takes it away. Launches that are under way go on.
func (x *GraphExec) Close() error { return x.context.closeGraph(kindExec, shim.ExecDestroy, &x.handle) }

// usableGraph refuses what is closed: the driver would follow a handle that is gone.
func (c *Context) usableGraph(e shim.Entry, handle uintptr) error {
	if err := c.usable(); err != nil {
		return err
	}
	if handle == 0 {
		return refuse(e, InvalidHandle)
	}
	return nil
}

func (c *Context) closeGraph(kind int, e shim.Entry, handle *uintptr) error {
	if err := c.usableGraph(e, *handle); err != nil {
		return err
	}
	err := c.end(kind, e, uint64(*handle), 0)
	if err == nil {
		*handle = 0
	}
	return err
}
