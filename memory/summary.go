package memory

import (
	"fmt"
	"strings"
)

// The table of PyTorch's memory_summary: 75 columns between two bars, so that
// its users find each number where they expect it. What PyTorch does not
// count comes in rows and lines after its own.
const (
	summaryWidth = 75
	doubleRule   = "==========================================================================="
	singleRule   = "---------------------------------------------------------------------------"
)

// Summary returns the books as a table, with the device's own view of its
// memory: what others hold is neither free nor reserved here.
func (a *Allocator) Summary() string {
	s := a.Stats()
	if s.NumDeviceAlloc == 0 {
		return s.Summary() // nothing is asked of a device that was never used
	}
	processes := a.processes()
	free, total, err := a.up.MemInfo()
	if err != nil {
		total = 0
	}
	return s.summary(free, total, processes)
}

// Summary returns s as a table.
func (s Stats) Summary() string { return s.summary(0, 0, nil) }

// summary is Summary with the bytes that the device has, total 0 for unknown, and
// the processes that use it, none for unknown.
func (s Stats) summary(deviceFree, deviceTotal int64, processes []Process) string {
	var w summaryWriter
	w.line(doubleRule)
	w.line(center("Tarn memory summary, device " + s.Device))
	w.line(singleRule)
	w.pair("OOMs", fmt.Sprint(s.NumOOMs), "upstream retries", fmt.Sprint(s.NumAllocRetries))
	w.pair("GC released blocks", fmt.Sprint(s.GCReleased.Count), "GC released bytes", formatSize(s.GCReleased.Bytes))
	w.pair("GCs waited for", fmt.Sprint(s.Collections.Waited), "GCs in background", fmt.Sprint(s.Collections.Background))
	w.pair("largest free block", formatSize(s.LargestFree), "pending", formatSize(s.PendingBytes))
	w.pair("fragmentation", fmt.Sprintf("%.0f %%", 100*s.fragmentation()), "in free pages", formatSize(s.FreePageBytes))
	if deviceTotal > 0 {
		w.pair("device total", formatSize(deviceTotal), "device free", formatSize(deviceFree))
		w.pair("pinned by blocks", formatSize(s.PinnedBytes), "held by others", formatSize(max(deviceTotal-deviceFree-s.ReservedBytes.All.Current, 0)))
	}
	w.processes(tellApart(processes, s.ReservedBytes.All.Current))
	w.line(doubleRule)
	w.line("        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ")
	for _, m := range []struct {
		name   string
		family *Family
		cell   cellFunc
	}{
		{"Allocated memory", &s.AllocatedBytes, bytesCell},
		{"Active memory", &s.ActiveBytes, bytesCell},
		{"Requested memory", &s.RequestedBytes, bytesCell},
		{"Reserved memory", &s.ReservedBytes, bytesCell},
		{"Non-releasable memory", &s.InactiveSplitBytes, bytesCell},
		{"Allocations", &s.Allocation, countCell},
		{"Active allocs", &s.Active, countCell},
		{"Reserved segments", &s.Segment, countCell},
		{"Non-releasable allocs", &s.InactiveSplit, countCell},
	} {
		w.line(singleRule)
		w.row(m.name, m.family.All, m.family.All, m.cell)
		w.row("      from large pool", m.family.Large, m.family.All, m.cell)
		w.row("      from small pool", m.family.Small, m.family.All, m.cell)
	}
	w.line(singleRule)
	w.row("Oversize allocations", s.OversizeAllocations, s.OversizeAllocations, countCell)
	w.line(singleRule)
	w.row("Oversize segments", s.OversizeSegments, s.OversizeSegments, countCell)
	if len(s.Streams) > 1 || len(s.Streams) == 1 && s.Streams[0].PrivatePool != "" {
		w.streams(s.Streams)
	}
	if tags := s.Tags; len(tags) > 1 || len(tags) == 1 && tags[0].Tag != Untagged.String() {
		w.line(singleRule)
		for _, t := range tags {
			w.row("Tag "+t.Tag, t.Bytes, t.Bytes, bytesCell)
		}
	}
	w.line(doubleRule)
	return w.b.String()
}

type summaryWriter struct{ b strings.Builder }

func (w *summaryWriter) line(text string) { fmt.Fprintf(&w.b, "|%s|\n", text) }

// pair writes two facts in the two halves of a line.
func (w *summaryWriter) pair(name1, value1, name2, value2 string) {
	w.line(half(name1, value1) + "|" + half(name2, value2))
}

func half(name, value string) string { return fmt.Sprintf(" %18s: %-15s ", name, value) }

// processes writes who else uses the device, two to a line.
func (w *summaryWriter) processes(others []Process, besides int64) {
	holders := largest(others, 6)
	if besides >= 0 {
		holders = append([]holder{{"this one, besides", formatSize(besides)}}, holders...)
	}
	for ; len(holders) > 1; holders = holders[2:] {
		w.pair(holders[0].name, holders[0].bytes, holders[1].name, holders[1].bytes)
	}
	for _, h := range holders {
		w.line(half(h.name, h.bytes) + "|" + strings.Repeat(" ", len(half("", ""))))
	}
}

// row writes the four numbers of s, each in the unit that suits the same
// number of all.
func (w *summaryWriter) row(name string, s, all Stat, cell cellFunc) {
	w.line(fmt.Sprintf(" %-21.21s | %s | %s | %s | %s ", name,
		cell(s.Current, all.Current), cell(s.Peak, all.Peak),
		cell(s.Allocated, all.Allocated), cell(s.Freed, all.Freed)))
}

// cellFunc writes n in 10 columns, in the unit that suits reference.
type cellFunc func(n, reference int64) string

func bytesCell(n, reference int64) string {
	units := []string{"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"}
	unit := 0
	for ; reference >= 768<<10 && unit < len(units)-1; unit++ {
		n >>= 10
		reference >>= 10
	}
	return fmt.Sprintf("%6d %s", n, units[unit])
}

func countCell(n, reference int64) string {
	units := []string{" ", "K", "M"}
	unit := 0
	for ; reference >= 750_000 && unit < len(units)-1; unit++ {
		n /= 1000
		reference /= 1000
	}
	return fmt.Sprintf("%7d %s ", n, units[unit])
}

// center puts text into the middle of a line, the odd space on the right.
func center(text string) string {
	left := max(summaryWidth-len(text), 0) / 2
	return fmt.Sprintf("%*s%-*s", left, "", summaryWidth-left, text)
}

// streams writes a table of what each stream has.
func (w *summaryWriter) streams(streams []StreamStat) {
	w.line(doubleRule)
	w.line("         Stream        |  Reserved  | Allocated  |  Pending   | Free block ")
	w.line(singleRule)
	for _, s := range streams {
		name := fmt.Sprintf("%#x", uintptr(s.Stream))
		if s.PrivatePool != "" {
			name += " " + s.PrivatePool
		}
		w.line(fmt.Sprintf(" %-21.21s | %s | %s | %s | %s ", name, bytesCell(s.Reserved, s.Reserved),
			bytesCell(s.Allocated, s.Allocated), bytesCell(s.Pending, s.Pending), bytesCell(s.LargestFree, s.LargestFree)))
	}
}
