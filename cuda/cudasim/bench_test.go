//go:build cgo && (linux || darwin)

package cudasim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
)

// BenchmarkCall is a call that does next to nothing, BenchmarkLaunch a kernel of
// one thread that does nothing, started in a stream that is waited for now and
// then.
func BenchmarkCall(b *testing.B) {
	c := device(b, open(b, cudasim.Config{}), 0)
	for b.Loop() {
		_, _, err := c.MemInfo()
		require.NoError(b, err)
	}
}

func BenchmarkLaunch(b *testing.B) {
	c := device(b, open(b, cudasim.Config{Workers: 1}), 0)
	m, err := c.Load(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\n\tret;\n}\n")
	require.NoError(b, err)
	f := function(b, m, "nothing")
	one := cuda.Grid{Blocks: [3]uint32{1}, Threads: [3]uint32{1}}
	for i := 0; b.Loop(); i++ {
		require.NoError(b, f.Prepare().Run(0, one))
		if i%100 == 0 {
			require.NoError(b, c.SyncStream(0))
		}
	}
	require.NoError(b, c.SyncStream(0))
	require.NoError(b, m.Unload())
}
