#include "cuda.h"

// What compilers make of 16-bit floats: of _Float16 instructions, of __bf16
// integers and f32 where the target has no better.
#define KERNELS(NAME, TYPE)                                                                          \
  kernel NAME##_ops(const TYPE *a, const TYPE *b, TYPE *out, int n) {                                \
    int i = ctaid_x * ntid_x + tid_x;                                                                \
    if (i >= n) return;                                                                              \
    TYPE x = a[i], y = b[i];                                                                         \
    out[i] = x + y;                                                                                  \
    out[n + i] = x - y;                                                                              \
    out[2 * n + i] = x * y;                                                                          \
    out[3 * n + i] = x / y;                                                                          \
    out[4 * n + i] = -x;                                                                             \
    out[5 * n + i] = x < y ? x : y;                                                                  \
    out[6 * n + i] = x == y ? (TYPE)1.0f : (TYPE)0.0f;                                               \
    out[7 * n + i] = (TYPE)__builtin_fmaf((float)x, 3.0f, (float)y);                                 \
    out[8 * n + i] = (TYPE)(i - 1000);                                                               \
    out[9 * n + i] = (TYPE)((double)x * 0.1);                                                        \
  }                                                                                                  \
  kernel NAME##_to_int(const TYPE *a, int *out, int n) {                                             \
    int i = ctaid_x * ntid_x + tid_x;                                                                \
    if (i < n) out[i] = (int)a[i];                                                                   \
  }                                                                                                  \
  typedef TYPE NAME##_pair __attribute__((ext_vector_type(2)));                                      \
  kernel NAME##_pairs(const NAME##_pair *a, const NAME##_pair *b, NAME##_pair *out, int n) {         \
    int i = ctaid_x * ntid_x + tid_x;                                                                \
    if (i < n) out[i] = a[i] + b[i];                                                                 \
  }

KERNELS(half, _Float16)
KERNELS(brain, __bf16)
