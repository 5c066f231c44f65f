package memory

import (
	"errors"
	"fmt"
)

// Past a share of the limit (Settings.GCThreshold) segments that were not used
// of late go back upstream before more are taken. How long one has lain idle
// is counted in lookups: searches of the large pool on any stream, none of
// which took it. Small segments are not worth a call, and free pages move to
// where they are needed: only whole free segments of the large pool go.

// bytesKept returns the bytes held past which idle segments go back, unlimited
// for never.
func (p *policy) bytesKept(props Props, total func() (int64, error)) (int64, error) {
	if p.GCThreshold == 0 || p.paged {
		return unlimited, nil
	}
	most := p.limit
	if most == unlimited {
		var err error
		if most, err = total(); err != nil {
			return 0, fmt.Errorf("memory: %s: total memory: %w", props.Name, err)
		}
	}
	return int64(p.GCThreshold * float64(most)), nil
}

// idleSegment is a whole free segment.
type idleSegment struct {
	table int // index of its table
	slot  uint32
	size  int64
	age   uint64 // lookups since it became free
}

// reclaim gives idle segments back, the oldest first, as far as more bytes are
// held than the policy keeps. It returns how many it gave back.
func (a *Allocator) reclaim() (gained int64, err error) {
	kept := a.policy.Load().kept
	if kept == unlimited {
		return 0, nil
	}
	tables := a.lockAll()
	leaving := make([][]segment, len(tables))
	target := a.reserved[allPools].current() - a.returning - kept
	for _, s := range unused(a.idleSegments(tables), target) {
		leaving[s.table] = append(leaving[s.table], tables[s.table].detach(s.slot))
	}
	for _, segments := range leaving {
		a.depart(segments)
	}
	a.unlockAll(tables)
	for i, t := range tables {
		bytes, failed := a.giveBack(t, leaving[i])
		gained += bytes
		err = errors.Join(err, failed)
	}
	return gained, err
}

// idleSegments returns the segments of the large pool that reclaim may give
// back: of no private pool. All locks are held.
func (a *Allocator) idleSegments(tables []*table) (found []idleSegment) {
	now := a.lookups.Load()
	for i, t := range tables {
		if p := t.group(); p != nil && p.open.Load() || a.captures(t.stream) {
			continue
		}
		for slot := range t.segments {
			if s := &t.segments[slot]; s.pool == largePool && t.detachable(uint32(slot)) {
				found = append(found, idleSegment{i, uint32(slot), s.size, now - s.idleSince})
			}
		}
	}
	return found
}

// unused chooses segments of at least target bytes in all: those that are as
// old as the average or older, then the same of what is left. So segments that
// became free together go together, and fresh ones stay where old ones do.
func unused(idle []idleSegment, target int64) (chosen []idleSegment) {
	for target > 0 && len(idle) > 0 {
		count, ages := uint64(len(idle)), uint64(0)
		for _, s := range idle {
			ages += s.age
		}
		rest := idle[:0]
		for _, s := range idle {
			if s.age*count >= ages {
				chosen = append(chosen, s)
				target -= s.size
			} else {
				rest = append(rest, s)
			}
		}
		idle = rest
	}
	return chosen
}

// reclaim gives idle segments back on the way of a growth.
func (c *climb) reclaim() error {
	gained, err := c.a.reclaim()
	c.reports[RungGrow].Gained += gained
	return err
}
