//go:build cgo && (linux || darwin)

package nvml

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
)

// fake builds the library of testdata and returns its path.
func fake(t *testing.T, macros ...string) string {
	t.Helper()
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("the fake library needs a C compiler: %v", err)
	}
	library := filepath.Join(t.TempDir(), libraryName)
	args := []string{"-Wall", "-shared", "-fPIC", "-o", library, filepath.Join("testdata", "fakenvml.c")}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	out, err := exec.Command(compiler, args...).CombinedOutput()
	require.NoError(t, err, string(out))
	return library
}

// The devices of the fake: a whole one, and a part of one.
var (
	whole = cuda.UUID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	part  = cuda.UUID{16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}
)

func openFake(t *testing.T, macros ...string) *Library {
	t.Helper()
	l, err := open(fake(t, macros...))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func TestMemory(t *testing.T) {
	l := openFake(t)
	for _, uuid := range []cuda.UUID{whole, part} {
		m, err := l.Memory(uuid)
		require.NoError(t, err)
		require.Equal(t, Memory{Total: 80 << 30, Free: 70 << 30, Used: 10 << 30}, m)
	}
}

func TestProcesses(t *testing.T) {
	for _, macros := range [][]string{nil,
		{"nvmlDeviceGetComputeRunningProcesses_v3=nvmlDeviceGetComputeRunningProcesses_v2"}} {
		p, err := openFake(t, macros...).Processes(whole)
		require.NoError(t, err)
		require.Equal(t, []Process{{PID: 100, Memory: 1 << 30}, {PID: 101, Memory: -1}}, p)
	}
}

func TestProcessesCome(t *testing.T) {
	p, err := openFake(t, "GROWS=4").Processes(whole)
	require.NoError(t, err)
	require.Len(t, p, 42)

	_, err = openFake(t, "GROWS=1000").Processes(whole)
	requireError(t, err, "nvml: nvmlDeviceGetComputeRunningProcesses: Unknown Error (7)")
}

func requireError(t *testing.T, err error, text string) {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	require.EqualError(t, err, text)
}

func TestNoSuchDevice(t *testing.T) {
	l := openFake(t)
	_, err := l.Memory(cuda.UUID{1})
	requireError(t, err, "nvml: nvmlDeviceGetHandleByUUID: Not Found (6)")
	_, err = l.Processes(cuda.UUID{1})
	requireError(t, err, "nvml: nvmlDeviceGetHandleByUUID: Not Found (6)")
}

func TestCloseTwice(t *testing.T) {
	l, err := open(fake(t))
	require.NoError(t, err)
	require.NoError(t, l.Close())
	requireError(t, l.Close(), "nvml: nvmlShutdown: Uninitialized (1)")
}

func TestOpenFails(t *testing.T) {
	_, err := open(fake(t, "INIT_CODE=9"))
	requireError(t, err, "nvml: nvmlInit: Unknown Error (9)")

	path := fake(t, "nvmlDeviceGetComputeRunningProcesses_v3=absent")
	_, err = open(path)
	require.ErrorContains(t, err, "nvml: cannot use "+path+
		": it has no nvmlDeviceGetComputeRunningProcesses_v3 or nvmlDeviceGetComputeRunningProcesses_v2: ")

	text := filepath.Join(t.TempDir(), libraryName)
	require.NoError(t, os.WriteFile(text, []byte("this is no library\n"), 0o644))
	_, err = open(text)
	require.ErrorContains(t, err, "nvml: cannot use "+text+": ")
	require.NotErrorIs(t, err, cuda.ErrNoLoader)
}

// TestDriver is for machines with a GPU.
func TestDriver(t *testing.T) {
	l, err := Open()
	if err != nil {
		t.Skipf("no usable management library on this machine: %v", err)
	}
	defer func() { require.NoError(t, l.Close()) }()
	driver, err := cuda.Open()
	if err != nil {
		t.Skipf("no usable CUDA driver on this machine: %v", err)
	}
	d, err := driver.Device(0)
	require.NoError(t, err)
	m, err := l.Memory(d.UUID)
	require.NoError(t, err)
	require.Positive(t, m.Total)
	require.LessOrEqual(t, m.Free+m.Used, m.Total)
	p, err := l.Processes(d.UUID)
	require.NoError(t, err)
	t.Logf("%s: %d of %d bytes free; %d programs", d.Name, m.Free, m.Total, len(p))
}
