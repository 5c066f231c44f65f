//go:build cgo && (linux || darwin)

package gpu

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/kernels"
)

// simulated returns the ops of a simulated device, or of the driver's device of
// that number or UUID where TARN_TEST_DEVICE names one.
func simulated(t testing.TB) *Kernels {
	name := os.Getenv("TARN_TEST_DEVICE")
	if name == "" {
		return simulatedAs(t, cudasim.Config{})
	}
	t.Helper()
	library, err := cuda.Open()
	require.NoError(t, err)
	device, err := library.Find(name)
	require.NoError(t, err)
	return kernelsOf(t, device)
}

// simulatedAs returns the ops of a simulated device. The test fails if they
// leave anything behind or do what a device would not take.
func simulatedAs(t testing.TB, config cudasim.Config) *Kernels {
	t.Helper()
	machine, err := cudasim.Open(config)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, machine.Close())
		require.Empty(t, machine.Reports())
	})
	device, err := machine.Library().Device(0)
	require.NoError(t, err)
	return kernelsOf(t, device)
}

// kernelsOf opens a device for the length of the test.
func kernelsOf(t testing.TB, device *cuda.Device) *Kernels {
	t.Helper()
	context, err := device.Open()
	require.NoError(t, err)
	k := New(context)
	t.Cleanup(func() {
		require.NoError(t, k.Close())
		require.NoError(t, context.Close())
	})
	return k
}

// place is the memory of k's device, as kerneltest wants it.
type place struct{ k *Kernels }

func (p place) Queue() kernels.Queue { return p.k.Queue(0) }

func (p place) Put(b []byte) (uintptr, error) {
	c := p.k.context
	ptr, err := c.Alloc(int64(len(b)))
	if err != nil {
		return 0, err
	}
	return uintptr(ptr), c.Upload(0, ptr, b)
}

func (p place) Take(address uintptr, b []byte) error {
	c := p.k.context
	ptr := cuda.DevicePtr(address)
	return errors.Join(c.Download(0, b, ptr), c.Free(ptr))
}

func (p place) Sync() error {
	if err := p.k.context.SyncStream(0); err != nil {
		return err
	}
	return p.k.Fault()
}

// alloc returns memory that lives as long as the test.
func (k *Kernels) alloc(t testing.TB, size int64) cuda.DevicePtr {
	p, err := k.context.Alloc(max(size, 1))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.context.Free(p)) })
	return p
}

// dense returns a dense operand that holds data.
func (k *Kernels) dense(t testing.TB, d kernels.DType, data []byte, dims ...int64) kernels.View {
	p := k.alloc(t, int64(len(data)))
	require.NoError(t, k.context.Upload(0, p, data))
	v := kernels.View{DType: d, Rank: int8(len(dims))}
	copy(v.Dims[:], dims)
	return countsLike(v, uintptr(p))
}

func countsLike(v kernels.View, ptr uintptr) kernels.View {
	c := countsOf(&v, ptr)
	c.DType = v.DType
	return c
}

func (k *Kernels) vector(t testing.TB, x []float32) kernels.View {
	return k.dense(t, kernels.Float32, bytesOf(x), int64(len(x)))
}

func (k *Kernels) matrix(t testing.TB, x []float32, rows, cols int64) kernels.View {
	return k.dense(t, kernels.Float32, bytesOf(x), rows, cols)
}

func (k *Kernels) scalar(t testing.TB, x float32) kernels.View {
	return k.dense(t, kernels.Float32, bytesOf([]float32{x}))
}

func (k *Kernels) integers(t testing.TB, x []int64) kernels.View {
	return k.dense(t, kernels.Int64, bytesOf(x), int64(len(x)))
}

// values returns the elements of a dense float32 operand.
func (k *Kernels) values(t testing.TB, v kernels.View) []float32 {
	x := make([]float32, v.Len())
	require.NoError(t, k.context.Download(0, bytesOf(x), cuda.DevicePtr(v.Ptr)))
	return x
}

// do runs an op that needs no workspace and no attributes.
func (k *Kernels) do(id kernels.ID, s cuda.Stream, out []kernels.View, in ...kernels.View) error {
	a := kernels.NewArgs()
	defer a.Put()
	a.Out, a.In = append(a.Out, out...), append(a.In, in...)
	return k.table[id].Run(k.Queue(s), a)
}
