package memory_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// crowd is a fake of 100 MiB whose users are known.
type crowd struct {
	*memorytest.Fake
	list    []memory.Process
	err     error
	asked   int
	onAsked func()
}

func (c *crowd) Processes() ([]memory.Process, error) {
	c.asked++
	c.onAsked()
	return c.list, c.err
}

// crowded is a device of which others hold so many bytes.
func crowded(t *testing.T, held int64, cfg memory.Config, list ...memory.Process) (*crowd, *memory.Allocator) {
	t.Helper()
	c := &crowd{Fake: memorytest.NewFake(memorytest.FakeConfig{Name: "cuda:0", Capacity: 100 * mib}), list: list}
	cfg.NoBackgroundGC = true
	a, err := memory.New(c, cfg)
	require.NoError(t, err)
	c.onAsked = func() { a.Stats() } // it hangs where a lock is held
	others, err := c.Alloc(held)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, c.Free(others, held))
		assert.NoError(t, c.Close())
	})
	t.Cleanup(func() { _ = a.Close() }) // blocks are live
	return c, a
}

func process(pid int, mib int64) memory.Process { return memory.Process{PID: pid, Bytes: mib << 20} }

// lineOf returns the line of a text that has a label.
func lineOf(text, label string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  "+label) {
			return strings.TrimSuffix(line, "\n")
		}
	}
	return ""
}

// TestOthersHoldTheDevice names who has what a request misses.
func TestOthersHoldTheDevice(t *testing.T) {
	c, a := crowded(t, 60*mib, memory.Config{}, process(7, 5), process(os.Getpid(), 33), memory.Process{PID: 8, Bytes: -1},
		process(9, 10), process(10, 30), process(11, 2))
	alloc(t, a, 30*mib, 0)
	assert.Zero(t, c.asked, "nothing has failed")
	oom := outOfMemory(t, a, 50*mib, 0)
	assert.Equal(t, 1, c.asked)
	assert.Equal(t, memory.CauseOthers, oom.Cause)
	assert.Equal(t, 3*mib, oom.Besides)
	assert.Equal(t, []memory.Process{process(10, 30), process(9, 10), process(7, 5), process(11, 2), {PID: 8, Bytes: -1}}, oom.Others)
	text := oom.Error()
	assert.Equal(t, "  others:  process 10 with 30.00 MiB, process 9 with 10.00 MiB, process 7 with 5.00 MiB, 2 more with 2.00 MiB; "+
		"this process has 3.00 MiB beside Tarn's", lineOf(text, "others:"))
	assert.Equal(t, "  cause:   the blocks in use and the request together exceed the device by 40.00 MiB, and other processes hold 47.00 MiB.",
		lineOf(text, "cause:"))
	assert.Equal(t, "  help:    End other processes on the device, or release tensors and use a smaller batch.", lineOf(text, "help:"))
}

// TestOthersAreNotToBlame has them hold less than a request misses, or a limit in
// the way.
func TestOthersAreNotToBlame(t *testing.T) {
	_, a := crowded(t, 20*mib, memory.Config{}, process(7, 20), process(os.Getpid(), 70))
	alloc(t, a, 70*mib, 0)
	oom := outOfMemory(t, a, 50*mib, 0)
	assert.Equal(t, memory.CauseInUse, oom.Cause)
	assert.Len(t, oom.Others, 1)
	assert.Zero(t, oom.Besides)
	assert.NotContains(t, oom.Error(), "process")

	_, a = crowded(t, 50*mib, memory.Config{Limit: 40 * mib}, process(7, 50), process(os.Getpid(), 0))
	alloc(t, a, 30*mib, 0)
	assert.Equal(t, memory.CauseInUse, outOfMemory(t, a, 20*mib, 0).Cause)
}

// TestWeHoldTheDevice has something else of this process hold what is missing.
func TestWeHoldTheDevice(t *testing.T) {
	_, a := crowded(t, 60*mib, memory.Config{}, process(os.Getpid(), 90))
	alloc(t, a, 30*mib, 0)
	oom := outOfMemory(t, a, 50*mib, 0)
	assert.Equal(t, memory.CauseInUse, oom.Cause)
	assert.Equal(t, 60*mib, oom.Besides)
	assert.Equal(t, "  help:    This process holds 60.00 MiB on the device beside Tarn's, in contexts, code and other libraries; "+
		"end their use, or release tensors and use a smaller batch.", lineOf(oom.Error(), "help:"))
}

// TestWeMayBeAmongOthers has a list in which this process goes by another number:
// what it has reserved is not held against the others.
func TestWeMayBeAmongOthers(t *testing.T) {
	c, a := crowded(t, 60*mib, memory.Config{}, process(7, 60), process(8, 30))
	alloc(t, a, 30*mib, 0)
	oom := outOfMemory(t, a, 50*mib, 0)
	assert.Equal(t, memory.CauseOthers, oom.Cause)
	assert.EqualValues(t, -1, oom.Besides)
	assert.Equal(t, "  others:  process 7 with 60.00 MiB, process 8 with 30.00 MiB; this process may be among them", lineOf(oom.Error(), "others:"))
	assert.Contains(t, oom.Error(), "other processes hold 60.00 MiB.")

	c.list = c.list[:1]
	assert.Equal(t, memory.CauseInUse, outOfMemory(t, a, 50*mib, 0).Cause)
}

// TestNeighboursAreNotAsked in a capture, nor for a request that is refused at
// once; and who cannot tell is no fault.
func TestNeighboursAreNotAsked(t *testing.T) {
	c, a := crowded(t, 60*mib, memory.Config{Settings: memory.Settings{MemoryFraction: 0.9, ThrowOnMallocOOM: true}}, process(7, 60))
	alloc(t, a, 30*mib, 0)
	assert.Empty(t, outOfMemory(t, a, 70*mib, 0).Rungs)
	p, err := a.NewPool(memory.PoolConfig{})
	require.NoError(t, err)
	require.NoError(t, p.BeginCapture(1))
	outOfMemory(t, a, 50*mib, 0)
	a.Summary()
	assert.Zero(t, c.asked)
	require.NoError(t, p.EndCapture(1))
	assert.Len(t, outOfMemory(t, a, 50*mib, 0).Others, 1)

	c.err = memory.ErrNotSupported
	oom := outOfMemory(t, a, 50*mib, 0)
	assert.Equal(t, memory.CauseInUse, oom.Cause)
	assert.Empty(t, oom.Others)
	assert.NotContains(t, a.Summary(), "process")
}

// TestSummaryOfNeighbours lists who uses the device, below what they hold.
func TestSummaryOfNeighbours(t *testing.T) {
	list := []memory.Process{process(os.Getpid(), 33), {PID: 8, Bytes: -1}}
	for pid := range 7 {
		list = append(list, process(100+pid, int64(1+pid)))
	}
	_, a := crowded(t, 50*mib, memory.Config{}, list...)
	alloc(t, a, 30*mib, cuda.Stream(0))
	summary := a.Summary()
	assert.Contains(t, summary, strings.Join([]string{"",
		"|   pinned by blocks: 0 bytes         |     held by others: 50.00 MiB       |",
		"|  this one, besides: 3.00 MiB        |        process 106: 7.00 MiB        |",
		"|        process 105: 6.00 MiB        |        process 104: 5.00 MiB        |",
		"|        process 103: 4.00 MiB        |        process 102: 3.00 MiB        |",
		"|        process 101: 2.00 MiB        |             2 more: 1024.00 KiB     |",
		"|===========================================================================|", ""}, "\n"))
	_, a = crowded(t, 50*mib, memory.Config{}, memory.Process{PID: 8, Bytes: -1})
	alloc(t, a, 30*mib, 0)
	assert.Contains(t, a.Summary(), "\n|          process 8: unknown         |                                     |\n|====")
}
