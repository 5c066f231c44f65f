//go:build !race

package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Not under the race detector, where pools drop records at random.

// TestGoAllocatesNothing: small calls, which are many, cost no Go allocation.
func TestGoAllocatesNothing(t *testing.T) {
	table := goTable()
	for id, a := range smallCalls(table) {
		t.Run(id.String(), func(t *testing.T) {
			require.NoError(t, table[id].Run(Queue(), a))
			require.Zero(t, testing.AllocsPerRun(100, func() { _ = table[id].Run(Queue(), a) }))
		})
	}
}
