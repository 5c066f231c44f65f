//go:build race && cgo && (linux || darwin)

package tensor_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/memory"
	"tarn/tensor"
)

// deaf is an upstream that does not pass on waits while a mistake is planted.
type deaf struct {
	memory.Upstream
	planted atomic.Bool
	hurried bool // it is what it says of events that is wrong
}

// WaitEvent implements [memory.Upstream].
func (u *deaf) WaitEvent(s cuda.Stream, e cuda.Event) error {
	if u.planted.Load() {
		return nil
	}
	return u.Upstream.WaitEvent(s, e)
}

// SyncEvent implements [memory.Upstream].
func (u *deaf) SyncEvent(e cuda.Event) error {
	if u.planted.Load() {
		return nil
	}
	return u.Upstream.SyncEvent(e)
}

// QueryEvent implements [memory.Upstream]. Where it is not what is wrong, no
// event is ever done, as of a device that is slow.
func (u *deaf) QueryEvent(e cuda.Event) (bool, error) {
	switch {
	case !u.hurried:
		return false, nil
	case u.planted.Load():
		return true, nil
	}
	return u.Upstream.QueryEvent(e)
}

const racing = "TARN_TEST_RACE" // "right" or "wrong", in the process that runs the hazards

// hazardRuns is how often each hazard runs.
func hazardRuns() int {
	if testing.Short() {
		return 5
	}
	return 20
}

// TestRaces has each hazard run with its mistake, which must be reported each
// time, and without it, which must never be: by the race detector, to which the
// memory of the simulated device is Go's; or where work is not done when its
// pages go, by the device.
func TestRaces(t *testing.T) {
	if variant := os.Getenv(racing); variant != "" {
		for _, h := range hazards {
			t.Run(h.name, func(t *testing.T) { h.runAll(t, variant) })
		}
		return
	}
	for variant, want := range map[string]int{"right": 0, "wrong": hazardRuns()} {
		again := exec.Command(os.Args[0], "-test.run=^TestRaces$", fmt.Sprintf("-test.short=%v", testing.Short()))
		// Each run is to be reported, though it is like the one before.
		again.Env = append(os.Environ(), racing+"="+variant,
			"GORACE=suppress_equal_stacks=0 suppress_equal_addresses=0 exitcode=0 atexit_sleep_ms=0")
		out, err := again.CombinedOutput()
		if variant == "right" {
			assert.NoError(t, err, string(out))
		}
		for _, h := range hazards {
			line := regexp.MustCompile(`(?m)^` + variant + ": " + h.name + `: (\d+) of \d+ .*$`).FindStringSubmatch(string(out))
			if assert.NotNil(t, line, "%s: %s", variant, h.name) {
				t.Log(line[0])
				assert.Equal(t, fmt.Sprint(want), line[1], "runs that were reported")
			}
		}
	}
}

func (h *hazard) runAll(t *testing.T, variant string) {
	races, reports := 0, 0
	for i := range hazardRuns() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			before := runtime.RaceErrors()
			m := newMachine(t, cudasim.Config{Memory: h.memory, Delays: uint64(i)})
			err := h.run(t, m, variant == "wrong")
			switch {
			case runtime.RaceErrors() > before:
				races++
			case len(m.Reports()) > 0:
				reports++
			}
			if variant == "wrong" { // what is left of a lost device is no matter
				t.Log(err)
				return
			}
			assert.NoError(t, err)
		})
	}
	fmt.Printf("%s: %s: %d of %d runs were reported, %d by the race detector and %d by the device\n", variant, h.name, races+reports, hazardRuns(), races, reports)
}

// run runs the program on a machine of its own.
func (h *hazard) run(t *testing.T, m *cudasim.Machine, wrong bool) error {
	device, err := m.Library().Device(0)
	require.NoError(t, err)
	c, err := device.Open()
	require.NoError(t, err)
	up := &deaf{hurried: h.hurried}
	d, err := tensor.NewCUDAOver(c, memory.Config{NoBackgroundGC: true}, nil, func(below memory.Upstream) memory.Upstream {
		up.Upstream = below
		return up
	})
	require.NoError(t, err)
	x := &crossing{wrong: wrong}
	x.a, err = d.NewStream()
	require.NoError(t, err)
	x.b, err = d.NewStream()
	require.NoError(t, err)
	x.x = tensor.Ones(x.a, tensor.Float32, touched)
	if h.setup != nil {
		require.NoError(t, h.setup(x))
	}
	require.NoError(t, errors.Join(x.a.Synchronize(), x.b.Synchronize()))

	up.planted.Store(wrong && !h.waits)
	err = h.first(x)
	if err == nil {
		err = h.second(x)
	}
	up.planted.Store(false)
	return errors.Join(err, x.end(), d.Memory().Check(), d.Close(), c.Close())
}
