// activation.h: activation functions and the factors of their gradients, one
// exponential each. What infinities give is what the formulas do: x times a
// factor that is 0 is NaN.

// logistic is s = 1/(1+e^-t) and rest = 1-s, each with all its digits.
struct logistic {
	vf s, rest;
};

// logistic_at takes t and what rounding took off it.
FN struct logistic logistic_at(vf t, vf lost) {
	vi negative = t < (vf){0};
	vf e = vexp_sum(-size(t), choose(negative, lost, -lost));
	vf by = all(1.f) / (all(1.f) + e), of = e * by;
	return (struct logistic){choose(negative, of, by), choose(negative, by, of)};
}

// silu is x e^x / (1+e^x) for x < 0, where the power of two comes last: the
// sigmoid may be too small for a float that has all its digits.
FN vf silu(vf x) {
	vf a = lesser(all(130.f), size(x));
	struct parts e = exp_parts(-a, (vf){0});
	vf m = choose(a < all(125.f), e.m, (vf){0} * a); // NaN stays
	vi negative = x < (vf){0};
	vf by = choose(negative, m, all(1.f)) / (all(1.f) + times_power(m, e.n));
	return times_power(x * by, choose(negative, e.n, (vf){0}));
}

// silu_slope is s (1 + x(1-s)) over a common denominator: near -1.28, where it
// is 0, the sum 1+x+e^x loses none of the digits of e^x.
FN vf silu_slope(vf x) {
	vi negative = x < (vf){0};
	vf e = vexp(-size(x)), by = all(1.f) / (all(1.f) + e);
	vf sum = (all(1.f) + x * choose(negative, all(1.f), e)) + e;
	return (choose(negative, e, all(1.f)) * by) * (sum * by);
}

// beside_root returns slope, or within 1/8 of its root x0 a polynomial in x-x0
// that fits it there, where slope is the difference of larger numbers. x0 is high+low.
FN vf beside_root(vf slope, vf x, float high, float low, const float c[5]) {
	vf d = (x - all(high)) - all(low);
	vf p = all(c[4]);
	UNROLLED for (int i = 3; i >= 0; i--) p = p * d + all(c[i]);
	return choose(size(d) < all(0.125f), d * p, slope);
}

FN vf gelu(vf x) { return x * normal_at(x).below; }

FN vf gelu_slope(vf x) {
	struct normal n = normal_at(x);
	const float c[] = {0.431493998f, 0.388282955f, -0.0182008576f, -0.113586612f, -0.0146352611f};
	return beside_root(n.below + x * n.density, x, -0.751791537f, 1.21144499e-08f, c);
}

// gelu_tanh_logistic is (1 + tanh(u))/2 = 1/(1 + e^-2u), u = sqrt(2/pi) (x +
// 0.044715 x^3); its t = 2u is kept to more digits than a float has.
FN struct logistic gelu_tanh_logistic(vf x) {
	const vf c = all(1.59576917f), c_lost = all(-4.53406803e-08f); // 2 sqrt(2/pi)
	vf cube = x * x * all(0.0713548139f);                   // 2 sqrt(2/pi) 0.044715
	vf factor = c + cube;
	vf factor_lost = (cube - (factor - c)) + c_lost;
	vf lost, t = product(x, factor, &lost);
	return logistic_at(t, lost + x * factor_lost);
}

FN vf gelu_tanh(vf x) { return x * gelu_tanh_logistic(x).s; }

FN vf gelu_tanh_slope(vf x) {
	struct logistic l = gelu_tanh_logistic(x);
	vf square = lesser(all(1e4f), x * x); // beyond it s or 1-s is 0
	vf slope = all(1.59576917f) + square * all(0.214064449f);
	const float c[] = {0.430400103f, 0.387516379f, -0.0157842226f, -0.113517262f, -0.0164614413f};
	return beside_root(l.s + x * (l.s * l.rest * slope), x, -0.752461433f, 1.13396279e-08f, c);
}

FN vf leaky_relu(vf x, vf alpha) { return choose(x > (vf){0}, x, alpha * x); }

FN vf elu(vf x, vf alpha) { return choose(x <= (vf){0}, alpha * vexpm1(x), x); }

// softplus is max(t,0) + log(1+e^-|t|), divided by b, with t = b x: its
// exponential does not overflow.
FN vf softplus(vf x, vf b, vf limit) {
	vf lost, t = product(b, x, &lost);
	vf e = vexp_sum(-size(t), choose(t < (vf){0}, lost, -lost));
	vf y = (greater((vf){0}, t) + vlog1p(e)) / b;
	return choose(t > limit, x, y);
}

FN vf softplus_slope(vf x, vf b, vf limit) {
	vf lost, t = product(b, x, &lost);
	return choose(t > limit, all(1.f), logistic_at(t, lost).s);
}

FN vf clamp(vf x, vf low, vf high) { return lesser(high, greater(low, x)); }
