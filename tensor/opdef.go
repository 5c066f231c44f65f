package tensor

import "tarn/kernels"

// opDef is an op of this package: a row of the op table in optable.go, or a step
// of another op's backward, as errors and the graph name it.
type opDef struct {
	name string
	// types are what the receiver may be: it need not be the type of the result.
	types kernels.DTypes
	// eps is how far a result may be from the exact one, in epsilons of its type
	// and relative to the largest element, or to 1.
	eps float64
	// backward gives the gradients of the node's operands, by g.put, from the
	// gradient of its result; nil where the op has no gradient. It may return
	// early with an error: the engine then drops what was put.
	backward func(g *gradients) error

	// Of an op of one operand:
	reads     reading // what of it its backward reads
	keepsInts bool    // integers stay what they are; else they become float32
}

// reading says what of a unary op its backward reads.
type reading uint8

const (
	nothing reading = iota
	theInput
	theResult
)

// opTable has the ops that a user can call. [define] is the one way in, and the
// tests go by it: an op without a sample to be tested with fails them.
var opTable []*opDef

// define adds an op to the table. Results of integer and bool types are exact.
func define(name string, types kernels.DTypes, eps float64) *opDef {
	d := &opDef{name: name, types: types, eps: eps}
	opTable = append(opTable, d)
	return d
}

// compose is define for an op that is made of others, which leave the nodes.
func compose(name string, types kernels.DTypes, eps float64) struct{} {
	d := define(name, types, eps)
	d.backward = func(*gradients) error { panic("tensor: " + name + " has no node of its own") }
	return struct{}{}
}

// reading notes what d's backward reads.
func (d *opDef) reading(r reading) *opDef { d.reads = r; return d }

// keeping notes that d leaves integers what they are.
func (d *opDef) keeping() *opDef { d.keepsInts = true; return d }

// OpInfo says what an op of this package takes and how exact it is.
type OpInfo struct {
	Name           string // of the method, or function
	DTypes         []DType
	Differentiable bool
	// Error is how far a floating-point result may be from the exact one: in
	// epsilons of its type, relative to its largest element or to 1.
	Error float64
}

// Ops returns the ops of this package. Every op runs on every device.
func Ops() []OpInfo {
	ops := make([]OpInfo, len(opTable))
	for i, d := range opTable {
		ops[i] = OpInfo{Name: d.name, DTypes: d.types.List(), Differentiable: d.backward != nil, Error: d.eps}
	}
	return ops
}
