// What the kernels of this folder need of CUDA's headers.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))

typedef unsigned int u32;
typedef unsigned long long u64;

#define tid_x __nvvm_read_ptx_sreg_tid_x()
#define tid_y __nvvm_read_ptx_sreg_tid_y()
#define ntid_x __nvvm_read_ptx_sreg_ntid_x()
#define ctaid_x __nvvm_read_ptx_sreg_ctaid_x()
#define ctaid_y __nvvm_read_ptx_sreg_ctaid_y()
#define nctaid_x __nvvm_read_ptx_sreg_nctaid_x()
#define kernel extern "C" __global__ void
