//go:build cgo && (linux || darwin)

package conformance_test

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/conformance"
	"tarn/cuda/internal/dl"
	"tarn/cuda/internal/shim"
)

// libraryName is the driver's library, as package cuda opens it.
const libraryName = "libcuda.so.1"

// only names the row that a child process is to ask.
const only = "TARN_CONFORMANCE_ROW"

// TestDriverConformance asks the driver of this machine.
func TestDriverConformance(t *testing.T) {
	lib, err := dl.Open(libraryName)
	if err != nil {
		t.Skipf("no driver: %v", err)
	}
	table, err := shim.Fill(lib.Symbol)
	require.NoError(t, err)
	if out := table.Call(shim.Init, 0, 0, 0, 0, 0); !out.OK() {
		t.Skipf("the driver finds no device: code %d", out.Code)
	}
	if row := os.Getenv(only); row != "" {
		i, err := strconv.Atoi(row)
		require.NoError(t, err)
		ask(t, table, i)
		return
	}
	names, lost := conformance.Rows()
	for i := range lost {
		ask(t, table, i)
	}
	for i := lost; i < len(names); i++ {
		child := exec.Command(os.Args[0], "-test.run=^TestDriverConformance$", "-test.v")
		child.Env = append(os.Environ(), only+"="+strconv.Itoa(i))
		out, err := child.CombinedOutput()
		assert.NoError(t, err, "%s\n%s", names[i], out)
	}
}

func ask(t *testing.T, table *shim.Table, i int) {
	result, err := conformance.Ask(table, i)
	if assert.NoError(t, err) {
		t.Log(result)
		assert.True(t, result.OK(), "%s: %s, want %s", result.Row, result.Got, result.Want)
	}
}
