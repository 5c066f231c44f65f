// vmath_pow.h: powers, by C's rules.

// log2_wide returns the binary logarithm of a finite x > 0 with a relative error
// of 1e-9. The head of the series, 2s, is needed to more digits than a float
// has; the rest of it, at most 1% of that, is not.
FN struct wide log2_wide(vf x) {
	vi small = x < all(0x1p-126f);
	vf y = choose(small, x * all(0x1p23f), x);
	vf f = mantissa(y) - all(1.f), by = all(1.f) / (f + all(2.f)), s = f * by, z = s * s;
	vf p = all(0.117917843f);
	p = p * z + all(0.142686188f);
	p = p * z + all(0.200001687f);
	p = p * z + all(0.333333313f);
	vf n = __builtin_convertvector(exponent(y) - (small & 23), vf);
	struct wide fs = widen(f), bys = widen(by), ss = widen(s), rest = widen(p * z), ns = widen(n), log2;
	UNROLLED for (int i = 0; i < 2; i++) {
		vd s = ss.half[i]; // of which f - s*(2+f), exact, shows the error
		s = s + (fs.half[i] - s * (fs.half[i] + all_wide(2))) * bys.half[i];
		log2.half[i] = ns.half[i] + all_wide(0x1.71547652b82fep1) * (s + s * rest.half[i]); // 2 log2(e)
	}
	return log2;
}

// vpow returns x^y within 2 ulp: 2^(y log2|x|), and a minus sign for a negative
// x and odd y.
FN vf vpow(vf x, vf y) {
	const vf inf = all(__builtin_inff()), zero = {0}, one = all(1.f), most = all(0x1p33f);
	vf a = size(x);
	// The limits keep the product within what can be rounded; at them, and from
	// n = 200 on, the power is 0 or Inf as it is beyond.
	struct wide log2 = log2_wide(a), w = widen(greater(-most, lesser(most, y))), ns, rs;
	const vd magic = all_wide(0x1.8p52);
	UNROLLED for (int i = 0; i < 2; i++) {
		vd t = w.half[i] * log2.half[i];
		ns.half[i] = (t + magic) - magic;
		rs.half[i] = (t - ns.half[i]) * all_wide(0x1.62e42fefa39efp-1); // ln 2
	}
	vf r = narrow(rs), n = greater(all(-200.f), lesser(all(200.f), narrow(ns)));
	vf p = times_power((exp_less(r) * r) * r + r + one, n);

	vi is_zero = a == zero, up = y > zero;
	p = choose(is_zero | (a == inf), choose(is_zero ^ up, inf, zero), p);
	p = choose(a == one, one, p); // y may be infinite
	vi is_whole = truncated(y) == y;
	vf half = y * all(0.5f);
	vi odd = is_whole & (truncated(half) != half);
	p = (vf)((vi)p ^ (odd & (vi)x & (int32_t)0x80000000));
	p = choose((x < zero) & (a != inf) & ~is_whole, all(__builtin_nanf("")), p);
	p = choose((x != x) | (y != y), x + y, p);
	return choose((y == zero) | (x == one), one, p);
}
