package ptx_test

import (
	"encoding/binary"
	"fmt"

	"tarn/cuda/cudasim/ptx"
)

// A kernel writes each thread's index, and then one too many.
func Example() {
	module, err := ptx.Compile(`.version 7.0
.target sm_75
.address_size 64
.visible .entry index(.param .u64 out)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r1;
	ret;
}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	index, err := module.Kernel("index")
	if err != nil {
		fmt.Println(err)
		return
	}
	const address = 0x7000_0000_0000
	memory := ptx.Allocations{{Ptr: address, Bytes: make([]byte, 16)}}
	params := binary.LittleEndian.AppendUint64(nil, address)

	one := ptx.Dim3{X: 1, Y: 1, Z: 1}
	fmt.Println(index.Launch(one, ptx.Dim3{X: 4, Y: 1, Z: 1}, 0, params, memory), memory[0].Bytes)
	fmt.Println(index.Launch(one, ptx.Dim3{X: 5, Y: 1, Z: 1}, 0, params, memory))
	// Output:
	// <nil> [0 0 0 0 1 0 0 0 2 0 0 0 3 0 0 0]
	// ptx: store of 4 bytes at global address 0x700000000010: nothing is live there; the nearest is the allocation at 0x700000000000 of 16 bytes, which ends 0 bytes below: kernel index, PTX line 12 (st.global.u32 [%rd3], %r1;), block (0,0,0), thread (4,0,0) (warp 0, lane 4)
}
