// The negative log-likelihood and its gradient. Without smoothing a loss is a
// thread's, else a warp's or a block's.
#include "row.cuh"

struct Labels {
  u64 rows, cols;
  i64 row_stride, col_stride, class_stride, weight_stride; // row and column of logp or its gradient
  const i64 *classes;
  Fault *fault;
  i64 ignore;
  f64 smoothing;
  u32 op;
  i32 together;

  // of returns the class of a row, -1 if it is none; wrong is whether that is a
  // mistake, and not the class that is to be ignored.
  __device__ i64 of(const Team &team, u64 row, bool &wrong) const {
    i64 cls = classes[(i64)row * class_stride];
    wrong = false;
    if (cls == ignore) return -1;
    if ((u64)cls < cols) return cls;
    if (team.lane == 0) report(fault, op, row, cls);
    wrong = true;
    return -1;
  }
};

template <class T> INLINE T weight(const T *w, const Labels &l, i64 c) { return w ? w[c * l.weight_stride] : (T)1; }

template <class T>
INLINE void nll(T *losses, i64 loss_stride, T *norms, i64 norm_stride, const T *logp, const T *w, const Labels &l) {
  __shared__ f64 sums[2][WARPS];
  Team team(l.together);
  int turn = 0;
  for (u64 i = team.first; i < l.rows; i += team.next) {
    bool wrong;
    i64 cls = l.of(team, i, wrong);
    const T *row = logp + (i64)i * l.row_stride;
    f64 loss = 0, norm = 0;
    if (cls >= 0) {
      norm = (f64)weight(w, l, cls);
      loss = -(1 - l.smoothing) * norm * (f64)row[cls * l.col_stride];
    }
    if (wrong) loss = norm = (f64)__builtin_nanf("");
    if (l.smoothing != 0) {
      f64 sum = total<T>(team, l.cols, sums[turn], [&](u64 j) { return weight(w, l, (i64)j) * row[(i64)j * l.col_stride]; });
      turn ^= 1;
      if (cls >= 0) loss -= l.smoothing / (f64)l.cols * sum;
    }
    if (team.lane != 0) continue;
    losses[(i64)i * loss_stride] = (T)loss;
    norms[(i64)i * norm_stride] = (T)norm;
  }
}

template <class T> INLINE void nll_grad(T *out, const T *ds, i64 d_stride, const T *w, const Labels &l) {
  Team team(l.together);
  for (u64 i = team.first; i < l.rows; i += team.next) {
    bool wrong;
    i64 cls = l.of(team, i, wrong);
    T *row = out + (i64)i * l.row_stride;
    f64 d = -(f64)ds[(i64)i * d_stride], each = d * l.smoothing / (f64)l.cols;
#pragma nounroll
    for (u64 j = team.lane; j < l.cols; j += team.step) {
      f64 g = 0;
      if (cls >= 0 && l.smoothing != 0) g = each * (f64)weight(w, l, (i64)j);
      if ((i64)j == cls) g += d * (1 - l.smoothing) * (f64)weight(w, l, cls);
      row[(i64)j * l.col_stride] = (T)g;
    }
  }
}

// Told of the limit of a block, ptxas spills registers of the losses.
#define NLL(T)                                                                                                   \
  KERNEL nll_##T(T *losses, i64 loss_stride, T *norms, i64 norm_stride, const T *logp, const T *w, Labels l) { \
    nll(losses, loss_stride, norms, norm_stride, logp, w, l);                                                    \
  }                                                                                                              \
  KERNEL BLOCK nll_grad_##T(T *out, const T *d, i64 d_stride, const T *w, Labels l) { nll_grad(out, d, d_stride, w, l); }

FOR_FLOATS(NLL)
