package ptx

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Where things lie that are not global memory. A generic address says by these
// windows which space it is in, so that cvta is a move.
const (
	sharedWindow = 1 << 60
	localWindow  = 2 << 60
	paramWindow  = 3 << 60

	// Variables of modules lie from here on, each module in a range of its own.
	moduleWindow = 0x6000_0000_0000
	moduleRange  = 1 << 32
)

var modulesMade atomic.Uint64

// Module is a compiled module. It may be used by many goroutines; its .global
// variables are shared by all launches, in whatever order these run.
type Module struct {
	Version string // of PTX, such as "7.0"
	Target  string // such as "sm_75"

	lines   []string
	kernels map[string]*Kernel
	base    uint64 // address of data
	data    []byte // .global and .const variables
	symbols map[string]symbol
	shared  []sharedVariable
	// constants is the bytes of the .const variables.
	constants int
}

// symbol is a named piece of memory.
type symbol struct {
	address uint64 // generic
	size    int
}

// Compile parses a module and translates its kernels. What it cannot run is a
// [*ParseError], in kernels that are never launched too.
func Compile(text string) (*Module, error) {
	m := &Module{
		lines:   strings.Split(text, "\n"),
		kernels: map[string]*Kernel{},
		base:    moduleWindow + (modulesMade.Add(1)-1)*moduleRange,
		symbols: map[string]symbol{},
	}
	p := &parser{module: m}
	var err error
	if p.tokens, err = lex("", text); err != nil {
		return nil, err
	}
	if err := p.parseModule(); err != nil {
		return nil, err
	}
	for _, f := range p.functions {
		if err := decode(m, f); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Kernel returns the entry with a name.
func (m *Module) Kernel(name string) (*Kernel, error) {
	k := m.kernels[name]
	if k == nil {
		return nil, fmt.Errorf("ptx: the module has no kernel %q; it has %s", name, strings.Join(m.Kernels(), ", "))
	}
	return k, nil
}

// Kernels returns the names of all entries, sorted.
func (m *Module) Kernels() []string {
	names := make([]string, 0, len(m.kernels))
	for name := range m.kernels {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Global returns the address of a .global or .const variable and its bytes;
// ok says whether there is one of that name.
func (m *Module) Global(name string) (variable Allocation, ok bool) {
	s, ok := m.symbols[name]
	if !ok || s.address-m.base >= uint64(len(m.data)) {
		return Allocation{}, false
	}
	at := s.address - m.base
	return Allocation{Ptr: s.address, Bytes: m.data[at : at+uint64(s.size)]}, true
}

// ConstantBytes is the constant memory that the .const variables take.
func (m *Module) ConstantBytes() int { return m.constants }

// Param is one parameter of a kernel.
type Param struct {
	Name                string
	Offset, Size, Align int // bytes
}

// Kernel is a compiled entry. It may be launched by many goroutines at a time.
type Kernel struct {
	Name string

	module  *Module
	workers int
	races   bool  // are looked for in shared memory
	steps   int64 // that a warp may run, 0 for any number
	idle    *sync.Pool

	params     []Param
	paramBytes int
	maxThreads int // of a block, 0 if the module does not say
	reqThreads Dim3

	shared  int // bytes declared
	dynamic int // where dynamic shared memory begins
	local   int // bytes a thread

	declared int // registers of 32 bits a thread

	code      []inst
	registers [numClasses]int // in each file, the temporaries and constants counted
	memOps    int             // instructions with a cache of their own
	constants []constant
	specials  []special
}

// constant is a register that holds the same value in all lanes at all times.
type constant struct {
	at    reg
	value uint64
}

// special is a register that a block or a warp sets before it runs.
type special struct {
	at   int // of the 32-bit file
	name string
}

// Params returns the parameters in order.
func (k *Kernel) Params() []Param { return slices.Clone(k.params) }

// ParamBytes is how long the packed parameters of a launch are.
func (k *Kernel) ParamBytes() int { return k.paramBytes }

// SharedBytes is the shared memory that the kernel declares, without what a
// launch adds.
func (k *Kernel) SharedBytes() int { return k.shared }

// LocalBytes is the local memory of a thread.
func (k *Kernel) LocalBytes() int { return k.local }

// Registers estimates the registers of 32 bits that a thread has: those that the
// text declares, at most 255. A compiler for a device gets by with fewer.
func (k *Kernel) Registers() int { return min(k.declared, 255) }

// MaxThreads is the most threads that a block may have.
func (k *Kernel) MaxThreads() int {
	if k.maxThreads > 0 {
		return min(k.maxThreads, maxBlockThreads)
	}
	return maxBlockThreads
}

// Spread returns the kernel with its launches' blocks spread over n goroutines.
func (k *Kernel) Spread(n int) *Kernel {
	if n < 1 {
		panic("ptx: Spread over fewer than one goroutine")
	}
	c := *k
	c.workers = n
	return &c
}

// Limit returns the kernel with launches that fail with a [*StepsError] where a
// warp runs more than n instructions, about: they are counted where it jumps back.
func (k *Kernel) Limit(n int64) *Kernel {
	if n < 1 {
		panic("ptx: Limit to fewer than one instruction")
	}
	c := *k
	c.steps = n
	return &c
}

func align(n, to int) int { return (n + to - 1) / to * to }
