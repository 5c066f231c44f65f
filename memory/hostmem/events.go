package hostmem

import (
	"fmt"

	"tarn/cuda"
)

// RecordEvent returns an event that is done: so is all work of the stream.
func (u *Upstream) RecordEvent(cuda.Stream) (cuda.Event, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last++
	u.events[u.last] = struct{}{}
	return u.last, nil
}

// QueryEvent reports true for every live event.
func (u *Upstream) QueryEvent(e cuda.Event) (done bool, err error) {
	err = u.checkEvent("query", e)
	return err == nil, err
}

// WaitEvent does nothing, for there is nothing left to wait for.
func (u *Upstream) WaitEvent(_ cuda.Stream, e cuda.Event) error {
	return u.checkEvent("wait for", e)
}

// SyncEvent does nothing, for there is nothing left to wait for.
func (u *Upstream) SyncEvent(e cuda.Event) error {
	return u.checkEvent("wait for", e)
}

// DestroyEvent forgets the event.
func (u *Upstream) DestroyEvent(e cuda.Event) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.events[e]; !ok {
		return fmt.Errorf("hostmem: destroy event %d: %w", e, ErrUnknownEvent)
	}
	delete(u.events, e)
	return nil
}

func (u *Upstream) checkEvent(verb string, e cuda.Event) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.events[e]; !ok {
		return fmt.Errorf("hostmem: %s event %d: %w", verb, e, ErrUnknownEvent)
	}
	return nil
}
