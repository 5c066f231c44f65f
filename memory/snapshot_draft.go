package memory

import "slices"

// draft is a snapshot on its way. What takes all locks notes ids of stacks and
// numbers; the names come when no lock is held.
type draft struct {
	device   int
	active   int64
	segments []SnapshotSegment
	stacks   []stackID // of the segments and their blocks, in order
	tags     []Tag     // of the blocks, in order
	events   []event
	frames   map[stackID][]Frame
}

// segment adds a segment of t. All locks are held.
func (d *draft) segment(t *table, slot uint32) {
	s := &t.segments[slot]
	out := SnapshotSegment{
		Device: d.device, Address: s.base, Size: s.size, Stream: t.stream, Pool: s.pool.String(), Pages: s.arena != nil,
	}
	if p := t.group(); p != nil {
		out.Private = p.cfg.Name
	}
	d.stacks = append(d.stacks, s.stack)
	for i := s.head; i != 0; {
		b := t.records.at(i)
		block := SnapshotBlock{Address: b.ptr, Size: b.size}
		var n note
		if b.state == stateFree {
			block.State, block.Age = BlockInactive, t.clock-b.freedAt()
		} else {
			n = t.notes.at(i)
			block.Requested, block.Since = b.requested, n.since
			out.Active += b.size
			out.Requested += b.requested
			if block.State = BlockAllocated; b.state == stateParked {
				block.State = BlockPendingFree
			} else {
				out.Allocated += b.size
			}
		}
		d.stacks, d.tags = append(d.stacks, n.stack), append(d.tags, b.tag)
		out.Blocks = append(out.Blocks, block)
		i = b.next
	}
	d.active += out.Active
	d.segments = append(d.segments, out)
}

// tell puts names to the stacks and tags. No lock is held.
func (d *draft) tell(all *stacks) {
	stacks, tags := d.stacks, d.tags
	for i := range d.segments {
		s := &d.segments[i]
		s.Frames, stacks = d.framesOf(all, stacks[0]), stacks[1:]
		for j := range s.Blocks {
			b := &s.Blocks[j]
			b.Frames = d.framesOf(all, stacks[j])
			if b.State != BlockInactive {
				b.Tag = tags[j].String()
			}
		}
		stacks, tags = stacks[len(s.Blocks):], tags[len(s.Blocks):]
	}
}

// framesOf returns the frames of a stack, the same ones for the same stack.
func (d *draft) framesOf(all *stacks, id stackID) []Frame {
	if id == 0 {
		return nil
	}
	frames, ok := d.frames[id]
	if !ok {
		if d.frames == nil {
			d.frames = make(map[stackID][]Frame)
		}
		frames = slices.Clip(all.frames(id))
		d.frames[id] = frames
	}
	return frames
}

// history returns the events with names to them.
func (d *draft) history(all *stacks) []Event {
	events := make([]Event, len(d.events))
	for i, e := range d.events {
		out := Event{Action: e.action, Addr: e.addr, Size: e.size, Stream: e.stream, Time: e.time, Frames: d.framesOf(all, e.stack)}
		switch e.action {
		case ActionOutOfMemory:
			out.Addr, out.DeviceFree = 0, int64(e.addr)
			out.Tag = e.tag.String()
		case ActionAlloc, ActionFreeRequested, ActionFreeCompleted:
			out.Tag = e.tag.String()
		}
		events[i] = out
	}
	return events
}
