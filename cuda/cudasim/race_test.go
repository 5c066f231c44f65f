//go:build race && cgo && linux

package cudasim_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
)

// planted is set in the process that runs a program with or without the wait
// that it needs; its value is the program's name.
const planted = "TARN_TEST_RACE"

const runs = 20

// bench is what a program works on.
type bench struct {
	c    *cuda.Context
	add  *cuda.Function
	a, b cuda.Stream
	p, q cuda.DevicePtr
	host cuda.HostPtr
}

const words = 64

// programs do first in stream a and then second in stream b, of which one
// writes what the other uses.
var programs = map[string]struct {
	first, second func(x *bench, s cuda.Stream) error
}{
	"read after write, copies":  {(*bench).fill, (*bench).read},
	"write after read, copies":  {(*bench).read, (*bench).fill},
	"write after write, copies": {(*bench).fill, (*bench).fill},
	"read after write, kernel":  {(*bench).kernel, (*bench).read},
	"write after read, kernel":  {(*bench).read, (*bench).kernel},
	"write after write, kernel": {(*bench).kernel, (*bench).kernel},
	"write after read, upload":  {(*bench).kernel, (*bench).upload},
	"write after write, host":   {(*bench).download, (*bench).download},
}

func (x *bench) fill(s cuda.Stream) error   { return x.c.Fill32(s, x.p, 1, words) }
func (x *bench) read(s cuda.Stream) error   { return x.c.Copy(s, x.q, x.p, 4*words) }
func (x *bench) kernel(s cuda.Stream) error { return add(x.add, s, x.p, words, 1) }
func (x *bench) upload(s cuda.Stream) error { return x.c.CopyIn(s, x.p, x.host, 4*words) }
func (x *bench) download(s cuda.Stream) error {
	return x.c.CopyOut(s, x.host, x.p, 4*words)
}

// TestRaces has each program run without its wait, which the race detector must
// report each time, and with it, which it must never.
func TestRaces(t *testing.T) {
	for name := range programs {
		for _, variant := range []string{"wrong", "right", "wrong in a graph", "right in a graph"} {
			t.Run(name+"/"+variant, func(t *testing.T) {
				again := exec.Command(os.Args[0], "-test.run=^TestPlanted$", "-test.v")
				// Each run is to be reported, though it is like the one before.
				again.Env = append(os.Environ(), planted+"="+name+"/"+variant,
					"GORACE=suppress_equal_stacks=0 suppress_equal_addresses=0 exitcode=0 atexit_sleep_ms=0")
				out, err := again.CombinedOutput()
				if strings.HasPrefix(variant, "right") {
					require.NoError(t, err, string(out))
				}
				require.Contains(t, string(out), fmt.Sprintf("runs: %d", runs), string(out))
				want := 0
				if strings.HasPrefix(variant, "wrong") {
					want = runs
				}
				assert.Equal(t, want, strings.Count(string(out), "reported"), "runs that were reported")
				assert.Equal(t, want > 0, strings.Contains(string(out), "DATA RACE"))
			})
		}
	}
}

func TestPlanted(t *testing.T) {
	name, variant, ok := cut(os.Getenv(planted))
	if !ok {
		return // nothing is planted: TestRaces runs this in another process
	}
	for i := range runs {
		before := runtime.RaceErrors()
		runPlanted(t, name, variant, uint64(i))
		if runtime.RaceErrors() > before {
			fmt.Println("reported")
		}
	}
	fmt.Println("runs:", runs)
}

func cut(s string) (name, variant string, ok bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

func runPlanted(t *testing.T, name, variant string, delays uint64) {
	m, err := cudasim.Open(cudasim.Config{Memory: 1 << 20, Granularity: 64 << 10, Delays: delays})
	require.NoError(t, err)
	d, err := m.Library().Device(0)
	require.NoError(t, err)
	c, err := d.Open()
	require.NoError(t, err)
	module, err := c.Load(text)
	require.NoError(t, err)
	x := &bench{c: c, add: function(t, module, "add")}
	for _, s := range []*cuda.Stream{&x.a, &x.b} {
		*s, err = c.NewStream(0)
		require.NoError(t, err)
	}
	for _, p := range []*cuda.DevicePtr{&x.p, &x.q} {
		*p, err = c.Alloc(4*words + 8)
		require.NoError(t, err)
	}
	x.host, err = c.AllocPinned(4 * words)
	require.NoError(t, err)
	e, err := c.NewEvent()
	require.NoError(t, err)

	program := programs[name]
	first := func() {
		require.NoError(t, program.first(x, x.a))
		if strings.HasPrefix(variant, "right") {
			require.NoError(t, c.Record(e, x.a))
			require.NoError(t, c.WaitEvent(x.b, e))
		}
	}
	if strings.HasSuffix(variant, "in a graph") {
		replayed(t, x, e, first, func() { require.NoError(t, program.second(x, x.b)) })
	} else {
		first()
		// The host may learn of other streams as much as it likes.
		require.NoError(t, c.Fill8(0, x.q+4*words, 0, 1))
		require.NoError(t, c.SyncStream(0))
		require.NoError(t, program.second(x, x.b))
	}

	require.NoError(t, c.Synchronize())
	require.NoError(t, c.DestroyEvent(e))
	require.NoError(t, c.FreePinned(x.host))
	require.NoError(t, c.Free(x.p))
	require.NoError(t, c.Free(x.q))
	require.NoError(t, c.DestroyStream(x.a))
	require.NoError(t, c.DestroyStream(x.b))
	require.NoError(t, module.Unload())
	require.NoError(t, c.Close())
	require.NoError(t, m.Close())
}

// replayed captures both streams' work and launches it.
func replayed(t *testing.T, x *bench, e cuda.Event, first, second func()) {
	c := x.c
	require.NoError(t, c.BeginCapture(x.a))
	require.NoError(t, c.Record(e, x.a))
	require.NoError(t, c.WaitEvent(x.b, e))
	first()
	second()
	require.NoError(t, c.Record(e, x.b))
	require.NoError(t, c.WaitEvent(x.a, e))
	g, err := c.EndCapture(x.a)
	require.NoError(t, err)
	exec, err := g.Instantiate()
	require.NoError(t, err)
	require.NoError(t, exec.Launch(x.a))
	require.NoError(t, exec.Close())
	require.NoError(t, g.Close())
}
