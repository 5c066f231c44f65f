package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"tarn/cuda"
)

// The virtual-memory calls, in the order of a page's life.
var calls = [...]string{"create", "map", "set access", "unmap", "release"}

// costs prints what a virtual-memory call takes for a run of pages, on a device
// that does nothing and on one that works, and whether it waits for the work.
func costs(w io.Writer, c *cuda.Context) error {
	page, _, err := c.Granularity()
	if err != nil {
		return err
	}
	page = max(page, 2<<20)
	free, _, err := c.MemInfo()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nVirtual memory, pages of %d MiB, one handle each; µs a page, best of %d.\n"+
		"set access and unmap are one call for the whole run.\n\n%-6s %-6s", page>>20, rounds, "pages", "device")
	for _, name := range calls {
		fmt.Fprintf(w, " %10s", name)
	}
	fmt.Fprintf(w, "  %s\n", "waited for the work")
	for _, n := range []int64{1, 16, 512} {
		if n*page > free/2 {
			fmt.Fprintf(w, "%-6d the device has not so many\n", n)
			continue
		}
		for _, busy := range []bool{false, true} {
			if err := costsOf(w, c, page, n, busy); err != nil {
				return err
			}
		}
	}
	return nil
}

const rounds = 5

func costsOf(w io.Writer, c *cuda.Context, page, n int64, busy bool) (err error) {
	state, load := "idle", func() (func() (bool, error), error) { return nil, nil }
	if busy {
		work, err := newWork(c)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, work.close()) }()
		state, load = "busy", work.queue
	}
	var best [len(calls)]time.Duration
	var waited string
	for round := range rounds {
		var took [len(calls)]time.Duration
		if took, waited, err = live(c, page, n, load); err != nil {
			return err
		}
		for i, d := range took {
			if round == 0 || d < best[i] {
				best[i] = d
			}
		}
	}
	fmt.Fprintf(w, "%-6d %-6s", n, state)
	for _, d := range best {
		fmt.Fprintf(w, " %10.2f", float64(d.Nanoseconds())/1e3/float64(n))
	}
	fmt.Fprintf(w, "  %s\n", waited)
	return nil
}

// live takes n pages through their life. load, before each kind of call,
// queues work and returns how to see whether it is done; waited names the
// calls after which it was.
func live(c *cuda.Context, page, n int64, load func() (func() (bool, error), error)) (took [len(calls)]time.Duration, waited string, err error) {
	at, err := c.Reserve(n*page, 0)
	if err != nil {
		return took, "", err
	}
	pages := make([]cuda.Page, n)
	each := func(do func(i int64) error) func() error {
		return func() error {
			for i := range n {
				if err := do(i); err != nil {
					return err
				}
			}
			return nil
		}
	}
	steps := [len(calls)]func() error{
		each(func(i int64) (err error) { pages[i], err = c.Create(page); return err }),
		each(func(i int64) error { return c.Map(at+cuda.DevicePtr(i*page), page, pages[i]) }),
		func() error { return c.SetAccess(at, n*page) },
		func() error { return c.Unmap(at, n*page) },
		each(func(i int64) error { return c.Release(pages[i]) }),
	}
	for i, step := range steps {
		done, err := load()
		if err != nil {
			return took, "", err
		}
		start := time.Now()
		if err := step(); err != nil {
			return took, "", fmt.Errorf("%s: %w", calls[i], err)
		}
		took[i] = time.Since(start)
		if done == nil {
			continue
		}
		over, err := done()
		if err != nil {
			return took, "", err
		}
		if over {
			waited += calls[i] + " "
		}
		if err := c.Synchronize(); err != nil {
			return took, "", err
		}
	}
	return took, waited, c.ReleaseRange(at, n*page)
}

// work keeps a stream of the device busy for some tens of milliseconds.
type work struct {
	c      *cuda.Context
	stream cuda.Stream
	buffer cuda.DevicePtr
	fills  int
}

const workBytes = 64 << 20

func newWork(c *cuda.Context) (*work, error) {
	k := &work{c: c, fills: 1}
	var err error
	if k.buffer, err = c.Alloc(workBytes); err != nil {
		return nil, err
	}
	if k.stream, err = c.NewStream(0); err != nil {
		return nil, err
	}
	for took := time.Duration(0); took < 50*time.Millisecond; k.fills *= 2 {
		start := time.Now()
		if _, err := k.queue(); err != nil {
			return nil, err
		}
		if err := c.SyncStream(k.stream); err != nil {
			return nil, err
		}
		took = time.Since(start)
	}
	return k, nil
}

func (k *work) queue() (done func() (bool, error), err error) {
	for range k.fills {
		if err := k.c.Fill8(k.stream, k.buffer, 1, workBytes); err != nil {
			return nil, err
		}
	}
	return func() (bool, error) { return k.c.QueryStream(k.stream) }, nil
}

func (k *work) close() error {
	if err := k.c.DestroyStream(k.stream); err != nil {
		return err
	}
	return k.c.Free(k.buffer)
}
