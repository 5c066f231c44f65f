package tensor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Grad returns the gradients of outputs for inputs, each a leaf or the result
// of a recorded op, in their order, and leaves every Grad() as it is. Upstreams
// are as for BackwardWith, one for each output; nil, or one that is nil, is 1
// for an output of a single element. The results are the caller's, in the scope
// of the outputs; they have no history.
//
// It goes only over those ops that lie between outputs and inputs, and frees
// them unless told to [Retain]. An input that no output depends on is
// [ErrNoHistory] naming it, or nil among the results with [AllowUnused]. Hooks
// see the gradients on the way, and an input's gradient is what its hooks made of
// it, also where another input lies behind (PyTorch gives the one before them
// there). After an error there are no results.
func Grad(outputs, inputs, upstreams []*Tensor, options ...BackwardOption) (results []*Tensor, err error) {
	if len(outputs) == 0 || upstreams != nil && len(upstreams) != len(outputs) {
		return nil, newError("Grad", fmt.Errorf("%w: %d outputs with %d upstreams", ErrShape, len(outputs), len(upstreams)))
	}
	option := oneOption(options)
	b := &backward{retain: option&Retain != 0}
	err = b.ask(inputs)
	if err == nil {
		b.scope, err = commonScope(outputs)
	}
	if err != nil {
		return nil, newError("Grad", err, inputs...)
	}
	ups := make([]*Tensor, len(outputs))
	var made []*Tensor
	defer func() {
		for _, t := range made {
			err = errors.Join(err, t.Release())
		}
	}()
	for i, t := range outputs {
		if upstreams != nil {
			ups[i] = upstreams[i]
		}
		if err == nil && ups[i] == nil {
			if ups[i], err = t.one(); err == nil {
				made = append(made, ups[i])
			}
		}
		if err == nil {
			err = t.rootOf(ups[i])
		}
		if err == nil && t.node != nil {
			b.only.mark(t.node)
		}
	}
	if err == nil {
		err = b.run(outputs, ups)
	}
	if err == nil && option&AllowUnused == 0 {
		err = b.only.missing(inputs)
	}
	if err != nil {
		return nil, newError("Grad", errors.Join(err, b.only.release()), outputs...)
	}
	return b.only.got, nil
}

func commonScope(ts []*Tensor) (s *Scope, err error) {
	for _, t := range ts {
		if err == nil {
			s, err = joinScope(s, t.env.get().scope)
		}
	}
	return s, err
}

// asked is what a Grad is for.
type asked struct {
	nodes  map[*node][]int // places among the inputs
	leaves map[*leaf][]int
	got    []*Tensor
	// wanted are the nodes that are an input or have one behind them; beyond
	// are those with one behind.
	wanted, beyond, seen map[*node]bool
}

func (b *backward) ask(inputs []*Tensor) error {
	a := &asked{nodes: map[*node][]int{}, leaves: map[*leaf][]int{}, got: make([]*Tensor, len(inputs)),
		wanted: map[*node]bool{}, beyond: map[*node]bool{}, seen: map[*node]bool{}}
	b.only = a
	for i, t := range inputs {
		if err := t.usable(); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		switch {
		case !t.RequiresGrad():
			return fmt.Errorf("input %d: %w", i, ErrNoHistory)
		case t.node != nil:
			a.nodes[t.node] = append(a.nodes[t.node], i)
		default:
			a.leaves[t.leaf] = append(a.leaves[t.leaf], i)
		}
	}
	return nil
}

// mark finds out which nodes from root on are wanted. What a checkpoint leads
// to shows when it is recomputed; until then it is wanted.
func (a *asked) mark(root *node) {
	var fresh []*node
	reach([]*node{root}, a.seen, func(n *node) { fresh = append(fresh, n) })
	slices.SortFunc(fresh, func(m, n *node) int { return cmp.Compare(m.id, n.id) })
	for _, n := range fresh {
		beyond := n.check != nil
		n.behind(func(m *node, l *leaf) {
			beyond = beyond || m != nil && a.wanted[m] || l != nil && a.leaves[l] != nil
		})
		a.beyond[n] = beyond
		a.wanted[n] = beyond || a.nodes[n] != nil
	}
}

// take gives g, which stays the walk's, to the inputs at the places.
func (a *asked) take(places []int, g *Tensor) {
	for _, i := range places {
		v := g.env.get()
		v.noGrad = false
		a.got[i] = &Tensor{dev: g.dev, storage: g.storage.retain(), env: v.with(v.scope.shared()), view: g.view}
	}
}

// missing names the first input that got nothing.
func (a *asked) missing(inputs []*Tensor) error {
	for i, g := range a.got {
		if g == nil {
			return fmt.Errorf("%w: no output depends on input %d %v; AllowUnused makes its gradient nil", ErrNoHistory, i, inputs[i].Shape())
		}
	}
	return nil
}

func (a *asked) release() error {
	if a == nil {
		return nil
	}
	var errs []error
	for i, g := range a.got {
		if g != nil {
			a.got[i] = nil
			errs = append(errs, g.Release())
		}
	}
	return errors.Join(errs...)
}

// reach calls f once for each node that the given ones lead to, themselves
// too, and that is not in seen, where it is put.
func reach(from []*node, seen map[*node]bool, f func(n *node)) {
	stack := slices.Clone(from)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		f(n)
		n.behind(func(m *node, _ *leaf) {
			if m != nil {
				stack = append(stack, m)
			}
		})
	}
}
