// vmath_round.h: rounding to whole numbers. Signs stay, of 0 too, and so do
// NaN and infinities.

#if VB == 64
FN vf truncated(vf x) { return (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
FN vf rounded_down(vf x) { return (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
FN vf rounded_up(vf x) { return (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
FN vf rounded_even(vf x) { return (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#elif VB == 32
FN vf truncated(vf x) { return (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
FN vf rounded_down(vf x) { return (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
FN vf rounded_up(vf x) { return (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
FN vf rounded_even(vf x) { return (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#else
// rounded_even adds 2^23, which has no room for a fraction. From there on every
// float is whole.
FN vf rounded_even(vf x) {
	vf r = (size(x) + all(0x1p23f)) - all(0x1p23f);
	return choose(size(x) < all(0x1p23f), with_sign(r, x), x);
}

FN vf truncated(vf x) {
	vf r = rounded_even(size(x));
	return with_sign(r - choose(r > size(x), all(1.f), (vf){0}), x);
}

FN vf rounded_down(vf x) {
	vf r = rounded_even(x);
	return with_sign(r - choose(r > x, all(1.f), (vf){0}), x);
}

FN vf rounded_up(vf x) {
	vf r = rounded_even(x);
	return with_sign(r + choose(r < x, all(1.f), (vf){0}), x);
}
#endif
