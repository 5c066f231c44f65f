package tensor

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"weak"

	"tarn/kernels"
)

var checkpointDef = &opDef{name: "Checkpoint"} // which stands for the ops of a function

// Checkpoint returns f(inputs...) and keeps none of what f computes on the way:
// backward calls f again, when it gets there, for what it needs. Values and
// gradients are those of f by itself, to the last bit, as long as f does the
// same again. Each call costs f's forward once more; a chain of blocks, each in
// a checkpoint, has one block's memory at a time. Checkpoints may be nested.
//
// f borrows its inputs and returns a handle that passes to Checkpoint. Whatever
// else it makes is released after each call: its inputs are in a scope that ends
// then, inside the inputs' own. A view that f does not release holds the bytes
// that it looks at longer: those of an input, and of what is returned as a view,
// until the garbage collector finds it or the scope around ends.
//
// Gradients reach parameters that f finds in its closure as well; a tensor with
// history is better an input, since what f makes of such tensors alone is
// recorded at once. What f reads must not change before backward: for inputs, and
// for leaves that it meets together with them, that is [ErrInPlace].
//
// In the first call f's inputs take no gradient: OnGrad and KeepGrad refuse what
// f makes of them. A failure of f is the result's error, or in a backward that of
// the backward.
func Checkpoint(f func(inputs ...*Tensor) *Tensor, inputs ...*Tensor) *Tensor {
	if f == nil || len(inputs) == 0 {
		panic("tensor: Checkpoint: needs a function and an input")
	}
	c := &checkpoint{f: f}
	c.constants.of = &c.region
	first := inputs[0]
	var err error
	for _, t := range inputs {
		if err == nil {
			err = t.usable()
		}
	}
	if err == nil {
		c.scope, err = commonScope(inputs)
	}
	if err != nil {
		return failed(newError("Checkpoint", err, inputs...), first.dev, first.env, kernels.View{DType: first.view.DType})
	}
	out, err := c.first(inputs)
	if err != nil {
		if c.result != nil {
			err = errors.Join(err, c.result.Release())
		}
		return failed(newError("Checkpoint", err, inputs...), first.dev, first.env, out)
	}
	return c.result
}

// checkpoint is a part of a graph that is recorded as the function that makes
// it.
type checkpoint struct {
	f         func(inputs ...*Tensor) *Tensor
	scope     *Scope // of the inputs
	inputs    []input
	region    region
	constants region  // in the first call
	result    *Tensor // of the first call, until it is handed out
}

// input is an input as it was: a handle with a hold of its own.
type input struct {
	*Tensor
	version uint32
}

// region marks the handles of one call of f. The first call is not recorded, and
// finds out what recording would have been for; the others own what they record,
// since f may leave nodes that the walk does not come to.
type region struct {
	recorded bool
	needed   atomic.Bool // an op met a tensor that takes a gradient

	mu      sync.Mutex
	leaves  []met
	nodes   []*node
	drawn   []GeneratorState // from where random ops drew in the first call
	redrawn int              // how many of them this later call has drawn again
	around  *region          // during the first call: of the checkpoint around this one
	// of is set in the region of constants, inputs that are NoGrad: what f makes of
	// them in its first call takes a gradient only where other tensors lead to it,
	// and is then in this one.
	of *region
}

// rank says whose the result is of operands in several regions.
func (r *region) rank() int {
	switch {
	case r == nil:
		return 0
	case r.recorded:
		return 1
	case r.of != nil:
		return 2
	}
	return 3
}

// again reports whether r is in a call of f that is not the first.
func (r *region) again() bool {
	return r != nil && (r.recorded || r.around.again() || r.of.again())
}

// draw returns from where a random op draws whose generator is at now: in a later
// call from where it did in the first.
func (r *region) draw(now GeneratorState) GeneratorState {
	if r == nil {
		return now
	}
	if r.of != nil {
		return r.of.draw(now)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.recorded {
		now = r.around.draw(now)
		r.drawn = append(r.drawn, now)
	} else if r.redrawn < len(r.drawn) {
		now = r.drawn[r.redrawn]
		r.redrawn++
	}
	return now
}

func (r *region) own(n *node) {
	if r.of != nil {
		return // n is of a checkpoint inside
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes = append(r.nodes, n)
}

// free frees the nodes that are left.
func (r *region) free() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, n := range r.nodes {
		errs = append(errs, n.free())
	}
	r.nodes = nil
	return errors.Join(errs...)
}

// met is a leaf's storage that an op in a region read. It keeps nothing alive.
type met struct {
	storage weak.Pointer[Storage]
	version uint32
}

// meet notes those of an op's operands that take a gradient.
func (r *region) meet(operands []*Tensor) {
	for _, t := range operands {
		if !t.RequiresGrad() {
			continue
		}
		r.needed.Store(true)
		if t.leaf != nil {
			r.remember(t.storage)
		}
	}
}

func (r *region) remember(st *Storage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := weak.Make(st)
	for _, m := range r.leaves {
		if m.storage == at {
			return
		}
	}
	r.leaves = append(r.leaves, met{at, st.version.Load()})
}

// first calls f without recording, and makes c.result.
func (c *checkpoint) first(inputs []*Tensor) (shape kernels.View, err error) {
	temporaries := c.scope.inner()
	defer func() { err = errors.Join(err, temporaries.Close()) }()
	given := make([]*Tensor, len(inputs))
	recorded, constant := false, false
	var around *region // f is part of another checkpoint's
	for i, t := range inputs {
		v := t.env.get()
		if v.region != nil {
			around = v.region
		}
		recorded = recorded || t.RequiresGrad()
		constant = constant || v.noGrad
		switch v.scope = temporaries; {
		case !v.noGrad:
			v.noGrad, v.region = true, &c.region
		case v.region.rank() < c.constants.rank():
			v.region = &c.constants
		}
		given[i] = t.derive(v)
	}
	c.region.around = around
	out := called(c.f, given)
	c.region.around = nil
	if err := out.usable(); err != nil {
		return out.view, err
	}
	var history *node
	if !out.env.get().noGrad && out.node != nil {
		history = out.node // of what f made of other tensors alone
		history.refs.Add(1)
	}
	if c.result, err = out.lift(temporaries, c.scope); err != nil {
		if history != nil {
			history.drop()
		}
		return out.view, err
	}
	recorded = recorded || c.region.needed.Load()
	v := c.result.env.get()
	switch v.region {
	case &c.region:
		v.region, v.noGrad = around, constant && !recorded
	case &c.constants:
		v.region = around
	}
	c.result.env = v.with(v.scope.shared())
	if !recorded || v.noGrad || !out.view.DType.IsFloat() {
		c.result.node = history
		return out.view, nil
	}
	if history != nil {
		history.drop()
	}
	c.record(inputs)
	return out.view, nil
}

func called(f func(inputs ...*Tensor) *Tensor, given []*Tensor) *Tensor {
	out := f(given...)
	if out == nil {
		panic("tensor: Checkpoint: the function returned a nil tensor")
	}
	return out
}

// inner opens a scope inside s, or for nil one of its own.
func (s *Scope) inner() *Scope {
	if s == nil {
		return NewScope()
	}
	return s.Child()
}

// lift returns a handle on t, without history, that outlives the scope from, and
// releases t, unless t is a leaf.
func (t *Tensor) lift(from, to *Scope) (*Tensor, error) {
	if t.storage.owner.Load() == from.owned {
		if err := t.storage.moveTo(to.list()); err != nil {
			return nil, err
		}
	}
	v := t.env.get()
	if v.scope == from {
		v.scope = to
	}
	lifted := &Tensor{dev: t.dev, storage: t.storage.retain(), env: v.with(v.scope.shared()), view: t.view}
	if t.leaf != nil {
		return lifted, nil
	}
	return lifted, t.Release()
}

// record hangs a node behind the result that stands for all of f's.
func (c *checkpoint) record(inputs []*Tensor) {
	out := c.result
	n := &node{def: checkpointDef, id: lastNode.Add(1), stream: out.dev.streamOf(out.env), result: out.view, check: c}
	n.refs.Store(1)
	n.bornIn(out.env.get())
	for _, t := range inputs {
		kept := &Tensor{dev: t.dev, storage: t.storage.retain(), env: t.env, view: t.view, node: t.node, leaf: t.leaf}
		if kept.node != nil {
			kept.node.refs.Add(1)
		}
		c.inputs = append(c.inputs, input{kept, t.storage.version.Load()})
	}
	out.node = n
}

func (c *checkpoint) behind(f func(m *node, l *leaf)) {
	for _, in := range c.inputs {
		if in.RequiresGrad() {
			f(in.node, in.leaf)
		}
	}
}

// letGo ends the hold on the inputs, but not a leaf's gradient.
func (c *checkpoint) letGo() error {
	var errs []error
	for _, in := range c.inputs {
		if in.node != nil {
			in.node.drop()
		}
		errs = append(errs, in.storage.drop())
	}
	c.inputs = nil
	return errors.Join(errs...)
}

// unchanged returns why another call of f would not make the same again.
func (c *checkpoint) unchanged() error {
	for i, in := range c.inputs {
		if in.storage.freed.Load() {
			return fmt.Errorf("input %d: %w", i, in.storage.whyFreed())
		}
		if now := in.storage.version.Load(); now != in.version {
			return fmt.Errorf("%w: input %d was changed in place %d times since", ErrInPlace, i, now-in.version)
		}
	}
	c.region.mu.Lock()
	defer c.region.mu.Unlock()
	for _, m := range c.region.leaves {
		if st := m.storage.Value(); st != nil && st.version.Load() != m.version {
			return fmt.Errorf("%w: a leaf that the function reads was changed in place %d times since", ErrInPlace, st.version.Load()-m.version)
		}
	}
	return nil
}
