package main

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory"
)

var rewrite = flag.Bool("rewrite", false, "write the output in testdata anew")

func TestOutput(t *testing.T) {
	const golden = "testdata/output.txt"
	var out bytes.Buffer
	require.NoError(t, run(&out, false))
	if *rewrite {
		require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), out.String(), "go test -rewrite writes it anew; look at the difference")
	assert.NotContains(t, out.String(), "\x1b", "a pipe gets no colours")
}

// TestColours: a terminal gets the same in colours.
func TestColours(t *testing.T) {
	var plain, coloured bytes.Buffer
	require.NoError(t, run(&plain, false))
	require.NoError(t, run(&coloured, true))
	assert.Contains(t, coloured.String(), "\x1b[34m█")
	assert.Equal(t, plain.String(), regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(coloured.String(), ""))
}

// TestWhatItShows holds the walk to its story.
func TestWhatItShows(t *testing.T) {
	classic, err := walk(memory.ExpandableOff)
	require.NoError(t, err)
	paged, err := walk(memory.ExpandableAuto)
	require.NoError(t, err)
	for i := range 5 {
		assert.Nil(t, classic[i].oom)
		assert.Nil(t, paged[i].oom)
	}
	require.NotNil(t, classic[5].oom)
	assert.Equal(t, memory.CauseFragmented, classic[5].oom.Cause)
	assert.Nil(t, paged[5].oom)
	for _, steps := range [][]step{classic, paged} {
		for _, s := range steps {
			assert.Equal(t, capacity, s.after.Totals().ReservedBytes.All.Current, "never more, never less")
		}
	}
}
