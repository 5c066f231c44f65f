package cudasim

import "tarn/cuda"

// The modes of a capture: from which threads calls that a capture could not
// take in are refused while it lasts.
const (
	modeGlobal  = 0
	modeThread  = 1
	modeRelaxed = 2
)

// The states of a stream, as cuStreamIsCapturing tells them.
const (
	statusNone        = 0
	statusActive      = 1
	statusInvalidated = 2
)

// capture is a graph that is being recorded. It is guarded by the machine.
type capture struct {
	origin  *stream
	mode    int
	thread  uintptr // that began it
	streams map[*stream]bool
	nodes   []*node
	broken  bool // by a call that it could not take
	over    bool
}

// node is a piece of work in a graph.
type node struct {
	index int // in the graph
	after []*node
	work  work
}

// nodeKind is what a node does.
type nodeKind int

const (
	nodeOther nodeKind = iota
	nodeKernel
	nodeCopy
	nodeFill
	nodeHost
	nodeGraph
)

// beginCapture is cuStreamBeginCapture.
func (s *stream) beginCapture(mode int, thread uintptr) cuda.Code {
	m := s.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case mode < modeGlobal || mode > modeRelaxed:
		return cuda.InvalidValue
	case s.destroyed:
		return cuda.InvalidHandle
	case s == s.context.legacy:
		return captureUnsupported
	case s.capture != nil:
		return illegalState
	}
	s.capture = &capture{origin: s, mode: mode, thread: thread, streams: map[*stream]bool{s: true}}
	s.tips = nil
	if mode != modeRelaxed {
		m.strict.Add(1)
	}
	return cuda.Success
}

// endCapture is cuStreamEndCapture. The capture is over whatever comes of it,
// but for one that the stream or the thread did not begin.
func (s *stream) endCapture(thread uintptr) (*graph, cuda.Code) {
	m := s.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	c := s.capture
	switch {
	case c == nil:
		return nil, illegalState
	case c.origin != s:
		c.broken = true
		return nil, captureUnmatched
	case c.mode != modeRelaxed && c.thread != thread:
		return nil, captureWrongThread
	}
	code := cuda.Success
	switch {
	case c.broken:
		code = captureInvalidated
	case !c.joined():
		code = captureUnjoined
	}
	c.end()
	if code != cuda.Success {
		c.broken = true
		return nil, code
	}
	g := &graph{machine: m, nodes: c.nodes}
	g.handle = add(g)
	m.graphs[g] = true
	return g, cuda.Success
}

// end has the streams go on without the capture.
func (c *capture) end() {
	for s := range c.streams {
		s.capture, s.tips = nil, nil
	}
	c.over = true
	if c.mode != modeRelaxed {
		c.origin.owner().strict.Add(-1)
	}
}

// joined reports whether the origin comes after all work of the other streams.
func (c *capture) joined() bool {
	before := map[*node]bool{}
	for list := append([]*node(nil), c.origin.tips...); len(list) > 0; {
		n := list[len(list)-1]
		list = list[:len(list)-1]
		if !before[n] {
			before[n] = true
			list = append(list, n.after...)
		}
	}
	for s := range c.streams {
		for _, n := range s.tips {
			if !before[n] {
				return false
			}
		}
	}
	return true
}

// leave takes a stream that is destroyed out of a capture, if it is in one.
func (c *capture) leave(s *stream) {
	if c == nil {
		return
	}
	c.broken = true
	if c.origin == s {
		c.end()
	} else {
		delete(c.streams, s)
	}
}

// add records work of a stream.
func (c *capture) add(s *stream, w work) cuda.Code {
	if c.broken {
		return captureInvalidated
	}
	n := &node{index: len(c.nodes), after: s.tips, work: w}
	c.nodes = append(c.nodes, n)
	s.tips = []*node{n}
	return cuda.Success
}

// join has the stream wait for an event where either is captured; guarded by
// the machine.
func (s *stream) join(e *event) cuda.Code {
	switch {
	case s.capture != nil && s.capture.broken:
		return captureInvalidated
	case e.captured == nil && !e.recorded:
		return cuda.Success // there is nothing to wait for
	case e.captured == nil:
		s.capture.broken = true
		return captureIsolation
	case e.captured.over:
		return capturedEvent // of a capture that is over
	case s == s.context.legacy:
		e.captured.broken = true
		return captureImplicit
	case s.capture == nil:
		if e.captured.broken {
			return captureInvalidated
		}
		s.capture, s.tips = e.captured, nil
		s.capture.streams[s] = true
	case s.capture != e.captured:
		s.capture.broken, e.captured.broken = true, true
		return captureMerge
	}
	s.tips = union(s.tips, e.tips)
	return cuda.Success
}

func union(a, b []*node) []*node {
	all := append([]*node(nil), a...)
	for _, n := range b {
		found := false
		for _, have := range a {
			found = found || have == n
		}
		if !found {
			all = append(all, n)
		}
	}
	return all
}

// capturing is cuStreamIsCapturing.
func (s *stream) capturing() (int, cuda.Code) {
	m := s.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case s.capture != nil && s.capture.broken:
		return statusInvalidated, cuda.Success
	case s.capture != nil:
		return statusActive, cuda.Success
	case s.context.hindrance(s) != nil:
		return statusNone, captureImplicit
	}
	return statusNone, cuda.Success
}

// forbids refuses a call that captures other than relaxed ones do not allow, and
// ends them.
func (m *Machine) forbids(thread uintptr) cuda.Code {
	m.mu.Lock()
	defer m.mu.Unlock()
	code := cuda.Success
	for _, d := range m.devices {
		if d.primary == nil {
			continue
		}
		for s := range d.primary.streams {
			c := s.capture
			if c != nil && (c.mode == modeGlobal || c.mode == modeThread && c.thread == thread) {
				c.broken = true
				code = captureUnsupported
			}
		}
	}
	return code
}
