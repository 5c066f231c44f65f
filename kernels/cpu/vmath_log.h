// vmath_log.h: logarithms, right at 0, infinities and NaN, and of subnormals.

enum { ROOT_HALF = 0x3f3504f3 }; // the bits of sqrt(1/2)

// log_of returns n ln 2 + ln(1+f) for 1+f from sqrt(1/2) to sqrt(2), where
// ln(1+f) is 2 atanh(s), s = f/(2+f); its series up to s^9 is off by 2e-9.
FN vf log_of(vf n, vf f) {
	vf s = f / (f + all(2.f)), z = s * s;
	vf p = all(2.f / 9);
	p = p * z + all(2.f / 7);
	p = p * z + all(2.f / 5);
	p = p * z + all(2.f / 3);
	// 2 atanh(s) = f - s*(f - z*p): f is exact, and what is taken off it is small.
	vf tail = n * all(0x1.7f7d1cp-20f) - s * (f - z * p);
	return (tail + f) + n * all(0x1.62e4p-1f);
}

// exponent returns the e of x = 2^e * m, m from sqrt(1/2) to sqrt(2).
FN vi exponent(vf x) { return ((vi)x - ROOT_HALF) >> 23; }

// mantissa returns the m.
FN vf mantissa(vf x) { return (vf)((((vi)x - ROOT_HALF) & 0x007fffff) + ROOT_HALF); }

// log_limits returns r, a logarithm of u, but for what x, the argument of the
// function, makes of limits: u is 0, negative, or x is Inf or NaN.
FN vf log_limits(vf r, vf u, vf x) {
	r = choose(u == (vf){0}, all(-__builtin_inff()), r);
	r = choose(u < (vf){0}, all(__builtin_nanf("")), r);
	return choose((x == all(__builtin_inff())) | (x != x), x, r);
}

// vlog returns ln x within 2 ulp.
FN vf vlog(vf x) {
	vi small = x < all(0x1p-126f); // subnormal: scale up
	vf y = choose(small, x * all(0x1p23f), x);
	vf n = __builtin_convertvector(exponent(y) - (small & 23), vf);
	return log_limits(log_of(n, mantissa(y) - all(1.f)), x, x);
}

// vlog1p returns ln(1+x) within 3 ulp: the logarithm of the rounded sum u, with
// what rounding took off it added to the mantissa less 1, which for small x
// gives back x.
FN vf vlog1p(vf x) {
	vf u = all(1.f) + x, part = u - all(1.f);
	vf lost = (all(1.f) - (u - part)) + (x - part);
	vi e = exponent(u);
	vf down = (vf)(((127 - e) & (e < 127)) << 23); // 2^-e
	vf r = log_of(__builtin_convertvector(e, vf), (mantissa(u) - all(1.f)) + lost * down);
	return choose(x == (vf){0}, x, log_limits(r, u, x));
}
