// Optimiser steps. Dense parameters share a launch: a table says where they
// lie, and each block takes a piece of one of them. Others have one of their own.
// Where the number of the step is in memory, each block makes of it the factors
// that the host makes else.
#include "math.cuh"

template <class T> struct SGD {
  static constexpr int operands = 3; // parameter, momentum buffer, gradient
  T lr, momentum, undamped, decay;
  i32 nesterov, first;

  __device__ bool writes(int j) const { return j == 0 || (j == 1 && momentum != 0); }
  __device__ bool reads(int j) const { return j != 1 || (momentum != 0 && !first); }

  __device__ void step(T (&x)[operands]) const {
    T g = decay != 0 ? fused(decay, x[0], x[2]) : x[2];
    if (momentum != 0) {
      x[1] = first ? g : fused(momentum, x[1], undamped * g);
      g = nesterov ? fused(momentum, x[1], g) : x[1];
    }
    x[0] = fused(-lr, g, x[0]);
  }
};

template <class T> struct AdamW {
  static constexpr int operands = 4; // parameter, first and second moment, gradient
  T beta1, new1, beta2, new2; // new = 1-beta
  T kept;                     // 1 - lr*decay
  T rate, root2, eps;         // lr and 1/sqrt, of the corrections of the moments

  // Where count is not null it is the number of the step, and rate and root2
  // come of these.
  const i64 *count;
  f64 lr, log1, log2; // of beta1 and beta2

  __device__ bool writes(int j) const { return j < 3; }
  __device__ bool reads(int) const { return true; }

  __device__ void step(T (&x)[operands]) const {
    T g = x[3];
    x[1] = fused(beta1, x[1], new1 * g);
    x[2] = fused(beta2, x[2], new2 * g * g);
    x[0] = fused(-rate, x[1] / fused(root(x[2]), root2, eps), kept * x[0]);
  }
};

// The rule with all its factors. Every thread of the block calls it.
template <class T> INLINE SGD<T> known(const SGD<T> &rule) { return rule; }

template <class T> INLINE AdamW<T> known(const AdamW<T> &rule) {
  __shared__ T factors[2];
  AdamW<T> r = rule;
  if (rule.count) {
    if (tid_x == 0) {
      f64 n = (f64)*rule.count;
      factors[0] = (T)(rule.lr / one_minus_exp(n * rule.log1));
      factors[1] = (T)(1 / root(one_minus_exp(n * rule.log2)));
    }
    __syncthreads();
    r.rate = factors[0], r.root2 = factors[1];
  }
  return r;
}

#define MOST 64      // parameters in a table
#define PIECE 4096   // elements that a block takes
#define THREADS 256

// Table is the struct of optim.go.
template <class Rule, class T> struct Table {
  T *at[MOST][4];
  i64 len[MOST];
  u32 first[MOST]; // block of each parameter
  i32 count;
};

template <class Rule, class T> INLINE void update(const Rule &rule, T *const (&at)[4], i64 i) {
  T x[Rule::operands];
#pragma unroll
  for (int j = 0; j < Rule::operands; j++) x[j] = rule.reads(j) ? at[j][i] : 0;
  rule.step(x);
#pragma unroll
  for (int j = 0; j < Rule::operands; j++)
    if (rule.writes(j)) at[j][i] = x[j];
}

template <class Rule, class T> INLINE void update_vector(const Rule &rule, T *const (&at)[4], i64 i) {
  constexpr int V = width<T>;
  Vec<T, V> v[Rule::operands];
#pragma unroll
  for (int j = 0; j < Rule::operands; j++)
    if (rule.reads(j)) v[j] = *(const Vec<T, V> *)(at[j] + i);
#pragma unroll
  for (int e = 0; e < V; e++) {
    T x[Rule::operands];
#pragma unroll
    for (int j = 0; j < Rule::operands; j++) x[j] = rule.reads(j) ? v[j].at[e] : 0;
    rule.step(x);
#pragma unroll
    for (int j = 0; j < Rule::operands; j++) v[j].at[e] = x[j];
  }
#pragma unroll
  for (int j = 0; j < Rule::operands; j++)
    if (rule.writes(j)) *(Vec<T, V> *)(at[j] + i) = v[j];
}

template <class Rule, class T> INLINE void update_many(const Rule &given, const Table<Rule, T> &table) {
  constexpr int V = width<T>;
  const Rule rule = known(given);
  int t = 0;
#pragma nounroll
  for (int d = MOST / 2; d > 0; d /= 2)
    if (t + d < table.count && table.first[t + d] <= ctaid_x) t += d;
  T *at[4];
  u64 bits = 0;
#pragma unroll
  for (int j = 0; j < 4; j++) {
    at[j] = table.at[t][j];
    bits |= (u64)at[j];
  }
  i64 begin = (i64)(ctaid_x - table.first[t]) * PIECE, end = table.len[t];
  end = end - begin < PIECE ? end : begin + PIECE;
  i64 rest = begin;
  if (bits % 16 == 0) {
    rest = begin + (end - begin) / V * V;
#pragma nounroll
    for (i64 i = begin + tid_x * V; i < rest; i += THREADS * V) update_vector(rule, at, i);
  }
#pragma nounroll
  for (i64 i = rest + tid_x; i < end; i += THREADS) update(rule, at, i);
}

template <class Rule, class T, class I> INLINE void update_strided(const Rule &given, T *const (&at)[4], const Walk<I, 4> &w) {
  const Rule rule = known(given);
  for (I i = thread<I>(); i < w.count; i += threads<I>()) {
    i64 off[4];
    w.offsets(i, off);
    T *here[4];
    for (int j = 0; j < 4; j++) here[j] = at[j] + off[j];
    update(rule, here, 0);
  }
}

#define STEP(NAME, RULE, T)                                                                                       \
  KERNEL __launch_bounds__(THREADS) NAME##_##T##_many(RULE<T> rule, Table<RULE<T>, T> table) { update_many(rule, table); } \
  KERNEL NAME##_##T##_index32(RULE<T> rule, T *a, T *b, T *c, T *d, Walk<u32, 4> w) {                             \
    T *const at[4] = {a, b, c, d};                                                                                \
    update_strided(rule, at, w);                                                                                  \
  }                                                                                                               \
  KERNEL NAME##_##T##_index64(RULE<T> rule, T *a, T *b, T *c, T *d, Walk<u64, 4> w) {                             \
    T *const at[4] = {a, b, c, d};                                                                                \
    update_strided(rule, at, w);                                                                                  \
  }

#define STEPS(T)        \
  STEP(sgd, SGD, T)     \
  STEP(adamw, AdamW, T)

FOR_FLOATS(STEPS)
