package memory

import (
	"cmp"
	"fmt"
	"os"
	"slices"
)

// Neighbours is what an [Upstream] may be besides: one that knows who else uses
// the device. It is asked for an error or a summary alone: with no lock held, and
// not while a stream is captured.
type Neighbours interface {
	// Processes returns those that have memory on the device, this one included, in
	// any order. An error means that the upstream cannot tell; nobody hears of it.
	Processes() ([]Process, error)
}

// Process is a program that has memory on a device.
type Process struct {
	PID   int   // as the upstream counts: to a container it may say the host's number
	Bytes int64 // of the device's memory; -1 where the upstream does not know
}

// processes asks the upstream who uses the device. It returns nil where that
// cannot tell.
func (a *Allocator) processes() []Process {
	up, ok := a.up.(Neighbours)
	if !ok || a.capturing.Load() != nil {
		return nil
	}
	list, err := up.Processes()
	if err != nil {
		return nil
	}
	return list
}

// tellApart returns the other processes of a list, the largest first, and the
// bytes of this one, of which it knows that it has reserved so many, besides
// those: -1 if they are not known.
func tellApart(list []Process, reserved int64) (others []Process, besides int64) {
	besides = -1
	for _, p := range list {
		if p.PID == os.Getpid() {
			if p.Bytes >= 0 {
				besides = max(p.Bytes-reserved, 0)
			}
			continue
		}
		others = append(others, p)
	}
	slices.SortStableFunc(others, func(p, q Process) int { return cmp.Compare(q.Bytes, p.Bytes) })
	return others, besides
}

// sumOf returns the bytes of processes, so far as they are known.
func sumOf(list []Process) (bytes int64) {
	for _, p := range list {
		bytes += max(p.Bytes, 0)
	}
	return bytes
}

// holder is a line about a process, or about several.
type holder struct{ name, bytes string }

// largest returns the first n of a list that is in order, and the rest as one.
func largest(list []Process, n int) (holders []holder) {
	rest := list[min(n, len(list)):]
	for _, p := range list[:len(list)-len(rest)] {
		holders = append(holders, holder{fmt.Sprint("process ", p.PID), formatKnown(p.Bytes)})
	}
	if len(rest) > 0 {
		bytes := sumOf(rest)
		if rest[0].Bytes < 0 { // nor is that of those behind it
			bytes = -1
		}
		holders = append(holders, holder{fmt.Sprint(len(rest), " more"), formatKnown(bytes)})
	}
	return holders
}

// formatKnown is formatSize for bytes that are -1 where they are not known.
func formatKnown(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return formatSize(n)
}
