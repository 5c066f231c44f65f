package gpu

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestModules: each source is a module that is declared, and has no function
// besides kernels.
func TestModules(t *testing.T) {
	sources, err := filepath.Glob("*.cu")
	require.NoError(t, err)
	require.Len(t, modules, len(sources))
	for _, m := range modules {
		text, err := texts.ReadFile("ptx/" + m.name + ".ptx")
		require.NoError(t, err)
		require.NotContains(t, string(text), ".func", m.name)
		require.Equal(t, len(m.names), strings.Count(string(text), ".entry"), "kernels of %s that nobody launches", m.name)
	}
}
