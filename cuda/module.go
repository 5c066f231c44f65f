package cuda

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"tarn/cuda/internal/shim"
)

// Module is a loaded set of kernels.
type Module struct {
	context  *Context
	handle   uintptr // CUmodule
	unloaded atomic.Bool
}

// Function is a kernel of a module. It is good until the module's Unload; after
// that its calls fail with [InvalidHandle].
type Function struct {
	context *Context
	module  *Module
	handle  uintptr // CUfunction
	name    string
}

// CompileError means that the driver did not take a module. It wraps the
// driver's [Error].
type CompileError struct {
	Err error
	Log string // what the driver's compiler said, as it said it; may be empty
}

func (e *CompileError) Error() string {
	if e.Log == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v:\n%s", e.Err, strings.TrimRight(e.Log, "\n"))
}

// Unwrap returns the driver's error.
func (e *CompileError) Unwrap() error { return e.Err }

// logSize is how many bytes of complaints are kept; the driver cuts the rest.
const logSize = 16 << 10

// Load compiles PTX text for the device, or finds it in the driver's cache.
// The error is a [CompileError] where the driver refused the text.
func (c *Context) Load(ptx string) (*Module, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	if i := strings.IndexByte(ptx, 0); i >= 0 || ptx == "" {
		return nil, &CompileError{Err: refuse(shim.ModuleLoad, InvalidValue),
			Log: fmt.Sprintf("PTX text of %d bytes, with a NUL at %d", len(ptx), i)}
	}
	log := make([]byte, logSize)
	out := c.table.ModuleLoad(c.handle, append([]byte(ptx), 0), log)
	if err := c.check(out); err != nil {
		if out.Entry != shim.ModuleLoad || c.lost.Load() != nil {
			return nil, err
		}
		return nil, &CompileError{Err: err, Log: untilNUL(log)}
	}
	c.enter(kindModule, out.Value)
	return &Module{context: c, handle: uintptr(out.Value)}, nil
}

// Unload takes the kernels away. None may be running. A second Unload is
// refused with [InvalidHandle].
func (m *Module) Unload() error {
	err := m.context.end(kindModule, shim.ModuleUnload, uint64(m.handle), 0)
	if err == nil {
		m.unloaded.Store(true)
	}
	return err
}

// Function finds a kernel by the name that it has in the PTX text.
func (m *Module) Function(name string) (*Function, error) {
	c := m.context
	if err := c.usable(); err != nil {
		return nil, err
	}
	if m.unloaded.Load() { // the driver would follow the handle
		return nil, fmt.Errorf("kernel %q: %w", name, refuse(shim.ModuleGetFunction, InvalidHandle))
	}
	if strings.IndexByte(name, 0) >= 0 { // which would end the name for the driver
		return nil, fmt.Errorf("kernel %q: %w", name, refuse(shim.ModuleGetFunction, InvalidValue))
	}
	out := c.table.ModuleGetFunction(c.handle, m.handle, name)
	if err := c.check(out); err != nil {
		if c.Lost() != nil { // which is not the name's fault
			return nil, err
		}
		return nil, fmt.Errorf("kernel %q: %w", name, err)
	}
	return &Function{context: c, module: m, handle: uintptr(out.Value), name: name}, nil
}

// Name returns the name that the kernel was found by.
func (f *Function) Name() string { return f.name }

// SetMaxShared lets a launch ask for up to bytes of dynamic shared memory,
// where that is more than Device.SharedMemory; at most SharedMemoryOptIn.
func (f *Function) SetMaxShared(bytes int) error {
	if bytes < 0 || bytes > math.MaxInt32 { // a C int
		return refuse(shim.FunctionSetAttribute, InvalidValue)
	}
	_, err := f.call(shim.FunctionSetAttribute, attrMaxDynamicShared, uint64(bytes))
	return err
}

// call is a call about the kernel itself.
func (f *Function) call(e shim.Entry, a, b uint64) (shim.Out, error) {
	if err := f.context.usable(); err != nil {
		return shim.Out{}, err
	}
	if f.module.unloaded.Load() {
		return shim.Out{}, refuse(e, InvalidHandle)
	}
	return f.context.call(e, uint64(f.handle), a, b, 0)
}

// Attributes are what a kernel became when it was compiled for its device.
type Attributes struct {
	MaxThreads int   // that a block may have: fewer than the device's where registers are short
	Registers  int   // of a thread; the simulator only estimates them, from above
	Local      int64 // bytes of a thread, where registers are spilled to
	Shared     int64 // bytes of a block, without the dynamic ones
	Constant   int64 // bytes
	MaxShared  int64 // bytes of dynamic shared memory that a launch may ask for; see SetMaxShared
	PTX        int   // compute capability that the text was written for, 10 x major + minor
	Binary     int   // compute capability of the machine code, 10 x major + minor
}

// The numbers of CUfunction_attribute.
const (
	attrFunctionThreads  = 0
	attrStaticShared     = 1
	attrConstant         = 2
	attrLocal            = 3
	attrRegisters        = 4
	attrPTX              = 5
	attrBinary           = 6
	attrMaxDynamicShared = 8
)

// Attributes asks the driver what the kernel became.
func (f *Function) Attributes() (Attributes, error) {
	var first error
	ask := func(attribute uint64) int64 {
		if first != nil {
			return 0
		}
		out, err := f.call(shim.FunctionGetAttribute, attribute, 0)
		first = err
		return int64(out.Value)
	}
	a := Attributes{
		MaxThreads: int(ask(attrFunctionThreads)), Registers: int(ask(attrRegisters)),
		Local: ask(attrLocal), Shared: ask(attrStaticShared), Constant: ask(attrConstant),
		MaxShared: ask(attrMaxDynamicShared), PTX: int(ask(attrPTX)), Binary: int(ask(attrBinary)),
	}
	if first != nil {
		return Attributes{}, first
	}
	return a, nil
}
