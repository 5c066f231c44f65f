package gpu

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"tarn/cuda"
	"tarn/kernels"
)

// fault is where kernels leave word of bad data: pinned memory, which the
// device writes and the host reads without a call.
type fault struct {
	context *cuda.Context
	lock    sync.Mutex
	at      atomic.Uintptr // of a faultWord; 0 before the first use
	closed  bool           // guarded by lock
}

// faultWord mirrors struct Fault in row.cuh.
type faultWord struct {
	state      uint32 // 0 none, 1 being written, 2 there
	op         uint32
	row, class int64
}

const faultReady = 2

// address returns where a kernel leaves word.
func (f *fault) address() (uintptr, error) {
	if p := f.at.Load(); p != 0 {
		return p, nil
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	if p := f.at.Load(); p != 0 {
		return p, nil
	}
	if f.closed {
		return 0, fmt.Errorf("gpu: fault word: %w", cuda.ErrClosed)
	}
	size := int64(unsafe.Sizeof(faultWord{}))
	p, err := f.context.AllocPinned(size)
	if err != nil {
		return 0, fmt.Errorf("gpu: fault word: %w", err)
	}
	clear(p.Bytes(size))
	f.at.Store(uintptr(p))
	return uintptr(p), nil
}

func (f *fault) free() error {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.closed = true
	p := f.at.Swap(0)
	if p == 0 {
		return nil
	}
	return f.context.FreePinned(cuda.HostPtr(p))
}

// Fault returns what a kernel found wrong with the data that it read: a
// *kernels.Error wrapping ErrIndex that names row and class, or index and dim;
// nil if nothing was. It tells the first fault since the last call, and each once. Look after
// each synchronisation: what is not done yet has not found anything. The loss
// is NaN then, and the row's gradient 0.
func (k *Kernels) Fault() error {
	k.fault.lock.Lock()
	defer k.fault.lock.Unlock()
	p := k.fault.at.Load()
	if p == 0 {
		return nil
	}
	w := (*faultWord)(unsafe.Pointer(unsafe.SliceData(cuda.HostPtr(p).Bytes(int64(unsafe.Sizeof(faultWord{}))))))
	if atomic.LoadUint32(&w.state) != faultReady {
		return nil
	}
	err := &kernels.Error{Op: kernels.ID(w.op), Err: kernels.ErrIndex, Detail: fmt.Sprintf("class %d in row %d", w.class, w.row)}
	switch err.Op {
	case kernels.Gather, kernels.Scatter, kernels.ScatterAdd:
		err.Detail = fmt.Sprintf("index %d for a dim of %d", w.class, w.row)
	}
	atomic.StoreUint32(&w.state, 0)
	return err
}
