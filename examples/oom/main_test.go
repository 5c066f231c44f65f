package main

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the output in testdata anew")

// varying is what differs from machine to machine, and lines of code, which
// move.
var varying = []struct{ pattern, text string }{
	{`capacity of \S+ \S+ of which \S+ \S+ is free`, "capacity of T of which F is free"},
	{`loss \d+\.\d+`, "loss L"},
	{`\.go:\d+`, ".go:N"},
}

func TestOutput(t *testing.T) {
	const golden = "testdata/output.txt"
	var out bytes.Buffer
	require.NoError(t, run(&out))
	got := out.String()

	losses := regexp.MustCompile(`loss (\S+)`).FindAllStringSubmatch(got, -1)
	require.Len(t, losses, 2)
	first, err := strconv.ParseFloat(losses[0][1], 64)
	require.NoError(t, err)
	last, err := strconv.ParseFloat(losses[1][1], 64)
	require.NoError(t, err)
	assert.Less(t, last, first-0.2, "it learns with what fits")

	for _, v := range varying {
		got = regexp.MustCompile(v.pattern).ReplaceAllString(got, v.text)
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test -rewrite writes it anew; look at the difference")
}
