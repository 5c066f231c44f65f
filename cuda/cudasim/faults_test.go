//go:build cgo && (linux || darwin)

package cudasim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/internal/shim"
)

// TestFaultOfEachFunction has each function fail in place of what it would do.
// Arguments are wrong, which a fault must come before the check of.
func TestFaultOfEachFunction(t *testing.T) {
	m, err := Open(Config{Memory: 1 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	table, err := shim.Fill(m.symbol)
	require.NoError(t, err)
	device := table.Call(shim.DeviceGet, 0, 0, 0, 0, 0).Value
	out := table.Call(shim.PrimaryRetain, 0, device, 0, 0, 0)
	require.True(t, out.OK())
	c := uintptr(out.Value)
	pool := table.Call(shim.DefaultPool, 0, device, 0, 0, 0).Value

	text := make([]byte, 64)
	special := map[shim.Entry]func() shim.Out{
		shim.DeviceGet:         func() shim.Out { return table.Call(shim.DeviceGet, 0, 0, 0, 0, 0) },
		shim.DeviceGetName:     func() shim.Out { return table.DeviceText(shim.DeviceGetName, int(device), text) },
		shim.DeviceGetUUID:     func() shim.Out { return table.DeviceText(shim.DeviceGetUUID, int(device), text) },
		shim.ModuleLoad:        func() shim.Out { return table.ModuleLoad(c, text, make([]byte, 64)) },
		shim.ModuleGetFunction: func() shim.Out { return table.ModuleGetFunction(c, 0, "none") },
		shim.CopyPeer:          func() shim.Out { return table.CopyPeer(c, 0, 0, 0, 0, 0, 0) },
		shim.HostFunction:      func() shim.Out { return table.CallHost(c, 0, func() {}) },
		shim.LaunchKernel:      func() shim.Out { return table.Launch(&shim.Launch{Context: uint64(c)}) },
		shim.PoolSetAttribute:  func() shim.Out { return table.Call(shim.PoolSetAttribute, c, pool, 0, 0, 0) },
		shim.PoolGetAttribute:  func() shim.Out { return table.Call(shim.PoolGetAttribute, c, pool, 0, 0, 0) },
		shim.PoolTrim:          func() shim.Out { return table.Call(shim.PoolTrim, c, pool, 0, 0, 0) },
	}
	for e := range shim.LaunchKernel + 1 {
		if e == shim.GetErrorName { // it has no machine
			continue
		}
		t.Run(e.Op(), func(t *testing.T) {
			m.Fail(Fault{Function: shim.Names(e)[0], Code: 802})
			call := special[e]
			if call == nil {
				call = func() shim.Out { return table.Call(e, c, device, 0, 0, 0) }
			}
			require.EqualValues(t, 802, call().Code)
			require.False(t, m.faults.some.Load(), "the fault is used up")
		})
	}
	require.Zero(t, table.Call(shim.PrimaryRelease, 0, device, 0, 0, 0).Code)
}

// A fault that no call could come to is refused, by Fail as by Open.
func TestFaultsAreChecked(t *testing.T) {
	for want, fault := range map[string]Fault{
		"cudasim: fault {Function:cuMemAloc N:1 Code:2}: no call of that name can fail; the nearest that can is cuMemAlloc":            {"cuMemAloc", 1, 2},
		"cudasim: fault {Function:cudaMalloc N:1 Code:2}: no call of that name can fail; the nearest that can is cuMemAlloc":           {"cudaMalloc", 1, 2},
		"cudasim: fault {Function:cuGetErrorName N:0 Code:1}: no call of that name can fail; the nearest that can is cuEventCreate":    {"cuGetErrorName", 0, 1},
		"cudasim: fault {Function:culaunchkernel N:1 Code:700}: no call of that name can fail; the nearest that can is cuLaunchKernel": {"culaunchkernel", 1, 700},
		"cudasim: fault {Function:cuMemAlloc N:-1 Code:2}: calls are counted from 1":                                                   {"cuMemAlloc", -1, 2},
		"cudasim: fault {Function: N:1 Code:0}: code 0 is success":                                                                     {"", 1, 0},
	} {
		_, err := Open(Config{Faults: []Fault{fault}})
		require.EqualError(t, err, want)
		require.PanicsWithValue(t, want, func() { new(Machine).Fail(fault) })
	}
}

func TestUnfired(t *testing.T) {
	m, err := Open(Config{Memory: 1 << 20, Faults: []Fault{{Function: "cuMemAlloc_v2", N: 3, Code: 2}, {Function: "cuMemFree", Code: 1}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	require.Equal(t, []Fault{{"cuMemAlloc", 3, 2}, {"cuMemFree", 1, 1}}, m.Unfired())
	for range 2 {
		require.Zero(t, m.faults.next("cuMemAlloc"))
	}
	require.EqualValues(t, 1, m.faults.next("cuMemFree"))
	require.Equal(t, []Fault{{"cuMemAlloc", 1, 2}}, m.Unfired())
	require.EqualValues(t, 2, m.faults.next("cuMemAlloc"))
	require.Empty(t, m.Unfired())
}

func TestFaultsCount(t *testing.T) {
	var f faults
	require.NoError(t, f.add(Fault{Function: "cuMemAlloc_v2", N: 2, Code: 2}, Fault{Function: "cuMemFree", Code: 1}, Fault{N: 3, Code: 5}))
	var codes []cuda.Code
	for _, call := range []string{"cuMemAlloc", "cuMemAlloc", "cuMemAlloc", "cuMemFree", "cuMemFree"} {
		codes = append(codes, f.next(call))
	}
	require.Equal(t, []cuda.Code{0, 2, 5, 1, 0}, codes)
}
