package ptx

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ampere is a snippet for sm_80, which tensor core instructions need.
func ampere(t testing.TB, body string) *Kernel {
	t.Helper()
	m, err := Compile(strings.Replace(snippetText(body), "sm_75", "sm_80", 1))
	require.NoError(t, err)
	k, err := m.Kernel("k")
	require.NoError(t, err)
	return k
}

// warpTable runs a body in one warp. Each lane has words of 32 bits in memory
// at [%d8], where the body may leave results.
func warpTable(t testing.TB, body string, words [warpSize][12]uint32) [warpSize][12]uint32 {
	t.Helper()
	k := ampere(t, `
	ld.param.u64 %d8, [out];
	mov.u32 %r1, %laneid;
	mad.wide.u32 %d8, %r1, 48, %d8;
`+body+"\n\tret;")
	var d device
	out, bytes := alloc(t, &d, words[:])
	require.NoError(t, k.Launch(flat(1), flat(warpSize), 0, pack(t, k, out), &d))
	return [warpSize][12]uint32(values[[12]uint32](t, bytes))
}

// small are floats that all types of factors have, and whose sums are exact in
// f16.
func small(n int) []float32 {
	v := numbers(n)
	for i := range v {
		v[i] = float32(math.Round(float64(v[i]) * 8))
	}
	return v
}

// encode puts floats into the bits of a register, the first lowest.
func encode(elem string, v ...float32) (r uint32) {
	switch elem {
	case "tf32", "f32":
		return math.Float32bits(v[0])
	case "bf16":
		return uint32(float32ToBrain(v[0])) | uint32(float32ToBrain(v[1]))<<16
	}
	return uint32(float32ToHalf(v[0])) | uint32(float32ToHalf(v[1]))<<16
}

// The places of elements are those of the PTX manual, element by element.
func TestMatrixProduct(t *testing.T) {
	for _, c := range []struct {
		elem, sum string
		k         int
	}{
		{"f16", "f32", 16}, {"bf16", "f32", 16}, {"f16", "f16", 16},
		{"f16", "f32", 8}, {"bf16", "f32", 8}, {"f16", "f16", 8}, {"tf32", "f32", 8}, {"tf32", "f32", 4},
	} {
		each := 2
		if c.elem == "tf32" {
			each = 1
		}
		v := small(16*c.k + c.k*8 + 16*8)
		a := func(i, j int) float32 { return v[i*c.k+j] }
		b := func(i, j int) float32 { return v[16*c.k+i*8+j] }
		sum := func(i, j int) float32 { return v[24*c.k+i*8+j] }
		aElement := func(group, t, i int) float32 {
			if each == 1 {
				return a(group+i%2*8, t+i/2*4)
			}
			row, col := group, t*2+i&1
			if i == 2 || i == 3 || i == 6 || i == 7 {
				row += 8
			}
			if i >= 4 {
				col += 8
			}
			return a(row, col)
		}
		bElement := func(group, t, i int) float32 {
			if each == 1 {
				return b(t+i*4, group)
			}
			row := t*2 + i&1
			if i >= 2 {
				row += 8
			}
			return b(row, group)
		}
		aRegs, bRegs, sums := 16*c.k/each/32, 8*c.k/each/32, 4
		if c.sum == "f16" {
			sums = 2
		}
		var words [warpSize][12]uint32
		for lane := range words {
			group, t, w := lane>>2, lane%4, 0
			put := func(elem string, n, each int, element func(group, t, i int) float32) {
				for i := 0; i < n*each; i += each {
					words[lane][w] = encode(elem, element(group, t, i), element(group, t, i+each-1))
					w++
				}
			}
			put(c.elem, aRegs, each, aElement)
			put(c.elem, bRegs, each, bElement)
			put(c.sum, sums, 4/sums, func(group, t, i int) float32 {
				return sum(group+i/2*8, t*2+i&1)
			})
		}
		var body strings.Builder
		reg, n := "%r", aRegs+bRegs
		for i := range n {
			fmt.Fprintf(&body, "ld.global.u32 %%r%d, [%%d8+%d];\n", i, 4*i)
		}
		if c.sum == "f32" {
			reg = "%f"
		}
		list := func(reg string, from, n int) string {
			var l []string
			for i := range n {
				l = append(l, fmt.Sprintf("%s%d", reg, from+i))
			}
			return "{" + strings.Join(l, ", ") + "}"
		}
		for i := range sums {
			fmt.Fprintf(&body, "ld.global.b32 %s%d, [%%d8+%d];\n", reg, 7-i, 4*(n+i))
		}
		acc := strings.Join([]string{reg + "7", reg + "6", reg + "5", reg + "4"}[:sums], ", ")
		fmt.Fprintf(&body, "mma.sync.aligned.m16n8k%d.row.col.%s.%s.%s.%s {%s}, %s, %s, {%s};\n", c.k, c.sum, c.elem, c.elem, c.sum,
			acc, list("%r", 0, aRegs), list("%r", aRegs, bRegs), acc)
		for i := range sums {
			fmt.Fprintf(&body, "st.global.b32 [%%d8+%d], %s%d;\n", 4*i, reg, 7-i)
		}
		got := warpTable(t, body.String(), words)
		for lane := range got {
			group, t4 := lane>>2, lane%4
			for i := 0; i < 4; i += 4 / sums {
				want := [2]float32{}
				for side := range want {
					row, col := group+i/2*8, t4*2+(i+side)&1
					want[side] = sum(row, col)
					for k := range c.k {
						want[side] += a(row, k) * b(k, col)
					}
				}
				require.Equal(t, encode(c.sum, want[:]...), got[lane][i*sums/4], "%v: lane %d, element %d", c, lane, i)
			}
		}
	}
}

// The low bits of a tf32 do not count, and a sum that does not fit f16 is
// infinite.
func TestMatrixProductEdges(t *testing.T) {
	got := warpTable(t, `
	mov.b32 %r2, 0x3f801fff;
	mov.f32 %f1, 0f00000000;
	mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r2, %r2}, {%r2}, {%f1, %f1, %f1, %f1};
	st.global.f32 [%d8], %f1;
	mov.b32 %r2, 0x7bff7bff;
	mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r3, %r4}, {%r2, %r2}, {%r2}, {%r2, %r2};
	st.global.b32 [%d8+4], %r3;`, [warpSize][12]uint32{})
	require.Equal(t, uint32(f(4)), got[9][0])
	require.Equal(t, uint32(0x7c007c00), got[9][1])
}

func TestLoadMatrix(t *testing.T) {
	element := func(j, row, col int) uint32 { return uint32(64*j + 8*row + col) }
	var rows [warpSize][12]uint32 // row i of matrix j lies at 4 i + j
	for l := range rows {
		for w := range 4 {
			rows[l][w] = element(l%4, l/4, 2*w) | element(l%4, l/4, 2*w+1)<<16
		}
	}
	for _, n := range []int{1, 2, 4} {
		for _, trans := range []string{"", ".trans"} {
			var body strings.Builder
			fmt.Fprintf(&body, `.shared .align 16 .b8 s[512];
	ld.global.u32 %%r2, [%%d8];
	ld.global.u32 %%r3, [%%d8+4];
	ld.global.u32 %%r4, [%%d8+8];
	ld.global.u32 %%r5, [%%d8+12];
	mov.u32 %%r6, s;
	mad.lo.u32 %%r7, %%r1, 16, %%r6;
	st.shared.v4.u32 [%%r7], {%%r2, %%r3, %%r4, %%r5};
	bar.warp.sync -1;
	and.b32 %%r7, %%r1, 7;
	mad.lo.u32 %%r6, %%r7, 64, %%r6;
	shr.u32 %%r7, %%r1, 3;
	mad.lo.u32 %%r6, %%r7, 16, %%r6;
	ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 {%s}, [%%r6];
`, n, trans, strings.Join([]string{"%r2", "%r3", "%r4", "%r5"}[:n], ", "))
			for j := range n {
				fmt.Fprintf(&body, "st.global.u32 [%%d8+%d], %%r%d;\n", 4*j, 2+j)
			}
			for lane, r := range warpTable(t, body.String(), rows) {
				for j := range n {
					want := element(j, lane/4, lane%4*2) | element(j, lane/4, lane%4*2+1)<<16
					if trans != "" {
						want = element(j, lane%4*2, lane/4) | element(j, lane%4*2+1, lane/4)<<16
					}
					require.Equal(t, want, r[j], "x%d%s: lane %d, matrix %d", n, trans, lane, j)
				}
			}
		}
	}
}

// The lanes of a part of a warp cannot run an instruction of the whole.
func TestWholeWarp(t *testing.T) {
	k := ampere(t, `.shared .align 16 .b8 s[512];
	mov.u32 %r1, s;
	ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];
	ret;`)
	var d device
	out, _ := alloc(t, &d, []uint32{0})
	require.NoError(t, k.Launch(flat(1), flat(64), 0, pack(t, k, out), &d))
	var e *SyncError
	require.ErrorAs(t, k.Launch(flat(1), flat(48), 0, pack(t, k, out), &d), &e)
	require.Equal(t, uint32(0xffff0000), e.Missing)
	require.Equal(t, 1, e.Warp)
}

// bf16 in, f32 out, against float64; and a wait that leaves one copy too many
// on its way must show.
func TestTensorMatmul(t *testing.T) {
	const m, n, k = 45, 40, 56
	a, b := numbers(m*k), numbers(k*n)
	round := func(v []float32) []uint16 {
		h := make([]uint16, len(v))
		for i := range v {
			h[i] = float32ToBrain(v[i])
			v[i] = brainToFloat32(h[i])
		}
		return h
	}
	var d device
	pa, _ := alloc(t, &d, round(a))
	pb, _ := alloc(t, &d, round(b))
	pc, got := alloc(t, &d, make([]float32, m*n))
	for name, right := range map[string]bool{"tensor_matmul": true, "tensor_matmul_early": false} {
		kernel := kernelOf(t, "tensor", name)
		require.NoError(t, kernel.Launch(Dim3{2, 2, 1}, flat(128), 0, pack(t, kernel, pa, pb, pc, int32(m), int32(n), int32(k)), &d))
		c, worst := values[float32](t, got), 0.0
		for i := range m {
			for j := range n {
				want := 0.0
				for p := range k {
					want += float64(a[i*k+p]) * float64(b[p*n+j])
				}
				if diff := math.Abs(want - float64(c[i*n+j])); !(diff <= worst) {
					worst = diff
				}
			}
		}
		if right {
			require.Less(t, worst, 1e-5)
		} else {
			require.True(t, worst != worst, "what was read too early is NaN, for nothing was written there yet")
		}
	}
}

// GFLOP/s of a product on the tensor core instructions, all checks on.
func BenchmarkTensorMatmul(b *testing.B) {
	const n = 128
	var d device
	pa, _ := alloc(b, &d, make([]uint16, n*n))
	pc, _ := alloc(b, &d, make([]float32, n*n))
	k := kernelOf(b, "tensor", "tensor_matmul")
	params := pack(b, k, pa, pa, pc, int32(n), int32(n), int32(n))
	for b.Loop() {
		require.NoError(b, k.Launch(Dim3{n / 32, n / 32, 1}, flat(128), 0, params, &d))
	}
	b.ReportMetric(float64(b.N)*2*n*n*n/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
