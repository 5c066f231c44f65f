// Operands of four dims as they lie.
#pragma once
#include "tarn.cuh"

// Side is one, the struct that conv.go passes.
struct Side {
  void *at;
  i64 n[4], s[4]; // dims and strides
};

template <class T> INLINE T *element(const Side &v, i64 a, i64 b, i64 c, i64 d) {
  return (T *)v.at + a * v.s[0] + b * v.s[1] + c * v.s[2] + d * v.s[3];
}

template <class T> INLINE T *element(const Side &v, const i64 (&i)[4]) { return element<T>(v, i[0], i[1], i[2], i[3]); }
