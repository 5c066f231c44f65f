// vmath_exp.h: the exponential and what is made of it. Right at 0, infinities
// and NaN, and in the subnormals.

// parts is e^x = m * 2^n, m from 0.7 to 1.42 and n a whole number.
struct parts {
	vf m, n;
};

// nearest_exponent returns the n of parts. |x| is below 2^20.
FN vf nearest_exponent(vf x) {
	const vf magic = all(0x1.8p23f); // adding it leaves the nearest integer
	return (x * all(0x1.715476p0f) + magic) - magic; // log2(e)
}

// reduced returns x + tail - n ln 2, at most ln(2)/2 in size. ln 2 comes in two
// parts, the first with zeros to spare.
FN vf reduced(vf x, vf tail, vf n) { return (x - n * all(0x1.62e4p-1f)) + (tail - n * all(0x1.7f7d1cp-20f)); }

// exp_less returns (e^r - 1 - r) / r^2 for |r| up to ln(2)/2, by the terms of
// Taylor's series for e^r up to r^7: the next is 5e-9.
FN vf exp_less(vf r) {
	vf p = all(1.f / 5040);
	p = p * r + all(1.f / 720);
	p = p * r + all(1.f / 120);
	p = p * r + all(1.f / 24);
	p = p * r + all(1.f / 6);
	return p * r + all(0.5f);
}

// exp_parts takes e^(x+tail) apart. |x| is below 2^20, tail small beside it.
FN struct parts exp_parts(vf x, vf tail) {
	vf n = nearest_exponent(x), r = reduced(x, tail, n);
	return (struct parts){(exp_less(r) * r) * r + r + all(1.f), n};
}

// times_power returns x * 2^n for |n| up to 250. Without an instruction for it 2^n
// is multiplied in two halves: n = 128 and subnormal results come out right.
FN vf times_power(vf x, vf n) {
#if VB == 64
	return (vf)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
	vi k = __builtin_convertvector(n, vi), half = k >> 1;
	return x * (vf)((half + 127) << 23) * (vf)((k - half + 127) << 23);
#endif
}

// clamped returns x between limits beyond which e^x is 0 or Inf as it is at
// them. NaN stays.
FN vf clamped(vf x) { return greater(all(-105.f), lesser(all(89.f), x)); }

// vexp returns e^x within 2 ulp.
FN vf vexp(vf x) {
	struct parts e = exp_parts(clamped(x), (vf){0});
	return times_power(e.m, e.n);
}

// vexp_sum returns e^(x+tail) for a tail that is what rounding took off x, and
// has no meaning where x is infinite or NaN.
FN vf vexp_sum(vf x, vf tail) {
	vf y = clamped(x);
	struct parts e = exp_parts(y, choose(y == x, tail, (vf){0}));
	return times_power(e.m, e.n);
}

// vexpm1 returns e^x - 1 within 2 ulp. With r from the reduction and p = e^r - 1
// it is 2^n p + (2^n - 1), of which half is taken first lest 2^128 come up.
FN vf vexpm1(vf x) {
	vf y = greater(all(-25.f), lesser(all(89.f), x));
	vf n = nearest_exponent(y), r = reduced(y, (vf){0}, n);
	vf p = (exp_less(r) * r) * r + r;
	vf half = times_power(all(0.5f), n);
	vf e = (half * p + (half - all(0.5f))) * all(2.f);
	return choose(n == (vf){0}, p, e);
}

// vsigmoid returns 1/(1+e^-x) within 3 ulp, from e^-|x|, which does not
// overflow.
FN vf vsigmoid(vf x) {
	vf e = vexp(-size(x));
	return choose(x < (vf){0}, e, all(1.f)) / (all(1.f) + e);
}

// vtanh is (e^2|x| - 1) / (e^2|x| + 1) with the sign of x, 1 from 10 on; within
// 3 ulp.
FN vf vtanh(vf x) {
	vf t = vexpm1(lesser(all(20.f), all(2.f) * size(x)));
	return with_sign(t / (t + all(2.f)), x);
}
