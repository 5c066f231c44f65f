// division.h: quotients rounded down and what they leave, as by Python's // and
// %. Everything is done in doubles, where a quotient of floats below 2^28 is
// further from the next whole number than its rounding error, and that number
// times the divisor is exact.

typedef int64_t vl __attribute__((vector_size(VB)));

// quotient is x/y rounded down and the rest. far marks the lanes where neither
// is right: a large quotient, or an infinite divisor.
struct quotient {
	vf down, rest;
	vi far;
};

// A division by 0 gives the infinity or the NaN of x/y, and a rest of NaN.
FN struct quotient divided(vf x, vf y) {
	const vd magic = all_wide(0x1.8p52);
	struct wide xs = widen(x), ys = widen(y), exact, down, rest;
	UNROLLED for (int i = 0; i < 2; i++) {
		vd q = xs.half[i] / ys.half[i], d = (q + magic) - magic;
		d -= (vd)((vl)(d > q) & (vl)all_wide(1));
		exact.half[i] = q, down.half[i] = d, rest.half[i] = xs.half[i] - d * ys.half[i];
	}
	const vf zero = {0}, inf = all(__builtin_inff());
	struct quotient r = {narrow(down), narrow(rest), ((size(narrow(exact)) >= all(0x1p28f)) & (y != zero)) | (size(y) == inf)};
	// Zeros have the sign of x/y, and of x.
	r.down = choose(r.down == zero, with_sign(zero, (vf)((vi)x ^ (vi)y)), r.down);
	r.rest = choose(r.rest == zero, with_sign(zero, x), r.rest);
	return r;
}

// far_rest and far_down do the far lanes one by one. Next to a large quotient the
// rounding of its division is nothing.
BODY void far_rest(float *out, const float *xs, const float *ys, const int32_t *far) {
	for (int i = 0; i < VL; i++) {
		if (!far[i]) continue;
		double y = ys[i], r = __builtin_fmod(xs[i], y);
		out[i] = (float)(r != 0 && (r < 0) != (y < 0) ? r + y : r);
	}
}

BODY void far_down(float *out, const float *xs, const float *ys, const int32_t *far) {
	for (int i = 0; i < VL; i++) {
		if (!far[i]) continue;
		double x = xs[i], y = ys[i], r = __builtin_fmod(x, y), q = (x - r) / y;
		if (r != 0 && (r < 0) != (y < 0)) q -= 1;
		out[i] = (float)(q == 0 ? __builtin_copysign(0, x / y) : q);
	}
}

#define DIVISION(name, part)                                                                  \
	FN vf name(vf x, vf y) {                                                              \
		struct quotient r = divided(x, y);                                            \
		if (!any(r.far)) return r.part;                                               \
		union { vf v; float lane[VL]; } xs = {x}, ys = {y}, out = {r.part};           \
		union { vi v; int32_t lane[VL]; } far = {r.far};                              \
		far_##part(out.lane, xs.lane, ys.lane, far.lane);                             \
		return out.v;                                                                 \
	}

DIVISION(floor_divide, down)
DIVISION(remainder_of, rest)
#undef DIVISION
