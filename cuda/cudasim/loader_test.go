//go:build cgo && (linux || darwin)

package cudasim

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/internal/dl"
	"tarn/cuda/internal/shim"
)

// inChild marks a process whose libcuda.so.1 is the forwarder.
const inChild = "TARN_FORWARDER"

// TestLoader takes the way that a program takes to a driver: cuda.Open finds a
// library by name and asks it for each symbol, and each leads to the simulator.
func TestLoader(t *testing.T) {
	if os.Getenv(inChild) != "" {
		throughTheLoader(t)
		return
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	if _, err := osexec.LookPath(compiler); err != nil {
		t.Skipf("the forwarder needs a C compiler: %v", err)
	}
	folder := t.TempDir()
	out, err := osexec.Command(compiler, "-Wall", "-shared", "-fPIC", "-I", filepath.Join("..", "internal", "shim"),
		"-o", filepath.Join(folder, "libcuda.so.1"), filepath.Join("testdata", "forward.c")).CombinedOutput()
	require.NoError(t, err, string(out))
	child := osexec.Command(os.Args[0], "-test.run=^TestLoader$", "-test.v")
	child.Env = append(os.Environ(), inChild+"=1", "LD_LIBRARY_PATH="+folder, "DYLD_LIBRARY_PATH="+folder)
	out, err = child.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS: TestLoader")
}

func throughTheLoader(t *testing.T) {
	m, err := Open(Config{Devices: 2})
	require.NoError(t, err)
	forwarder, err := dl.Open("libcuda.so.1")
	require.NoError(t, err)
	table, err := shim.Fill(m.symbol)
	require.NoError(t, err)
	install, err := forwarder.Symbol("tarn_forward_to")
	require.NoError(t, err)
	table.HandOver(install)

	l, err := cuda.Open()
	require.NoError(t, err)
	assert.Equal(t, "libcuda.so.1", l.Name())
	assert.Empty(t, l.Missing())
	assert.Equal(t, 2, l.Devices())
	d, err := l.Device(1)
	require.NoError(t, err)
	assert.Equal(t, "Simulated GPU 1", d.Name)
	found, err := l.Find(d.UUID.String())
	require.NoError(t, err)
	assert.Equal(t, 1, found.Index)
	c, err := d.Open()
	require.NoError(t, err)
	p, err := c.Alloc(1024)
	require.NoError(t, err)
	require.NoError(t, c.Fill32(0, p, 7, 256))

	module, err := c.Load(increment)
	require.NoError(t, err)
	f, err := module.Function("increment")
	require.NoError(t, err)
	// The last entry of the table, and one with arguments on the stack.
	require.NoError(t, f.Prepare().Ptr(p).Run(0, cuda.Grid{Blocks: [3]uint32{8}, Threads: [3]uint32{32}}))
	bytes := make([]byte, 1024)
	require.NoError(t, c.Download(0, bytes, p))
	for i := 0; i < len(bytes); i += 4 {
		require.EqualValues(t, 8, bytes[i], i)
	}
	require.NoError(t, module.Unload())
	require.NoError(t, c.Free(p))
	require.NoError(t, c.Close())
	require.NoError(t, m.Close())
}

// increment adds 1 to a word for each thread.
const increment = `.version 7.0
.target sm_75
.address_size 64

.visible .entry increment(.param .u64 at)
{
	.reg .b32 %i, %n, %b, %v;
	.reg .b64 %p, %o;
	ld.param.u64 %p, [at];
	mov.u32 %i, %tid.x;
	mov.u32 %n, %ntid.x;
	mov.u32 %b, %ctaid.x;
	mad.lo.s32 %i, %b, %n, %i;
	cvta.to.global.u64 %p, %p;
	mul.wide.u32 %o, %i, 4;
	add.s64 %p, %p, %o;
	ld.global.u32 %v, [%p];
	add.s32 %v, %v, 1;
	st.global.u32 [%p], %v;
	ret;
}
`
