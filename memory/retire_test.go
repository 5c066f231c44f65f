package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/memory/memorytest"
)

// TestHandleOfARetiredStream: a driver may give a new stream the handle of one
// that is gone. It is another stream, and a block that it used waits for it.
func TestHandleOfARetiredStream(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{Asynchronous: true}, memory.Config{NoBackgroundGC: true})
	b := alloc(t, a, 4*mib, 7)
	require.NoError(t, a.RetireStream(7))
	require.NoError(t, f.Write(7, b.Ptr, b.Size)) // by the new one
	require.NoError(t, a.Free(b.Handle, 7))
	require.Equal(t, b.Size, a.Stats().PendingBytes)
}
