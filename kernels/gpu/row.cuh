// Rows that a thread, a warp or a block does together, the softmax of one, and
// word of a class that is none.
#pragma once
#include "math.cuh"

// Word of a class that is none, which the host reads after it has synchronised.
// The first to come leaves it; fault.go has the same struct.
struct Fault {
  u32 state; // 0 none, 1 being written, 2 there
  u32 op;
  i64 row, cls;
};

INLINE void report(Fault *f, u32 op, i64 row, i64 cls) {
  if (__nvvm_atom_cas_gen_i((int *)&f->state, 0, 1) != 0) return;
  f->op = op;
  f->row = row;
  f->cls = cls;
  __nvvm_membar_sys();
  *(volatile u32 *)&f->state = 2;
}

#define WARPS 8

// How many threads share a row; row.go has the same numbers.
enum { BY_WARP, BY_BLOCK, BY_THREAD };

// Team is the threads that share a row.
struct Team {
  bool block; // all warps of the block, or one
  bool alone; // one thread
  u32 lane, step;
  u64 first, next; // rows

  __device__ Team(i32 together) {
    block = together == BY_BLOCK;
    alone = together == BY_THREAD;
    if (alone) {
      lane = 0, step = 1;
      first = ((u64)ctaid_x * ntid_y + tid_y) * WARP + tid_x;
      next = (u64)nctaid_x * ntid_y * WARP;
      return;
    }
    lane = block ? tid_y * WARP + tid_x : tid_x;
    step = block ? WARP * ntid_y : WARP;
    first = block ? ctaid_x : (u64)ctaid_x * ntid_y + tid_y;
    next = block ? nctaid_x : (u64)nctaid_x * ntid_y;
  }

  // all gives each thread the values of all threads joined. Calls that follow each
  // other have different parts: the barrier of one ends the use of the other's.
  template <class T, class F> __device__ T all(T v, T *parts, F join) const {
    if (alone) return v;
#pragma nounroll
    for (int d = WARP / 2; d > 0; d /= 2) v = join(v, shuffle_xor(v, d));
    if (!block) return v;
    if (tid_x == 0) parts[tid_y] = v;
    __syncthreads();
    v = parts[0];
    for (u32 j = 1; j < ntid_y; j++) v = join(v, parts[j]);
    return v;
  }
};

// softmax sets m to the row's maximum and returns the sum of exp(row-m). Four
// terms at a time are added in T, and those in f64.
template <class T> INLINE f64 softmax(const Team &team, const T *row, i64 stride, u64 cols, T &m) {
  __shared__ T tops[WARPS];
  __shared__ f64 sums[WARPS];
  T top = -(T)__builtin_inff();
#pragma unroll 2
  for (u64 c = team.lane; c < cols; c += team.step) top = larger(top, row[c * stride]);
  m = top = team.all(top, tops, [](T x, T y) { return larger(x, y); });
  f64 sum = 0;
  u64 c = team.lane;
#pragma nounroll
  for (; c + 3 * team.step < cols; c += 4 * team.step) {
    T e[4];
#pragma unroll
    for (int j = 0; j < 4; j++) e[j] = exponential(row[(c + j * team.step) * stride] - top);
    sum += (f64)((e[0] + e[1]) + (e[2] + e[3]));
  }
#pragma nounroll
  for (; c < cols; c += team.step) sum += (f64)exponential(row[c * stride] - top);
  return team.all(sum, sums, [](f64 x, f64 y) { return x + y; });
}

// total gives each thread the sum of f(i) for i from 0 to n-1: four at a time are
// added in T, and those in f64. parts are as for Team's all.
template <class T, class F> INLINE f64 total(const Team &team, u64 n, f64 *parts, F f) {
  f64 sum = 0;
  u64 i = team.lane;
#pragma nounroll
  for (; i + 3 * team.step < n; i += 4 * team.step)
    sum += (f64)((f(i) + f(i + team.step)) + (f(i + 2 * team.step) + f(i + 3 * team.step)));
#pragma nounroll
  for (; i < n; i += team.step) sum += (f64)f(i);
  return team.all(sum, parts, [](f64 x, f64 y) { return x + y; });
}

#define BLOCK __launch_bounds__(WARP *WARPS)
