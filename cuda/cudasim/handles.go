package cudasim

import "sync"

// handles are all that callers hold of all machines. A handle is good in the
// whole process, so that each call finds its machine by what it is given.
var handles = struct {
	sync.RWMutex
	things map[uintptr]any
	last   uintptr
}{things: map[uintptr]any{}, last: 0x5100000}

// add returns a handle that no other thing has had.
func add(thing any) uintptr {
	handles.Lock()
	defer handles.Unlock()
	handles.last += 16
	handles.things[handles.last] = thing
	return handles.last
}

func drop(handle uintptr) {
	handles.Lock()
	defer handles.Unlock()
	delete(handles.things, handle)
}

// owned is a thing of a machine.
type owned interface{ owner() *Machine }

// find returns the thing of that kind that a handle of the machine stands for.
func find[T owned](m *Machine, handle uintptr) (thing T, ok bool) {
	thing, ok = lookup[T](handle)
	if ok && thing.owner() != m {
		var none T
		return none, false
	}
	return thing, ok
}

// lookup is find in any machine.
func lookup[T owned](handle uintptr) (T, bool) {
	handles.RLock()
	defer handles.RUnlock()
	thing, ok := handles.things[handle].(T)
	return thing, ok
}

// forget drops all handles of a machine.
func forget(m *Machine) {
	handles.Lock()
	defer handles.Unlock()
	for handle, thing := range handles.things {
		if thing.(owned).owner() == m {
			delete(handles.things, handle)
		}
	}
}
