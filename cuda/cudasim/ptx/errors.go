package ptx

import (
	"fmt"
	"strings"
)

// ParseError says why a module cannot be loaded: it is no PTX, or it uses what
// this package does not have.
type ParseError struct {
	Module       string // name of the module's first kernel, "" if it has none yet
	Line, Column int    // from 1
	Text         string // of the line
	Reason       string
	// Lacks says that this may well be PTX, and it is the interpreter that lacks it.
	Lacks bool
}

func (e *ParseError) Error() string {
	name := ""
	if e.Module != "" {
		name = " " + e.Module
	}
	return fmt.Sprintf("ptx: module%s, line %d, column %d: %s: %q", name, e.Line, e.Column, e.Reason, e.Text)
}

// LaunchError says why a launch was refused before any thread ran.
type LaunchError struct {
	Kernel, Reason string
}

func (e *LaunchError) Error() string { return fmt.Sprintf("ptx: launch of %s: %s", e.Kernel, e.Reason) }

// Place is where in a launch something went wrong.
type Place struct {
	Kernel string
	Line   int    // of the module's text, from 1
	Text   string // of that line
	Block  Dim3   // of the grid
	Thread Dim3   // of the block; the first one where a warp as a whole is meant
	Warp   int    // of the block
	Lane   int    // of the warp
}

// String names the place, the widest first.
func (p Place) String() string {
	return fmt.Sprintf("kernel %s, PTX line %d (%s), block %v, thread %v (warp %d, lane %d)",
		p.Kernel, p.Line, p.Text, p.Block, p.Thread, p.Warp, p.Lane)
}

// AccessError is an access to memory that the thread may not touch, or not so.
type AccessError struct {
	Place
	Space   string // global, shared, local, param, or generic where the address is in none
	Address uint64
	Size    int // bytes, of all elements of a vector
	Store   bool
	Reason  string // what lies there instead
}

func (e *AccessError) Error() string {
	verb := "load of"
	if e.Store {
		verb = "store of"
	}
	return fmt.Sprintf("ptx: %s %d bytes at %s address %#x: %s: %v", verb, e.Size, e.Space, e.Address, e.Reason, e.Place)
}

// SyncError is a barrier or a warp-wide instruction that threads wait at for
// others that will not come.
type SyncError struct {
	Place
	Missing uint32 // lanes of the warp that are waited for, 0 if they are of other warps
	Reason  string
}

func (e *SyncError) Error() string { return fmt.Sprintf("ptx: %s: %v", e.Reason, e.Place) }

// TrapError is a trap instruction that was reached.
type TrapError struct {
	Place
}

func (e *TrapError) Error() string { return fmt.Sprintf("ptx: trap: %v", e.Place) }

// StepsError is a warp that ran more instructions than [Kernel.Limit] allows. The
// place is where it jumped back last.
type StepsError struct {
	Place
	Limit int64 // instructions
}

func (e *StepsError) Error() string {
	return fmt.Sprintf("ptx: a warp did not end within %d instructions: %v", e.Limit, e.Place)
}

// Dim3 is the size of a grid or a block, or a place in it.
type Dim3 struct{ X, Y, Z int }

// String gives the three numbers as (x,y,z).
func (d Dim3) String() string { return fmt.Sprintf("(%d,%d,%d)", d.X, d.Y, d.Z) }

func (d Dim3) count() int { return d.X * d.Y * d.Z }

// at returns the place with a linear index, x the fastest.
func (d Dim3) at(i int) Dim3 { return Dim3{i % d.X, i / d.X % d.Y, i / d.X / d.Y} }

// Allocation is a run of live global memory. Ptr is its address as kernels see
// it; it need not be mapped in this process, but Bytes must be aligned as Ptr
// is, to 8 bytes at most, for atomics.
type Allocation struct {
	Ptr   uint64
	Bytes []byte

	// Freed has a byte for each [FreedGranule] bytes from Ptr on that is not 0
	// where a block was freed that lay there: accesses to it fail. What is
	// behind its end is not freed. It may change while a launch runs, for
	// blocks that the launch has no business with.
	Freed []byte
}

// Memory is the global memory that a launch may touch.
type Memory interface {
	// Allocations returns what is live now, in order of Ptr and without
	// overlaps. The launch keeps the slice until it ends; nobody may write to it.
	Allocations() []Allocation
}

// Allocations is a Memory that never changes.
type Allocations []Allocation

// Allocations returns the list itself.
func (a Allocations) Allocations() []Allocation { return a }

// lineText returns a line of a module as errors show it.
func lineText(lines []string, line int) string {
	if line < 1 || line > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[line-1])
}
