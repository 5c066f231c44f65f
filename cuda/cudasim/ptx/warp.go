package ptx

import (
	"bytes"
	"fmt"
	"math"
	"slices"
)

// warp is 32 threads that run together. Where they go different ways they are
// in groups; the group with the lowest pc runs, and groups that meet at a pc
// become one. That is right for every flow of control, and brings the lanes
// together again where compilers mean them to. A lane that spins for another
// lane of its warp, or for another block, can wait for ever.
type warp struct {
	block *block
	index int

	r32  []lanes32
	r64  []lanes64
	pred []uint32

	t32 lanes32 // results before they are blended in
	t64 lanes64

	where extent // of the access that runs

	steps  int64 // instructions left, as far as they are counted
	copies asyncCopies
	local  []byte // of all lanes, one after another
	all    uint32 // lanes that have a thread
	live   uint32 // those that have not ended
	groups []group
}

// States of a group.
const (
	running = iota
	parked  // at a flowSync, waits for lanes of its warp
	waiting // at a barrier, waits for the block
)

type group struct {
	pc    int
	mask  uint32
	state int
}

// newWarp makes a warp with its constants. A kernel writes the other registers
// before it reads them, so they are never reset: what a block leaves in them
// does not matter to the next.
func (b *block) newWarp(index int) *warp {
	k := b.kernel
	w := &warp{
		block: b, index: index,
		r32:   make([]lanes32, max(k.registers[class32], 1)),
		r64:   make([]lanes64, max(k.registers[class64], 1)),
		pred:  make([]uint32, max(k.registers[classPred], 1)),
		local: make([]byte, k.local*warpSize),
	}
	for _, c := range k.constants {
		switch c.at.class {
		case class32:
			fill(&w.r32[c.at.index], uint32(c.value))
		case class64:
			spread(&w.r64[c.at.index], c.value, full)
		case classPred:
			w.pred[c.at.index] = uint32(c.value)
		}
	}
	return w
}

// prepare sets what a launch sets.
func (w *warp) prepare() {
	for _, s := range w.block.kernel.specials {
		of, r := specialNames[s.name], &w.r32[s.at]
		for lane := range r {
			r[lane] = of(w.block, w.index, lane)
		}
	}
	w.all = full
	if threads := w.block.dim.count() - w.index*warpSize; threads < warpSize {
		w.all = 1<<threads - 1
	}
}

// start sets the warp to the beginning of a block.
func (w *warp) start() {
	for _, s := range w.block.places {
		fill(&w.r32[s.at], specialNames[s.name](w.block, w.index, 0))
	}
	poison(w.local)
	w.copies.reset()
	w.live = w.all
	w.steps = math.MaxInt64
	if n := w.block.kernel.steps; n > 0 {
		w.steps = n
	}
	w.groups = append(w.groups[:0], group{mask: w.all})
}

// poison fills memory that no thread has written.
func poison(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, poisoned):]
	}
}

var poisoned = bytes.Repeat([]byte{unwritten}, 4096)

// run goes on until all lanes have ended or wait at a barrier.
func (w *warp) run() error {
	for {
		i := w.next()
		if i < 0 {
			if !slices.ContainsFunc(w.groups, func(g group) bool { return g.state == parked }) {
				return nil
			}
			if err := w.unpark(); err != nil {
				return err
			}
			continue
		}
		if err := w.runGroup(i); err != nil {
			return err
		}
	}
}

// next merges groups that have met and returns the running one with the lowest
// pc, -1 if there is none.
func (w *warp) next() int {
	if len(w.groups) > 1 {
		slices.SortFunc(w.groups, func(a, b group) int { return a.pc - b.pc })
		kept := w.groups[:1]
		for _, g := range w.groups[1:] {
			last := &kept[len(kept)-1]
			if last.pc == g.pc && (last.state == waiting) == (g.state == waiting) {
				last.mask |= g.mask
				last.state = min(last.state, g.state)
				continue
			}
			kept = append(kept, g)
		}
		w.groups = kept
	}
	return slices.IndexFunc(w.groups, func(g group) bool { return g.state == running })
}

// unpark lets groups go on whose missing lanes have ended since. If there is
// none, nobody can go on.
func (w *warp) unpark() error {
	var stuck *group
	for i := range w.groups {
		g := &w.groups[i]
		if g.state != parked {
			continue
		}
		if w.missing(g) == 0 {
			g.state = running
			return nil
		}
		stuck = g
	}
	missing := w.missing(stuck)
	return &SyncError{Place: w.place(w.block.kernel.code[stuck.pc].line, lowest(stuck.mask)), Missing: missing,
		Reason: fmt.Sprintf("lanes %#x wait for lanes %#x, which their mask names and which do not come", stuck.mask, missing)}
}

// missing returns the live lanes that a group at a flowSync waits for.
func (w *warp) missing(g *group) uint32 {
	var missing uint32
	for rest := g.mask; rest != 0; {
		members, same := w.meeting(&w.block.kernel.code[g.pc], rest)
		missing |= members & w.live &^ same
		rest &^= same
	}
	return missing
}

// meeting returns the mask that the first of some lanes names at a flowSync,
// and those of the lanes that name the same: they meet, and nobody else.
func (w *warp) meeting(in *inst, lanes uint32) (members, same uint32) {
	named := &w.r32[in.members]
	members = named[lowest(lanes)]
	for ; lanes != 0; lanes &= lanes - 1 {
		same |= bit(named[lowest(lanes)] == members) << lowest(lanes)
	}
	return members, same
}

// runGroup runs group i until another must be looked at: it ends, waits, splits
// or comes to where the next one is.
//
//go:norace
func (w *warp) runGroup(i int) error {
	g := &w.groups[i]
	limit := math.MaxInt
	if i+1 < len(w.groups) {
		limit = w.groups[i+1].pc
	}
	alone := len(w.groups) == 1
	code := w.block.kernel.code
	for {
		in := &code[g.pc]
		mask := g.mask
		if in.guard >= 0 {
			p := w.pred[in.guard]
			if in.negated {
				p = ^p
			}
			mask &= p
		}
		switch {
		case mask == 0:
			g.pc++
		case mask == full && in.all32 != nil:
			r := &in.regs
			in.all32(&w.r32[r[0]], &w.r32[r[1]], &w.r32[r[2]], &w.r32[r[3]])
			g.pc++
		case mask == full && in.all64 != nil:
			r := &in.regs
			in.all64(&w.r64[r[0]], &w.r64[r[1]], &w.r64[r[2]], &w.r64[r[3]])
			g.pc++
		case in.flow == flowNext:
			if err := in.run(w, mask); err != nil {
				return err
			}
			g.pc++
		case in.flow == flowBranch && mask == g.mask:
			if w.spent(g.pc, in) {
				return w.endless(in, mask)
			}
			g.pc = int(in.target)
			if !alone {
				return nil
			}
		default:
			again, err := w.flow(g, in, mask)
			if !again || err != nil {
				return err
			}
		}
		if g.pc >= limit {
			return nil
		}
	}
}

// spent counts a branch from pc, with what a loop runs for each time that it jumps
// back, and reports whether that is more than the warp may.
//
//go:norace
func (w *warp) spent(pc int, in *inst) bool {
	back := pc - int(in.target)
	if back < 0 {
		return false
	}
	w.steps -= int64(back) + 1
	return w.steps < 0
}

// endless is the error of a warp that jumps back once too often.
func (w *warp) endless(in *inst, mask uint32) error {
	return &StepsError{w.place(in.line, lowest(mask)), w.block.kernel.steps}
}

// flow runs what divides a group or makes it wait; again says that g can go
// on at once.
func (w *warp) flow(g *group, in *inst, mask uint32) (again bool, err error) {
	rest := g.mask &^ mask
	switch {
	case in.flow == flowTrap:
		return false, &TrapError{w.place(in.line, lowest(mask))}
	case in.flow == flowExit:
		w.live &^= mask
		g.mask = rest
		g.pc++
		if rest == 0 {
			w.groups = slices.DeleteFunc(w.groups, func(g group) bool { return g.mask == 0 })
		}
		return rest != 0, nil
	case in.flow == flowBranch:
		if w.spent(g.pc, in) {
			return false, w.endless(in, mask)
		}
		g.mask = mask
		pc := g.pc
		g.pc = int(in.target)
		w.groups = append(w.groups, group{pc: pc + 1, mask: rest})
		return false, nil
	case rest != 0 && in.aligned:
		return false, &SyncError{w.place(in.line, lowest(mask)), rest,
			fmt.Sprintf("lanes %#x of the warp pass by a barrier that all of them must come to together", rest)}
	case rest != 0: // who is guarded out of a wait goes on by itself
		g.mask = mask
		w.groups = append(w.groups, group{pc: g.pc + 1, mask: rest})
		return false, nil
	case in.flow == flowBarrier:
		g.state = waiting
		return false, nil
	}
	return w.sync(g, in)
}

// sync runs a flowSync for each set of lanes that name the same mask, or parks
// the group until all of them are complete.
func (w *warp) sync(g *group, in *inst) (again bool, err error) {
	if w.missing(g) != 0 {
		g.state = parked
		return false, nil
	}
	for rest := g.mask; rest != 0; {
		members, same := w.meeting(in, rest)
		if outside := same &^ members; outside != 0 {
			return false, &SyncError{Place: w.place(in.line, lowest(outside)),
				Reason: fmt.Sprintf("a lane that its own mask %#x does not name", members)}
		}
		if err := in.run(w, same); err != nil {
			return false, err
		}
		rest &^= same
	}
	g.pc++
	return true, nil
}
