// vmath_trig.h: sine and cosine.

// turns is an angle less the nearest multiple of pi/2: quarter of those, of which
// the last two bits count, and the rest, at most pi/4 in size.
struct turns {
	vf rest;
	vi quarters;
};

// far_turn is the rest of one large x. Its mantissa times the bits of 2/pi
// from where they no longer stand for whole turns gives the fraction of a turn
// (Payne and Hanek 1983), 64 bits of it.
BODY float far_turn(float x, int32_t *quarters) {
	// The bits of 2/pi behind the point, after 32 zeros.
	static const uint32_t bits[] = {0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
	int32_t b;
	memcpy(&b, &x, sizeof b);
	int e = (b >> 23 & 0xff) - 150; // x is the mantissa times 2^e
	if (e > 104) return x - x;     // Inf or NaN: NaN
	uint64_t mantissa = (b & 0x007fffff) | 0x00800000;
	int from = e - 2 + 32; // of the bit that stands for a half turn
	const uint32_t *w = bits + from / 32;
	int shift = from % 32;
	uint64_t high = (uint64_t)w[0] << 32 | w[1], low = (uint64_t)w[2] << 32 | w[3];
	if (shift) high = high << shift | low >> (64 - shift), low <<= shift;
	uint64_t turn = mantissa * high + (mantissa * (low >> 32) >> 32);
	*quarters = (int32_t)(turn >> 62) + (int32_t)(turn >> 61 & 1);
	double rest = (double)(int64_t)(turn << 2) * (0x1.921fb54442d18p0 * 0x1p-64); // pi/2
	if (b < 0) *quarters = -*quarters, rest = -rest;
	return (float)rest;
}

// turns_of takes doubles: n pi/2 with pi/2 in two parts, of which the first, of 33
// bits, has an exact product with n. The relative error of the rest is that of
// its rounding.
FN struct turns turns_of(vf x) {
	vf near = choose(size(x) <= all(0x1p20f), x, (vf){0});
	struct wide w = widen(near), n, r;
	const vd magic = all_wide(0x1.8p52);
	UNROLLED for (int i = 0; i < 2; i++) {
		n.half[i] = (w.half[i] * all_wide(0x1.45f306dc9c883p-1) + magic) - magic; // 2/pi
		r.half[i] = (w.half[i] - n.half[i] * all_wide(0x1.921fb544p0)) - n.half[i] * all_wide(0x1.0b4611a626331p-34);
	}
	struct turns t = {narrow(r), __builtin_convertvector(narrow(n), vi)};
	vi far = ~(size(x) <= all(0x1p20f));
	if (__builtin_expect(any(far), 0))
		for (int i = 0; i < VL; i++)
			if (far[i]) {
				int32_t quarters = 0;
				t.rest[i] = far_turn(x[i], &quarters);
				t.quarters[i] = quarters;
			}
	return t;
}

// sine_of returns the sine of a number of quarter turns and a rest: of the
// rest plus or minus its sine or cosine, polynomials off by 4e-9 and 1e-10.
FN vf sine_of(struct turns t) {
	vf r = t.rest, z = r * r;
	vf s = all(-0.000195169778f);
	s = s * z + all(0.00833217613f);
	s = s * z + all(-0.166666552f);
	s = (s * z) * r + r;
	vf c = all(2.44380917e-05f);
	c = c * z + all(-0.00138873642f);
	c = c * z + all(0.0416666456f);
	c = (c * z) * z + (all(1.f) - all(0.5f) * z);
	vf y = choose((t.quarters & 1) != 0, c, s);
	return (vf)((vi)y ^ (t.quarters & 2) << 30);
}

// vsin and vcos are within 2 ulp for every x; NaN for Inf.
FN vf vsin(vf x) { return sine_of(turns_of(x)); }

FN vf vcos(vf x) {
	struct turns t = turns_of(x);
	t.quarters += 1;
	return sine_of(t);
}
