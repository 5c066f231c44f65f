package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func advance(p *progress, steps int) {
	for range steps {
		p.step()
	}
	p.finish()
}

func TestProgressIsSilentInAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	advance(newProgress(w, "epoch 1/8", 100), 100)
	require.NoError(t, w.Close())
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestProgressIsSilentInAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(name)
	require.NoError(t, err)
	advance(newProgress(f, "epoch 1/8", 100), 100)
	require.NoError(t, f.Close())
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestProgressIsSilentInABuffer(t *testing.T) {
	var b bytes.Buffer
	advance(newProgress(&b, "epoch 1/8", 100), 100)
	require.Empty(t, b.String())
}
