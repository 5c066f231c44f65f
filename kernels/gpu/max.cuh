// Max and ArgMax. Min and ArgMin are the same of elements that are turned, by a
// function that reverses their order: alpha is 1 for them and 0 for the others.
#pragma once
#include "reduce.cuh"

template <class T> INLINE T turned(T x, bool turn) {
  if constexpr ((T)0.5 != 0)
    return turn ? -x : x;
  else
    return turn ? (T)~x : x;
}

// least is not above any element.
template <class T> constexpr T least = (T)((T)1 << (8 * sizeof(T) - 1));
template <> constexpr f32 least<f32> = -__builtin_inff();
template <> constexpr f64 least<f64> = -__builtin_inf();
template <> constexpr u8 least<u8> = 0;

// Lane is what a shuffle takes an element as.
template <class T> struct AsLane { typedef T Type; };
template <> struct AsLane<u8> { typedef i32 Type; };
template <class T> using Lane = typename AsLane<T>::Type;

template <class T> struct Max {
  typedef T Element;
  typedef Lane<T> Group;
  typedef Lane<T> Total;
  typedef T Result;
  static constexpr int loads = 8;
  __device__ static Total none() { return least<T>; }
  __device__ static Group map(T x, T turn, i64) { return turned(x, turn != 0); }
  __device__ static Group join(Group x, Group y) { return larger(x, y); }
  __device__ static Total add(Total x, Total y) { return larger(x, y); }
  __device__ static Total widen(Group x) { return x; }
  __device__ static Result result(Total x, const Result *, f64 alpha, i32) { return turned((T)x, alpha != 0); }
};

template <class T> struct Best {
  T value;
  i64 index;
};

template <class T> INLINE Best<T> shuffle_xor(Best<T> b, int d) {
  return {shuffle_xor(b.value, d), shuffle_xor(b.index, d)};
}

template <class T> struct ArgMax {
  typedef T Element;
  typedef Best<Lane<T>> Group;
  typedef Best<Lane<T>> Total;
  typedef i64 Result;
  static constexpr int loads = 4;
  __device__ static Total none() { return {least<T>, 0x7fffffffffffffff}; }
  __device__ static Group map(T x, T turn, i64 i) { return {turned(x, turn != 0), i}; }
  __device__ static Group join(Group x, Group y) {
    bool nx = is_nan(x.value), ny = is_nan(y.value);
    bool same = x.value == y.value || (nx && ny);
    bool second = same ? y.index < x.index : !nx && (ny || y.value > x.value);
    return second ? y : x;
  }
  __device__ static Total add(Total x, Total y) { return join(x, y); }
  __device__ static Total widen(Group x) { return x; }
  __device__ static Result result(Total x, const Result *, f64, i32) { return x.index; }
};
