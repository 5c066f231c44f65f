//go:build cgo && (linux || darwin)

package cudasim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda/internal/conformance"
	"tarn/cuda/internal/shim"
)

// TestConformance asks a machine what make gpu asks a driver. Each row has a
// machine of its own, and must leave nothing there.
func TestConformance(t *testing.T) {
	names, lost := conformance.Rows()
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			m, err := Open(Config{Memory: 256 << 20})
			require.NoError(t, err)
			table, err := shim.Fill(m.symbol)
			require.NoError(t, err)
			require.Zero(t, table.Call(shim.Init, 0, 0, 0, 0, 0).Code)
			result, err := conformance.Ask(table, i)
			require.NoError(t, err)
			assert.True(t, result.OK(), "%s, want %s", result.Got, result.Want)
			t.Log(result)
			err = m.Close()
			if i < lost {
				require.NoError(t, err)
			}
		})
	}
}
