package tensor

import "errors"

// Gradients reach a leaf in pieces, one for each use. They are added to what
// the leaf has as they come, unless somebody wants to see the sum of this
// walk: then they wait here until the last piece has come.

type waiting struct {
	pieces []piece // in the order of the first arrival
	// left is how many more pieces each leaf gets, as far as the graph shows;
	// nil where it has to be counted anew.
	left   map[*leaf]int
	hidden bool // some of the graph is yet to be recomputed
}

type piece struct {
	leaf *leaf
	sum  *Tensor
}

// watched reports whether the sum of a walk is of interest.
func (b *backward) watched(l *leaf) bool {
	return b.only != nil || len(l.hooks.all()) > 0 || len(l.after.all()) > 0
}

// leaf takes g, a piece of l's gradient, and its hold.
func (b *backward) leaf(l *leaf, g *Tensor) error {
	w := &b.waiting
	at := w.find(l)
	if at < 0 && !b.watched(l) {
		return b.add(l, g)
	}
	if at >= 0 {
		if err := sum(&w.pieces[at].sum, g); err != nil {
			return err
		}
	} else {
		at = len(w.pieces)
		w.pieces = append(w.pieces, piece{l, g})
	}
	if w.left == nil {
		return nil
	}
	if w.left[l]--; w.left[l] > 0 || w.hidden {
		return nil
	}
	return b.complete(at)
}

func (w *waiting) find(l *leaf) int {
	for i := range w.pieces {
		if w.pieces[i].leaf == l {
			return i
		}
	}
	return -1
}

// expect counts, before n's gradients go out, the pieces that are still to
// come, where one is for a leaf that is watched.
func (w *waiting) expect(b *backward, n *node) {
	if w.left != nil || n.check != nil {
		return
	}
	watched := false
	n.behind(func(_ *node, l *leaf) { watched = watched || l != nil && b.watched(l) })
	if !watched {
		return
	}
	w.left, w.hidden = map[*leaf]int{}, false
	count := func(_ *node, l *leaf) {
		if l != nil {
			w.left[l]++
		}
	}
	reach(append([]*node{n}, b.ready...), map[*node]bool{}, func(m *node) {
		w.hidden = w.hidden || m.check != nil
		m.behind(count)
	})
}

// complete hands the sum of a walk on: to the hooks, then to who asked for it
// or to the leaf.
func (b *backward) complete(at int) error {
	p := &b.waiting.pieces[at]
	l := p.leaf
	if err := b.apply(&l.hooks, "a leaf", false, &p.sum); err != nil {
		return err
	}
	g := p.sum
	b.waiting.pieces = append(b.waiting.pieces[:at], b.waiting.pieces[at+1:]...)
	if b.only != nil {
		b.only.take(b.only.leaves[l], g)
		return g.Release()
	}
	if err := b.add(l, g); err != nil {
		return err
	}
	for _, k := range l.after.all() {
		f, grad := k.f.Load(), l.handle()
		if f == nil || grad == nil {
			continue
		}
		err := (*f)(grad)
		if err = errors.Join(err, grad.Release()); err != nil {
			return newError("AfterGrad", err, grad)
		}
	}
	return nil
}

func (b *backward) add(l *leaf, g *Tensor) error {
	if s := l.home(); len(b.leaves) == 0 || b.leaves[len(b.leaves)-1] != s {
		b.leaves = append(b.leaves, s)
	}
	return l.add(g)
}

// flush completes what no count did.
func (b *backward) flush() error {
	for len(b.waiting.pieces) > 0 {
		if err := b.complete(0); err != nil {
			return err
		}
	}
	return nil
}

func (w *waiting) release() error {
	var errs []error
	for _, p := range w.pieces {
		errs = append(errs, p.sum.Release())
	}
	w.pieces = nil
	return errors.Join(errs...)
}
