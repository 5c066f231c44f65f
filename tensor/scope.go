package tensor

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Scope owns the memory of the tensors made in it: Close releases what is left
// of it, at a known point and in stream order, without waiting for the garbage
// collector. A training step opens one, puts its input in with [Tensor.In], and
// closes it at the end.
//
//	s := tensor.NewScope()
//	defer s.Close()
//	loss := nn.CrossEntropy(model.Forward(x.In(s)), y)
//
// A scope holds storages, not tensors: a tensor or graph node that nobody
// reaches any more is the garbage collector's at once. A scope may be used
// from many goroutines.
type Scope struct {
	parent *Scope
	born   uintptr // program counter of the call that made it
	closed atomic.Bool

	mu       sync.Mutex
	storages []*Storage // the live ones; a storage knows its slot
	children []*Scope
	env      *env // {scope: this}, shared by all that is made in it
}

// NewScope opens a scope with no parent.
func NewScope() *Scope {
	s := &Scope{born: caller()}
	s.env = &env{scope: s}
	return s
}

// Child opens a scope inside s: closing s closes it too, and [Scope.Keep]
// moves a tensor from it to s.
func (s *Scope) Child() *Scope {
	c := &Scope{parent: s, born: caller()}
	c.env = &env{scope: c}
	s.mu.Lock()
	s.children = append(s.children, c)
	s.mu.Unlock()
	return c
}

func caller() uintptr {
	var pc [1]uintptr
	runtime.Callers(3, pc[:])
	return pc[0]
}

// String names the scope by its birthplace.
func (s *Scope) String() string {
	f, _ := runtime.CallersFrames([]uintptr{s.born}).Next()
	return fmt.Sprintf("the scope made at %s:%d", f.File, f.Line)
}

func (s *Scope) shared() *env {
	if s == nil {
		return nil
	}
	return s.env
}

func (s *Scope) isAncestorOf(c *Scope) bool {
	for c = c.parent; c != nil; c = c.parent {
		if c == s {
			return true
		}
	}
	return false
}

// Close releases every tensor that is still in s and in the scopes inside it;
// their use is then [ErrReleased]. Closing again does nothing.
func (s *Scope) Close() error {
	s.mu.Lock()
	wasClosed := s.closed.Swap(true)
	storages, children := s.storages, s.children
	s.storages, s.children = nil, nil
	s.mu.Unlock()
	if wasClosed {
		return nil
	}
	var first error
	for _, c := range children {
		if err := c.Close(); err != nil && first == nil {
			first = err
		}
	}
	for _, st := range storages {
		if err := st.free(); err != nil && first == nil {
			first = err
		}
	}
	if s.parent != nil {
		s.parent.forget(s)
	}
	return first
}

func (s *Scope) forget(child *Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range s.children {
		if c == child {
			last := len(s.children) - 1
			s.children[i] = s.children[last]
			s.children = s.children[:last]
			return
		}
	}
}

func (s *Scope) add(st *Storage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return fmt.Errorf("%w: %v is closed", ErrReleased, s)
	}
	st.scope, st.slot = s, len(s.storages)
	s.storages = append(s.storages, st)
	return nil
}

func (s *Scope) remove(st *Storage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() || st.scope != s {
		return
	}
	last := len(s.storages) - 1
	moved := s.storages[last]
	s.storages[st.slot], moved.slot = moved, st.slot
	s.storages[last] = nil
	s.storages = s.storages[:last]
}

// Keep moves t and its storage from s to s's parent scope, or out of all
// scopes where s has none, and detaches it from its history. It is an error if
// t's memory is not in s.
func (s *Scope) Keep(t *Tensor) error {
	if err := t.usable(); err != nil {
		return newError("Keep", err, t)
	}
	if t.storage.scope != s {
		return newError("Keep", fmt.Errorf("%w: the tensor is not in %v", ErrScope, s), t)
	}
	if err := t.storage.moveTo(s.parent); err != nil {
		return newError("Keep", err, t)
	}
	root := t.root()
	v := root.env.get()
	v.scope = s.parent
	root.env = v.with(s.parent.shared())
	root.detachHistory()
	if t != root {
		t.env, t.node = root.env, nil
	}
	return nil
}

// moveTo gives the storage to another scope, or to the garbage collector.
func (st *Storage) moveTo(to *Scope) error {
	if from := st.scope; from == to {
		return nil
	} else if from != nil {
		from.remove(st)
	} else {
		st.cleanup.Stop()
	}
	st.scope = nil
	if to != nil {
		if err := to.add(st); err == nil {
			return nil
		} else {
			st.guard()
			return err
		}
	}
	st.guard()
	return nil
}
