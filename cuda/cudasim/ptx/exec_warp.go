package ptx

// Instructions in which the lanes of a warp see each other. They run when all
// lanes of their mask have come; see warp.go.

// members makes the instruction just emitted wait for the lanes of a mask.
func (d *decoder) members(a operand, run runner) error {
	mask, err := d.source(a, b32)
	if err != nil {
		return err
	}
	in := d.emit(run)
	in.flow, in.members = flowSync, int32(mask)
	return nil
}

// undefined is what a lane gets of one that does not take part: as a float, a
// NaN.
const undefined = 0xffffffff

// shuffle is shfl.sync.mode.b32 d[|p], a, b, c, members.
func (d *decoder) shuffle() error {
	op := d.s.op
	if len(op) != 4 || op[1] != "sync" || op[3] != "b32" {
		return d.unsupported()
	}
	if err := d.arity(5, 5); err != nil {
		return err
	}
	from, ok := shuffles[op[2]]
	if !ok {
		return d.unsupported()
	}
	var s [3]int
	var err error
	for i := range s {
		if s[i], err = d.source(d.s.args[i+1], b32); err != nil {
			return err
		}
	}
	dst, p := d.s.args[0], -1
	if dst.second != nil {
		if dst.second.class != classPred {
			return d.refuse("the second result of %s is a predicate", d.s.name())
		}
		p, dst.second = dst.second.index, nil
	}
	to, err := d.target(dst, b32)
	if err != nil {
		return err
	}
	return d.members(d.s.args[4], func(w *warp, mask uint32) error {
		a, b, c := &w.r32[s[0]], &w.r32[s[1]], &w.r32[s[2]]
		var inside uint32
		for i := range w.t32 {
			segment := c[i] >> 8 & 31
			j, ok := from(uint32(i), b[i]&31, segment, uint32(i)&segment|c[i]&31&^segment)
			switch {
			case !ok:
				j = uint32(i)
			default:
				inside |= 1 << i
			}
			if mask>>j&1 == 0 {
				w.t32[i] = undefined
			} else {
				w.t32[i] = a[j]
			}
		}
		blend(&w.r32[to], &w.t32, mask)
		if p >= 0 {
			w.setPred(p, inside, mask)
		}
		return nil
	})
}

// shuffles give the lane that a lane reads, and whether it is within the
// segment; else the lane reads itself.
var shuffles = map[string]func(lane, b, segment, limit uint32) (uint32, bool){
	"up": func(lane, b, _, limit uint32) (uint32, bool) {
		return (lane - b) & 31, int32(lane-b) >= int32(limit)
	},
	"down": func(lane, b, _, limit uint32) (uint32, bool) { return (lane + b) & 31, lane+b <= limit },
	"bfly": func(lane, b, _, limit uint32) (uint32, bool) { return lane ^ b, lane^b <= limit },
	"idx": func(lane, b, segment, limit uint32) (uint32, bool) {
		j := lane&segment | b&^segment
		return j, j <= limit
	},
}

// vote is vote.sync.ballot.b32 d, p, members and its kin with a predicate for
// a result.
func (d *decoder) vote() error {
	if len(d.s.op) != 4 || d.s.op[1] != "sync" {
		return d.unsupported()
	}
	if err := d.arity(3, 3); err != nil {
		return err
	}
	p, err := d.source(d.s.args[1], pred)
	if err != nil {
		return err
	}
	name := d.s.op[2] + "." + d.s.op[3]
	if name == "ballot.b32" {
		to, err := d.target(d.s.args[0], b32)
		if err != nil {
			return err
		}
		return d.members(d.s.args[2], func(w *warp, mask uint32) error {
			fill(&w.t32, w.pred[p]&mask)
			blend(&w.r32[to], &w.t32, mask)
			return nil
		})
	}
	decide := map[string]func(yes, mask uint32) bool{
		"any.pred": func(yes, _ uint32) bool { return yes != 0 },
		"all.pred": func(yes, mask uint32) bool { return yes == mask },
		"uni.pred": func(yes, mask uint32) bool { return yes == mask || yes == 0 },
	}[name]
	if decide == nil {
		return d.unsupported()
	}
	to, err := d.target(d.s.args[0], pred)
	if err != nil {
		return err
	}
	return d.members(d.s.args[2], func(w *warp, mask uint32) error {
		w.setPred(to, -bit(decide(w.pred[p]&mask, mask)), mask)
		return nil
	})
}

// match is match.any.sync: which lanes have my value; and match.all.sync
// d[|p]: all lanes of the mask if they have one value, else none.
func (d *decoder) match() error {
	name := d.s.name()
	switch name {
	case "match.any.sync.b32", "match.any.sync.b64", "match.all.sync.b32", "match.all.sync.b64":
	default:
		return d.unsupported()
	}
	if err := d.needs(600, 70); err != nil {
		return err
	}
	if err := d.arity(3, 3); err != nil {
		return err
	}
	all, t := d.s.op[1] == "all", dtypes[d.s.op[3]]
	a, err := d.source(d.s.args[1], t)
	if err != nil {
		return err
	}
	dst, p := d.s.args[0], d.temp(classPred)
	if all && dst.second != nil && dst.second.class == classPred {
		p, dst.second = dst.second.index, nil
	}
	to, err := d.target(dst, b32)
	if err != nil {
		return err
	}
	if all {
		return d.members(d.s.args[2], func(w *warp, mask uint32) error {
			w.read(t, a)
			same := true
			for rest := mask; rest != 0; rest &= rest - 1 {
				same = same && w.t64[lowest(rest)] == w.t64[lowest(mask)]
			}
			fill(&w.t32, -bit(same)&mask)
			blend(&w.r32[to], &w.t32, mask)
			w.setPred(p, -bit(same), mask)
			return nil
		})
	}
	return d.members(d.s.args[2], func(w *warp, mask uint32) error {
		w.read(t, a)
		for i := range w.t32 {
			w.t32[i] = 0
			for j, v := range w.t64 {
				w.t32[i] |= bit(v == w.t64[i]) << j
			}
			w.t32[i] &= mask
		}
		blend(&w.r32[to], &w.t32, mask)
		return nil
	})
}

// reductions are the operations of redux.sync.
var reductions = map[string]func(a, b uint32) uint32{
	"add.u32": func(a, b uint32) uint32 { return a + b }, "add.s32": func(a, b uint32) uint32 { return a + b },
	"min.u32": func(a, b uint32) uint32 { return min(a, b) }, "max.u32": func(a, b uint32) uint32 { return max(a, b) },
	"min.s32": func(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) },
	"max.s32": func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) },
	"and.b32": func(a, b uint32) uint32 { return a & b }, "or.b32": func(a, b uint32) uint32 { return a | b },
	"xor.b32": func(a, b uint32) uint32 { return a ^ b },
}

// reduce is redux.sync.op.type d, a, members: a of all lanes in one.
func (d *decoder) reduce() error {
	op := d.s.op
	if len(op) != 4 || op[1] != "sync" {
		return d.unsupported()
	}
	join := reductions[op[2]+"."+op[3]]
	if join == nil {
		return d.unsupported()
	}
	if err := d.needs(700, 80); err != nil {
		return err
	}
	if err := d.arity(3, 3); err != nil {
		return err
	}
	a, err := d.source(d.s.args[1], dtypes[op[3]])
	if err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], dtypes[op[3]])
	if err != nil {
		return err
	}
	return d.members(d.s.args[2], func(w *warp, mask uint32) error {
		r := w.r32[a][lowest(mask)]
		for rest := mask & (mask - 1); rest != 0; rest &= rest - 1 {
			r = join(r, w.r32[a][lowest(rest)])
		}
		fill(&w.t32, r)
		blend(&w.r32[to], &w.t32, mask)
		return nil
	})
}

func (d *decoder) activeMask() error {
	if d.s.name() != "activemask.b32" {
		return d.unsupported()
	}
	if err := d.arity(1, 1); err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], b32)
	if err != nil {
		return err
	}
	d.emit(func(w *warp, mask uint32) error {
		fill(&w.t32, mask)
		blend(&w.r32[to], &w.t32, mask)
		return nil
	})
	return nil
}

// Special registers. All have 32 bits.
var specialNames = map[string]func(b *block, warp, lane int) uint32{
	"%laneid":      func(_ *block, _, lane int) uint32 { return uint32(lane) },
	"%warpid":      func(_ *block, warp, _ int) uint32 { return uint32(warp) },
	"%lanemask_eq": func(_ *block, _, lane int) uint32 { return 1 << lane },
	"%lanemask_lt": func(_ *block, _, lane int) uint32 { return 1<<lane - 1 },
	"%lanemask_le": func(_ *block, _, lane int) uint32 { return 2<<lane - 1 },
	"%lanemask_gt": func(_ *block, _, lane int) uint32 { return ^uint32(2<<lane - 1) },
	"%lanemask_ge": func(_ *block, _, lane int) uint32 { return ^uint32(1<<lane - 1) },
	"WARP_SZ":      func(*block, int, int) uint32 { return warpSize },
}

func init() {
	for name, of := range map[string]func(b *block, thread int) Dim3{
		"%tid":    func(b *block, thread int) Dim3 { return b.dim.at(thread) },
		"%ntid":   func(b *block, _ int) Dim3 { return b.dim },
		"%ctaid":  func(b *block, _ int) Dim3 { return b.at },
		"%nctaid": func(b *block, _ int) Dim3 { return b.grid },
	} {
		for axis, pick := range map[string]func(Dim3) int{
			"x": func(d Dim3) int { return d.X }, "y": func(d Dim3) int { return d.Y }, "z": func(d Dim3) int { return d.Z },
		} {
			specialNames[name+"."+axis] = func(b *block, warp, lane int) uint32 {
				return uint32(pick(of(b, warp*warpSize+lane)))
			}
		}
	}
}

func isSpecial(name string) bool { return specialNames[name] != nil }
