package memory

import (
	"fmt"
	"sync"
	"time"

	"tarn/cuda"
)

// History says what an allocator notes down of what happens. The zero History
// is nothing, and then costs next to nothing.
type History struct {
	// Stacks says which blocks know the stack that they were allocated from.
	Stacks StackMode
	// Skip is how many frames are left out of a stack, from Alloc's caller on.
	Skip int
	// Depth is how many frames are kept after that, at most 64; 0 for 32.
	Depth int
	// Events is how many of the latest events are kept; 0 for none. They take
	// 40 bytes each, at once.
	Events int
}

// StackMode says how many Allocs note their stack: NoStacks, AllStacks, or for
// larger values n one in n, picked at random.
type StackMode uint32

// The modes that have names. With AllStacks the event of a free has the stack
// of Free's caller; otherwise that of the block's making.
const (
	NoStacks  StackMode = 0
	AllStacks StackMode = 1
)

// Action is what an [Event] tells. The names are PyTorch's.
type Action uint8

// The actions.
const (
	ActionAlloc         Action = iota // a client got a block
	ActionFreeRequested               // the client gave it back
	ActionFreeCompleted               // no stream uses it any more: it is free
	ActionSegmentAlloc                // a stream got a segment, from upstream or another stream
	ActionSegmentFree                 // a stream gave it away, upstream or to another stream
	ActionSegmentMap                  // the same for a range of pages
	ActionSegmentUnmap                //
	ActionOutOfMemory                 // a request failed for want of memory
	ActionSnapshot                    // somebody took a Snapshot
	numActions
)

var actionNames = [numActions]string{
	"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
	"segment_map", "segment_unmap", "oom", "snapshot",
}

// String returns PyTorch's name of an action.
func (a Action) String() string {
	if a < numActions {
		return actionNames[a]
	}
	return "no action"
}

// MarshalText writes the name of a.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the name of an action.
func (a *Action) UnmarshalText(text []byte) error {
	for i, name := range actionNames {
		if name == string(text) {
			*a = Action(i)
			return nil
		}
	}
	return fmt.Errorf("memory: %q is no action of a history", text)
}

// Event is one thing that happened.
type Event struct {
	Action Action `json:"action"`
	// Addr is where. Size is in bytes: what was asked for of a block, what it
	// takes of a segment and of pages, the rounded request of a failure, and
	// what is active at a snapshot.
	Addr cuda.DevicePtr `json:"addr"`
	Size int64          `json:"size"`
	// DeviceFree is what the device had left when a request failed, in bytes.
	DeviceFree int64       `json:"device_free,omitempty"`
	Stream     cuda.Stream `json:"stream"`
	Time       int64       `json:"time_us"` // microseconds since 1970
	Tag        string      `json:"tag,omitempty"`
	Frames     []Frame     `json:"frames,omitempty"` // innermost first
}

// event is an Event as it is kept. addr is the free memory of a failure.
type event struct {
	time   int64
	addr   cuda.DevicePtr
	size   int64
	stream cuda.Stream
	stack  stackID
	tag    Tag
	action Action
}

// history is a History that is on. Tables and the allocator point to the same.
type history struct {
	History

	mu   sync.Mutex // the last of all locks; guards all below
	ring []event    // of Events
	sum  uint64     // events so far
}

// RecordHistory has the allocator note down what h says from now on. Of what
// was noted before, blocks keep their stacks, and the latest events stay that
// h has room for; a zero History forgets everything. Negative numbers are a
// mistake in the caller's code, and panic.
func (a *Allocator) RecordHistory(h History) {
	if h.Skip < 0 || h.Depth < 0 || h.Events < 0 {
		panic(fmt.Sprintf("memory: RecordHistory: negative number in %+v", h))
	}
	if h.Depth == 0 {
		h.Depth = defaultDepth
	}
	h.Depth = min(h.Depth, maxDepth)
	var next *history
	if h.Stacks != NoStacks || h.Events > 0 {
		next = &history{History: h, ring: make([]event, h.Events)}
	}
	tables := a.lockAll()
	defer a.unlockAll(tables)
	if last := a.history.Load(); last != nil && next != nil {
		for _, e := range last.latest() {
			next.add(e)
		}
	}
	a.history.Store(next)
	for _, t := range tables {
		if t.history = next; next == nil {
			t.notes = nil
		}
	}
}

// record adds an event that happens now.
func (h *history) record(e event) {
	if len(h.ring) == 0 {
		return
	}
	e.time = time.Now().UnixMicro()
	h.add(e)
}

// add adds an event that has its time.
func (h *history) add(e event) {
	n := uint64(len(h.ring))
	if n == 0 {
		return
	}
	h.mu.Lock()
	h.ring[h.sum%n] = e
	h.sum++
	h.mu.Unlock()
}

// latest returns the events that are kept, oldest first.
func (h *history) latest() []event {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := uint64(len(h.ring))
	if h.sum <= n {
		return append([]event(nil), h.ring[:h.sum]...)
	}
	at := h.sum % n
	return append(append(make([]event, 0, n), h.ring[at:]...), h.ring[:at]...)
}
