// Softmax cross-entropy and its gradient. A row of logits is a warp's, or a
// whole block's where it is long.
#include "row.cuh"

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
