//go:build cgo && (linux || darwin)

package cudasim_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
)

// TestOrder has streams that wait for each other do random work, and compares
// memory with what the same work does without streams.
func TestOrder(t *testing.T) {
	for name, config := range map[string]cudasim.Config{
		"eager": {}, "delayed": {Delays: 1}, "delayed otherwise": {Delays: 2}, "lazy": {Lazy: true}, "spread": {Workers: 3},
	} {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			config.Memory = 1 << 20
			playOrdered(t, config, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

const (
	buffers     = 4
	bufferWords = 300
)

// model is the memory of the oracle.
type model [buffers][bufferWords]uint32

func playOrdered(t *testing.T, config cudasim.Config, rng *rand.Rand) {
	m := open(t, config)
	c := device(t, m, 0)
	f := function(t, load(t, c), "add")
	var streams [3]cuda.Stream
	var events [3]cuda.Event
	var p [buffers]cuda.DevicePtr
	var want model
	for i := range streams {
		streams[i], events[i] = newStream(t, c), newEvent(t, c)
	}
	for i := range p {
		p[i] = alloc(t, c, 4*bufferWords)
		require.NoError(t, c.Fill32(streams[0], p[i], 0, bufferWords))
	}
	require.NoError(t, c.Record(events[0], streams[0]))
	for range 300 {
		s := rng.IntN(len(streams))
		for i, e := range events {
			if i != s {
				require.NoError(t, c.WaitEvent(streams[s], e))
			}
		}
		i, j := rng.IntN(buffers), rng.IntN(buffers)
		from := rng.IntN(bufferWords)
		n, v := 1+rng.IntN(bufferWords-from), rng.Uint32()
		at := p[i] + cuda.DevicePtr(4*from)
		switch rng.IntN(3) {
		case 0:
			require.NoError(t, c.Fill32(streams[s], at, v, int64(n)))
			for k := range n {
				want[i][from+k] = v
			}
		case 1:
			if i == j {
				continue
			}
			require.NoError(t, c.Copy(streams[s], p[j]+cuda.DevicePtr(4*from), at, int64(4*n)))
			copy(want[j][from:from+n], want[i][from:])
		case 2:
			require.NoError(t, add(f, streams[s], at, n, v))
			for k := range n {
				want[i][from+k] += v
			}
		}
		require.NoError(t, c.Record(events[s], streams[s]))
	}
	require.NoError(t, c.Synchronize())
	for i := range p {
		out := make([]byte, 4*bufferWords)
		require.NoError(t, c.Download(0, out, p[i]))
		for k, v := range want[i] {
			require.Equal(t, v, binary.LittleEndian.Uint32(out[4*k:]), fmt.Sprintf("word %d of buffer %d", k, i))
		}
	}
}
