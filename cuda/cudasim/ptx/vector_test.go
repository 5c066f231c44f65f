package ptx

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// corners are floats at which roundings and ranges end.
var corners = []uint32{0, 1 << 31, 1, 1<<31 | 1, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
	0x3f800000, 0x3f800001, 0xbf800001, 0x33800000, 0x7fc00000}

// Vector instructions give what the loops over the lanes give, NaNs aside: which
// one of two comes out is the host's affair.
func TestVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() uint32 {
		switch r.IntN(4) {
		case 0:
			return corners[r.IntN(len(corners))]
		case 1: // results near each other's middle
			return math.Float32bits(float32(r.IntN(1<<12)) * float32(math.Ldexp(1, r.IntN(40)-20)))
		}
		return r.Uint32()
	}
	for range 400 {
		var a, b, c, want, got lanes32
		for i := range a {
			a[i], b[i], c[i] = number(), number(), number()
			if i%4 == 0 { // a distance to shift by
				b[i] = r.Uint32N(40)
			}
		}
		for key, f := range vectors32 {
			table32[key].f(&want, &a, &b, &c)
			f(&got, &a, &b, &c)
			for i := range want {
				if x := want[i]; x&0x7fffffff > 0x7f800000 && got[i]&0x7fffffff > 0x7f800000 {
					got[i] = x
				}
			}
			require.Equal(t, want, got, "%s of %x, %x, %x", key, a, b, c)
		}
		for key, f := range compares32 {
			name, kind, _ := strings.Cut(key, ".")
			table := map[string]map[string]comparison[uint32]{"f32": floats32, "s32": signed32, "u32": unsigned32}[kind]
			if r.IntN(4) == 0 {
				b = a
			}
			require.Equal(t, name, table[name].name)
			require.Equal(t, table[name].f(&a, &b), f(&a, &b), "%s of %x, %x", key, a, b)
		}
		var a64, b64, want64, got64 lanes64
		for i := range a64 {
			a64[i], b64[i] = r.Uint64(), r.Uint64()
			if i%2 == 0 { // a distance to shift by
				b64[i] = r.Uint64N(80)
			}
		}
		for key, f := range vectors64 {
			table64[key].f(&want64, &a64, &b64, &a64)
			f(&got64, &a64, &b64, &a64)
			require.Equal(t, want64, got64, key)
		}
	}
}

// scan says of addresses what the loop over the lanes says.
func TestScan(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	base := uint64(0x7000_0000_0000)
	for i := range 4000 {
		size, limit, at := uint64(1)<<r.IntN(5), r.Uint64N(1000), r.Uint64N(2000)
		var addresses, want, got lanes64
		for lane := range addresses {
			addresses[lane] = base - 500 + at + uint64(lane)*size
		}
		if i%2 == 0 {
			addresses[r.IntN(warpSize)] = []uint64{base - 1, base, base + limit, base + limit + 1, 0, r.Uint64()}[r.IntN(6)]
		}
		wantUnion, wantOutside, wantApart := scanLanes(&want, &addresses, -base, limit, size)
		union, outside, apart := scan(&got, &addresses, -base, limit, size)
		require.Equal(t, want, got)
		require.Equal(t, wantUnion, union)
		require.Equal(t, wantOutside != 0, outside != 0)
		require.Equal(t, wantApart != 0, apart != 0)
		least, most := slices.Min(want[:]), slices.Max(want[:])
		require.Equal(t, most > limit || int64(least) < 0, outside != 0, "%d %d %d", least, most, limit)
	}
}
