// Command fragmentation shows why a request can fail although enough is free,
// and what virtual memory does about it. It draws what a device of 2000 MiB
// holds after each step of one short program: first with segments that are one
// piece each, then with segments made of pages.
//
// The device is a fake, so that the numbers are the same everywhere; it has
// addresses and no bytes. On a GPU the allocator does the same.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"tarn/memory"
	"tarn/memory/memorytest"
)

const (
	mib      = int64(1) << 20
	capacity = 2000 * mib
)

func main() {
	if err := run(os.Stdout, term.IsTerminal(int(os.Stdout.Fd()))); err != nil {
		fmt.Fprintln(os.Stderr, "fragmentation:", err)
		os.Exit(1)
	}
}

// run is the program, with colours if out is a terminal.
func run(out io.Writer, terminal bool) error {
	for _, way := range []struct {
		title      string
		expandable memory.Expandable
	}{
		{"Segments that are one piece (expandable_segments:False)", memory.ExpandableOff},
		{"Segments made of pages (the default where the device has virtual memory)", memory.ExpandableAuto},
	} {
		steps, err := walk(way.expandable)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n\n", way.title)
		draw(out, steps, terminal)
	}
	return nil
}

// step is what the allocator held after something was done.
type step struct {
	title string
	after memory.Snapshot
	oom   *memory.OutOfMemoryError // of the step, if it failed
}

// The blocks of the walk, by tags of their names.
var (
	tagA, tagB = memory.NewTag("A"), memory.NewTag("B")
	tagC, tagD = memory.NewTag("C"), memory.NewTag("D")
)

// walk allocates 800, 500 and 300 MiB out of 2000 that are in the cache, frees
// the 500 and asks for 800.
func walk(expandable memory.Expandable) (steps []step, err error) {
	device := memorytest.NewFake(memorytest.FakeConfig{Name: "fake:0", Capacity: capacity, Granularity: 2 * mib})
	a, err := memory.New(device, memory.Config{Settings: memory.Settings{Expandable: expandable}, NoBackgroundGC: true})
	if err != nil {
		return nil, err
	}
	live := make(map[memory.Tag]memory.Handle)
	defer func() {
		for _, h := range live {
			err = errors.Join(err, a.Free(h))
		}
		err = errors.Join(err, a.Close())
	}()
	alloc := func(size int64, tag memory.Tag) error {
		b, err := a.Alloc(size*mib, 0, tag)
		if err == nil {
			live[tag] = b.Handle
		}
		return err
	}
	free := func(tag memory.Tag) error {
		h := live[tag]
		delete(live, tag)
		return a.Free(h)
	}
	for _, do := range []struct {
		title string
		do    func() error
	}{
		{"allocate all 2000 MiB and free them: they stay in the cache", func() error {
			return errors.Join(alloc(2000, tagA), free(tagA))
		}},
		{"allocate A, 800 MiB", func() error { return alloc(800, tagA) }},
		{"allocate B, 500 MiB", func() error { return alloc(500, tagB) }},
		{"allocate C, 300 MiB", func() error { return alloc(300, tagC) }},
		{"free B", func() error { return free(tagB) }},
		{"allocate D, 800 MiB: 900 are free, but not in one piece", func() error { return alloc(800, tagD) }},
	} {
		s := step{title: do.title}
		if err := do.do(); err != nil && !errors.As(err, &s.oom) {
			return nil, err
		}
		s.after = a.Snapshot()
		steps = append(steps, s)
	}
	return steps, nil
}
