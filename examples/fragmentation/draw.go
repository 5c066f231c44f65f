package main

import (
	"fmt"
	"io"
	"strings"

	"tarn/cuda"
	"tarn/memory"
)

const (
	columns = 80
	free    = '░' // mapped, and in the cache
)

// look is how a block of a name is drawn.
type look struct {
	fill   rune
	colour string // an ANSI code
}

var looks = map[string]look{"A": {'█', "34"}, "B": {'▓', "32"}, "C": {'▒', "33"}, "D": {'▚', "35"}}

// draw draws all steps to one scale, each as a bar of the device's addresses.
func draw(out io.Writer, steps []step, colours bool) {
	from, to := reach(steps)
	for i, s := range steps {
		cells := bar(s.after, from, to)
		fmt.Fprintf(out, "%d. %s\n%s\n", i+1, s.title, paint(cells, colours))
		t := s.after.Totals()
		fmt.Fprintf(out, "   %d MiB allocated, %d free, of those %d in one piece\n\n", t.AllocatedBytes.All.Current/mib,
			(t.ReservedBytes.All.Current-t.ActiveBytes.All.Current)/mib, t.LargestFree/mib)
		if s.oom != nil {
			fmt.Fprintf(out, "The request fails:\n\n%v\n\n", s.oom)
		}
	}
	fmt.Fprintf(out, "A, B, C, D: in use   %c: free   blank: addresses with no memory   one column: %d MiB\n\n",
		free, int64(to-from)/columns/mib)
}

// reach returns the addresses that any of the steps has memory at.
func reach(steps []step) (from, to cuda.DevicePtr) {
	for _, s := range steps {
		for _, segment := range s.after.Segments {
			if from == 0 || segment.Address < from {
				from = segment.Address
			}
			to = max(to, segment.Address+cuda.DevicePtr(segment.Size))
		}
	}
	return from, to
}

// cell is one column of a bar.
type cell struct {
	char rune
	name string // of the block that it is part of
}

// bar returns what lies between two addresses, in columns. A block's name
// stands in its middle.
func bar(s memory.Snapshot, from, to cuda.DevicePtr) []cell {
	cells := make([]cell, columns)
	for i := range cells {
		cells[i].char = ' '
	}
	column := func(p cuda.DevicePtr) int { return int(int64(p-from) * columns / int64(to-from)) }
	for _, segment := range s.Segments {
		for _, b := range segment.Blocks {
			start, end := column(b.Address), column(b.Address+cuda.DevicePtr(b.Size))
			fill := free
			if b.State != memory.BlockInactive {
				fill = looks[b.Tag].fill
			}
			for i := start; i < end; i++ {
				cells[i] = cell{fill, b.Tag}
			}
			if b.Tag != "" {
				cells[(start+end)/2].char = rune(b.Tag[0])
			}
		}
	}
	return cells
}

// paint writes cells as text, for a terminal in colours.
func paint(cells []cell, colours bool) string {
	var b strings.Builder
	for i, c := range cells {
		if colours && c.name != "" && (i == 0 || cells[i-1].name != c.name) {
			b.WriteString("\x1b[" + looks[c.name].colour + "m")
		}
		b.WriteRune(c.char)
		if colours && c.name != "" && (i == len(cells)-1 || cells[i+1].name != c.name) {
			b.WriteString("\x1b[0m")
		}
	}
	return strings.TrimRight(b.String(), " ")
}
