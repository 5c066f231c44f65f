// Batch normalisation, and dw and db of every normalisation: sums over all
// examples of each channel of x [N,C,S]. They take two launches: the examples
// are cut into chunks, as many as the dims say, each of which leaves its part
// for every channel, and then a thread joins those of a channel.
#include "row.cuh"

// Planes are x, and a second operand beside it. batchnorm.go packs it.
struct Planes {
  u64 examples, channels, size;
  u64 chunk, chunks;         // examples of one, and how many
  Divider<u64> by_size;
  i64 x[3], dy[3];           // strides
  i64 mean[2], spread[2];    // along the examples and along the groups
  Divider<u64> per_group;    // channels
  f64 eps;                   // added to a variance
  i32 variance;              // spread is one, else it is an inverse deviation
  i32 centred, together, unused;
};

// Part is what one chunk has for one channel: a mean and the sum of the squared
// differences from it, or the sums for dw and db.
struct Part { f64 first, second; };

// Place is one channel of one chunk.
struct Place {
  u64 channel, begin, count; // the first example; elements
  __device__ Place(const Planes &p, u64 i) {
    u64 q = i / p.channels;
    channel = i - q * p.channels;
    begin = q * p.chunk;
    u64 left = p.examples - begin;
    count = (left < p.chunk ? left : p.chunk) * p.size;
  }
  // at is where element j lies.
  __device__ i64 at(const Planes &p, u64 j, const i64 (&stride)[3], u64 &example) const {
    u64 n = p.size == 1 ? j : p.by_size.quotient(j);
    example = begin + n;
    return (i64)example * stride[0] + (i64)channel * stride[1] + (i64)(j - n * p.size) * stride[2];
  }
};

template <class T> INLINE void moment_parts(Part *parts, const T *x, const Planes &p) {
  __shared__ f64 sums[3][WARPS];
  Team team(p.together);
  for (u64 i = team.first; i < p.channels * p.chunks; i += team.next) {
    Place at(p, i);
    u64 example;
    f64 n = (f64)at.count;
    f64 mean = total<T>(team, at.count, sums[0], [&](u64 j) { return x[at.at(p, j, p.x, example)]; }) / n;
    T hi = (T)mean, lo = (T)(mean - (f64)hi);
    f64 squares = total<T>(team, at.count, sums[1], [&](u64 j) {
      T d = (x[at.at(p, j, p.x, example)] - hi) - lo;
      return d * d;
    });
    f64 differs = total<T>(team, at.count, sums[2], [&](u64 j) { return (x[at.at(p, j, p.x, example)] - hi) - lo; });
    if (team.lane == 0) parts[i] = {differs == differs ? mean + differs / n : mean, squares - differs * differs / n};
  }
}

template <class T>
INLINE void gradient_parts(Part *parts, const T *dy, const T *x, const T *means, const T *spreads, const Planes &p) {
  __shared__ f64 sums[2][WARPS];
  Team team(p.together);
  for (u64 i = team.first; i < p.channels * p.chunks; i += team.next) {
    Place at(p, i);
    i64 group = (i64)p.per_group.quotient(at.channel);
    f64 product = total<T>(team, at.count, sums[0], [&](u64 j) {
      u64 example;
      T v = x[at.at(p, j, p.x, example)], d = dy[at.at(p, j, p.dy, example)];
      T mean = p.centred ? means[(i64)example * p.mean[0] + group * p.mean[1]] : 0;
      T rstd = spreads[(i64)example * p.spread[0] + group * p.spread[1]];
      if (p.variance) rstd = (T)(1 / root((f64)rstd + p.eps));
      return d * ((v - mean) * rstd);
    });
    f64 sum = total<T>(team, at.count, sums[1], [&](u64 j) {
      u64 example;
      return dy[at.at(p, j, p.dy, example)];
    });
    if (team.lane == 0) parts[i] = {product, sum};
  }
}

// Coefficients make an element of a channel's result: (x-hi-lo)*scale + shift, or
// of its gradient dy*scale + (x-hi-lo)*slope + shift.
template <class T> struct Coefficients { T hi, lo, scale, slope, shift; };

// Vectors are the operands of one element a channel, null where there is none.
template <class T> struct Vectors {
  T *out[4]; // mean, var, running mean and running var; or dw and db
  const T *mean, *var, *w, *b;
  i64 out_stride[4], mean_stride, var_stride, w_stride, b_stride;
  f64 eps, momentum;
  f64 count; // elements of a channel
};

template <class T> INLINE T element(const T *v, i64 stride, u64 c, T missing) { return v ? v[(i64)c * stride] : missing; }

template <class T> INLINE Coefficients<T> forward_of(f64 mean, f64 var, const Vectors<T> &v, u64 c) {
  T hi = (T)mean;
  f64 rstd = 1 / root(var + v.eps);
  return {hi, (T)(mean - (f64)hi), (T)(rstd * (f64)element(v.w, v.w_stride, c, (T)1)), 0, element(v.b, v.b_stride, c, (T)0)};
}

// measured joins the parts of each channel by Chan, Golub and LeVeque's formula.
template <class T> INLINE void measured(Coefficients<T> *out, const Part *parts, const Vectors<T> &v, const Planes &p) {
  for (u64 c = thread<u64>(); c < p.channels; c += threads<u64>()) {
    f64 n = 0, mean = 0, squares = 0;
    for (u64 q = 0; q < p.chunks; q++) {
      Part part = parts[q * p.channels + c];
      f64 m = (f64)Place(p, q * p.channels + c).count, d = part.first - mean;
      n += m;
      squares += part.second + (q ? d * d * (m * (n - m) / n) : 0);
      f64 moved = mean + d * (m / n);
      // Infinite parts have no difference, but a mean.
      mean = q ? moved == moved ? moved : mean * ((n - m) / n) + part.first * (m / n) : part.first;
    }
    f64 var = (squares < 0 ? 0 : squares) / v.count;
    v.out[0][(i64)c * v.out_stride[0]] = (T)mean;
    v.out[1][(i64)c * v.out_stride[1]] = (T)var;
    if (v.out[2] && v.count > 0) {
      T *m = v.out[2] + (i64)c * v.out_stride[2], *s = v.out[3] + (i64)c * v.out_stride[3];
      *m = (T)((1 - v.momentum) * (f64)*m + v.momentum * mean);
      *s = (T)((1 - v.momentum) * (f64)*s + v.momentum * var * (v.count / (v.count - 1)));
    }
    out[c] = forward_of(mean, var, v, c);
  }
}

template <class T> INLINE void given(Coefficients<T> *out, const Vectors<T> &v, u64 channels) {
  for (u64 c = thread<u64>(); c < channels; c += threads<u64>())
    out[c] = forward_of((f64)v.mean[(i64)c * v.mean_stride], (f64)v.var[(i64)c * v.var_stride], v, c);
}

// gradients joins the parts of each channel; out is null for who wants dw and db
// alone, and slopes says that mean and variance depend on x.
template <class T>
INLINE void gradients(Coefficients<T> *out, const Part *parts, const Vectors<T> &v, const Planes &p, i32 slopes) {
  for (u64 c = thread<u64>(); c < p.channels; c += threads<u64>()) {
    f64 product = 0, sum = 0;
    for (u64 q = 0; q < p.chunks; q++) {
      product += parts[q * p.channels + c].first;
      sum += parts[q * p.channels + c].second;
    }
    if (v.out[0]) v.out[0][(i64)c * v.out_stride[0]] = (T)product;
    if (v.out[1]) v.out[1][(i64)c * v.out_stride[1]] = (T)sum;
    if (!out) continue;
    f64 rstd = 1 / root((f64)v.var[(i64)c * v.var_stride] + v.eps), scale = rstd * (f64)element(v.w, v.w_stride, c, (T)1);
    Coefficients<T> k = {v.mean[(i64)c * v.mean_stride], 0, (T)scale, 0, 0};
    if (slopes) k.slope = (T)(-scale * rstd * (product / v.count)), k.shift = (T)(-scale * (sum / v.count));
    out[c] = k;
  }
}

// The last operand of both walks is where a channel's coefficients begin, as Ts.
template <class T> INLINE void apply(T *y, const T *x, const T *k, const Walk<u64, 3> &w) {
  for (u64 i = thread<u64>(); i < w.count; i += threads<u64>()) {
    i64 at[3];
    w.offsets(i, at);
    Coefficients<T> c = *(const Coefficients<T> *)(k + at[2]);
    y[at[0]] = ((x[at[1]] - c.hi) - c.lo) * c.scale + c.shift;
  }
}

template <class T>
INLINE void apply_grad(T *dx, const T *dy, const T *x, const T *k, i32 slopes, const Walk<u64, 4> &w) {
  for (u64 i = thread<u64>(); i < w.count; i += threads<u64>()) {
    i64 at[4];
    w.offsets(i, at);
    Coefficients<T> c = *(const Coefficients<T> *)(k + at[3]);
    T d = dy[at[1]] * c.scale;
    dx[at[0]] = slopes ? d + ((x[at[2]] - c.hi) * c.slope + c.shift) : d;
  }
}

// Told of the limit of a block, ptxas spills registers of the moments.
#define BATCHNORM(T)                                                                                              \
  KERNEL moment_parts_##T(Part *parts, const T *x, Planes p) { moment_parts(parts, x, p); }                  \
  KERNEL BLOCK gradient_parts_##T(Part *parts, const T *dy, const T *x, const T *mean, const T *spread, Planes p) { \
    gradient_parts(parts, dy, x, mean, spread, p);                                                               \
  }                                                                                                               \
  KERNEL BLOCK measured_##T(Coefficients<T> *out, const Part *parts, Vectors<T> v, Planes p) {                     \
    measured(out, parts, v, p);                                                                                  \
  }                                                                                                               \
  KERNEL BLOCK given_##T(Coefficients<T> *out, u64 channels, Vectors<T> v) { given(out, v, channels); }            \
  KERNEL BLOCK gradients_##T(Coefficients<T> *out, const Part *parts, Vectors<T> v, Planes p, i32 slopes) {        \
    gradients(out, parts, v, p, slopes);                                                                         \
  }                                                                                                               \
  KERNEL BLOCK apply_##T(T *y, const T *x, const T *k, Walk<u64, 3> w) { apply(y, x, k, w); }        \
  KERNEL BLOCK apply_grad_##T(T *dx, const T *dy, const T *x, const T *k, i64 slopes, Walk<u64, 4> w) { \
    apply_grad(dx, dy, x, k, (i32)slopes, w);                                                                    \
  }

FOR_FLOATS(BATCHNORM)
