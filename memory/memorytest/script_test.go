package memorytest_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory/memorytest"
)

var rewrite = flag.Bool("rewrite", false, "write the outputs of the golden scripts anew")

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			memorytest.RunScript(t, file, *rewrite)
		})
	}
}

// Ensure that a rewritten script is one that passes, and keeps its comments.
func TestScriptsRewriteThemselves(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script.txt")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o644)) }
	write("# Hello.\ndevice 4MiB\n\nalloc a 3000 s1\nblocks\nfree a\nfree a\n----\nwrong\n")
	memorytest.RunScript(t, file, true)
	memorytest.RunScript(t, file, false)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, `# Hello.
device 4MiB
----

alloc a 3000 s1
blocks
free a
free a
----
segment 1, 2 MiB: a 3 KiB | - 2045 KiB
error: memory: handle is stale: its block was freed before
`, string(text))
}
