package tensor

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
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
// A scope that is dropped without Close leaves its tensors to the garbage
// collector, each by itself. A scope may be used from many goroutines.
type Scope struct {
	parent *Scope
	env    *env // {scope: this}, shared by all that is made in it
	owned  *owned
	net    runtime.Cleanup
}

// owned is what a scope owns. The storages know it, and not the scope, so that
// the garbage collector can find a scope that was dropped open. A scope owns
// storages, not tensors: it keeps no handle and no graph node alive.
type owned struct {
	born   uintptr // program counter of the call that made the scope
	parent *owned
	closed atomic.Bool

	mu       sync.Mutex
	storages []*Storage // the live ones; a storage knows its slot
	children []*owned   // of the scopes made inside that are not closed
}

// NewScope opens a scope with no parent.
func NewScope() *Scope { return newScope(nil, caller()) }

// Child opens a scope inside s: closing s closes it too, and [Scope.Keep]
// moves a tensor from it to s. In a closed scope it is closed from the start.
func (s *Scope) Child() *Scope { return newScope(s, caller()) }

func newScope(parent *Scope, born uintptr) *Scope {
	s := &Scope{parent: parent, owned: &owned{born: born}}
	s.env = &env{scope: s}
	if parent != nil {
		s.owned.parent = parent.owned
		parent.owned.mu.Lock()
		if parent.owned.closed.Load() {
			s.owned.closed.Store(true)
		} else {
			parent.owned.children = append(parent.owned.children, s.owned)
		}
		parent.owned.mu.Unlock()
	}
	s.net = guardScope(s)
	return s
}

func caller() uintptr {
	var pc [1]uintptr
	runtime.Callers(3, pc[:])
	return pc[0]
}

// String names the scope by its birthplace.
func (s *Scope) String() string { return s.owned.String() }

func (o *owned) String() string {
	f, _ := runtime.CallersFrames([]uintptr{o.born}).Next()
	return fmt.Sprintf("the scope made at %s:%d", f.File, f.Line)
}

func (s *Scope) shared() *env {
	if s == nil {
		return nil
	}
	return s.env
}

// list returns what s owns, nil for no scope.
func (s *Scope) list() *owned {
	if s == nil {
		return nil
	}
	return s.owned
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
	s.net.Stop()
	defer runtime.KeepAlive(s)
	return s.owned.close()
}

func (o *owned) close() error {
	o.mu.Lock()
	wasClosed := o.closed.Swap(true)
	storages, children := o.storages, o.children
	o.storages, o.children = nil, nil
	o.mu.Unlock()
	if wasClosed {
		return nil
	}
	var errs []error
	for _, c := range children {
		errs = append(errs, c.close())
	}
	for _, st := range storages {
		if err := st.free(); err != nil {
			errs = append(errs, err)
		}
	}
	o.parent.forget(o)
	return errors.Join(errs...)
}

func (o *owned) forget(child *owned) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.children, child); i >= 0 {
		o.children = slices.Delete(o.children, i, i+1)
	}
}

func (o *owned) add(st *Storage) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed.Load() {
		return fmt.Errorf("%w: %v is closed", ErrReleased, o)
	}
	st.owner.Store(o)
	st.slot = len(o.storages)
	o.storages = append(o.storages, st)
	return nil
}

// remove takes st out. It reports false where st is not here any more: o is
// closed, or gave it away.
func (o *owned) remove(st *Storage) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed.Load() || st.owner.Load() != o {
		return false
	}
	last := len(o.storages) - 1
	moved := o.storages[last]
	o.storages[st.slot], moved.slot = moved, st.slot
	o.storages[last] = nil
	o.storages = o.storages[:last]
	return true
}

// Keep moves t and its storage from s to s's parent scope, or out of all
// scopes where s has none, and detaches it from its history. It is an error if
// t's memory is not in s.
func (s *Scope) Keep(t *Tensor) error {
	if err := t.usable(); err != nil {
		return newError("Keep", err, t)
	}
	if t.storage.owner.Load() != s.owned {
		return newError("Keep", fmt.Errorf("%w: the tensor is not in %v", ErrScope, s), t)
	}
	if err := t.storage.moveTo(s.parent.list()); err != nil {
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
