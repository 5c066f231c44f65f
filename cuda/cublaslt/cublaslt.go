// Package cublaslt multiplies matrices with NVIDIA's cuBLASLt, which comes with
// the CUDA toolkit and not with the driver. Importing this package loads
// nothing; [Open] looks for the library when it is asked to, where the system's
// loader looks.
//
//	product.go    a product, and how cuBLASLt sees it: column by column
//	plan.go       products that the library was asked about, and their runs
//	cublaslt.c    the calls, with the device made current on their thread
//
// Sums are taken in the precision that package kernels promises: float32
// without TF32, bf16 and f16 in float32. Their order is the library's: it
// depends on the shape, on how the operands are aligned and on the device. What
// a ReLU makes of NaN is the library's too.
package cublaslt

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"tarn/cuda"
	"tarn/cuda/internal/dl"
)

// names are the libraries that are tried, the newest first. The functions in
// use have the same signatures in all of them. A library needs a driver that is
// as new as itself; one without is passed over for the next.
var names = []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}

// Library is cuBLASLt for one device. All its methods may be called from many
// goroutines, on any thread. The code stays loaded until the program ends.
type Library struct {
	name    string
	call    functions
	context *cuda.Context
	handle  uintptr // cublasLtHandle_t; 0 when closed
	most    int64   // bytes of workspace for a product

	lock  sync.RWMutex // read: who uses plans and handle; write: who changes them
	plans map[shape]*plan
}

// functions are those of the library.
type functions interface {
	// name is that of the function in an outcome.
	name(function int) string
	create(d on) (handle uintptr, o outcome)
	destroy(d on, handle uintptr) outcome
	// plan asks how to do a product. bias is an address like those to come, and
	// workspace the bytes that may be needed; those that are come back.
	plan(d on, handle uintptr, s shape, bias uintptr, workspace int64) (plan uintptr, needed int64, o outcome)
	drop(plan uintptr) outcome
	run(d on, plan, a, b, out, bias, work, stream uintptr) outcome
}

// on is a device, for the C code: cuCtxSetCurrent and what it is called with.
type on struct{ setCurrent, context uintptr }

// outcome is a code, and whose it is: 0 is success.
type outcome struct{ code, function int }

// setCurrent is the function of an outcome whose code is the driver's.
const setCurrent = -1

// Open loads the library and begins its use of the device that c is of. The
// error says for each library that was tried why it cannot be used; it wraps
// [cuda.ErrNoLoader] in a build that can load nothing.
func Open(c *cuda.Context) (*Library, error) { return open(c, names) }

func open(c *cuda.Context, names []string) (*Library, error) {
	var failed OpenError
	for _, name := range names {
		l, err := openOne(c, name)
		if err == nil {
			return l, nil
		}
		if errors.Is(err, dl.ErrNoLoader) || c.Lost() != nil || errors.Is(err, cuda.ErrClosed) {
			return nil, fmt.Errorf("cublaslt: %w", err) // no other library would do better
		}
		failed.Names, failed.Errs = append(failed.Names, name), append(failed.Errs, err)
	}
	return nil, &failed
}

// OpenError says why no library could be used.
type OpenError struct {
	Names []string // of the libraries that were tried
	Errs  []error  // why each could not be used, in the same order
}

func (e *OpenError) Error() string {
	reasons := make([]string, len(e.Names))
	for i, name := range e.Names { // the system tends to begin with the name
		reasons[i] = name + ": " + strings.TrimPrefix(e.Errs[i].Error(), name+": ")
	}
	return "cublaslt: no library can be used: " + strings.Join(reasons, "; ")
}

// Unwrap returns the reasons.
func (e *OpenError) Unwrap() []error { return e.Errs }

func openOne(c *cuda.Context, name string) (*Library, error) {
	lib, err := dl.Open(name)
	if err != nil {
		return nil, err
	}
	call, err := find(lib)
	if err != nil {
		_ = lib.Close() // why is worth more than an error of this; nothing of it ran
		return nil, err
	}
	l := &Library{name: name, call: call, context: c, most: 4 << 20, plans: map[shape]*plan{}}
	if c.Device().Major >= 9 {
		l.most = 32 << 20 // as NVIDIA advises; 4 MiB for what is older
	}
	d, err := l.device()
	if err != nil {
		return nil, err
	}
	handle, o := call.create(d)
	l.handle = handle
	return l, l.check(o)
}

// Name returns the name under which the library was found.
func (l *Library) Name() string { return l.name }

// Close ends the use of the device. Products that are queued must be done. Later
// calls get an error wrapping [cuda.ErrClosed]; a second Close does nothing.
func (l *Library) Close() error {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.handle == 0 {
		return nil
	}
	err := l.forget()
	d, e := l.device()
	if e == nil {
		e = l.check(l.call.destroy(d, l.handle))
	}
	l.handle = 0
	return errors.Join(err, e)
}

func (l *Library) device() (d on, err error) {
	d.setCurrent, d.context, err = l.context.Foreign()
	return d, err
}

// Error is a call of the library that failed.
type Error struct {
	Op   string // the library's name of the call
	Code int    // cublasStatus_t
}

func (e *Error) Error() string {
	name := statusNames[e.Code]
	if name == "" {
		name = "unknown status"
	}
	return fmt.Sprintf("cublaslt: %s: %s (%d)", e.Op, name, e.Code)
}

// Is makes ErrNotSupported of the code that says so.
func (e *Error) Is(target error) bool { return target == ErrNotSupported && e.Code == notSupported }

// The codes of cublasStatus_t that are more than failures.
const (
	executionFailed = 13
	notSupported    = 15
)

var statusNames = map[int]string{
	1: "CUBLAS_STATUS_NOT_INITIALIZED", 3: "CUBLAS_STATUS_ALLOC_FAILED", 7: "CUBLAS_STATUS_INVALID_VALUE",
	8: "CUBLAS_STATUS_ARCH_MISMATCH", 11: "CUBLAS_STATUS_MAPPING_ERROR", executionFailed: "CUBLAS_STATUS_EXECUTION_FAILED",
	14: "CUBLAS_STATUS_INTERNAL_ERROR", notSupported: "CUBLAS_STATUS_NOT_SUPPORTED", 16: "CUBLAS_STATUS_LICENSE_ERROR",
}

func (l *Library) check(o outcome) error {
	switch {
	case o.code == 0:
		return nil
	case o.function == setCurrent:
		c := cuda.Code(o.code)
		return &cuda.Error{Op: "cuCtxSetCurrent", Code: c, Name: c.String()}
	}
	return &Error{Op: l.call.name(o.function), Code: o.code}
}
