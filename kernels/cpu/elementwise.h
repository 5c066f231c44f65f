// elementwise.h: bodies over runs. The last vector of a run is a partial one:
// there is no scalar tail, whose results could differ from the vector's.

// UNARY makes a body of an expression in x, alpha and beta.
#define UNARY(name, expression)                                                               \
	BODY void name(float *out, const float *in, int64_t n, float a, float b) {            \
		vf alpha = all(a), beta = all(b);                                             \
		(void)alpha, (void)beta;                                                      \
		int64_t i = 0;                                                                \
		for (; i + VL <= n; i += VL) { vf x = load(in + i); store(out + i, expression); }   \
		if (i < n) { vf x = load_first(in + i, n - i); store_first(out + i, expression, n - i); } \
	}

UNARY(unary_affine, alpha * x + beta)
UNARY(unary_exp, vexp(x))
UNARY(unary_log, vlog(x))
UNARY(unary_sqrt, root(x))
UNARY(unary_relu, relu(x))

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

// BINARY makes a body of an expression in x and y.
#define BINARY(name, expression)                                                              \
	BODY void name(float *out, const float *xs, int64_t xstep, const float *ys, int64_t ystep, int64_t n) { \
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

BINARY(binary_add, x + y)
BINARY(binary_sub, x - y)
BINARY(binary_mul, x * y)
BINARY(binary_div, x / y)
// The gradient where ReLU's result is above 0 or NaN.
BINARY(binary_relu_grad, choose(y <= (vf){0}, (vf){0}, x))

BODY void fill_run(float *out, int64_t n, float value) {
	vf x = all(value);
	int64_t i = 0;
	for (; i + VL <= n; i += VL) store(out + i, x);
	if (i < n) store_first(out + i, x, n - i);
}
#undef UNARY
#undef BINARY
#undef RUN
#undef repeated
#undef repeated_first
