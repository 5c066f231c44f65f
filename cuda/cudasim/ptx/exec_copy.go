package ptx

import (
	"fmt"
	"slices"
)

// asyncCopies are the cp.async of a warp that have not been waited for. A
// device may copy at any time between the instruction and the wait; this copies
// at the wait, so that a kernel that does not wait reads what lay there before.
type asyncCopies struct {
	pending []asyncCopy
	closed  [warpSize]uint32 // groups that each lane has committed
}

// asyncCopy fills to with from, and with zeros behind it.
type asyncCopy struct {
	to, from []byte
	access   *access // to shared memory
	lane     int
	group    uint32
	address  uint64 // of to, in shared memory
}

// reset forgets what the threads of the block before have not waited for.
func (c *asyncCopies) reset() { *c = asyncCopies{pending: c.pending[:0]} }

func (c *asyncCopies) commit(lanes uint32) {
	for ; lanes != 0; lanes &= lanes - 1 {
		c.closed[lowest(lanes)]++
	}
}

// waitFor makes the copies of some lanes, but for the newest groups and what is
// in no group yet. To who looks for races shared memory is written when a copy
// begins, and again when it is waited for.
func (w *warp) waitFor(lanes, newest uint32) (err error) {
	c := &w.copies
	c.pending = slices.DeleteFunc(c.pending, func(p asyncCopy) bool {
		if lanes>>p.lane&1 == 0 || uint64(p.group)+uint64(newest) >= uint64(c.closed[p.lane]) || err != nil {
			return false
		}
		clear(p.to[copy(p.to, p.from):])
		if races := w.block.races; races != nil {
			err = races.touch(w, p.access, p.lane, int(p.address))
		}
		return true
	})
	return err
}

// copyAsync is cp.async.{ca,cg}.shared.global [to], [from], size[, used], and
// the instructions that group the copies of a thread and wait for groups.
func (d *decoder) copyAsync() error {
	if len(d.s.op) < 3 || d.s.op[1] != "async" {
		return d.unsupported()
	}
	switch d.s.name() {
	case "cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all":
		return d.copyGroup()
	}
	version, op := 700, d.s.op[2:]
	if n := len(op) - 1; slices.Contains([]string{"L2::64B", "L2::128B", "L2::256B"}, op[n]) {
		version, op = 704, op[:n]
	}
	if len(op) == 3 && op[1] == "shared::cta" {
		version, op = 708, []string{op[0], "shared", op[2]}
	}
	if !slices.Equal(op, []string{"ca", "shared", "global"}) && !slices.Equal(op, []string{"cg", "shared", "global"}) {
		return d.unsupported()
	}
	if err := d.needs(version, 80); err != nil {
		return err
	}
	if err := d.arity(3, 4); err != nil {
		return err
	}
	args := d.s.args
	size := int(args[2].num.bits)
	if args[2].kind != argNumber || !(size == 16 || op[0] == "ca" && (size == 4 || size == 8)) {
		return d.refuse("%s copies 16 bytes, or by .ca 4 or 8", d.s.name())
	}
	to, _, err := d.memory(map[string]bool{"shared": true}, b32, args[0])
	if err != nil {
		return err
	}
	from, _, err := d.memory(map[string]bool{"global": true}, b32, args[1])
	if err != nil {
		return err
	}
	to.size, to.store, from.size = size, true, size
	used := d.constant(class32, uint64(size))
	if len(args) == 4 {
		if used, err = d.source(args[3], u32); err != nil {
			return err
		}
		if n := args[3]; n.kind == argNumber && n.num.bits > uint64(size) {
			return d.refuse("%s uses %d bytes of %d", d.s.name(), n.num.bits, size)
		}
	}
	d.emit(func(w *warp, mask uint32) error { return w.copyAsync(&to, &from, used, mask) })
	return nil
}

func (w *warp) copyAsync(to, from *access, used int, mask uint32) error {
	c := &w.copies
	for ; mask != 0; mask &= mask - 1 {
		lane := lowest(mask)
		p := asyncCopy{access: to, lane: lane, group: c.closed[lane], address: (w.r64[to.addr.reg][lane] + to.addr.offset) & (sharedWindow - 1)}
		var err error
		if p.to, err = w.bytes(to, lane); err != nil {
			return err
		}
		if p.from, err = w.copied(from, lane, int(w.r32[used][lane])); err != nil {
			return err
		}
		c.pending = append(c.pending, p)
	}
	return nil
}

// copied returns the first used bytes at the source of a copy. What is not used
// need not be there, but the address is aligned to the whole.
func (w *warp) copied(from *access, lane, used int) ([]byte, error) {
	if used == from.size {
		return w.bytes(from, lane)
	}
	address := w.r64[from.addr.reg][lane] + from.addr.offset
	switch {
	case used > from.size:
		return nil, w.accessError(from, lane, address, fmt.Sprintf("a copy uses %d bytes of %d", used, from.size))
	case address%uint64(from.size) != 0:
		return nil, w.accessError(from, lane, address, fmt.Sprintf("not aligned to %d bytes", from.size))
	case used == 0:
		return nil, nil
	}
	part := *from
	part.size = used // an address that is aligned to the whole passes as aligned to this
	return w.bytes(&part, lane)
}

func (d *decoder) copyGroup() error {
	if err := d.needs(700, 80); err != nil {
		return err
	}
	newest := uint32(0)
	operands := int(bit(d.s.op[2] == "wait_group"))
	if err := d.arity(operands, operands); err != nil {
		return err
	}
	if operands == 1 {
		n := d.s.args[0]
		if n.kind != argNumber || n.num.float != 0 || n.num.bits > 1<<31-1 {
			return d.refuse("cp.async.wait_group takes the number of groups that may be left")
		}
		newest = uint32(n.num.bits)
	}
	commits, waits := d.s.op[2] != "wait_group", d.s.op[2] != "commit_group"
	d.emit(func(w *warp, mask uint32) error {
		if commits {
			w.copies.commit(mask)
		}
		if waits {
			return w.waitFor(mask, newest)
		}
		return nil
	})
	return nil
}
