package memorytest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
	"tarn/memory/memorytest"
)

// scenarioStreams has the default stream, which is the zero one, and another
// that has blocks of its own and is done when it was waited for.
func scenarioStreams(t *testing.T) {
	const user = cuda.Stream(7)
	var standard cuda.Stream
	s := newStage(t, memorytest.FakeConfig{Capacity: 64 * mib, Asynchronous: true}, memory.Config{})
	assert.Zero(t, standard)
	b, c := must(t, s.a, mib, standard), must(t, s.a, mib, user)
	assert.NotEqual(t, b.Ptr, c.Ptr)
	require.NoError(t, s.fake.Write(user, c.Ptr, c.Size))
	e := record(t, s.fake, user)
	assert.False(t, done(t, s.fake, e))
	s.fake.Sync(user)
	assert.True(t, done(t, s.fake, e))
	require.NoError(t, s.fake.DestroyEvent(e))
	s.free(b, c)
}
