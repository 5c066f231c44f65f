package cudasim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Addresses come back when all others have been used.
func TestPlace(t *testing.T) {
	s := space{base: firstAddress, next: firstAddress}
	const size = machineSpan / 4
	var last uint64
	for range 3 {
		p, ok := s.place(size, 2<<20)
		require.True(t, ok)
		require.Greater(t, p, last)
		require.Zero(t, p%(2<<20))
		s.ranges = append(s.ranges, vrange{p, size})
		last = p
	}
	_, ok := s.place(size, 2<<20)
	require.False(t, ok, "gaps take room too")
	_, ok = s.place(machineSpan+1, 1)
	require.False(t, ok)
	_, ok = s.place(1<<64-1, 1)
	require.False(t, ok)

	hole := s.ranges[1].ptr
	s.ranges = append(s.ranges[:1], s.ranges[2])
	s.next = s.base + machineSpan - gap
	p, ok := s.place(size/2, 2<<20)
	require.True(t, ok)
	require.Equal(t, hole, p)
}

func TestRun(t *testing.T) {
	var s space
	for _, p := range []uint64{3000, 1000, 2000, 5000} {
		s.insert(&region{ptr: p, kind: mapping, memory: &backing{bytes: make([]byte, 1000)}})
	}
	for _, c := range []struct{ p, size, want uint64 }{
		{1000, 3000, 3}, {1500, 1, 1}, {1500, 1000, 2}, {1000, 3001, 0}, {999, 2, 0}, {4000, 1, 0},
		{5999, 1, 1}, {5999, 2, 0}, {6000, 1, 0}, {5000, 1<<64 - 5000, 0},
	} {
		require.Len(t, s.run(c.p, c.size), int(c.want), "%d bytes at %d", c.size, c.p)
	}
	require.True(t, s.any(0, 1001))
	require.False(t, s.any(0, 1000))
	require.False(t, s.any(4000, 1000))
	require.True(t, s.any(3999, 1))
}
