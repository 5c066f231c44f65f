package ptx

import (
	"fmt"
	"strings"
)

// block is one block of threads while it runs; it is used for many, one after
// another.
type block struct {
	kernel        *Kernel
	grid, dim, at Dim3
	params        []byte
	shared        []byte
	view          view
	warps         []*warp
	all           []*warp // made so far
	places        []special
	order         *order // nil where blocks run one after another
	races         *races // nil where nobody asked
	arrived       [numBarriers]int
}

// order stands for the order of a launch's atomics.
type order struct{ _ uint64 }

// newBlock returns a block for a launch. Those of past launches are used again,
// but not under the race detector: to it that is memory which launches share.
func (k *Kernel) newBlock(grid, dim Dim3, sharedBytes int, params []byte, snapshot []Allocation, o *order) *block {
	b, again := (*block)(nil), false
	if !raceEnabled {
		b, again = k.idle.Get().(*block)
	}
	if b == nil {
		b = &block{}
	}
	again = again && b.grid == grid && b.dim == dim
	b.kernel, b.grid, b.dim, b.params, b.order = k, grid, dim, params, o
	b.view.live, b.view.variables = snapshot, Allocation{Ptr: k.module.base, Bytes: k.module.data}
	if b.view.last == nil {
		b.view.last = make([]*Allocation, k.memOps)
		for _, s := range k.specials {
			if strings.HasPrefix(s.name, "%ctaid") {
				b.places = append(b.places, s)
			}
		}
	}
	if size := k.dynamic + sharedBytes; size <= cap(b.shared) {
		b.shared = b.shared[:size]
	} else {
		b.shared = make([]byte, size)
	}
	b.races = nil
	if k.races {
		b.races = newRaces(len(b.shared))
	}
	n := (dim.count() + warpSize - 1) / warpSize
	for len(b.all) < n {
		b.all = append(b.all, b.newWarp(len(b.all)))
		again = false
	}
	b.warps = b.all[:n]
	if !again {
		for _, w := range b.warps {
			w.prepare()
		}
	}
	return b
}

// putBack lets another launch use the block.
func (b *block) putBack() {
	if raceEnabled {
		return
	}
	b.params, b.view.live, b.races = nil, nil, nil
	clear(b.view.last)
	for _, w := range b.warps {
		w.where.base = nil // may be the last to hold memory
	}
	b.kernel.idle.Put(b)
}

// run runs block i of the grid.
func (b *block) run(i int) error {
	b.at = b.grid.at(i)
	b.arrived = [numBarriers]int{}
	poison(b.shared)
	if b.races != nil {
		b.races.epoch++
	}
	for _, w := range b.warps {
		w.start()
	}
	for {
		ended := true
		for _, w := range b.warps {
			if err := w.run(); err != nil {
				return err
			}
			ended = ended && w.live == 0
		}
		if ended {
			return nil
		}
		if err := b.release(); err != nil {
			return err
		}
	}
}

// release lets a block go on from a barrier. All its threads must be there,
// those that have ended as well: on some devices they count as having come, on
// none may a program rely on it.
func (b *block) release() error {
	if some, err := b.meet(); some || err != nil {
		return err
	}
	var first *warp // that waits, at pc
	pc := -1
	for _, w := range b.warps {
		if len(w.groups) > 0 {
			first, pc = w, w.groups[0].pc
			break
		}
	}
	line := b.kernel.code[pc].line
	at := first.place(line, lowest(first.groups[0].mask))
	for _, w := range b.warps {
		for _, g := range w.groups {
			if g.pc != pc {
				other := b.kernel.code[g.pc].line
				return &SyncError{at, 0, fmt.Sprintf("threads of the block wait at a barrier here and at another in line %d", other)}
			}
		}
		if ended := w.all &^ w.live; ended != 0 {
			thread := b.dim.at(w.index*warpSize + lowest(ended))
			return &SyncError{at, 0, fmt.Sprintf("threads wait at a barrier that thread %v of the block will not reach: it has ended", thread)}
		}
	}
	if b.races != nil {
		b.races.epoch++
	}
	for _, w := range b.warps {
		w.groups = append(w.groups[:0], group{pc: pc + 1, mask: w.live})
	}
	return nil
}
