package gpu

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"tarn/cuda"
	"tarn/cuda/cublaslt"
	"tarn/kernels"
)

// matmulSetting is the variable of the environment that says who multiplies
// matrices: our kernels, or cuBLASLt where it can.
const matmulSetting = "TARN_MATMUL"

// multiplier is a library that multiplies matrices; [cublaslt.Library].
type multiplier interface {
	Workspace(p cublaslt.Product) (int64, error)
	Run(s cuda.Stream, p cublaslt.Product, work cuda.DevicePtr) error
	Close() error
}

// blas is the library in place of our kernels, where one is asked for.
type blas struct {
	open    func() (multiplier, error) // nil: nobody asked, or for what there is not
	err     error                      // why not
	lock    sync.Mutex
	library atomic.Pointer[multiplier] // nil before the first use
	closed  bool                       // guarded by lock
}

// ask reads the setting.
func (b *blas) ask(c *cuda.Context) {
	switch value := os.Getenv(matmulSetting); value {
	case "", "tarn":
	case "cublaslt":
		b.open = func() (multiplier, error) { return cublaslt.Open(c) }
	default:
		b.err = fmt.Errorf("gpu: %s is %q, may be \"tarn\", \"cublaslt\" or nothing", matmulSetting, value)
	}
}

// get returns the library, nil if none is asked for. One that could not be
// opened is tried again at the next use.
func (b *blas) get() (multiplier, error) {
	if b.open == nil {
		return nil, b.err
	}
	if l := b.library.Load(); l != nil {
		return *l, nil
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	if l := b.library.Load(); l != nil {
		return *l, nil
	}
	if b.closed {
		return nil, fmt.Errorf("gpu: cuBLASLt: %w", cuda.ErrClosed)
	}
	l, err := b.open()
	if err != nil {
		return nil, fmt.Errorf("gpu: %s asks for cuBLASLt: %w", matmulSetting, err)
	}
	b.library.Store(&l)
	return l, nil
}

func (b *blas) close() error {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.closed = true
	if l := b.library.Swap(nil); l != nil {
		return (*l).Close()
	}
	return nil
}

// blasAlignment is that of a workspace, of which our callers only promise 16
// bytes.
const blasAlignment = 256

// workspace returns the bytes that multiply needs for batch products. What is
// wrong multiply says.
func (b *blas) workspace(p *product, batch int64, d kernels.DType) int64 {
	l, err := b.get()
	if l == nil || err != nil {
		return 0
	}
	n, err := l.Workspace(p.foreign(batch, d))
	if n == 0 || err != nil {
		return 0
	}
	return n + blasAlignment - 16
}

// multiply queues products and reports whether it did: not where no library is
// asked for, or where it has no way to do them.
func (b *blas) multiply(s cuda.Stream, p *product, batch int64, d kernels.DType, work uintptr) (done bool, err error) {
	l, err := b.get()
	if l == nil || err != nil {
		return false, err
	}
	work = (work + blasAlignment - 1) &^ (blasAlignment - 1)
	err = l.Run(s, p.foreign(batch, d), cuda.DevicePtr(work))
	if errors.Is(err, cublaslt.ErrNotSupported) {
		return false, nil
	}
	return true, err
}

// foreign describes products to the library.
func (p *product) foreign(batch int64, d kernels.DType) cublaslt.Product {
	t := cublaslt.Float32
	if d == kernels.Float64 {
		t = cublaslt.Float64
	}
	return cublaslt.Product{
		Type: t, OutType: t, M: p.m, N: p.n, K: p.k, Batch: batch,
		X:       cublaslt.Matrices{Ptr: cuda.DevicePtr(p.x), Batch: p.xbatch, Row: p.xm, Col: p.xk},
		Y:       cublaslt.Matrices{Ptr: cuda.DevicePtr(p.y), Batch: p.ybatch, Row: p.yk, Col: p.yn},
		Out:     cublaslt.Matrices{Ptr: cuda.DevicePtr(p.out), Batch: p.obatch, Row: p.om, Col: p.on},
		Bias:    cublaslt.Matrices{Ptr: cuda.DevicePtr(p.bias), Batch: p.bbatch, Row: p.bm, Col: p.bn},
		Rectify: p.rectify != 0, Accumulate: p.accumulate != 0,
	}
}
