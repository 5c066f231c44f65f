package tensor

import (
	"errors"
	"fmt"

	"tarn/cuda"
	"tarn/internal/invariants"
	"tarn/memory"
)

// Freed memory stays where it is, and who reads it by mistake often finds what
// he looks for. With the build tag invariants it is overwritten with NaNs, in
// stream order. A simulated device can do better: it refuses the access.

// Guard is told, in the order of a stream, which memory of a device is in
// nobody's use, and which is again. A simulated machine is one: an op that
// touches what it was told of is an illegal access.
type Guard interface {
	Poison(p cuda.DevicePtr, size int64, s cuda.Stream) error
	Unpoison(p cuda.DevicePtr, size int64, s cuda.Stream) error
}

// SetGuard has g told of what tensors free. It comes before the first tensor.
// The error means that the device is not one of CUDA's.
func (d *Device) SetGuard(g Guard) error {
	b, ok := d.backend.(*cudaBackend)
	if !ok {
		return fmt.Errorf("%w: %v takes no guard", ErrDevice, d)
	}
	b.guard, d.poisons = g, true
	return nil
}

// poisoner is a backend that can spoil memory, after the earlier work of a
// stream, and make it good.
type poisoner interface {
	poison(s cuda.Stream, p cuda.DevicePtr, size int64) error
	unpoison(s cuda.Stream, p cuda.DevicePtr, size int64) error
}

// poison spoils the block, which no other stream uses. In a capture that would
// be recorded, and happen when the block is somebody else's; and a graph goes on
// using what was freed of its own.
func (st *Storage) poison() error {
	b, ok := st.dev.backend.(poisoner)
	if !ok || st.block.Ptr == 0 || st.graph != nil || st.home.closed.Load() || st.dev.capture.Load() != nil {
		return nil
	}
	return b.poison(st.home.id, st.block.Ptr, st.block.Size)
}

// unpoison makes a new block good. After an error it is given back. In a capture
// that would be recorded, and each replay make good what may be somebody else's
// by then: the end of the capture does it.
func (s *Stream) unpoison(block memory.Block) error {
	b, ok := s.dev.backend.(poisoner)
	if !ok || block.Ptr == 0 {
		return nil
	}
	if c := s.capture.Load(); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.fresh = append(c.fresh, block)
		return nil
	}
	if err := b.unpoison(s.id, block.Ptr, block.Size); err != nil {
		return errors.Join(err, s.dev.mem.Free(block.Handle))
	}
	return nil
}

// unpoison makes good what was allocated in the capture, which has ended. A stream
// that was drawn in has made good by itself what it allocated right before that, and
// poisons and makes good without a sequence number: the graph comes after it all.
func (c *capture) unpoison() error {
	if !c.dev.poisons {
		return nil
	}
	up := c.dev.backend.Upstream()
	for _, s := range c.streams[1:] {
		e, err := up.RecordEvent(s.id)
		if err == nil {
			err = errors.Join(up.WaitEvent(c.origin.id, e), up.DestroyEvent(e))
		}
		if err != nil {
			return err
		}
	}
	for _, block := range c.fresh {
		if err := c.dev.backend.(poisoner).unpoison(c.origin.id, block.Ptr, block.Size); err != nil {
			return err
		}
	}
	return nil
}

// poison implements poisoner: bytes of 0xFF are a NaN in every float type. A
// device that is lost has nothing to protect.
func (b *cudaBackend) poison(s cuda.Stream, p cuda.DevicePtr, size int64) error {
	if b.context.Lost() != nil {
		return nil
	}
	if invariants.Enabled {
		if err := b.context.Fill8(s, p, 0xFF, size); err != nil {
			return err
		}
	}
	if b.guard == nil {
		return nil
	}
	return b.guard.Poison(p, size, b.handle(s))
}

// unpoison implements poisoner.
func (b *cudaBackend) unpoison(s cuda.Stream, p cuda.DevicePtr, size int64) error {
	if b.guard == nil || b.context.Lost() != nil {
		return nil
	}
	return b.guard.Unpoison(p, size, b.handle(s))
}

// handle returns the driver's stream.
func (b *cudaBackend) handle(s cuda.Stream) cuda.Stream {
	if s == 0 {
		return b.context.Default()
	}
	return s
}
