package memory_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
)

// TestPieceThatSticksOutMoves has the best window begin with the pages of one
// piece and end with some of the next, of which the rest must come into the
// hole between them: there is no other free page.
func TestPieceThatSticksOutMoves(t *testing.T) {
	for _, asynchronous := range []bool{false, true} {
		for s := range cuda.Stream(2) {
			f, a := paged(t, 14, asynchronous, memory.Config{})
			blocks := row(t, f, a, 0, 5, 1, 7)
			write(t, f, a, page, 1)
			free(t, a, blocks[1])
			require.NoError(t, a.EmptyCache())
			free(t, a, blocks[0])
			free(t, a, blocks[2])
			write(t, f, a, mib, 2) // the device's last page
			require.Equal(t, 14*page, f.Used())
			require.Equal(t, blocks[0].Ptr, write(t, f, a, 8*page, s).Ptr)
			require.Equal(t, blocks[2].Ptr+cuda.DevicePtr(2*page), write(t, f, a, 4*page, s).Ptr, "the far end moved")
			require.NoError(t, a.Check())
		}
	}
}

// TestWholeFreePagesServeLess is TestWholeFreePagesAreEnough for requests that
// need not all of them, among holes that EmptyCache has left.
func TestWholeFreePagesServeLess(t *testing.T) {
	const pages = 24
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		f, a := paged(t, pages, seed%2 == 1, memory.Config{})
		var live []memory.Block
		for range 60 {
			used := map[cuda.DevicePtr]bool{} // pages with a live byte
			for _, b := range live {
				for p := b.Ptr / cuda.DevicePtr(page); p*cuda.DevicePtr(page) < b.Ptr+cuda.DevicePtr(b.Size); p++ {
					used[p] = true
				}
			}
			whole := int64(pages - len(used))
			switch k := r.IntN(12); {
			case k == 0:
				require.NoError(t, a.EmptyCache())
			case k < 3 && whole > 0:
				live = append(live, write(t, f, a, 1+r.Int64N(mib), cuda.Stream(r.IntN(3))))
			case k < 9 && whole > 0:
				size := (1+r.Int64N(whole))*page - r.Int64N(page)
				live = append(live, write(t, f, a, size, cuda.Stream(r.IntN(3))))
			case len(live) > 0:
				i := r.IntN(len(live))
				free(t, a, live[i])
				live = slices.Delete(live, i, i+1)
			}
			require.NoError(t, a.Check())
		}
	}
}
