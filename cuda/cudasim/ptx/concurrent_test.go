package ptx

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Atomics of launches that run at the same time lose nothing, of any width.
func TestAtomicsOfManyLaunches(t *testing.T) {
	k := snippet(t, `
	ld.param.u64 %d1, [out];
	atom.global.add.u32 %r1, [%d1], 1;
	atom.global.add.u64 %d2, [%d1+8], 3;
	mov.u32 %r2, %tid.x;
	and.b32 %r2, %r2, 1;
	mul.wide.u32 %d3, %r2, 2;
	add.u64 %d3, %d1, %d3;
	ld.relaxed.gpu.global.u16 %h1, [%d3+16];
AGAIN:
	add.u16 %h2, %h1, 1;
	mov.u16 %h3, %h1;
	atom.global.cas.b16 %h1, [%d3+16], %h3, %h2;
	setp.ne.u16 %p1, %h1, %h3;
	@%p1 bra AGAIN;
	ret;`)
	var d device
	out, got := alloc(t, &d, make([]uint64, 3))
	const launches, blocks, threads = 4, 8, 64
	var wait sync.WaitGroup
	for i := range launches {
		kernel, params := k.Spread(1+i%2), pack(t, k, out)
		wait.Go(func() {
			if err := kernel.Launch(flat(blocks), flat(threads), 0, params, &d); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	const all = launches * blocks * threads
	require.Equal(t, []uint64{all, 3 * all, all/2<<16 | all/2}, values[uint64](t, got))
}

// The records of past launches that a launch uses again show nowhere in it.
func TestLaunchesOfAllShapes(t *testing.T) {
	text := snippetText(`
	ld.param.u64 %d1, [out];
	mov.u32 %r1, %ctaid.y;
	mov.u32 %r2, %nctaid.x;
	mov.u32 %r3, %ctaid.x;
	mad.lo.u32 %r1, %r1, %r2, %r3;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %ntid.y;
	mul.lo.u32 %r3, %r2, %r3;
	mul.lo.u32 %r1, %r1, %r3;
	mov.u32 %r4, %tid.y;
	mad.lo.u32 %r4, %r4, %r2, %r1;
	mov.u32 %r5, %tid.x;
	add.u32 %r4, %r4, %r5;
	mul.wide.u32 %d2, %r4, 4;
	add.u64 %d2, %d1, %d2;
	ld.shared.u32 %r6, [s+60];
	add.u32 %r6, %r6, %r4;
	st.shared.u32 [s], %r6;
	st.global.u32 [%d2], %r6;
	ret;`)
	m, err := Compile(strings.Replace(text, ".visible", ".extern .shared .align 4 .b32 s[];\n.visible", 1))
	require.NoError(t, err)
	k, err := m.Kernel("k")
	require.NoError(t, err)
	shapes := [][2]Dim3{{flat(1), flat(1)}, {flat(3), flat(100)}, {{2, 2, 1}, {8, 9, 1}}, {flat(3), flat(100)}, {flat(2), flat(1024)},
		{flat(5), flat(32)}, {{1, 3, 1}, {32, 2, 1}}, {flat(2), flat(1024)}}
	launch := func(t *testing.T, grid, block Dim3) error {
		var d device
		n := grid.count() * block.count()
		out, got := alloc(t, &d, make([]int32, n))
		if err := k.Launch(grid, block, 64+4*block.count(), pack(t, k, out), &d); err != nil {
			return err
		}
		for i, v := range values[int32](t, got) {
			if want := int32(i) - 1; v != want { // memory is all ones before it is written
				return fmt.Errorf("%v blocks of %v: %d at %d", grid, block, v, i)
			}
		}
		return nil
	}
	var wait sync.WaitGroup
	for start := range 3 {
		wait.Go(func() {
			for i := range 2 * len(shapes) {
				s := shapes[(start+i)%len(shapes)]
				if err := launch(t, s[0], s[1]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}
