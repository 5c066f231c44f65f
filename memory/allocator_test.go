package memory_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
)

// device is a fake and an allocator over it, checked and closed at the end of
// the test.
func device(t testing.TB, fake memorytest.FakeConfig, cfg memory.Config) (*memorytest.Fake, *memory.Allocator) {
	t.Helper()
	if fake.Capacity == 0 {
		fake.Capacity = 1 << 30
	}
	f := memorytest.NewFake(fake)
	a, err := memory.New(f, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, a.Check())
		if err := a.Close(); err != nil {
			var live *memory.LiveBlocksError
			assert.ErrorAs(t, err, &live)
		}
		assert.NoError(t, f.Close())
	})
	return f, a
}

func alloc(t testing.TB, a *memory.Allocator, size int64, s cuda.Stream) memory.Block {
	t.Helper()
	b, err := a.Alloc(size, s, memory.Untagged)
	require.NoError(t, err)
	return b
}

func free(t testing.TB, a *memory.Allocator, b memory.Block, usedOn ...cuda.Stream) {
	t.Helper()
	require.NoError(t, a.Free(b.Handle, usedOn...))
}

func TestBlockIsReused(t *testing.T) {
	f, a := device(t, memorytest.FakeConfig{}, memory.Config{})
	b := alloc(t, a, 1000, 0)
	assert.EqualValues(t, 1024, b.Size)
	free(t, a, b)
	again := alloc(t, a, 700, 0)
	assert.Equal(t, b.Ptr, again.Ptr)
	assert.NotEqual(t, b.Handle, again.Handle)
	assert.EqualValues(t, 2*mib, f.Used())
	err := a.Free(b.Handle)
	assert.True(t, errors.Is(err, memory.ErrStaleHandle), err)
	free(t, a, again)
}
