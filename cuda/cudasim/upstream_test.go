//go:build cgo && (linux || darwin)

package cudasim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudamem"
	"tarn/cuda/cudasim"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// streams is an upstream whose streams are called by small numbers, as the
// suites do.
type streams struct {
	*cudamem.Upstream
	handles [8]cuda.Stream
}

func openStreams(t testing.TB) streams {
	m := open(t, cudasim.Config{Memory: 64 << 20})
	c := device(t, m, 0)
	u, err := cudamem.New(c)
	require.NoError(t, err)
	s := streams{Upstream: u}
	for i := range s.handles[1:] {
		h, err := c.NewStream(0)
		require.NoError(t, err)
		s.handles[i+1] = h
		t.Cleanup(func() { assert.NoError(t, c.DestroyStream(h)) })
	}
	return s
}

func (s streams) RecordEvent(n cuda.Stream) (cuda.Event, error) {
	return s.Upstream.RecordEvent(s.handles[n])
}

func (s streams) WaitEvent(n cuda.Stream, e cuda.Event) error {
	return s.Upstream.WaitEvent(s.handles[n], e)
}

func TestUpstream(t *testing.T) {
	memorytest.TestUpstream(t, func(t *testing.T) memory.Upstream { return openStreams(t) })
}

// TestAllocator runs the allocator's suite over the driver's calls, by pages and
// by segments.
func TestAllocator(t *testing.T) {
	for name, expandable := range map[string]memory.Expandable{"pages": memory.ExpandableAuto, "segments": memory.ExpandableOff} {
		t.Run(name, func(t *testing.T) {
			memorytest.TestAllocator(t, func(t *testing.T) memorytest.Target {
				up := openStreams(t)
				a, err := memory.New(up, memory.Config{NoBackgroundGC: true, Settings: memory.Settings{Expandable: expandable}})
				require.NoError(t, err)
				return memorytest.Target{Allocator: a, Upstream: up}
			})
		})
	}
}
