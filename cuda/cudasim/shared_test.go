//go:build cgo && (linux || darwin)

package cudasim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/cuda/cudasim/ptx"
)

// racy has the threads of a block write one word of shared memory.
const racy = `.version 7.0
.target sm_75
.address_size 64
.visible .entry racy()
{
	.reg .b32 %r<2>;
	.shared .align 4 .b8 one[4];
	mov.u32 %r1, %tid.x;
	st.shared.u32 [one], %r1;
	ret;
}
`

func TestSharedRaces(t *testing.T) {
	for _, check := range []bool{false, true} {
		m := open(t, cudasim.Config{Memory: 1 << 20, SharedRaces: check})
		c := device(t, m, 0)
		mod, err := c.Load(racy)
		require.NoError(t, err)
		f := function(t, mod, "racy")
		require.NoError(t, f.Prepare().Run(0, cuda.Grid{Blocks: [3]uint32{1}, Threads: [3]uint32{64}}))
		err = c.SyncStream(0)
		if !check {
			require.NoError(t, err, "a device would not notice")
			require.NoError(t, mod.Unload())
			continue
		}
		requireCode(t, err, "cuStreamSynchronize", 719)
		var race *ptx.RaceError
		require.ErrorAs(t, m.Reports()[0], &race)
	}
}
