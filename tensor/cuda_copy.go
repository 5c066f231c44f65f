package tensor

import (
	"errors"
	"fmt"

	"tarn/cuda"
	"tarn/cuda/cudamem"
	"tarn/memory"
	"tarn/memory/pinned"
)

const (
	// stageSize is the most bytes of pinned memory that one copy takes at a time.
	stageSize = 8 << 20
	// pinnedLimit bounds what copies under way hold: more than that waits for
	// the first of them.
	pinnedLimit = 128 << 20
)

// pinnedSource is where the pool of a device's pinned memory comes from.
type pinnedSource struct {
	*cudamem.Upstream // for its events
	context           *cuda.Context
}

// AllocHost implements [pinned.Source].
func (p pinnedSource) AllocHost(size int64) (uintptr, error) {
	at, err := p.context.AllocPinned(size)
	var call *cuda.Error
	if errors.As(err, &call) && call.Code == cuda.OutOfMemory {
		err = fmt.Errorf("%w: %w", memory.ErrUpstreamFull, err)
	}
	return uintptr(at), err
}

// FreeHost implements [pinned.Source].
func (p pinnedSource) FreeHost(at uintptr, _ int64) error {
	return p.context.FreePinned(cuda.HostPtr(at))
}

// CopyIn takes a copy of src into pinned memory and queues the copy from there.
func (b *cudaBackend) CopyIn(s cuda.Stream, dst cuda.DevicePtr, src []byte) error {
	for len(src) > 0 {
		n := min(len(src), stageSize)
		block, err := b.pinned.Alloc(int64(n))
		if short(err) {
			return b.context.Upload(s, dst, src)
		}
		if err != nil {
			return err
		}
		at := cuda.HostPtr(block.Ptr)
		copy(at.Bytes(int64(n)), src)
		if err := b.context.CopyIn(s, dst, at, int64(n)); err != nil {
			return errors.Join(err, b.pinned.Free(block.Handle))
		}
		if err := b.unstage(block, s); err != nil {
			return err
		}
		dst, src = dst+cuda.DevicePtr(n), src[n:]
	}
	return nil
}

// unstage gives pinned memory back after the work of s: where the device cannot
// be told so, it waits.
func (b *cudaBackend) unstage(block pinned.Block, s cuda.Stream) error {
	failed := b.pinned.Free(block.Handle, s)
	if failed == nil {
		return nil
	}
	if err := b.context.SyncStream(s); err != nil {
		return errors.Join(failed, err, b.pinned.Free(block.Handle))
	}
	return b.pinned.Free(block.Handle)
}

// CopyOut waits for the bytes, and so for the work before. It also tells what
// kernels found wrong with the data.
func (b *cudaBackend) CopyOut(s cuda.Stream, dst []byte, src cuda.DevicePtr) error {
	if err := b.peek(s, dst, src); err != nil {
		return err
	}
	return b.kernels.Fault()
}

// peek implements peeker.
func (b *cudaBackend) peek(s cuda.Stream, dst []byte, src cuda.DevicePtr) error {
	for len(dst) > 0 {
		n := min(len(dst), stageSize)
		if err := b.copyOut(s, dst[:n], src); err != nil {
			return err
		}
		src, dst = src+cuda.DevicePtr(n), dst[n:]
	}
	return nil
}

func (b *cudaBackend) copyOut(s cuda.Stream, dst []byte, src cuda.DevicePtr) error {
	block, err := b.pinned.Alloc(int64(len(dst)))
	if short(err) {
		return b.context.Download(s, dst, src)
	}
	if err != nil {
		return err
	}
	at := cuda.HostPtr(block.Ptr)
	if err := b.context.CopyOut(s, at, src, int64(len(dst))); err != nil {
		return errors.Join(err, b.pinned.Free(block.Handle))
	}
	if err := b.context.SyncStream(s); err != nil { // the copy may be under way
		return errors.Join(err, b.unstage(block, s))
	}
	copy(dst, at.Bytes(int64(len(dst))))
	return b.pinned.Free(block.Handle)
}

// short reports whether there is no pinned memory to be had. Copies do without
// then.
func short(err error) bool {
	if err == nil { // else oom would be made on the heap for each copy
		return false
	}
	var oom *pinned.OutOfMemoryError
	return errors.As(err, &oom)
}

// copyAcross implements crosser: by way of pinned memory, since what an allocator
// maps is for its own device alone.
func (b *cudaBackend) copyAcross(dst, src *Tensor, ds, ss *Stream) (bool, error) {
	from, ok := src.dev.backend.(*cudaBackend)
	if !ok {
		return false, nil
	}
	total := dst.view.Len() * dst.view.DType.Size()
	for done := int64(0); done < total; {
		n := min(total-done, stageSize)
		block, err := b.pinned.Alloc(n)
		if short(err) {
			return false, nil
		}
		if err != nil {
			return true, err
		}
		at, offset := cuda.HostPtr(block.Ptr), cuda.DevicePtr(done)
		err = ss.touch(src, false, func() error { return from.context.CopyOut(ss.id, at, src.pointer()+offset, n) })
		if err == nil {
			err = ds.waitAcross(ss)
		}
		if err == nil {
			err = ds.touch(dst, true, func() error { return b.context.CopyIn(ds.id, dst.pointer()+offset, at, n) })
		}
		if err != nil { // the first copy may be under way
			return true, errors.Join(err, ss.dev.backend.Synchronize(ss.id), b.pinned.Free(block.Handle))
		}
		if err := b.unstage(block, ds.id); err != nil {
			return true, err
		}
		done += n
	}
	return true, nil
}
