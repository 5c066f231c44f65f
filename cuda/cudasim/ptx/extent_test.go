package ptx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each lane whose flag is set moves a value between its row of y and an address.
const moving = header + `.visible .entry k(.param .u64 y, .param .u64 addresses, .param .u64 flags)
{
	.reg .pred %%p;
	.reg .b32 %%t;
	.reg .b64 %%a<5>;
	.reg .b%d %%v<4>;
	mov.u32 %%t, %%tid.x;
	ld.param.u64 %%a0, [y];
	mad.wide.u32 %%a0, %%t, 16, %%a0;
	ld.param.u64 %%a1, [addresses];
	mad.wide.u32 %%a1, %%t, 8, %%a1;
	ld.global.u64 %%a1, [%%a1];
	sub.u64 %%a1, %%a1, 32;
	ld.param.u64 %%a2, [flags];
	mad.wide.u32 %%a2, %%t, 4, %%a2;
	ld.global.u32 %%t, [%%a2];
	setp.eq.u32 %%p, %%t, 0;
	@%%p bra END;
	%s
END:
	ret;
}
`

// Memory instructions do to memory what their lanes would do one after the
// other, and fail at the first lane that must not do it.
func TestAccessPatterns(t *testing.T) {
	r, rounds := rand.New(rand.NewPCG(5, 6)), 200
	if raceEnabled {
		rounds = 40
	}
	for _, typ := range []dtype{b8, b16, b32, b64} {
		for _, n := range []int{1, 2, 4} {
			size := n * typ.bytes()
			if size > 16 {
				continue
			}
			for _, space := range []string{".global", ""} {
				vector, regs := "", "%v0"
				if n > 1 {
					vector = fmt.Sprintf(".v%d", n)
					regs = "{" + strings.Join([]string{"%v0", "%v1", "%v2", "%v3"}[:n], ", ") + "}"
				}
				move := func(from, to string) *Kernel {
					body := fmt.Sprintf("ld%s%s.b%d %s, [%s];\n\tst%s%s.b%d [%s], %s;", space, vector, typ.bits(), regs, from, space, vector, typ.bits(), to, regs)
					m, err := Compile(fmt.Sprintf(moving, max(typ.bits(), 16), body))
					require.NoError(t, err)
					k, err := m.Kernel("k")
					require.NoError(t, err)
					return k
				}
				load, store := move("%a1+32", "%a0"), move("%a0", "%a1+32")
				for range rounds {
					testPattern(t, r, load, size, false)
					testPattern(t, r, store, size, true)
				}
			}
		}
	}
}

// testPattern runs a kernel on addresses in x, two pieces of memory.
func testPattern(t *testing.T, r *rand.Rand, k *Kernel, size int, stores bool) {
	const base, gap, piece = 0x7000_0000_0000, 4096, 2048
	x := [2][]byte{make([]byte, piece), make([]byte, piece-4)}
	y := make([]byte, 16*warpSize)
	for _, b := range [][]byte{x[0], x[1], y} {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	}
	var freed []byte
	if r.IntN(4) == 0 {
		freed = make([]byte, piece/FreedGranule)
		freed[r.IntN(len(freed))] = byte(r.IntN(2))
	}
	addresses, flags := pattern(r, base, uint64(size), piece), make([]uint32, warpSize)
	some := r.IntN(2) == 0
	for i := range flags {
		flags[i] = 1
		if some {
			flags[i] = uint32(r.IntN(2))
		}
	}
	d := device{next: base + 1<<32}
	py, gotY := alloc(t, &d, y)
	pa, _ := alloc(t, &d, addresses)
	pf, _ := alloc(t, &d, flags)
	got := [2][]byte{slices.Clone(x[0]), slices.Clone(x[1])}
	live := append(Allocations{{Ptr: base, Bytes: got[0], Freed: freed}, {Ptr: base + gap, Bytes: got[1]}}, d.live...)
	err := k.Launch(flat(1), flat(warpSize), 0, pack(t, k, py, pa, pf), live)

	wantY, fault := slices.Clone(y), -1
	for lane, a := range addresses {
		if flags[lane] == 0 {
			continue
		}
		p, off := 0, a-base
		if off >= gap {
			p, off = 1, off-gap
		}
		if a%uint64(size) != 0 || off+uint64(size) > uint64(len(x[p])) || off > piece || p == 0 && freed != nil && freed[off/FreedGranule] != 0 {
			fault = lane
			break
		}
		from, to := x[p][off:off+uint64(size)], wantY[16*lane:]
		if stores {
			from, to = y[16*lane:16*lane+size], x[p][off:]
		}
		copy(to, from)
	}
	if fault >= 0 {
		var e *AccessError
		require.ErrorAs(t, err, &e)
		require.Equal(t, fault, e.Lane)
		require.Equal(t, addresses[fault], e.Address)
		if !stores {
			wantY = y // nothing has come to the store
		}
	} else {
		require.NoError(t, err)
	}
	require.Equal(t, wantY, gotY)
	require.Equal(t, x, got)
}

// pattern returns addresses in a piece of memory, most of them good.
func pattern(r *rand.Rand, base, size, piece uint64) []uint64 {
	a := make([]uint64, warpSize)
	room := piece / size
	start := base + size*r.Uint64N(room-warpSize*2+1)
	random := func() uint64 { return base + size*r.Uint64N(room) }
	kind := r.IntN(5)
	for i := range a {
		switch lane := uint64(i); kind {
		case 0:
			a[i] = start + lane*size
		case 1:
			a[i] = start
		case 2:
			a[i] = start + 2*lane*size
		case 3:
			a[i] = start + lane%16*size
		default:
			a[i] = random()
		}
	}
	if r.IntN(2) == 0 {
		a[r.IntN(warpSize)] = []uint64{random(), start + 1, base - size, base + piece, base + piece - size,
			base + piece - size/2, random() + 4096, base + 4096 + piece - size, r.Uint64() &^ 15 % (1 << 48)}[r.IntN(9)]
	}
	return a
}
