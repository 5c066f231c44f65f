package cpu

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
	"tarn/kernels/kerneltest"
)

// TestConformance makes every second call of the suite, and the other tables
// every fourth: which they are is different for every op.
func TestConformance(t *testing.T) { kerneltest.RunOn(t, ISA(), Table(), kerneltest.Host(), 2) }

// TestGoConformance holds the plain Go bodies to the suite in builds with C,
// where TestConformance does not reach them for float32.
func TestGoConformance(t *testing.T) {
	if ISA() == "go" {
		t.Skip("TestConformance runs the same table")
	}
	kerneltest.RunOn(t, "go", goTable(), kerneltest.Host(), 4, kernels.Float32)
}

func TestThreads(t *testing.T) {
	defer SetThreads(0)
	t.Run(ISA(), func(t *testing.T) { kerneltest.Threads(t, Table(), SetThreads) })
	if ISA() != "go" {
		t.Run("go", func(t *testing.T) { kerneltest.Threads(t, goTable(), SetThreads) })
	}
}

func TestSetThreads(t *testing.T) {
	defer SetThreads(0)
	byDefault := min(runtime.GOMAXPROCS(0), runtime.NumCPU())
	require.Equal(t, byDefault, Threads())
	SetThreads(5)
	require.Equal(t, 5, Threads())
	for _, n := range []int{0, -3} {
		SetThreads(5)
		SetThreads(n)
		require.Equal(t, byDefault, Threads(), "SetThreads(%d)", n)
	}
}

func TestTable(t *testing.T) {
	require.Same(t, Table(), Table())
	for id := range kernels.ID(kernels.NumOps) {
		require.NotNil(t, Table()[id], "%v", id)
		require.Equal(t, id, Table()[id].ID)
		require.Equal(t, id.DTypes(), Table()[id].DTypes, "%v", id)
	}
	require.Zero(t, Queue().Stream())
}

func FuzzOps(f *testing.F) { kerneltest.Fuzz(f, Table()) }
