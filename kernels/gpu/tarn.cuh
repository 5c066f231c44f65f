// What all kernels share: the language's own names without CUDA's headers,
// vectors of 16 bytes, and indices into strided operands.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))

#define KERNEL extern "C" __global__ void
#define INLINE __device__ static inline __attribute__((always_inline))

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
typedef float f32;
typedef double f64;

#define tid_x __nvvm_read_ptx_sreg_tid_x()
#define tid_y __nvvm_read_ptx_sreg_tid_y()
#define ntid_x __nvvm_read_ptx_sreg_ntid_x()
#define ntid_y __nvvm_read_ptx_sreg_ntid_y()
#define ctaid_x __nvvm_read_ptx_sreg_ctaid_x()
#define ctaid_y __nvvm_read_ptx_sreg_ctaid_y()
#define ctaid_z __nvvm_read_ptx_sreg_ctaid_z()
#define nctaid_x __nvvm_read_ptx_sreg_nctaid_x()
#define nctaid_y __nvvm_read_ptx_sreg_nctaid_y()

#define WARP 32
#define ALL_LANES 0xffffffffu

// The two macros make a kernel for each element type.
#define FOR_FLOATS(M) M(f32) M(f64)
#define FOR_ALL(M) M(f32) M(f64) M(i64)

template <class T, int N> struct alignas(sizeof(T) * N <= 16 ? sizeof(T) * N : 16) Vec {
  T at[N];
};

// How many elements make 16 bytes.
template <class T> constexpr int width = 16 / sizeof(T);

INLINE f32 shuffle_xor(f32 v, int d) { return __nvvm_shfl_sync_bfly_f32(ALL_LANES, v, d, 31); }
INLINE i32 shuffle_xor(i32 v, int d) { return __nvvm_shfl_sync_bfly_i32(ALL_LANES, v, d, 31); }
INLINE u32 shuffle_xor(u32 v, int d) { return (u32)shuffle_xor((i32)v, d); }
INLINE i64 shuffle_xor(i64 v, int d) {
  u32 lo = shuffle_xor((u32)v, d), hi = shuffle_xor((u32)(v >> 32), d);
  return (i64)((u64)hi << 32 | lo);
}
INLINE f64 shuffle_xor(f64 v, int d) { return __builtin_bit_cast(f64, shuffle_xor(__builtin_bit_cast(i64, v), d)); }

template <class T> INLINE bool is_nan(T x) { return x != x; }

// The larger one, NaN if one is NaN.
template <class T> INLINE T larger(T x, T y) { return x > y || is_nan(x) ? x : y; }

INLINE u32 high(u32 x, u32 y) { return __nvvm_mulhi_ui(x, y); }
INLINE u64 high(u64 x, u64 y) { return __nvvm_mulhi_ull(x, y); }

// Divider divides by a number that is known when a kernel is launched. Indices
// leave their top bit free: a multiplication by the rounded-up reciprocal, of
// one bit more than an index has and that bit left out, is exact for them.
template <class I> struct Divider {
  I by, magic, shift;
  __device__ I quotient(I n) const { return (high(n, magic) + n) >> shift; }
};

#define MAX_RANK 8

// Walk leads from the number of an element, counted along the innermost dim
// first, to its place in each of N operands. Strides are in elements. It is
// the struct that walk.go packs.
template <class I, int N> struct Walk {
  I count;
  i32 rank;
  Divider<I> dim[MAX_RANK]; // from the innermost
  i64 stride[N][MAX_RANK];

  // offsets sets at[j] to the offset of element i in operand j.
  __device__ void offsets(I i, i64 (&at)[N]) const {
    for (int j = 0; j < N; j++) at[j] = 0;
    int d = 0;
#pragma nounroll
    for (; d < rank - 1; d++) {
      I q = dim[d].quotient(i);
      I r = i - q * dim[d].by;
      for (int j = 0; j < N; j++) at[j] += (i64)r * stride[j][d];
      i = q;
    }
    for (int j = 0; j < N; j++) at[j] += (i64)i * stride[j][d];
  }
};

// The number of this thread in the grid, and of all threads.
template <class I> INLINE I thread() { return (I)ctaid_x * ntid_x + tid_x; }
template <class I> INLINE I threads() { return (I)nctaid_x * ntid_x; }
