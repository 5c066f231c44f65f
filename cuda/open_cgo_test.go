//go:build cgo && (linux || darwin)

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/dl"
	"tarn/cuda/internal/shim"
)

func TestOpenFindsDevices(t *testing.T) {
	path := fakeDriver(t)
	l, err := open(path)
	require.NoError(t, err)
	require.Equal(t, path, l.Name())
	require.Equal(t, Version(12040), l.Version())
	require.Equal(t, "12.4", l.Version().String())
	require.Equal(t, 2, l.Devices())
	require.Empty(t, l.Missing())
}

func TestOpenTakesTheOldestDriver(t *testing.T) {
	l, err := open(fakeDriver(t, "VERSION=11040", "COUNT=1"))
	require.NoError(t, err)
	require.Equal(t, MinVersion, l.Version())
	require.Equal(t, 1, l.Devices())
}

func TestOpenWithoutOptionalFunction(t *testing.T) {
	l, err := open(fakeDriver(t, "cuGetErrorName=absent"))
	require.NoError(t, err)
	require.Equal(t, []string{"error names"}, l.Missing())
}

// Each feature can be missing, by any of its functions, and is off by name then.
func TestOpenWithoutFeatures(t *testing.T) {
	for symbol, feature := range map[string]string{"cuMemMap": "virtual memory", "cuLaunchHostFunc": "host functions",
		"cuStreamBeginCapture_v2": "graphs", "cuGraphExecUpdate": "graph updates", "cuMemcpyPeerAsync": "peer access",
		"cuMemPoolTrimTo": "stream-ordered pool"} {
		l, err := open(fakeDriver(t, symbol+"=absent"))
		require.NoError(t, err)
		require.Equal(t, []string{feature}, l.Missing())
	}
}

func TestOpenRefusesLibraries(t *testing.T) {
	for name, c := range map[string]struct {
		macros []string
		reason string
	}{
		"no cuInit":             {[]string{"cuInit=absent"}, "it has no cuInit: "},
		"no cuDriverGetVersion": {[]string{"cuDriverGetVersion=absent"}, "it has no cuDriverGetVersion: "},
		"no cuDeviceGetCount":   {[]string{"cuDeviceGetCount=absent"}, "it has no cuDeviceGetCount: "},
		"old driver":            {[]string{"VERSION=11030"}, "the driver supports CUDA 11.3, Tarn needs 11.4 or newer"},
		"no version":            {[]string{"VERSION=0"}, "the driver supports CUDA 0.0, Tarn needs 11.4 or newer"},
		// An old driver is named before it is asked for anything else.
		"old and broken": {[]string{"VERSION=10020", "INIT_CODE=999"}, "the driver supports CUDA 10.2"},
	} {
		path := fakeDriver(t, c.macros...)
		l, err := open(path)
		require.Nil(t, l, name)
		var load *LoadError
		require.ErrorAs(t, err, &load, name)
		require.Equal(t, path, load.Library, name)
		require.Contains(t, load.Reason, c.reason, name)
	}
}

func TestOpenReportsDriverCodes(t *testing.T) {
	for name, c := range map[string]struct {
		macros []string
		want   Error
	}{
		"version":       {[]string{"VERSION_CODE=999"}, Error{"cuDriverGetVersion", 999, "CUDA_ERROR_UNKNOWN"}},
		"init":          {[]string{"INIT_CODE=803"}, Error{"cuInit", 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}},
		"stub":          {[]string{"INIT_CODE=34"}, Error{"cuInit", 34, "CUDA_ERROR_STUB_LIBRARY"}},
		"no device":     {[]string{"INIT_CODE=100"}, Error{"cuInit", NoDevice, "CUDA_ERROR_NO_DEVICE"}},
		"count":         {[]string{"COUNT_CODE=4"}, Error{"cuDeviceGetCount", 4, "CUDA_ERROR_DEINITIALIZED"}},
		"zero devices":  {[]string{"COUNT=0"}, Error{"cuDeviceGetCount", NoDevice, "CUDA_ERROR_NO_DEVICE"}},
		"new code":      {[]string{"INIT_CODE=12345"}, Error{"cuInit", 12345, "CUDA_ERROR_OF_TOMORROW"}},
		"unknown code":  {[]string{"INIT_CODE=54321"}, Error{"cuInit", 54321, "CUresult(54321)"}},
		"nobody to ask": {[]string{"INIT_CODE=12345", "cuGetErrorName=absent"}, Error{"cuInit", 12345, "CUresult(12345)"}},
	} {
		l, err := open(fakeDriver(t, c.macros...))
		require.Nil(t, l, name)
		var got *Error
		require.ErrorAs(t, err, &got, name)
		require.Equal(t, c.want, *got, name)
	}
}

func TestOpenQuotesTheSystem(t *testing.T) {
	_, err := open("libtarn-no-such-library.so.1")
	var load *LoadError
	require.ErrorAs(t, err, &load)
	require.Equal(t, "libtarn-no-such-library.so.1", load.Library)
	require.NotErrorIs(t, err, ErrNoLoader)
	if runtime.GOOS == "linux" {
		require.Contains(t, load.Reason, "No such file or directory")
		require.NotContains(t, load.Reason, load.Library, "the name is said once")
	}

	text := filepath.Join(t.TempDir(), "libcuda.so.1")
	require.NoError(t, os.WriteFile(text, []byte("this is no library\n"), 0o644))
	_, err = open(text)
	require.ErrorAs(t, err, &load)
	require.Equal(t, text, load.Library)
	require.NotEmpty(t, load.Reason)
}

// inChild is set in a process whose loader finds a broken driver: it reads where
// to look when it starts.
const inChild = "TARN_TEST_BROKEN_DRIVER"

// What the loader finds first may be anything. It is an error, and no crash.
func TestOpenFindsBrokenDrivers(t *testing.T) {
	if os.Getenv(inChild) != "" {
		fmt.Println(Probe())
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("the loader of this system keeps no search path for a child")
	}
	text := filepath.Join(t.TempDir(), libraryName)
	require.NoError(t, os.WriteFile(text, []byte("this is no library\n"), 0o644))
	for library, reason := range map[string]string{
		text:                                   "file too short",
		fakeDriver(t, "VERSION=11030"):         "the driver supports CUDA 11.3, Tarn needs 11.4 or newer",
		fakeDriver(t, "cuLaunchKernel=absent"): "it has no cuLaunchKernel: ",
	} {
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		child.Env = append(os.Environ(), inChild+"=1", "LD_LIBRARY_PATH="+filepath.Dir(library))
		out, err := child.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "cuda: cannot use libcuda.so.1: ")
		require.Contains(t, string(out), reason)
	}
}

// RTLD_NOW: a library that cannot work is refused when it is opened, not when
// it is called.
func TestOpenResolvesAtOnce(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the linker of this system refuses to build such a library")
	}
	_, err := open(fakeDriver(t, "UNDEFINED"))
	var load *LoadError
	require.ErrorAs(t, err, &load)
	require.Contains(t, load.Reason, "nowhere_to_be_found")
}

// TestDriver is for machines with a GPU: what the fake was told to say, the
// real driver says by itself.
func TestDriver(t *testing.T) {
	l, err := Open()
	if err != nil {
		t.Skipf("no usable CUDA driver on this machine: %v", err)
	}
	require.GreaterOrEqual(t, l.Version(), MinVersion)
	require.GreaterOrEqual(t, l.Devices(), 1)
	require.Empty(t, l.Missing())
	t.Logf("%s: CUDA %v, %d devices", l.Name(), l.Version(), l.Devices())
	for code := range codes {
		if name := l.table.ErrorName(int32(code)); name != "" { // it may be newer than the driver
			require.Equal(t, name, code.String())
		}
	}
	requireSymbols(t)
	c := openDevice(t, l, 0)
	t.Logf("%v: %s, %v", c.Device(), c.Device().Name, c.Device().UUID)
	exercise(t, c)
}

// requireSymbols asks the driver's library for every name of the table. A driver
// may lack one that is newer or older than it is, and must have one of each
// entry.
func requireSymbols(t *testing.T) {
	t.Helper()
	lib, err := dl.Open(libraryName)
	require.NoError(t, err)
	for e := shim.Entry(0); shim.Names(e) != nil; e++ {
		found := false
		for _, name := range shim.Names(e) {
			_, err := lib.Symbol(name)
			found = found || err == nil
			if err != nil {
				t.Logf("%s: %v", name, err)
			}
		}
		require.True(t, found, shim.Names(e))
	}
}
