package ptx

import (
	"fmt"
	"math/bits"
	"slices"
)

const numBarriers = 16

// barrier is what a bar instruction that waits says.
type barrier struct {
	plain  bool // of the whole block, without a result
	id     int  // register
	count  int  // register with the number of threads, -1 for the whole block
	reduce string
	from   int // predicate to reduce
	to     int // register for the result: a predicate, but for popc
}

// bar is bar.sync, bar.arrive and bar.red, under the name barrier too, and
// bar.warp.sync.
func (d *decoder) bar() error {
	if d.s.name() == "bar.warp.sync" {
		if err := d.arity(1, 1); err != nil {
			return err
		}
		return d.members(d.s.args[0], func(*warp, uint32) error { return nil })
	}
	op := slices.Clone(d.s.op[1:])
	if len(op) > 0 && op[0] == "cta" {
		if err := d.needs(708, 53); err != nil {
			return err
		}
		op = op[1:]
	}
	aligned := d.s.op[0] == "bar"
	if i := slices.Index(op, "aligned"); i > 0 && !aligned {
		op, aligned = slices.Delete(op, i, i+1), true
	}
	switch {
	case slices.Equal(op, []string{"sync"}):
		return d.barSync(aligned)
	case slices.Equal(op, []string{"arrive"}):
		return d.barArrive()
	case slices.Equal(op, []string{"red", "popc", "u32"}), slices.Equal(op, []string{"red", "and", "pred"}),
		slices.Equal(op, []string{"red", "or", "pred"}):
		return d.barReduce(op[1], aligned)
	}
	return d.unsupported()
}

// barOperands reads the number of the barrier and, if it is there, the count.
func (d *decoder) barOperands(args []operand) (b barrier, err error) {
	if len(args) < 1 || len(args) > 2 {
		return b, d.refuse("%s with %d operands", d.s.name(), len(d.s.args))
	}
	if n := args[0]; n.kind == argNumber && n.num.bits >= numBarriers {
		return b, d.refuse("barriers have numbers from 0 to 15")
	}
	if b.id, err = d.source(args[0], u32); err != nil {
		return b, err
	}
	if b.count = -1; len(args) == 1 {
		return b, nil
	}
	if n := args[1]; n.kind == argNumber && (n.num.bits == 0 || n.num.bits%warpSize != 0) {
		return b, d.refuse("the number of threads at a barrier is a multiple of 32")
	}
	b.count, err = d.source(args[1], u32)
	return b, err
}

func (d *decoder) barSync(aligned bool) error {
	b, err := d.barOperands(d.s.args)
	if err != nil {
		return err
	}
	b.plain = b.count < 0 && d.s.args[0].kind == argNumber
	in := d.emit(nil)
	in.flow, in.barrier, in.aligned = flowBarrier, &b, aligned
	return nil
}

func (d *decoder) barReduce(op string, aligned bool) error {
	if err := d.arity(3, 4); err != nil {
		return err
	}
	last := len(d.s.args) - 1
	b, err := d.barOperands(d.s.args[1:last])
	if err != nil {
		return err
	}
	if b.from, err = d.source(d.s.args[last], pred); err != nil {
		return err
	}
	t := pred
	if b.reduce = op; op == "popc" {
		t = u32
	}
	if b.to, err = d.target(d.s.args[0], t); err != nil {
		return err
	}
	in := d.emit(nil)
	in.flow, in.barrier, in.aligned = flowBarrier, &b, aligned
	return nil
}

// barArrive counts threads at a barrier without making them wait.
func (d *decoder) barArrive() error {
	if len(d.s.args) != 2 {
		return d.refuse("%s needs the number of threads", d.s.name())
	}
	b, err := d.barOperands(d.s.args)
	if err != nil {
		return err
	}
	line := int32(d.s.line)
	d.emit(func(w *warp, mask uint32) error {
		id, _, err := b.operands(w, mask, line)
		if err != nil {
			return err
		}
		w.block.arrived[id] += w.threads(mask)
		return nil
	})
	return nil
}

// threads is how many threads lanes count for: a device counts all lanes of a
// warp, those too that the block is too small for.
func (w *warp) threads(lanes uint32) int {
	if lanes == w.all {
		return warpSize
	}
	return bits.OnesCount32(lanes)
}

// operands returns a barrier's number and the threads that it waits for.
func (b *barrier) operands(w *warp, mask uint32, line int32) (id, count int, err error) {
	first := lowest(mask)
	id, count = int(w.r32[b.id][first]), warpSize*len(w.block.warps)
	if b.count >= 0 {
		count = int(w.r32[b.count][first])
	}
	fail := func(lane int, reason string, args ...any) error {
		return &SyncError{w.place(line, lane), 0, fmt.Sprintf(reason, args...)}
	}
	switch {
	case id >= numBarriers:
		return 0, 0, fail(first, "barrier %d; they have numbers from 0 to 15", id)
	case count == 0 || count%warpSize != 0:
		return 0, 0, fail(first, "a barrier of %d threads, which is no multiple of 32", count)
	}
	for rest := mask; rest != 0; rest &= rest - 1 {
		lane := lowest(rest)
		if int(w.r32[b.id][lane]) != id || b.count >= 0 && int(w.r32[b.count][lane]) != count {
			return 0, 0, fail(lane, "lanes of a warp name different barriers or numbers of threads")
		}
	}
	return id, count, nil
}

// waiter is a group that waits at a barrier.
type waiter struct {
	w       *warp
	g       *group
	at      *barrier
	count   int // threads that the barrier needs
	threads int // those that the group counts for
}

func (x *waiter) line() int32 { return x.w.block.kernel.code[x.g.pc].line }

// waiters returns who waits at each barrier, in order of their warps.
func (b *block) waiters() (at [numBarriers][]waiter, err error) {
	for _, w := range b.warps {
		var lanes [numBarriers]uint32
		for i := range w.groups {
			g := &w.groups[i]
			in := &b.kernel.code[g.pc]
			id, count, err := in.barrier.operands(w, g.mask, in.line)
			if err != nil {
				return at, err
			}
			lanes[id] |= g.mask
			x := waiter{w, g, in.barrier, count, bits.OnesCount32(g.mask)}
			if lanes[id] == w.all {
				x.threads += w.threads(w.all) - bits.OnesCount32(w.all)
			}
			if len(at[id]) > 0 && (at[id][0].count != count || at[id][0].at.reduce != in.barrier.reduce) {
				return at, &SyncError{w.place(in.line, lowest(g.mask)), 0,
					fmt.Sprintf("barrier %d is used in another way in line %d, where threads wait", id, at[id][0].line())}
			}
			at[id] = append(at[id], x)
		}
	}
	return at, nil
}

// meet lets those go on who wait at barriers that have all their threads; none
// do where all wait at barriers of the whole block, which are simpler.
func (b *block) meet() (some bool, err error) {
	if b.onlyPlain() {
		return false, nil
	}
	at, err := b.waiters()
	if err != nil {
		return false, err
	}
	stuck := error(nil)
	for id, waits := range at {
		came := b.arrived[id]
		for i := 0; i < len(waits); i++ {
			if came += waits[i].threads; came < waits[i].count {
				continue
			}
			if came > waits[i].count {
				return false, waits[i].stuck(id, came)
			}
			pass(waits[:i+1])
			waits, i, came, some = waits[i+1:], -1, 0, true
			b.arrived[id] = 0
		}
		if len(waits) > 0 && stuck == nil {
			stuck = waits[0].stuck(id, came)
		}
	}
	if !some {
		return false, stuck
	}
	if b.races != nil {
		b.races.epoch++
	}
	return true, nil
}

func (b *block) onlyPlain() bool {
	if b.arrived != [numBarriers]int{} {
		return false
	}
	for _, w := range b.warps {
		for _, g := range w.groups {
			if !b.kernel.code[g.pc].barrier.plain {
				return false
			}
		}
	}
	return true
}

func (x *waiter) stuck(id, came int) error {
	return &SyncError{x.w.place(x.line(), lowest(x.g.mask)), 0,
		fmt.Sprintf("threads wait at barrier %d, which needs %d; %d have come, and nobody can go on", id, x.count, came)}
}

// pass gives those who have met the result, and lets them go on.
func pass(met []waiter) {
	yes, all := 0, 0
	for _, x := range met {
		all += bits.OnesCount32(x.g.mask)
		if x.at.reduce != "" {
			yes += bits.OnesCount32(x.w.pred[x.at.from] & x.g.mask)
		}
	}
	for _, x := range met {
		switch w := x.w; x.at.reduce {
		case "popc":
			fill(&w.t32, uint32(yes))
			blend(&w.r32[x.at.to], &w.t32, x.g.mask)
		case "and":
			w.setPred(x.at.to, -bit(yes == all), x.g.mask)
		case "or":
			w.setPred(x.at.to, -bit(yes > 0), x.g.mask)
		}
		x.g.state = running
		x.g.pc++
	}
}
