package memory

import (
	"math/rand/v2"
	"time"

	"tarn/cuda"
)

// note is what a history knows about a live or parked block beyond its record,
// which is full. Other records have the zero note.
type note struct {
	stack stackID
	since int64 // when the client got it, in microseconds since 1970
}

// notes has the notes of a table by index of record, in chunks like those of
// the records. A chunk is made when the first of its blocks is noted.
type notes []*[chunkLen]note

func (n notes) at(i uint32) note {
	if chunk := int(i >> chunkShift); chunk < len(n) && n[chunk] != nil {
		return n[chunk][i%chunkLen]
	}
	return note{}
}

// place returns where the note of record i is.
func (n *notes) place(i uint32) *note {
	chunk := int(i >> chunkShift)
	for len(*n) <= chunk {
		*n = append(*n, nil)
	}
	if (*n)[chunk] == nil {
		(*n)[chunk] = new([chunkLen]note)
	}
	return &(*n)[chunk][i%chunkLen]
}

// sample says whether an Alloc is to note its stack. It is left to chance: a
// program whose steps have a multiple of the mode's number of Allocs would
// show the same few for ever.
func (h *history) sample() bool {
	switch h.Stacks {
	case NoStacks, AllStacks:
		return h.Stacks == AllStacks
	}
	return rand.Uint32N(uint32(h.Stacks)) == 0
}

// The methods below are called with t.mu held, so that the events at an address
// are in order. Those of blocks need a history that is on.

// noteAlloc notes that a client got record i.
func (t *table) noteAlloc(i uint32, b *block, stack stackID) {
	now := time.Now().UnixMicro()
	*t.notes.place(i) = note{stack, now}
	t.history.add(event{time: now, action: ActionAlloc, addr: b.ptr, size: b.requested, stream: t.stream, tag: b.tag, stack: stack})
}

// noteFree notes that the client gave record i back, or that it is free. With
// no stack the event has that of the block's making.
func (t *table) noteFree(action Action, i uint32, b *block, stack stackID) {
	if stack == 0 {
		stack = t.notes.at(i).stack
	}
	t.history.record(event{action: action, addr: b.ptr, size: b.requested, stream: t.stream, tag: b.tag, stack: stack})
	if action == ActionFreeCompleted {
		*t.notes.place(i) = note{}
	}
}

// noteRange notes that a segment or pages came to t or left it.
func (t *table) noteRange(action Action, base cuda.DevicePtr, size int64, stack stackID) {
	if t.history != nil {
		t.history.record(event{action: action, addr: base, size: size, stream: t.stream, stack: stack})
	}
}
