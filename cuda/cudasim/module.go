package cudasim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tarn/cuda"
	"tarn/cuda/cudasim/ptx"
)

// module is loaded PTX.
type module struct {
	context   *context
	handle    uintptr
	compiled  *ptx.Module
	functions map[string]*function // that were asked for
	use       usage
}

func (mod *module) owner() *Machine { return mod.context.owner() }

// function is a kernel of a module.
type function struct {
	module     *module
	handle     uintptr
	kernel     *ptx.Kernel
	maxDynamic int // bytes of shared memory that a launch may ask for
}

func (f *function) owner() *Machine { return f.module.owner() }

// load is cuModuleLoadDataEx. log is what the driver's compiler would say.
func (c *context) load(text string) (mod *module, log string, code cuda.Code) {
	compiled, err := ptx.Compile(text)
	var parse *ptx.ParseError
	switch {
	case errors.As(err, &parse) && parse.Lacks:
		return nil, fmt.Sprintf("cudasim does not run this, which a driver may, line %d: %s: %q\n", parse.Line, parse.Reason, parse.Text), invalidPTX
	case errors.As(err, &parse):
		return nil, fmt.Sprintf("ptxas application ptx input, line %d; error   : %s: %q\nptxas fatal   : Ptx assembly aborted due to errors\n",
			parse.Line, parse.Reason, parse.Text), invalidPTX
	case err != nil:
		return nil, fmt.Sprintf("ptxas fatal   : %v\n", err), invalidPTX
	}
	have := 10*c.owner().config.Major + c.owner().config.Minor
	if want := targetOf(compiled.Target); want > have {
		return nil, fmt.Sprintf("ptxas fatal   : SM version specified by .target is higher than that of the device: %s, sm_%d\n",
			compiled.Target, have), noBinaryForGPU
	}
	m := c.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	mod = &module{context: c, compiled: compiled, functions: map[string]*function{}}
	mod.handle = add(mod)
	c.modules[mod] = true
	return mod, "", cuda.Success
}

// targetOf returns 75 for "sm_75".
func targetOf(target string) int {
	n, err := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(target, "sm_"), "af"))
	if err != nil {
		return 0
	}
	return n
}

// unload is cuModuleUnload. Kernels that are queued keep what they need here, but
// on a device none may be.
func (mod *module) unload() cuda.Code {
	m := mod.owner()
	m.mu.Lock()
	if !mod.context.modules[mod] {
		m.mu.Unlock()
		return cuda.InvalidHandle
	}
	o := mod.use.busy()
	mod.remove()
	m.mu.Unlock()
	if o != nil {
		m.report(&MisuseError{"cuModuleUnload", "a kernel of the module is not done"})
	}
	return cuda.Success
}

// remove takes the module away with its functions; guarded by the machine.
func (mod *module) remove() {
	drop(mod.handle)
	for _, f := range mod.functions {
		drop(f.handle)
	}
	delete(mod.context.modules, mod)
}

// function is cuModuleGetFunction.
func (mod *module) function(name string) (*function, cuda.Code) {
	m := mod.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !mod.context.modules[mod] { // unloaded by another thread, since the call found it
		return nil, cuda.InvalidHandle
	}
	if f := mod.functions[name]; f != nil {
		return f, cuda.Success
	}
	k, err := mod.compiled.Kernel(name)
	if err != nil {
		return nil, notFound
	}
	k = k.Spread(m.config.Workers).Limit(m.config.Steps)
	if m.config.SharedRaces {
		k = k.CheckRaces()
	}
	f := &function{module: mod, kernel: k, maxDynamic: max(sharedBytes-k.SharedBytes(), 0)}
	f.handle = add(f)
	mod.functions[name] = f
	return f, cuda.Success
}

const maxDynamicShared = 8 // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

// setAttribute is cuFuncSetAttribute.
func (f *function) setAttribute(attribute, value int) cuda.Code {
	m := f.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	if attribute != maxDynamicShared || value < 0 || value > m.config.sharedOptIn()-f.kernel.SharedBytes() {
		return cuda.InvalidValue
	}
	f.maxDynamic = value
	return cuda.Success
}

// attribute is cuFuncGetAttribute. Registers are an estimate, and constants those
// of the module: only a compiler for a real device could tell more.
func (f *function) attribute(attribute int) (int, cuda.Code) {
	m := f.owner()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch attribute {
	case 0:
		return f.kernel.MaxThreads(), cuda.Success
	case 1:
		return f.kernel.SharedBytes(), cuda.Success
	case 2:
		return f.module.compiled.ConstantBytes(), cuda.Success
	case 3:
		return f.kernel.LocalBytes(), cuda.Success
	case 4:
		return f.kernel.Registers(), cuda.Success
	case 5:
		return targetOf(f.module.compiled.Target), cuda.Success
	case 6:
		return 10*m.config.Major + m.config.Minor, cuda.Success
	case maxDynamicShared:
		return f.maxDynamic, cuda.Success
	}
	return 0, cuda.InvalidValue
}
