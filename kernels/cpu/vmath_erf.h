// vmath_erf.h: the error function and the normal distribution. The polynomials
// are minimax fits of the functions named.

// verf returns erf x within 3 ulp: up to 0.89 x times a polynomial in x^2, from
// there 1 - e^-q with q = -ln erfc, a polynomial that may be the less exact the
// smaller erfc is. From 4 on it is 1.
FN vf verf(vf x) {
	vf z = x * x;
	vf near = all(-0.000613614044f);
	near = near * z + all(0.00502071669f);
	near = near * z + all(-0.0267847572f);
	near = near * z + all(0.112823002f);
	near = near * z + all(-0.376125395f);
	near = near * z + all(0.128379156f); // 2/sqrt(pi), the 1 of which is added exactly
	near = near * x + x;
	vf a = lesser(all(4.f), size(x));
	vf q = all(-0.000199341113f);
	q = q * a + all(0.00307635474f);
	q = q * a + all(-0.0223579425f);
	q = q * a + all(0.104201056f);
	q = q * a + all(0.636878014f);
	q = q * a + all(1.12785447f);
	q = q * a + all(0.000152822569f);
	struct parts e = exp_parts(-q, (vf){0});
	vf far = with_sign(all(1.f) - times_power(e.m, e.n), x);
	return choose(size(x) < all(0.89f), near, far);
}

// normal is the normal distribution at x: the part of it below x, and its
// density, with a few ulp of error relative to each.
struct normal {
	vf below, density;
};

// normal_at takes the part beyond |x| as e^(-a^2) erfcx(a) / 2 with a =
// |x|/sqrt(2), where erfcx(a) (1 + a/2) is a polynomial in u = a/(a+2). Both
// results have the exponential, whose argument is kept to twice the digits.
FN struct normal normal_at(vf x) {
	vf a = lesser(all(1000.f), size(x)); // Inf would make NaN
	vf by = all(1.f) / (a + all(2.82842712f)); // 2 sqrt(2)
	vf u = a * by;
	vf p = all(-0.012809623f);
	p = p * u + all(-0.0104096299f);
	p = p * u + all(0.110684022f);
	p = p * u + all(-0.0825758651f);
	p = p * u + all(-0.0566836372f);
	p = p * u + all(-0.108921893f);
	p = p * u + all(0.213158295f);
	p = p * u + all(0.486378491f);
	p = p * u + all(-1.25675571f);
	p = p * u + all(1.f);
	vf lost, square = product(x, x, &lost);
	vf e = vexp_sum(all(-0.5f) * square, all(-0.5f) * lost);
	vf beyond = e * p * (all(1.41421356f) * by);
	return (struct normal){choose(x < (vf){0}, beyond, all(1.f) - beyond), e * all(0.398942292f)}; // 1/sqrt(2 pi)
}
