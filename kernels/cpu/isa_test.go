//go:build cgo && !race

// Not under the race detector, which does not see into C.

package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/kernels/kerneltest"
)

// TestEveryISA holds each instance that this processor can run to the suite.
func TestEveryISA(t *testing.T) {
	best := ISA()
	defer func() { require.NoError(t, useISA(best)) }()
	for _, name := range isaNames {
		if name == best {
			continue // TestConformance runs it
		}
		if err := useISA(name); err != nil {
			t.Log(err)
			continue
		}
		kerneltest.RunOn(t, name, Table(), kerneltest.Host(), 4, kernels.Float32)
		t.Run(name+"/threads", func(t *testing.T) {
			defer SetThreads(0)
			kerneltest.Threads(t, Table(), SetThreads)
		})
	}
}

func TestUnknownISA(t *testing.T) {
	best := ISA()
	require.ErrorContains(t, useISA("avx1024"), "avx1024")
	require.Equal(t, best, ISA(), "nothing has changed")
}
