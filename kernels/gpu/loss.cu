// Softmax cross-entropy and its gradient. A row of logits is a warp's, or a
// whole block's where it is long.
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

// Team is the threads that share a row.
struct Team {
  bool block; // all warps of the block, or one
  u32 lane, step;
  u64 first, next; // rows

  __device__ Team(i32 together) {
    block = together;
    lane = block ? tid_y * WARP + tid_x : tid_x;
    step = block ? WARP * ntid_y : WARP;
    first = block ? ctaid_x : (u64)ctaid_x * ntid_y + tid_y;
    next = block ? nctaid_x : (u64)nctaid_x * ntid_y;
  }

  // all gives each thread the values of all threads joined. Calls that follow each
  // other have different parts: the barrier of one ends the use of the other's.
  template <class T, class F> __device__ T all(T v, T *parts, F join) const {
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
#pragma unroll 4
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

struct Logits {
  u64 rows, cols;
  i64 row_stride, col_stride, class_stride;
  const i64 *classes;
  Fault *fault;
  u32 op;
  i32 together;

  // of returns the class of a row, -1 if it is none.
  __device__ i64 of(const Team &team, u64 row) const {
    i64 cls = classes[(i64)row * class_stride];
    if ((u64)cls < cols) return cls;
    if (team.lane == 0) report(fault, op, row, cls);
    return -1;
  }
};

template <class T> INLINE void row_losses(f64 *losses, const T *logits, const Logits &l) {
  Team team(l.together);
  for (u64 i = team.first; i < l.rows; i += team.next) {
    const T *row = logits + (i64)i * l.row_stride;
    i64 cls = l.of(team, i);
    T m;
    f64 sum = softmax(team, row, l.col_stride, l.cols, m);
    if (team.lane != 0) continue;
    f64 x = cls < 0 ? (f64)__builtin_nanf("") : (f64)row[cls * l.col_stride];
    losses[i] = logarithm(sum) - (x - (f64)m);
  }
}

// mean is one block's.
template <class T> INLINE void mean(T *out, const f64 *losses, u64 rows, f64 per_row) {
  __shared__ f64 sums[WARPS];
  Team team(1);
  f64 sum = 0;
#pragma unroll 4
  for (u64 i = team.lane; i < rows; i += team.step) sum += losses[i];
  sum = team.all(sum, sums, [](f64 x, f64 y) { return x + y; });
  if (team.lane == 0) *out = (T)(sum * per_row);
}

template <class T>
INLINE void gradient(T *out, i64 out_row, i64 out_col, f64 per_row, const T *dloss, const T *logits, const Logits &l) {
  Team team(l.together);
  T scale = (T)((f64)*dloss * per_row);
  for (u64 i = team.first; i < l.rows; i += team.next) {
    const T *row = logits + (i64)i * l.row_stride;
    i64 cls = l.of(team, i);
    T m;
    T part = 1 / (T)softmax(team, row, l.col_stride, l.cols, m);
    T *to = out + (i64)i * out_row;
#pragma nounroll
    for (u64 c = team.lane; c < l.cols; c += team.step) {
      T p = exponential(row[(i64)c * l.col_stride] - m) * part;
      // No gradient for a row without a class: the weights stay what they were.
      to[(i64)c * out_col] = cls < 0 ? 0 : (p - (T)((i64)c == cls ? 1 : 0)) * scale;
    }
  }
}

#define BLOCK __launch_bounds__(WARP *WARPS)

#define LOSS(T)                                                                                          \
  KERNEL BLOCK cross_entropy_##T##_rows(f64 *losses, const T *logits, Logits l) {                        \
    row_losses(losses, logits, l);                                                                       \
  }                                                                                                      \
  KERNEL BLOCK cross_entropy_##T##_mean(T *out, const f64 *losses, u64 rows, f64 per_row) {              \
    mean(out, losses, rows, per_row);                                                                    \
  }                                                                                                      \
  KERNEL BLOCK cross_entropy_grad_##T(T *out, i64 out_row, i64 out_col, f64 per_row, const T *dloss,     \
                                      const T *logits, Logits l) {                                       \
    gradient(out, out_row, out_col, per_row, dloss, logits, l);                                          \
  }

FOR_FLOATS(LOSS)
