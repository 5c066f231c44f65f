// optim.h: optimiser steps, one pass over memory each. The arithmetic is that
// of go_optim.go, whose comments give its order.

FN vf sgd_vector(const struct sgd *h, vf p, vf *m, vf g) {
	if (h->decay != 0) g += all(h->decay) * p;
	if (m) {
		*m = h->first ? g : all(h->momentum) * *m + all(h->take) * g;
		g = h->nesterov ? g + all(h->momentum) * *m : *m;
	}
	return p - all(h->lr) * g;
}

BODY void sgd_run(const struct sgd *h, float *p, float *m, const float *g, int64_t n) {
	struct sgd c = *h; // out of the way of the stores, so that factors stay in registers
	int64_t i = 0;
	if (!m) {
		for (; i + VL <= n; i += VL) store(p + i, sgd_vector(&c, load(p + i), NULL, load(g + i)));
		if (i < n) store_first(p + i, sgd_vector(&c, load_first(p + i, n - i), NULL, load_first(g + i, n - i)), n - i);
		return;
	}
	for (; i + VL <= n; i += VL) {
		vf v = load(m + i);
		store(p + i, sgd_vector(&c, load(p + i), &v, load(g + i)));
		store(m + i, v);
	}
	if (i < n) {
		vf v = load_first(m + i, n - i);
		store_first(p + i, sgd_vector(&c, load_first(p + i, n - i), &v, load_first(g + i, n - i)), n - i);
		store_first(m + i, v, n - i);
	}
}

FN vf adamw_vector(const struct adamw *h, vf p, vf *m, vf *v, vf g) {
	*m = all(h->keep1) * *m + all(h->take1) * g;
	*v = all(h->keep2) * *v + all(h->take2) * g * g;
	vf norm = root(*v) / all(h->root) + all(h->eps);
	return all(h->shrink) * p - all(h->rate) * *m / norm;
}

BODY void adamw_run(const struct adamw *h, float *p, float *m, float *v, const float *g, int64_t n) {
	struct adamw c = *h;
	int64_t i = 0;
	for (; i + VL <= n; i += VL) {
		vf first = load(m + i), second = load(v + i);
		store(p + i, adamw_vector(&c, load(p + i), &first, &second, load(g + i)));
		store(m + i, first);
		store(v + i, second);
	}
	if (i < n) {
		vf first = load_first(m + i, n - i), second = load_first(v + i, n - i);
		store_first(p + i, adamw_vector(&c, load_first(p + i, n - i), &first, &second, load_first(g + i, n - i)), n - i);
		store_first(m + i, first, n - i);
		store_first(v + i, second, n - i);
	}
}
