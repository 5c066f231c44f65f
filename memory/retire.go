package memory

import "tarn/cuda"

// RetireStream tells the allocator that stream s will be destroyed: call it
// after the last work was queued on s, and before it is destroyed. It waits for
// that work. Blocks of s stay good and are freed as all others are; their memory
// goes to other streams. If the driver gives a new stream the same handle, that
// is another stream here, and what a later Free names by it. The error is the
// upstream's, and nothing has changed then.
func (a *Allocator) RetireStream(s cuda.Stream) error {
	var of []*table
	for _, t := range a.directory.Load().tables {
		if t.stream == s && !t.retired.Load() {
			of = append(of, t)
		}
	}
	if len(of) == 0 {
		return nil
	}
	if a.props.Asynchronous {
		if err := a.awaitStreams(of[:1]); err != nil {
			return err
		}
	}
	a.retire(of)
	// Somebody may be about to record an event on the stream.
	a.settle()
	for _, t := range of {
		t.mu.Lock()
		for t.idle.busy {
			t.settled.Wait()
		}
		t.mu.Unlock()
	}
	return nil
}

func (a *Allocator) retire(of []*table) {
	tables := a.lockAll()
	defer a.unlockAll(tables)
	if a.closed {
		return
	}
	for _, t := range of {
		t.retired.Store(true)
		if p := t.pool; p != nil {
			p.directory.Store(newDirectory(p.directory.Load().tables, p))
		}
	}
	a.directory.Store(newDirectory(tables, nil))
}
