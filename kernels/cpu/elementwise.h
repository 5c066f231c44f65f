// elementwise.h: bodies over runs. The last vector of a run is a partial one:
// there is no scalar tail, whose results could differ from the vector's.

// UNARY makes a body of an expression in x, alpha and beta. UNARY_LONG does the
// same for an expression so long that it should stand in the code but once.
#define UNARY(name, expression)                                                               \
	BODY void name(float *out, const float *in, int64_t n, float a, float b) {            \
		vf alpha = all(a), beta = all(b);                                             \
		(void)alpha, (void)beta;                                                      \
		int64_t i = 0;                                                                \
		for (; i + VL <= n; i += VL) { vf x = load(in + i); store(out + i, expression); }   \
		if (i < n) { vf x = load_first(in + i, n - i); store_first(out + i, expression, n - i); } \
	}

#define UNARY_LONG(name, expression)                                                          \
	BODY void name(float *out, const float *in, int64_t n, float a, float b) {            \
		vf alpha = all(a), beta = all(b);                                             \
		(void)alpha, (void)beta;                                                      \
		for (int64_t i = 0; i < n; i += VL) {                                         \
			vf x = load_up_to(in + i, n - i);                                     \
			store_up_to(out + i, expression, n - i);                              \
		}                                                                             \
	}

UNARY(unary_copy, x) // of halves to floats and back
UNARY(unary_affine, alpha * x + beta)
UNARY(unary_exp, vexp(x))
UNARY(unary_log, vlog(x))
UNARY(unary_sqrt, root(x))
UNARY(unary_relu, relu(x))
UNARY(unary_neg, -x)
UNARY(unary_abs, size(x))
UNARY(unary_sign, choose(x > (vf){0}, all(1.f), choose(x < (vf){0}, all(-1.f), (vf){0})))
UNARY(unary_floor, rounded_down(x))
UNARY(unary_ceil, rounded_up(x))
UNARY(unary_trunc, truncated(x))
UNARY(unary_round, rounded_even(x))
UNARY(unary_reciprocal, all(1.f) / x)
UNARY(unary_rsqrt, all(1.f) / root(x))
UNARY_LONG(unary_expm1, vexpm1(x))
UNARY_LONG(unary_log1p, vlog1p(x))
UNARY_LONG(unary_sin, vsin(x))
UNARY_LONG(unary_cos, vcos(x))
UNARY_LONG(unary_tanh, vtanh(x))
UNARY_LONG(unary_sigmoid, vsigmoid(x))
UNARY_LONG(unary_erf, verf(x))
UNARY_LONG(unary_silu, silu(x))
UNARY_LONG(unary_gelu, gelu(x))
UNARY_LONG(unary_gelu_tanh, gelu_tanh(x))
UNARY(unary_leaky_relu, leaky_relu(x, alpha))
UNARY_LONG(unary_elu, elu(x, alpha))
UNARY_LONG(unary_softplus, softplus(x, alpha, beta))
UNARY(unary_clamp, clamp(x, alpha, beta))
UNARY_LONG(power_any, vpow(x, alpha))
UNARY(power_2, x * x)
UNARY(power_3, x * x * x)

// The powers that neural networks use are products.
BODY void unary_pow(float *out, const float *in, int64_t n, float a, float b) {
	if (a == 2) power_2(out, in, n, a, b);
	else if (a == 3) power_3(out, in, n, a, b);
	else power_any(out, in, n, a, b);
}

// RUN is one of the loops of a binary op, for operands that are read by X and Y.
#define RUN(X, Y, expression)                                                                 \
	for (; i + VL <= n; i += VL) { vf x = X(xs + i), y = Y(ys + i); store(out + i, expression); } \
	if (i < n) {                                                                          \
		vf x = X##_first(xs + i, n - i), y = Y##_first(ys + i, n - i);                \
		store_first(out + i, expression, n - i);                                      \
	}

// A repeated operand is in a register of its own.
#define repeated(p) scalar
#define repeated_first(p, n) scalar

// BINARY makes a body of an expression in x, y, alpha and beta; BINARY_LONG is to
// it as UNARY_LONG to UNARY.
#define BINARY(name, expression)                                                              \
	BODY void name(float *out, const float *xs, int64_t xstep, const float *ys, int64_t ystep, int64_t n, float a, float b) { \
		vf alpha = all(a), beta = all(b);                                             \
		(void)alpha, (void)beta;                                                      \
		int64_t i = 0;                                                                \
		if (xstep && ystep) {                                                         \
			RUN(load, load, expression)                                           \
		} else if (xstep) {                                                           \
			vf scalar = all(*ys);                                                 \
			RUN(load, repeated, expression)                                       \
		} else if (ystep) {                                                           \
			vf scalar = all(*xs);                                                 \
			RUN(repeated, load, expression)                                       \
		} else {                                                                      \
			vf x = all(*xs), y = all(*ys), r = expression;                        \
			for (; i < n; i++) out[i] = r[0];                                     \
		}                                                                             \
	}

#define BINARY_LONG(name, expression)                                                         \
	BODY void name(float *out, const float *xs, int64_t xstep, const float *ys, int64_t ystep, int64_t n, float a, float b) { \
		vf alpha = all(a), beta = all(b), x = all(*xs), y = all(*ys);                 \
		(void)alpha, (void)beta;                                                      \
		for (int64_t i = 0; i < n; i += VL) {                                         \
			if (xstep) x = load_up_to(xs + i, n - i);                             \
			if (ystep) y = load_up_to(ys + i, n - i);                             \
			store_up_to(out + i, expression, n - i);                              \
		}                                                                             \
	}

BINARY(binary_add, x + y)
BINARY(binary_sub, x - y)
BINARY(binary_mul, x * y)
BINARY(binary_div, x / y)
// The gradient where ReLU's result is above 0 or NaN.
BINARY(binary_relu_grad, choose(y <= (vf){0}, (vf){0}, x))

// Of gradients x is that of the result, y the result or the op's input.
BINARY(binary_tanh_grad, x * ((all(1.f) - y) * (all(1.f) + y)))
BINARY(binary_sigmoid_grad, x * (y * (all(1.f) - y)))
BINARY_LONG(binary_silu_grad, x * silu_slope(y))
BINARY_LONG(binary_gelu_grad, x * gelu_slope(y))
BINARY_LONG(binary_gelu_tanh_grad, x * gelu_tanh_slope(y))
BINARY(binary_leaky_relu_grad, choose(y > (vf){0}, x, alpha * x))
BINARY_LONG(binary_elu_grad, x * choose(y <= (vf){0}, alpha * vexp(y), all(1.f)))
BINARY_LONG(binary_softplus_grad, x * softplus_slope(y, alpha, beta))
BINARY(binary_clamp_grad, choose((alpha < y) & (y < beta), x, (vf){0}))
BINARY_LONG(binary_pow, vpow(x, y))
BINARY_LONG(binary_floor_divide, floor_divide(x, y))
BINARY_LONG(binary_remainder, remainder_of(x, y))
// greater and lesser give y where one is NaN.
BINARY(binary_maximum, choose(x != x, x, greater(x, y)))
BINARY(binary_minimum, choose(x != x, x, lesser(x, y)))

BODY void fill_run(float *out, int64_t n, float value) {
	vf x = all(value);
	int64_t i = 0;
	for (; i + VL <= n; i += VL) store(out + i, x);
	if (i < n) store_first(out + i, x, n - i);
}
#undef UNARY
#undef BINARY
#undef UNARY_LONG
#undef BINARY_LONG
#undef RUN
#undef repeated
#undef repeated_first
