// softmax_columns.h: softmax and its gradients along a dim whose elements lie
// gap apart, for lines that lie side by side: a strip of them at a time, so that
// memory is read in order.

enum { SUMMED = 16 }; // elements of a line that are added up in float

// in_strip and out_strip are vector i of a row of a strip of so many vectors; one
// alone may be of fewer columns than lanes.
FN vf in_strip(const int vectors, const float *x, int i, int64_t width) { return vectors > 1 ? load(x + i * VL) : load_up_to(x, width); }

FN void out_strip(const int vectors, float *out, int i, vf v, int64_t width) {
	if (vectors > 1) store(out + i * VL, v);
	else store_up_to(out, v, width);
}

FN void softmax_strip(const int vectors, const struct lines *l, float *out, const float *x, int64_t width) {
	vf top[4], scale[4];
	struct wide total[4];
	UNROLLED for (int i = 0; i < vectors; i++) top[i] = all(-__builtin_inff()), total[i] = wide_of(0);
	for (int64_t j = 0; j < l->n; j++)
		UNROLLED for (int i = 0; i < vectors; i++) top[i] = greater(in_strip(vectors, x + j * l->lda, i, width), top[i]);
	for (int64_t j = 0; j < l->n;) {
		vf s[4] = {{0}};
		for (int64_t end = l->n - j < SUMMED ? l->n : j + SUMMED; j < end; j++)
			UNROLLED for (int i = 0; i < vectors; i++) {
				vf e = vexp(in_strip(vectors, x + j * l->lda, i, width) - top[i]);
				if (!l->log) out_strip(vectors, out + j * l->ldout, i, e, width);
				s[i] += e;
			}
		UNROLLED for (int i = 0; i < vectors; i++) total[i] = wide_join(ADDING, total[i], widen(s[i]));
	}
	UNROLLED for (int i = 0; i < vectors; i++) scale[i] = l->log ? vlog(narrow(total[i])) : all(1.f) / narrow(total[i]);
	for (int64_t j = 0; j < l->n; j++)
		UNROLLED for (int i = 0; i < vectors; i++) {
			float *y = out + j * l->ldout;
			vf v = l->log ? (in_strip(vectors, x + j * l->lda, i, width) - top[i]) - scale[i] : in_strip(vectors, y, i, width) * scale[i];
			out_strip(vectors, y, i, v, width);
		}
}

FN void softmax_grad_strip(const int vectors, const struct lines *l, float *out, const float *dy, const float *y, int64_t width) {
	vf sum[4];
	struct wide total[4];
	UNROLLED for (int i = 0; i < vectors; i++) total[i] = wide_of(0);
	for (int64_t j = 0; j < l->n;) {
		vf s[4] = {{0}};
		for (int64_t end = l->n - j < SUMMED ? l->n : j + SUMMED; j < end; j++)
			UNROLLED for (int i = 0; i < vectors; i++) {
				vf d = in_strip(vectors, dy + j * l->lda, i, width);
				s[i] += l->log ? d : d * in_strip(vectors, y + j * l->ldb, i, width);
			}
		UNROLLED for (int i = 0; i < vectors; i++) total[i] = wide_join(ADDING, total[i], widen(s[i]));
	}
	UNROLLED for (int i = 0; i < vectors; i++) sum[i] = narrow(total[i]);
	for (int64_t j = 0; j < l->n; j++)
		UNROLLED for (int i = 0; i < vectors; i++) {
			vf d = in_strip(vectors, dy + j * l->lda, i, width), p = in_strip(vectors, y + j * l->ldb, i, width);
			out_strip(vectors, out + j * l->ldout, i, l->log ? d - vexp(p) * sum[i] : p * (d - sum[i]), width);
		}
}

// softmax_columns does the lines i0 to i1 of those that lie side by side.
BODY void softmax_columns(const struct lines *l, int64_t i0, int64_t i1) {
	for (; i0 + 4 * VL <= i1; i0 += 4 * VL) softmax_strip(4, l, l->out + i0, l->a + i0, 4 * VL);
	for (; i0 < i1; i0 += VL) softmax_strip(1, l, l->out + i0, l->a + i0, i1 - i0);
}

BODY void softmax_grad_columns(const struct lines *l, int64_t i0, int64_t i1) {
	for (; i0 + 4 * VL <= i1; i0 += 4 * VL) softmax_grad_strip(4, l, l->out + i0, l->a + i0, l->b + i0, 4 * VL);
	for (; i0 < i1; i0 += VL) softmax_grad_strip(1, l, l->out + i0, l->a + i0, l->b + i0, i1 - i0);
}
