// Package kerneltest is the conformance suite of the ops of package kernels:
// it runs a device's table on many shapes, layouts and values and compares the
// results with kernels/ref.
//
//	place.go      where a device has its memory
//	memory.go     operands between red zones; outputs start as poison
//	layout.go     layouts (transposed, sliced, ...) and values (NaN, denormals, ...)
//	call.go       one call: run on both tables, compare every byte
//	tolerance.go  how exact each op must be, and why
//	refuse.go     bad arguments: typed errors, nothing written
//	threads.go    the same bits with any number of threads
//	fuzz.go       calls made from bytes, for go test -fuzz
//	others        the cases, one op family a file
//
// Every case is generated from a fixed seed; a failure prints the whole call.
package kerneltest

import (
	"math/rand/v2"
	"testing"

	"tarn/kernels"
)

// suite is one op of a table under test, for one dtype.
type suite struct {
	*testing.T
	device
	every int // of the calls one in so many is made
	rand  *rand.Rand
	id    kernels.ID
	dtype kernels.DType // of the floating-point or numeric operands
	calls int           // checked or left out so far
}

// family is a set of ops with common cases.
type family struct {
	name  string
	ids   []kernels.ID
	cases func(*suite)
	// sample returns a call of s.id that every table takes; last asks for the
	// last form of an op that has several.
	sample func(s *suite, last bool) *call
	// decode makes a call of s.id, good or bad, of the bytes of a fuzz input.
	decode func(s *suite, src *source, values generator) *call
	// large returns calls that several threads share.
	large func(*suite) []*call
	// scales returns the size of what went into each element of the outputs, to
	// which tolerances refer; nil where those need none.
	scales func(c *call, want result) scales
}

// families has every op once. It is filled by init, since a check looks up the
// family that the check is of.
var families []family

func init() {
	families = []family{
		fills, copyFamily, elementwiseFamily, reduceFamily, anyFamily, maxGradFamily, argMaxFamily, varFamily, powerFamily, scanFamily, sortFamily, sortGradFamily, gatherFamily, scatterFamily, matMulFamily, lossFamily, attentionFamily, optimiserFamily,
		softmaxFamily, normFamily, nllFamily,
		convFamily, poolFamily,
		sequenceFamily, randomFamily,
	}
}

// familyOf returns the family of id.
func familyOf(id kernels.ID) *family {
	for i := range families {
		for _, x := range families[i].ids {
			if x == id {
				return &families[i]
			}
		}
	}
	panic("kerneltest: no family has " + id.String())
}

// Run tests every op of table under the given name, on host memory, for the
// dtypes in only or, with none given, for all. An op or dtype that the table
// lacks is skipped and says so.
func Run(t *testing.T, name string, table *kernels.Table, only ...kernels.DType) {
	RunOn(t, name, table, Host(), 1, only...)
}

// RunOn is Run on a place that may be slow: of the calls that the suite has
// one in every is made, and a thinned suite makes one in 16 of those. The longest
// are left out where that is less than one in 8. With -tags full all are made.
func RunOn(t *testing.T, name string, table *kernels.Table, place Place, every int, only ...kernels.DType) {
	on := device{table, place}
	if thinned() {
		every *= 16
	}
	dtypes := only
	if len(dtypes) == 0 {
		dtypes = kernels.AnyDType.List()
	}
	t.Run(name, func(t *testing.T) {
		for _, f := range families {
			for _, id := range f.ids {
				for _, d := range dtypes {
					if byDType(id).Has(d) && (!thinned() || inThinned(id, d)) {
						t.Run(id.String()+"/"+d.String(), func(t *testing.T) { runOp(t, on, every, id, d, f.cases) })
					}
				}
			}
		}
		t.Run("refuse", func(t *testing.T) { refuse(t, on) })
	})
}

// byDType returns the dtypes that the cases of id go by.
func byDType(id kernels.ID) kernels.DTypes {
	types, _ := id.Selects()
	return types
}

func runOp(t *testing.T, on device, every int, id kernels.ID, d kernels.DType, cases func(*suite)) {
	if on.table[id] == nil || !on.table[id].DTypes.Has(id.Result(d)) {
		t.Skipf("the table has no %v for %v", id, d)
	}
	if !plainTypes.Has(d) {
		every *= 16
	}
	if full {
		every = 1
	}
	if raceDetector && !full { // which learns from the calls of Threads; the cases would take it an hour
		cases = (*suite).samples
	}
	cases(&suite{T: t, device: on, every: every, rand: rand.New(rand.NewPCG(uint64(id), uint64(d))), id: id, dtype: d})
}

// plainTypes are those that most ops have bodies of their own for. The others are
// loaded and stored by those, or converted: of the calls one in 16 is enough.
var plainTypes = kernels.Wides | kernels.Of(kernels.Int64, kernels.Int32)

// samples makes the family's two samples.
func (s *suite) samples() {
	f := familyOf(s.id)
	s.always(f.sample(s, false))
	s.always(f.sample(s, true))
}

// inThinned reports whether a thinned suite has id for d: for one type or two of
// each op, float32 where it is one of them.
func inThinned(id kernels.ID, d kernels.DType) bool {
	return d == sampleType(id) || int(d)%4 == int(id)%4
}

// thinned reports whether the suite is to leave most calls out: with -short,
// and under the race detector, which makes the reference slow and learns from
// large calls alone; those of [Threads] are enough for it.
func thinned() bool { return !full && (raceDetector || testing.Short()) }

// check fails the test if c differs from the reference.
func (s *suite) check(c *call) {
	s.Helper()
	s.calls++
	if s.calls%s.every == 0 {
		s.always(c)
	}
}

// always is check for a call that no thinned suite leaves out.
func (s *suite) always(c *call) {
	s.Helper()
	if err := c.compare(s.device); err != nil {
		s.Fatal(err)
	}
}

// sizes are those at which blocked and vectorised loops change their ways.
var sizes = []int64{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257}

// shapes are dims of ranks 0 to 8, with sizes of 1 and 0 at all places.
var shapes = [][]int64{
	{}, {3, 5}, {1, 7}, {7, 1}, {33, 31}, {2, 257}, {257, 2}, {1, 1}, {0, 5}, {5, 0},
	{2, 3, 5}, {1, 3, 1}, {5, 0, 3}, {3, 1, 17}, {17, 3, 2}, {4, 1, 6, 2}, {2, 3, 2, 3, 2},
	{1, 2, 1, 3, 1, 4}, {2, 1, 3, 1, 2, 2, 3}, {2, 1, 3, 1, 2, 2, 1, 2}, {1, 1, 1, 1, 1, 1, 1, 1},
}

// everyShape returns the sizes as dims of rank 1 and the shapes.
func everyShape() [][]int64 {
	var all [][]int64
	for _, n := range sizes {
		all = append(all, []int64{n})
	}
	return append(all, shapes...)
}

// pick returns a random layout of the list.
func (s *suite) pick(list []layout) layout { return list[s.rand.IntN(len(list))] }
