// Convolution and its gradients. A thread makes one place of a few channels of
// y or of x, which share what it loads of the other; a block makes one element
// of the weight. Every sum is one chain in order of its terms, or of a block's
// threads, whatever the grid.
#include "side.cuh"

struct Conv {
  Side x, w, y;
  const void *bias; // may be null
  i64 bias_step;
  i64 stride[2], pad[2], dil[2], groups;
};

// CHANNELS is how many channels a thread makes.
#define CHANNELS 4

// Place is where a unit of work lies: pixel i, j of image n, and the first of up
// to count channels, which are of one group.
struct Place {
  i64 n, i, j, group, first, count;

  __device__ Place(const Side &v, i64 groups, i64 u) {
    i64 in_group = v.n[1] / groups, parts = (in_group + CHANNELS - 1) / CHANNELS;
    j = u % v.n[3];
    u /= v.n[3];
    i = u % v.n[2];
    u /= v.n[2];
    first = u % parts * CHANNELS;
    u /= parts;
    count = in_group - first < CHANNELS ? in_group - first : CHANNELS;
    group = u % groups;
    first += group * in_group;
    n = u / groups;
  }
};

INLINE i64 units(const Side &v, i64 groups) {
  return v.n[0] * groups * ((v.n[1] / groups + CHANNELS - 1) / CHANNELS) * v.n[2] * v.n[3];
}

template <class T> INLINE void forward(const Conv &c) {
  const i64 n = units(c.y, c.groups), channels = c.w.n[1];
  for (i64 u = thread<i64>(); u < n; u += threads<i64>()) {
    Place p(c.y, c.groups, u);
    T sums[CHANNELS];
#pragma unroll
    for (int o = 0; o < CHANNELS; o++)
      sums[o] = c.bias && o < p.count ? ((const T *)c.bias)[(p.first + o) * c.bias_step] : (T)0;
#pragma nounroll
    for (i64 ch = 0; ch < channels; ch++)
#pragma nounroll
      for (i64 k = 0; k < c.w.n[2]; k++) {
        i64 h = p.i * c.stride[0] - c.pad[0] + k * c.dil[0];
        if (h < 0 || h >= c.x.n[2]) continue;
#pragma nounroll
        for (i64 l = 0; l < c.w.n[3]; l++) {
          i64 v = p.j * c.stride[1] - c.pad[1] + l * c.dil[1];
          if (v < 0 || v >= c.x.n[3]) continue;
          T x = *element<const T>(c.x, p.n, p.group * channels + ch, h, v);
#pragma unroll
          for (int o = 0; o < CHANNELS; o++)
            if (o < p.count) sums[o] += x * *element<const T>(c.w, p.first + o, ch, k, l);
        }
      }
#pragma unroll
    for (int o = 0; o < CHANNELS; o++)
      if (o < p.count) *element<T>(c.y, p.n, p.first + o, p.i, p.j) = sums[o];
  }
}

// meets finds which output a place of x reaches by element k of the kernel.
INLINE bool meets(i64 at, i64 k, i64 stride, i64 pad, i64 dil, i64 outs, i64 &out) {
  i64 from = at + pad - k * dil;
  if (from < 0) return false;
  out = from / stride;
  return out * stride == from && out < outs;
}

template <class T> INLINE void grad_input(const Conv &c) {
  const i64 n = units(c.x, c.groups), outputs = c.w.n[0] / c.groups;
  for (i64 u = thread<i64>(); u < n; u += threads<i64>()) {
    Place p(c.x, c.groups, u);
    const i64 in_group = p.first - p.group * c.w.n[1];
    T sums[CHANNELS] = {};
#pragma nounroll
    for (i64 k = 0; k < c.w.n[2]; k++) {
      i64 i, j;
      if (!meets(p.i, k, c.stride[0], c.pad[0], c.dil[0], c.y.n[2], i)) continue;
#pragma nounroll
      for (i64 l = 0; l < c.w.n[3]; l++) {
        if (!meets(p.j, l, c.stride[1], c.pad[1], c.dil[1], c.y.n[3], j)) continue;
#pragma nounroll
        for (i64 o = p.group * outputs; o < (p.group + 1) * outputs; o++) {
          T dy = *element<const T>(c.y, p.n, o, i, j);
#pragma unroll
          for (int ch = 0; ch < CHANNELS; ch++)
            if (ch < p.count) sums[ch] += dy * *element<const T>(c.w, o, in_group + ch, k, l);
        }
      }
    }
#pragma unroll
    for (int ch = 0; ch < CHANNELS; ch++)
      if (ch < p.count) *element<T>(c.x, p.n, p.first + ch, p.i, p.j) = sums[ch];
  }
}

#define BLOCK 128

template <class T> INLINE void grad_weight(const Conv &c) {
  __shared__ T parts[BLOCK];
  const i64 outputs = c.w.n[0] / c.groups, places = c.y.n[0] * c.y.n[2] * c.y.n[3];
  for (i64 u = ctaid_x; u < c.w.n[0] * c.w.n[1] * c.w.n[2] * c.w.n[3]; u += nctaid_x) {
    i64 l = u % c.w.n[3], k = u / c.w.n[3] % c.w.n[2], ch = u / c.w.n[3] / c.w.n[2] % c.w.n[1];
    i64 o = u / c.w.n[3] / c.w.n[2] / c.w.n[1], xch = o / outputs * c.w.n[1] + ch;
    T sum = 0;
    for (i64 p = tid_x; p < places; p += BLOCK) {
      i64 j = p % c.y.n[3], i = p / c.y.n[3] % c.y.n[2], n = p / c.y.n[3] / c.y.n[2];
      i64 h = i * c.stride[0] - c.pad[0] + k * c.dil[0], v = j * c.stride[1] - c.pad[1] + l * c.dil[1];
      if (h < 0 || h >= c.x.n[2] || v < 0 || v >= c.x.n[3]) continue;
      sum += *element<const T>(c.y, n, o, i, j) * *element<const T>(c.x, n, xch, h, v);
    }
    parts[tid_x] = sum;
    for (int half = BLOCK / 2; half > 0; half /= 2) {
      __syncthreads();
      if (tid_x < half) parts[tid_x] += parts[tid_x + half];
    }
    if (tid_x == 0) *element<T>(c.w, o, ch, k, l) = parts[0];
    __syncthreads();
  }
}

#define KERNELS(T)                                                                     \
  KERNEL __attribute__((launch_bounds(256, 2))) conv_##T(const Conv c) { forward<T>(c); }              \
  KERNEL __attribute__((launch_bounds(256, 2))) conv_grad_input_##T(const Conv c) { grad_input<T>(c); } \
  KERNEL __launch_bounds__(BLOCK) conv_grad_weight_##T(const Conv c) { grad_weight<T>(c); }

FOR_FLOATS(KERNELS)
