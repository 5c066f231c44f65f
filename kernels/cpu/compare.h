// compare.h: what makes or takes Bool, a byte that is 0 or 1.

typedef uint8_t vb __attribute__((vector_size(VL))); // as many lanes as a vf

FN void store_bools(uint8_t *out, vi mask, int64_t n) {
	vb b = __builtin_convertvector((vu)mask & 1, vb);
	if (n >= VL) memcpy(out, &b, sizeof b);
	else memcpy(out, &b, (size_t)n);
}

// COMPARE makes a body of a condition on x and y.
#define COMPARE(name, condition)                                                              \
	BODY void name(uint8_t *out, const float *xs, int64_t xstep, const float *ys, int64_t ystep, int64_t n) { \
		vf x = all(*xs), y = all(*ys);                                                \
		(void)y;                                                                      \
		for (int64_t i = 0; i < n; i += VL) {                                         \
			if (xstep) x = load_up_to(xs + i, n - i);                             \
			if (ystep) y = load_up_to(ys + i, n - i);                             \
			store_bools(out + i, condition, n - i);                               \
		}                                                                             \
	}

COMPARE(compare_equal, x == y)
COMPARE(compare_not_equal, x != y)
COMPARE(compare_less, x < y)
COMPARE(compare_less_equal, x <= y)
COMPARE(compare_greater, x > y)
COMPARE(compare_greater_equal, x >= y)
// These look at x alone.
COMPARE(compare_is_nan, x != x)
COMPARE(compare_is_inf, size(x) == all(__builtin_inff()))
COMPARE(compare_not, x == (vf){0})
#undef COMPARE

BODY void where_run(float *out, const uint8_t *cs, int64_t cstep, const float *xs, int64_t xstep, const float *ys, int64_t ystep, int64_t n) {
	vf x = all(*xs), y = all(*ys);
	vb c;
	memset(&c, *cs, sizeof c);
	for (int64_t i = 0; i < n; i += VL) {
		int64_t rest = n - i;
		if (cstep && rest >= VL) memcpy(&c, cs + i, sizeof c);
		else if (cstep) memcpy(&c, cs + i, (size_t)rest);
		if (xstep) x = load_up_to(xs + i, rest);
		if (ystep) y = load_up_to(ys + i, rest);
		store_up_to(out + i, choose((vi)__builtin_convertvector(c, vu) != 0, x, y), rest);
	}
}
