//go:build cgo && (linux || darwin)

package cudasim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
)

func TestDevice(t *testing.T) {
	m := open(t, cudasim.Config{Devices: 2, Memory: 64 << 20, Major: 7, Minor: 5, Multiprocessors: 3})
	l := m.Library()
	require.Equal(t, 2, l.Devices())
	require.Empty(t, l.Missing())
	d, err := l.Device(1)
	require.NoError(t, err)
	require.Equal(t, "Simulated GPU 1", d.Name)
	require.Equal(t, []int{7, 5, 3, 32, 1024}, []int{d.Major, d.Minor, d.Multiprocessors, d.WarpSize, d.MaxThreads})
	require.EqualValues(t, 64<<20, d.Memory)
	require.True(t, d.VirtualMemory)
	again, err := l.Find(d.UUID.String())
	require.NoError(t, err)
	require.Equal(t, 1, again.Index)
}

// Several machines live beside each other, and what is of one is nothing to
// the other.
func TestMachinesAreApart(t *testing.T) {
	m, n := open(t, cudasim.Config{Memory: 1 << 20}), open(t, cudasim.Config{Devices: 3, Memory: 2 << 20})
	require.Equal(t, []int{1, 3}, []int{m.Library().Devices(), n.Library().Devices()})
	a, b := device(t, m, 0), device(t, n, 0)
	p := alloc(t, a, 1000)
	requireCode(t, b.Free(p), "cuMemFree", cuda.InvalidValue)
	requireCode(t, b.Fill8(0, p, 1, 1), "cuMemsetD8Async", cuda.InvalidValue)
	requireCode(t, b.SyncStream(a.Default()), "cuStreamSynchronize", cuda.InvalidHandle)
	_, total, err := b.MemInfo()
	require.NoError(t, err)
	require.EqualValues(t, 2<<20, total)
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []cudasim.Config{{Devices: -1}, {Devices: 65}, {Memory: -1}, {Memory: 1 << 60}, {Granularity: 5000}, {Workers: -1}, {Steps: -1},
		{Faults: []cudasim.Fault{{N: -1, Code: 2}}}, {Faults: []cudasim.Fault{{Function: "cuMemAlloc"}}}} {
		_, err := cudasim.Open(c)
		require.ErrorContains(t, err, "cudasim: ", "%+v", c)
	}
}

func TestSlots(t *testing.T) {
	var all []*cudasim.Machine
	for {
		m, err := cudasim.Open(cudasim.Config{Memory: 1 << 20})
		if err != nil {
			require.EqualError(t, err, "cudasim: 48 machines are open, and that is as many as there can be")
			break
		}
		all = append(all, m)
	}
	for _, m := range all {
		require.NoError(t, m.Close())
	}
	require.NotEmpty(t, all)
	require.EqualError(t, all[0].Close(), "cudasim: the machine is closed already")
	open(t, cudasim.Config{})
}

func TestCloseSaysWhatIsLeft(t *testing.T) {
	m, err := cudasim.Open(cudasim.Config{Devices: 2, Memory: 64 << 20})
	require.NoError(t, err)
	d, err := m.Library().Device(1)
	require.NoError(t, err)
	c, err := d.Open()
	require.NoError(t, err)
	for range 2 {
		_, err = c.Alloc(1)
		require.NoError(t, err)
	}
	_, err = c.AllocPinned(1)
	require.NoError(t, err)
	_, err = c.NewEvent()
	require.NoError(t, err)
	_, err = c.Create(2 << 20)
	require.NoError(t, err)
	_, err = c.Reserve(2<<20, 0)
	require.NoError(t, err)
	err = m.Close()
	require.EqualError(t, err, "cudasim: left at the end: cuda:1: 2 allocations, cuda:1: 1 context, cuda:1: 1 event, "+
		"cuda:1: 1 page, cuda:1: 1 pinned allocation, host: 1 address range")
	var leak *cudasim.LeakError
	require.ErrorAs(t, err, &leak)
	require.Equal(t, 2, leak.Live["cuda:1"]["allocations"])
}
