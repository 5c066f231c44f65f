package ptx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Functions that the compiler left as functions: with structures, calls of
// calls, arrays of their own and returns that not all threads take.
func TestCalls(t *testing.T) {
	k := kernelOf(t, "call", "calls")
	var d device
	const n = 100
	x := numbers(n)
	px, _ := alloc(t, &d, x)
	py, ys := alloc(t, &d, make([]float32, n))
	po, outs := alloc(t, &d, make([]int32, n))
	require.NoError(t, k.Launch(flat(1), flat(128), 0, pack(t, k, px, py, po, int32(n)), &d))
	power := func(x float32, n int) float32 {
		p := float32(1)
		for range n {
			p *= x
		}
		return p
	}
	for i := range n {
		a, b, times := x[i], x[i]+1, i%4
		for turn := range 2 {
			if turn == 0 || i%3 == 0 {
				a = power(b, times)
				times++
			}
		}
		require.Equal(t, a+float32(times), values[float32](t, ys)[i], "thread %d", i)
		count, sum := int32(0), int32(0)
		for v := i * 37; v > 0; v /= 10 {
			count++
			sum += int32(v % 10)
		}
		require.Equal(t, count*1000+sum, values[int32](t, outs)[i], "thread %d", i)
	}
}

// A call may be guarded, shared variables of a function are the same in each
// call, and an error within has the line of the function.
func TestCallForms(t *testing.T) {
	const text = header + `.shared .b32 total_of_all;
.func bump(.param .b32 by)
{
	.reg .b32 %r<4>;
	.shared .b32 total;
	ld.param.u32 %r1, [by];
	atom.shared.add.u32 %r2, [total], %r1;
	ret;
}
.func (.param .b32 result) read()
{
	.reg .b32 %r<4>;
	ld.shared.u32 %r1, [total_of_all];
	st.param.u32 [result], %r1;
	ret;
}
.func fail() { trap; }
.visible .entry k(.param .u64 out, .param .u32 fails)
{
	.reg .b32 %r<9>;
	.reg .b64 %d<4>;
	.reg .pred %p<4>;
	mov.u32 %r1, %laneid;
	ld.param.u64 %d1, [out];
	mad.wide.u32 %d1, %r1, 4, %d1;
	st.shared.u32 [total_of_all], 7;
	setp.lt.u32 %p1, %r1, 10;
	{
		.param .b32 one;
		st.param.b32 [one], %r1;
		@%p1 call.uni bump, (one);
	}
	mov.u32 %r2, 5;
	{
		.param .b32 one;
		.param .b32 got;
		st.param.b32 [one], 1;
		call bump, (one);
		call.uni (got), read, ();
		ld.param.b32 %r2, [got];
	}
	st.global.u32 [%d1], %r2;
	ld.param.u32 %r3, [fails];
	setp.ne.u32 %p2, %r3, 0;
	@%p2 call fail;
	ret;
}`
	m, err := Compile(text)
	require.NoError(t, err)
	k, err := m.Kernel("k")
	require.NoError(t, err)
	require.Equal(t, 8, k.SharedBytes())
	var d device
	out, bytes := alloc(t, &d, make([]uint32, 32))
	require.NoError(t, k.Launch(flat(1), flat(32), 0, pack(t, k, out, uint32(0)), &d))
	for _, v := range values[uint32](t, bytes) {
		require.Equal(t, uint32(7), v)
	}
	var e *TrapError
	require.ErrorAs(t, k.Launch(flat(1), flat(32), 0, pack(t, k, out, uint32(1)), &d), &e)
	require.Equal(t, ".func fail() { trap; }", e.Text)
}
