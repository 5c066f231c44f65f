// Layer, RMS and group normalisation, and dx of them: a group of elements is a
// warp's, or a block's where it is long.
#include "row.cuh"

// Groups are the groups of x [N,C,S]: group i is channels (i%per)*channels on, as
// many as channels, of example i/per. norm.go packs it.
struct Groups {
  u64 rows, n;
  Divider<u64> per, size;
  u64 channels;
  i64 y[3], x[3];       // strides; of dx and x for a gradient
  i64 dy[3];
  i64 mean[2], rstd[2]; // along N and along the groups of an example
  i64 w, b;
  f64 eps;
  i32 centred, together;
};

// Row is one group.
struct Row {
  u64 example, channel; // the first
  u64 in_example;
  const Groups &g;

  __device__ Row(const Groups &groups, u64 i) : g(groups) {
    example = g.per.quotient(i);
    in_example = i - example * g.per.by;
    channel = in_example * g.channels;
  }
  __device__ i64 begin(const i64 (&stride)[3]) const { return (i64)example * stride[0] + (i64)channel * stride[1]; }
  __device__ i64 statistic(const i64 (&stride)[2]) const { return (i64)example * stride[0] + (i64)in_example * stride[1]; }
};

// Split is element j of a group: which of its channels, and where in that.
struct Split {
  u64 c, s;
  __device__ Split(const Groups &g, u64 j) {
    c = g.size.by == 1 ? j : g.size.quotient(j);
    s = j - c * g.size.by;
  }
  __device__ i64 offset(const i64 (&stride)[3]) const { return (i64)c * stride[1] + (i64)s * stride[2]; }
};

template <class T>
INLINE void norm(T *ys, const T *xs, const T *w, const T *b, T *means, T *rstds, const Groups &g) {
  __shared__ f64 sums[3][WARPS];
  Team team(g.together);
  for (u64 i = team.first; i < g.rows; i += team.next) {
    Row row(g, i);
    const T *x = xs + row.begin(g.x);
    T *y = ys + row.begin(g.y);
    f64 mean = 0, n = (f64)g.n;
    if (g.centred) mean = total<T>(team, g.n, sums[0], [&](u64 j) { return x[Split(g, j).offset(g.x)]; }) / n;
    // The mean in two parts: an error of half a unit in it would be one of x less
    // the mean, however small that is.
    T hi = (T)mean, lo = g.centred ? (T)(mean - (f64)hi) : 0;
    f64 differs = 0;
    f64 squares = total<T>(team, g.n, sums[1], [&](u64 j) {
      T d = (x[Split(g, j).offset(g.x)] - hi) - lo;
      return d * d;
    });
    if (g.centred && sizeof(T) == 8) { // no wider type than T: the second pass corrects the first
      differs = total<T>(team, g.n, sums[2], [&](u64 j) { return (x[Split(g, j).offset(g.x)] - hi) - lo; }) / n;
      if (differs == differs) {
        mean += differs;
        hi = (T)mean, lo = (T)(mean - (f64)hi);
      }
    }
    f64 var = squares / n - differs * differs;
    T rstd = (T)(1 / root(var + g.eps));
    if (team.lane == 0) {
      if (g.centred) means[row.statistic(g.mean)] = (T)mean;
      rstds[row.statistic(g.rstd)] = rstd;
    }
#pragma nounroll
    for (u64 j = team.lane; j < g.n; j += team.step) {
      Split e(g, j);
      i64 c = (i64)(row.channel + e.c);
      T v = ((x[e.offset(g.x)] - hi) - lo) * rstd;
      if (w) v *= w[c * g.w];
      if (b) v += b[c * g.b];
      y[e.offset(g.y)] = v;
    }
  }
}

template <class T>
INLINE void norm_grad(T *dxs, const T *dys, const T *xs, const T *means, const T *rstds, const T *w, const Groups &g) {
  __shared__ f64 sums[2][WARPS];
  Team team(g.together);
  for (u64 i = team.first; i < g.rows; i += team.next) {
    Row row(g, i);
    const T *x = xs + row.begin(g.x), *dy = dys + row.begin(g.dy);
    T *dx = dxs + row.begin(g.y);
    T mean = g.centred ? means[row.statistic(g.mean)] : 0, rstd = rstds[row.statistic(g.rstd)];
    auto scaled = [&](const Split &e) {
      T d = dy[e.offset(g.dy)];
      return w ? d * w[(i64)(row.channel + e.c) * g.w] : d;
    };
    T sum = (T)(total<T>(team, g.n, sums[0], [&](u64 j) { return scaled(Split(g, j)); }) / (f64)g.n);
    T product = (T)(total<T>(team, g.n, sums[1], [&](u64 j) {
                      Split e(g, j);
                      return scaled(e) * ((x[e.offset(g.x)] - mean) * rstd);
                    }) / (f64)g.n);
#pragma nounroll
    for (u64 j = team.lane; j < g.n; j += team.step) {
      Split e(g, j);
      T d = scaled(e);
      if (g.centred) d -= sum;
      dx[e.offset(g.y)] = rstd * (d - ((x[e.offset(g.x)] - mean) * rstd) * product);
    }
  }
}

#define NORM(T)                                                                                                    \
  KERNEL BLOCK norm_##T(T *y, const T *x, const T *w, const T *b, T *mean, T *rstd, Groups g) {                     \
    norm(y, x, w, b, mean, rstd, g);                                                                              \
  }                                                                                                                \
  KERNEL BLOCK norm_grad_##T(T *dx, const T *dy, const T *x, const T *mean, const T *rstd, const T *w, Groups g) { \
    norm_grad(dx, dy, x, mean, rstd, w, g);                                                                       \
  }

FOR_FLOATS(NORM)
