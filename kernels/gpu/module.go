package gpu

import (
	"embed"
	"fmt"
	"sync"
	"sync/atomic"

	"tarn/cuda"
)

//go:embed ptx/*.ptx ptx/clang-version
var texts embed.FS

// module is the PTX text of one family of kernels.
type module struct {
	name  string // of its files
	major int    // the least compute capability that runs it
	index int
	names []string // of its kernels, by kernel.index
}

// modules are all that there are. They are package variables, as are their
// kernels, so that the list is complete before anything is loaded.
var modules []*module

// declare makes known the module in ptx/<name>.ptx.
func declare(name string, major int) *module {
	m := &module{name: name, major: major, index: len(modules)}
	modules = append(modules, m)
	return m
}

// kernel is one kernel of a module.
type kernel struct {
	module *module
	index  int
}

// kernel makes known the kernel that has the name in the PTX text.
func (m *module) kernel(name string) kernel {
	m.names = append(m.names, name)
	return kernel{m, len(m.names) - 1}
}

// layouts are the kernels of an op for one dtype: for operands that can be
// taken in vectors, and for any, with indices of 32 and of 64 bits.
type layouts struct{ vectors, index32, index64 kernel }

// layouts makes known the kernels whose names begin with name.
func (m *module) layouts(name string) layouts {
	return layouts{m.kernel(name + "_vectors"), m.kernel(name + "_index32"), m.kernel(name + "_index64")}
}

// index returns the kernel for any strides.
func (x *layouts) index(wide bool) kernel {
	if wide {
		return x.index64
	}
	return x.index32
}

// has reports whether the device is new enough for m.
func (k *Kernels) has(m *module) bool { return k.context.Device().Major >= m.major }

// loaded is what a device has of a module.
type loaded struct {
	lock      sync.Mutex
	module    *cuda.Module
	functions atomic.Pointer[[]*cuda.Function] // by kernel.index; nil before the module is loaded
}

// prepare begins the launch of a kernel, and loads its module where that is
// not done yet. It allocates nothing on the Go heap after that.
func (k *Kernels) prepare(x kernel) (*cuda.Launch, error) {
	fs := k.loaded[x.module.index].functions.Load()
	if fs == nil {
		var err error
		if fs, err = k.functions(x.module); err != nil {
			return nil, err
		}
	}
	return (*fs)[x.index].Prepare(), nil
}

// functions returns the kernels of m. A load that failed is tried again at the
// next use.
func (k *Kernels) functions(m *module) (*[]*cuda.Function, error) {
	l := &k.loaded[m.index]
	l.lock.Lock()
	defer l.lock.Unlock()
	if fs := l.functions.Load(); fs != nil {
		return fs, nil
	}
	if k.closed.Load() {
		return nil, fmt.Errorf("gpu: module %s: %w", m.name, cuda.ErrClosed)
	}
	if !k.has(m) {
		d := k.context.Device()
		return nil, fmt.Errorf("gpu: module %s needs compute capability %d.0, %v has %d.%d", m.name, m.major, d, d.Major, d.Minor)
	}
	text, err := texts.ReadFile("ptx/" + m.name + ".ptx")
	if err != nil {
		return nil, fmt.Errorf("gpu: %w", err)
	}
	if l.module, err = k.context.Load(string(text)); err != nil {
		return nil, fmt.Errorf("gpu: module %s: %w", m.name, err)
	}
	fs := make([]*cuda.Function, len(m.names))
	for i, name := range m.names {
		if fs[i], err = l.module.Function(name); err != nil {
			_ = l.module.Unload() // the first error is the one to tell
			return nil, fmt.Errorf("gpu: module %s: %w", m.name, err)
		}
	}
	l.functions.Store(&fs)
	return &fs, nil
}

// unload forgets the functions first: a launch after it is refused, not run.
func (l *loaded) unload() error {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.functions.Swap(nil) == nil {
		return nil
	}
	return l.module.Unload()
}

const blockThreads = 256

// line is the grid of at least n threads in one row of blocks.
func (k *Kernels) line(n int64) cuda.Grid {
	return k.grid(max((n+blockThreads-1)/blockThreads, 1), blockThreads, 1)
}

// grid is that of so many blocks of x by y threads, or of as many as fill any
// device: kernels go on with what is left.
func (k *Kernels) grid(blocks int64, x, y uint32) cuda.Grid {
	return cuda.Grid{Blocks: [3]uint32{uint32(min(blocks, k.mostBlocks))}, Threads: [3]uint32{x, y}}
}
