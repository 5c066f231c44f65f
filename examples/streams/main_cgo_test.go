//go:build cgo && (linux || darwin)

package main

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutput(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(&out))
	require.Contains(t, out.String(), "8 steps on two streams give 255, and should give 255")
	require.Regexp(t, regexp.MustCompile(`[1-9]\d* requests got memory of the other stream`), out.String(), "pages changed hands")
	require.Contains(t, out.String(), "Tarn memory summary, device cuda:0")
}
