//go:build cgo && (linux || darwin)

package cuda

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func requirePair(t *testing.T, ask func() (int64, int64, error), current, high int64) {
	t.Helper()
	c, h, err := ask()
	require.NoError(t, err)
	require.Equal(t, []int64{current, high}, []int64{c, h})
}

func TestPool(t *testing.T) {
	c := openFake(t)
	s := stream(t, c)
	pool, err := c.Pool()
	require.NoError(t, err)
	requirePair(t, pool.Used, 0, 0)
	require.NoError(t, pool.SetThreshold(-1))
	p, err := pool.Alloc(1<<20, s)
	require.NoError(t, err)
	q, err := pool.Alloc(2<<20, 0)
	require.NoError(t, err)
	require.NoError(t, c.Fill8(s, p, 1, 1<<20))
	requirePair(t, pool.Used, 3<<20, 3<<20)
	var use *InUseError
	require.ErrorAs(t, c.Close(), &use)
	require.EqualValues(t, 2, use.Live["allocations"])

	require.NoError(t, errors.Join(pool.Free(p, s), pool.Free(q, 0)))
	requirePair(t, pool.Used, 0, 3<<20)
	requirePair(t, pool.Reserved, 3<<20, 3<<20)
	require.NoError(t, pool.Trim(1<<20))
	requirePair(t, pool.Reserved, 1<<20, 3<<20)
	require.NoError(t, pool.SetThreshold(0))
	p, err = pool.Alloc(4096, s)
	require.NoError(t, err)
	require.NoError(t, pool.Free(p, s))
	requirePair(t, pool.Reserved, 0, 3<<20)
}

func TestPoolRefuses(t *testing.T) {
	c := openFake(t)
	pool, err := c.Pool()
	require.NoError(t, err)
	for _, size := range []int64{0, -1} {
		_, err = pool.Alloc(size, 0)
		requireCode(t, err, "cuMemAllocAsync", InvalidValue)
	}
	_, err = pool.Alloc(c.Device().Memory+1, 0)
	requireCode(t, err, "cuMemAllocAsync", OutOfMemory)
	plain := alloc(t, c, 64)
	requireCode(t, pool.Free(plain, 0), "cuMemFreeAsync", InvalidValue)
	requireCode(t, pool.Free(0, 0), "cuMemFreeAsync", InvalidValue)
	requireCode(t, pool.Trim(-1), "cuMemPoolTrimTo", InvalidValue)
}

func TestPoolIsMissing(t *testing.T) {
	c := openFake(t, "cuMemPoolTrimTo=absent")
	_, err := c.Pool()
	require.ErrorIs(t, err, ErrNotSupported)
}
