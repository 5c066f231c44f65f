package tensor

import (
	"fmt"
	"sync/atomic"

	"tarn/kernels"
)

// node is one recorded op: what its backward needs, and where the gradients of
// its operands go. It is made complete and changes only when backward goes
// over it.
type node struct {
	def    *opDef
	id     uint64 // later ops have larger ids, so ids order the graph
	stream *Stream
	slots  [4]slot // the operands, then one for what the op saves of its result
	more   []slot  // what else the op saves of its result; nil if nothing
	n      int     // operands
	result kernels.View
	attr   nodeAttr
	check  *checkpoint // how to make the ops that this one stands for; nil: it is one op
	made   string      // where the op was called, if its gradients are to be checked

	// refs counts the handles on the result, the nodes that use it, and the walk
	// that has it ahead. At zero nothing can go back over this node, so it lets
	// go of what it saved.
	refs atomic.Int32

	// Who wants to see the gradient of the result; nil for nobody.
	hooks atomic.Pointer[gradHooks]
	kept  atomic.Pointer[total]

	// Used by the one backward that goes over the node.
	walk *backward // which has it ahead
	grad *Tensor   // the gradients that arrived so far, added up
	done bool
}

// nodeAttr is what an op's backward needs beside tensors.
type nodeAttr struct {
	alpha float64
	beta  float64
	dim   [2]int
	start int
	step  int
	relu  bool

	attention kernels.AttentionAttr
	from      *Stream // of an operand on another device

	window  *kernels.Attr // of a convolution or a pooling
	scalars *kernels.Attr // of a normalisation, a loss or a dropout
}

// slot is an operand as the node knows it: its geometry always, its storage
// where backward reads its values, and what made it where it needs a gradient.
type slot struct {
	view    kernels.View
	storage *Storage // held; nil unless saved
	version uint32   // of storage, when it was saved
	node    *node    // refs counted
	leaf    *leaf
}

const resultSlot = 3

var lastNode atomic.Uint64

// newNode records c: where gradients go, and nothing saved yet.
func newNode(c *call) *node {
	n := &node{def: c.def, id: lastNode.Add(1), stream: c.stream, n: c.n, result: c.out.view}
	n.refs.Store(1)
	n.bornIn(c.env.get())
	for i, t := range c.operands[:c.n] {
		s := &n.slots[i]
		s.view = t.view
		if t.env.get().noGrad {
			continue
		}
		if t.node != nil {
			s.node = t.node
			t.node.refs.Add(1)
		}
		s.leaf = t.leaf
	}
	return n
}

// bornIn notes what the env of n's result wants of n.
func (n *node) bornIn(e env) {
	if e.anomaly {
		n.made = calledFrom()
	}
	if e.region != nil {
		e.region.own(n)
	}
}

// needs reports whether operand i wants a gradient.
func (n *node) needs(i int) bool { return n.slots[i].node != nil || n.slots[i].leaf != nil }

// slot returns slot i; those from len(n.slots) on are made when an op first
// saves there.
func (n *node) slot(i int) *slot {
	if i < len(n.slots) {
		return &n.slots[i]
	}
	if n.more == nil {
		n.more = make([]slot, 2)
	}
	return &n.more[i-len(n.slots)]
}

// save keeps t's values in slot i until backward has read them.
func (n *node) save(i int, t *Tensor) {
	s := n.slot(i)
	s.view, s.storage, s.version = t.view, t.storage.retain(), t.storage.version.Load()
}

// behind calls f with each node and leaf that n's gradient goes on to; one of
// the two is nil.
func (n *node) behind(f func(m *node, l *leaf)) {
	for i := range n.slots {
		if s := &n.slots[i]; s.node != nil || s.leaf != nil {
			f(s.node, s.leaf)
		}
	}
	if n.check != nil {
		n.check.behind(f)
	}
}

// whyDone says what a second walk over n's graph runs into.
func (n *node) whyDone() error {
	return fmt.Errorf("%w (at %s); Retain keeps it for another", ErrGraphFreed, n.def.name)
}

// drop ends one reference. The last one releases what the node saved and lets
// go of the nodes behind it.
func (n *node) drop() {
	if n.refs.Add(-1) == 0 {
		n.free()
		n.forget()
	}
}

// forget releases the gradient that n kept: nobody can ask for it any more.
func (n *node) forget() {
	if kept := n.kept.Swap(nil); kept != nil {
		kept.release()
	}
}

// free lets go of all that n holds; a second time does nothing.
func (n *node) free() error {
	var first error
	for i := range len(n.slots) + len(n.more) {
		s := n.slot(i)
		if st := s.storage; st != nil {
			s.storage = nil
			if err := st.drop(); err != nil && first == nil {
				first = err
			}
		}
		if behind := s.node; behind != nil {
			s.node = nil
			behind.drop()
		}
		s.leaf = nil
	}
	if c := n.check; c != nil {
		n.check = nil
		if err := c.letGo(); err != nil && first == nil {
			first = err
		}
	}
	n.hooks.Store(nil)
	n.done = true
	return first
}

// gradients is one node's turn in a backward.
type gradients struct {
	*node
	walk *backward
	env  *env // of all gradients made here: the forward op's stream, the loss's scope
	// up is the gradient of the result. The engine owns it.
	up  *Tensor
	out [3]*Tensor
}

// put gives operand i its gradient, whose hold passes to the engine.
func (g *gradients) put(i int, t *Tensor) { g.out[i] = t }

// needs reports whether this walk wants a gradient for operand i.
func (g *gradients) needs(i int) bool { return g.walk.wants(g.slots[i].node, g.slots[i].leaf) }

// dropUp releases the gradient of the result, once.
func (g *gradients) dropUp() error {
	up := g.up
	g.up = nil
	if up == nil {
		return nil
	}
	return up.Release()
}

// saved returns a handle on what slot i saved, or a tensor that carries an
// error where it was changed in place since, or went with its scope.
func (g *gradients) saved(i int) *Tensor {
	s := g.slot(i)
	t := &Tensor{dev: g.stream.dev, storage: s.storage, env: g.env, view: s.view}
	var err error
	if now := s.storage.version.Load(); now != s.version {
		err = fmt.Errorf("%w: a tensor that backward needs was changed in place %d times since", ErrInPlace, now-s.version)
	}
	if s.storage.freed.Load() {
		err = fmt.Errorf("a tensor that backward needs: %w", s.storage.whyFreed())
	}
	if err != nil {
		t.err = newError(g.def.name+" backward", err, t)
	}
	return t
}

// letGo releases what slot i saved as soon as its last reader is launched,
// before the node's turn ends, where no other walk comes.
func (g *gradients) letGo(i int) error {
	if !g.walk.frees(g.node) {
		return nil
	}
	s := g.slot(i)
	st := s.storage
	s.storage = nil
	return st.drop()
}

// sole reports whether t's storage has no other holder and t covers it, so
// that it may be written over or handed on.
func (t *Tensor) sole() bool {
	return t.err == nil && t.storage.holds.Load() == 1 && t.view.Contiguous() &&
		uintptr(t.storage.block.Ptr) == t.view.Ptr
}

// alias returns another handle on t with a hold of its own.
func (t *Tensor) alias() *Tensor {
	if t.err != nil {
		return t
	}
	return &Tensor{dev: t.dev, storage: t.storage.retain(), env: t.env, view: t.view}
}

// sumTo adds t up over the dims that operand i was broadcast along, and
// releases t where the result is another tensor.
func (g *gradients) sumTo(i int, t *Tensor) *Tensor {
	want := &g.slots[i].view
	if t.err != nil || t.view.SameDims(want) {
		return t
	}
	sum := sumToShape(t, want)
	t.Release()
	return sum
}
