package lint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRepository applies the rules to this repository.
func TestRepository(t *testing.T) {
	tree, err := Load("../..")
	require.NoError(t, err)
	require.Greater(t, len(tree.files), 10, "the module's files were found")
	t.Log(Largest(tree, 12))
	for _, f := range Check(tree) {
		t.Error(f)
	}
}
