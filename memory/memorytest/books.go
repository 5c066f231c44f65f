package memorytest

import (
	"errors"
	"fmt"

	"tarn/memory"
)

// families returns the numbers by pool, by the names of PyTorch's keys.
func families(s *memory.Stats) map[string]memory.Family {
	return map[string]memory.Family{
		"allocation":           s.Allocation,
		"segment":              s.Segment,
		"active":               s.Active,
		"inactive_split":       s.InactiveSplit,
		"allocated_bytes":      s.AllocatedBytes,
		"reserved_bytes":       s.ReservedBytes,
		"active_bytes":         s.ActiveBytes,
		"inactive_split_bytes": s.InactiveSplitBytes,
		"requested_bytes":      s.RequestedBytes,
	}
}

// CheckStats demands what must hold of any books at any moment.
func CheckStats(s memory.Stats) error {
	var errs []error
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("stats: "+format, args...))
		}
	}
	for name, f := range families(&s) {
		for pool, stat := range map[string]memory.Stat{"all": f.All, "large": f.Large, "small": f.Small} {
			demand(stat.Current == stat.Allocated-stat.Freed && 0 <= stat.Current && stat.Current <= stat.Peak, "%s.%s: %+v", name, pool, stat)
		}
		demand(f.All.Current == f.Large.Current+f.Small.Current, "%s: the pools do not sum up: %+v", name, f)
		demand(f.All.Allocated == f.Large.Allocated+f.Small.Allocated, "%s: the pools do not sum up: %+v", name, f)
		demand(f.All.Peak <= f.Large.Peak+f.Small.Peak, "%s: the peak exceeds those of the pools: %+v", name, f)
	}
	for name, stat := range map[string]memory.Stat{"allocations": s.OversizeAllocations, "segments": s.OversizeSegments} {
		demand(stat.Current == stat.Allocated-stat.Freed && 0 <= stat.Current && stat.Current <= stat.Peak, "oversize %s: %+v", name, stat)
	}
	demand(s.OversizeAllocations.Current <= s.Allocation.Large.Current && s.OversizeSegments.Current <= s.Segment.Large.Current,
		"more is oversize than there is: %+v, %+v", s.OversizeAllocations, s.OversizeSegments)
	for pool, of := range map[string]func(memory.Family) int64{
		"all":   func(f memory.Family) int64 { return f.All.Current },
		"large": func(f memory.Family) int64 { return f.Large.Current },
		"small": func(f memory.Family) int64 { return f.Small.Current },
	} {
		requested, allocated, active := of(s.RequestedBytes), of(s.AllocatedBytes), of(s.ActiveBytes)
		inactive, reserved := of(s.InactiveSplitBytes), of(s.ReservedBytes)
		demand(requested <= active && allocated <= active && active+inactive <= reserved,
			"%s: requested %d, allocated %d, active %d, inactive split %d, reserved %d", pool, requested, allocated, active, inactive, reserved)
		demand(of(s.Allocation) <= of(s.Active), "%s: %d blocks allocated, %d active", pool, of(s.Allocation), of(s.Active))
	}
	demand(s.PendingBytes == s.ActiveBytes.All.Current-s.AllocatedBytes.All.Current, "pending %d", s.PendingBytes)
	var pages, pinned int64
	for _, stream := range s.Streams {
		pages, pinned = pages+stream.FreePages, pinned+stream.Pinned
	}
	demand(s.FreePageBytes == pages && s.PinnedBytes == pinned, "free pages %d, pinned %d", s.FreePageBytes, s.PinnedBytes)
	demand(s.PinnedBytes >= 0 && s.PinnedBytes <= s.InactiveSplitBytes.All.Current, "pinned %d", s.PinnedBytes)
	demand(s.FreePageBytes >= 0 && s.FreePageBytes+s.PinnedBytes <= s.ReservedBytes.All.Current-s.ActiveBytes.All.Current,
		"free pages %d, pinned %d", s.FreePageBytes, s.PinnedBytes)
	demand(s.LargestFree <= s.ReservedBytes.All.Current-s.ActiveBytes.All.Current, "largest free block %d", s.LargestFree)
	return errors.Join(errs...)
}

// check compares the allocator's books with the model, with the naive
// allocator beside it and with the device below it.
func (m *model) check() error {
	if err := m.Allocator.Check(); err != nil {
		return err
	}
	s := m.Allocator.Stats()
	errs := []error{CheckStats(s)}
	equal := func(what string, booked, real int64) {
		if booked != real {
			errs = append(errs, fmt.Errorf("%s: booked %d, really %d", what, booked, real))
		}
	}
	var bytes int64
	for _, h := range m.live {
		bytes += h.Size
	}
	equal("live blocks", s.Allocation.All.Current, m.naive.Blocks)
	equal("blocks in the model", int64(len(m.live)), m.naive.Blocks)
	equal("live bytes", s.AllocatedBytes.All.Current, bytes)
	if bytes < m.naive.Allocated {
		errs = append(errs, fmt.Errorf("%d bytes are allocated, with each block on its own they would be %d", bytes, m.naive.Allocated))
	}
	if s.PendingBytes == 0 {
		equal("requested bytes", s.RequestedBytes.All.Current, m.naive.Requested)
	} else if s.RequestedBytes.All.Current < m.naive.Requested {
		errs = append(errs, fmt.Errorf("requested bytes: booked %d, live alone are %d", s.RequestedBytes.All.Current, m.naive.Requested))
	}
	if m.fake != nil {
		equal("reserved bytes", s.ReservedBytes.All.Current, m.fake.Used())
		segments, pages := m.fake.held()
		if pages == 0 { // else runs of pages are segments too
			equal("segments", s.Segment.All.Current, segments)
		}
		equal("segments and pages taken and not given back", s.NumDeviceAlloc-s.NumDeviceFree, segments+pages)
	}
	return errors.Join(append(errs, m.checkPools()...)...)
}
