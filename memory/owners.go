package memory

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Owner is a place in a program, or a tag where the place is not known, and
// the blocks that it has allocated and not freed.
type Owner struct {
	// Frame is the innermost call outside of packages memory, tensor and nn and
	// the Go runtime. It is zero where no history was on; see
	// RecordHistory.
	Frame Frame
	Tag   string // "" where Frame is known
	Bytes int64  // after rounding
	Count int64  // blocks
}

// Name returns the function, file and line of the place, or the tag.
func (o Owner) Name() string {
	if o.Frame == (Frame{}) {
		return o.Tag
	}
	return fmt.Sprintf("%s %s:%d", path.Base(o.Frame.Func), path.Base(o.Frame.File), o.Frame.Line)
}

func (o Owner) String() string {
	blocks := "blocks"
	if o.Count == 1 {
		blocks = "block"
	}
	return fmt.Sprintf("%s in %d %s: %s", formatSize(o.Bytes), o.Count, blocks, o.Name())
}

// Owners returns who has the bytes that are allocated, largest first.
func (s Snapshot) Owners() []Owner {
	owners := make(tally)
	for i := range s.Segments {
		for _, b := range s.Segments[i].Blocks {
			if b.State == BlockAllocated {
				owners.add(b.Frames, b.Tag, Released{1, b.Size})
			}
		}
	}
	return owners.sorted()
}

// tally adds up owners, each under what it is without its numbers.
type tally map[Owner]Released

func (t tally) add(frames []Frame, tag string, n Released) {
	o := Owner{Tag: tag}
	if len(frames) > 0 {
		o = Owner{Frame: ownFrame(frames)}
	}
	sum := t[o]
	t[o] = Released{sum.Count + n.Count, sum.Bytes + n.Bytes}
}

// sorted returns the owners, largest first.
func (t tally) sorted() []Owner {
	owners := make([]Owner, 0, len(t))
	for o, n := range t {
		o.Bytes, o.Count = n.Bytes, n.Count
		owners = append(owners, o)
	}
	slices.SortFunc(owners, func(o, p Owner) int {
		return cmp.Or(cmp.Compare(p.Bytes, o.Bytes), strings.Compare(o.Name(), p.Name()), strings.Compare(o.Frame.File, p.Frame.File))
	})
	return owners
}

// plumbing are the packages through which others allocate.
var plumbing = []string{"tarn/memory", "tarn/tensor", "tarn/nn", "runtime"}

// ownFrame returns the frame of a stack that says most about whose block it
// is: the first one outside of plumbing, or of all.
func ownFrame(frames []Frame) Frame {
	for _, f := range frames {
		if !slices.Contains(plumbing, packageOf(f.Func)) {
			return f
		}
	}
	return frames[0]
}

// packageOf returns the path of the package of a function that was named as
// the Go runtime does.
func packageOf(function string) string {
	dir, name := path.Split(function)
	name, _, _ = strings.Cut(name, ".")
	return dir + name
}

// owners returns who has the blocks of tables, with stacks that are not known
// by name yet. All locks are held.
func (a *Allocator) owners(tables []*table) map[origin]Released {
	sums := make(map[origin]Released)
	for _, t := range tables {
		for _, s := range t.segments {
			for i := s.head; i != 0; i = t.records.at(i).next {
				if b := t.records.at(i); b.state == stateLive || b.state == stateLeaving {
					o := origin{t.notes.at(i).stack, b.tag}
					sum := sums[o]
					sums[o] = Released{sum.Count + 1, sum.Bytes + b.size}
				}
			}
		}
	}
	return sums
}

// origin is what is known of where a block comes from.
type origin struct {
	stack stackID
	tag   Tag
}

// largestOwners returns the n largest owners. No lock is held.
func (a *Allocator) largestOwners(sums map[origin]Released, n int) []Owner {
	owners := make(tally)
	for o, sum := range sums {
		owners.add(a.stacks.frames(o.stack), o.tag.String(), sum)
	}
	sorted := owners.sorted()
	return sorted[:min(n, len(sorted))]
}
