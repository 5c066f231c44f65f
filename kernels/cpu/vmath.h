// vmath.h: exp and log on vectors, within 2 units of the last place, exact at
// 0, infinities and NaN, and right in the subnormals.

// vexp returns e^x. With n the nearest integer to x/ln 2, e^x = 2^n * e^r and
// |r| <= ln(2)/2, where the Taylor polynomial of degree 7 is off by 5e-9. 2^n
// is multiplied in two halves: n = 128 and subnormal results come out right.
FN vf vexp(vf x) {
	const vf magic = all(0x1.8p23f); // adding it leaves the nearest integer in the low bits
	// Beyond these limits the result is Inf or 0 as it is at them.
	vf y = choose(x > all(89.f), all(89.f), x);
	y = choose(y < all(-105.f), all(-105.f), y);
	vf shifted = y * all(0x1.715476p0f) + magic; // log2(e)
	vf n = shifted - magic;
	vf r = y - n * all(0x1.62e4p-1f); // ln 2, in two parts, the first with zeros to spare
	r = r - n * all(0x1.7f7d1cp-20f);
	vf p = all(1.f / 5040);
	p = p * r + all(1.f / 720);
	p = p * r + all(1.f / 120);
	p = p * r + all(1.f / 24);
	p = p * r + all(1.f / 6);
	p = p * r + all(0.5f);
	p = (p * r) * r + r;
	p = p + all(1.f);
	vi k = (vi)shifted - (vi)magic;
	vi half = k >> 1;
	p = p * (vf)((half + 127) << 23) * (vf)((k - half + 127) << 23);
	return choose(x != x, x, p);
}

// vlog returns ln x. With x = 2^e * m and m in [sqrt(1/2), sqrt(2)), ln m is
// 2 atanh(s), s = (m-1)/(m+1); its series up to s^9 is off by 2e-9.
FN vf vlog(vf x) {
	vi small = x < all(0x1p-126f); // subnormal: scale up
	vf y = choose(small, x * all(0x1p23f), x);
	vi bits = (vi)y;
	vi e = ((bits - 0x3f3504f3) >> 23) - (small & 23); // 0x3f3504f3 is sqrt(1/2)
	vf m = (vf)(((bits - 0x3f3504f3) & 0x007fffff) + 0x3f3504f3);
	vf f = m - all(1.f);
	vf s = f / (f + all(2.f)), z = s * s;
	vf p = all(2.f / 9);
	p = p * z + all(2.f / 7);
	p = p * z + all(2.f / 5);
	p = p * z + all(2.f / 3);
	// ln m = f - s*(f - z*p): f is exact, and what is taken off it is small.
	vf n = __builtin_convertvector(e, vf);
	vf tail = n * all(0x1.7f7d1cp-20f) - s * (f - z * p);
	vf r = (tail + f) + n * all(0x1.62e4p-1f);
	r = choose(x == (vf){0}, all(-__builtin_inff()), r);
	r = choose(x < (vf){0}, all(__builtin_nanf("")), r);
	return choose((x == all(__builtin_inff())) | (x != x), x, r);
}
