// batchnorm.h: batch normalisation of x [images, channels, size], a channel at a
// time where its planes lie as runs, and all of a block of channels side by side
// where a plane is one element.

// channel_statistics returns the mean of channel c and sets *variance.
FN double channel_statistics(const struct batch *h, int64_t c, double *variance) {
	double count = (double)(h->images * h->size), sum = 0, squares = 0;
	const float *x = h->x + c * h->x_channel;
	for (int64_t i = 0; i < h->images; i++) sum += sum_run(x + i * h->x_image, h->size);
	double mean = sum / count;
	float hi = (float)mean, lo = (float)(mean - hi);
	for (int64_t i = 0; i < h->images; i++) squares += squares_run(x + i * h->x_image, hi, lo, h->size);
	*variance = squares / count;
	return mean;
}

// batch_planes normalises the channels c0 to c1, by statistics that it makes or,
// of what is given, finds in h->mean and h->variance.
BODY void batch_planes(const struct batch *h, int64_t c0, int64_t c1) {
	for (int64_t c = c0; c < c1; c++) {
		double mean = h->mean[c], variance = h->variance[c];
		if (!h->given) {
			mean = channel_statistics(h, c, &variance);
			h->mean[c] = (float)mean, h->variance[c] = (float)variance;
		}
		float hi = (float)mean, lo = (float)(mean - hi);
		float scale = (float)(1 / __builtin_sqrt(variance + h->eps)) * (h->w ? h->w[c] : 1), shift = h->b ? h->b[c] : 0;
		for (int64_t i = 0; i < h->images; i++)
			scale_run(h->y + i * h->y_image + c * h->y_channel, h->x + i * h->x_image + c * h->x_channel, all(hi), all(lo), all(scale), all(shift), h->size);
	}
}

// add_wide_lanes returns the sum of the lanes of x.
FN double add_wide_lanes(struct wide x) {
	double lanes[VL], total = 0;
	memcpy(lanes, &x, sizeof lanes);
	for (int i = 0; i < VL; i++) total += lanes[i];
	return total;
}

// grad_products returns the sum of dy*(x-mean)*rstd over channel c and sets *sum to
// that of dy. Of each SUM_BLOCK of a plane the lanes are added up in float, in two chains.
FN double grad_products(const struct batch *h, int64_t c, vf rstd, double *sum) {
	const vf mean = all(h->mean[c]);
	struct wide total = wide_of(0), product = total;
	for (int64_t i = 0; i < h->images; i++) {
		const float *dy = h->dy + i * h->dy_image + c * h->dy_channel, *x = h->x + i * h->x_image + c * h->x_channel;
		for (int64_t j = 0; j < h->size;) {
			vf s[2] = {{0}}, p[2] = {{0}};
			int64_t end = h->size - j < SUM_BLOCK ? h->size : j + SUM_BLOCK;
			for (; j + 2 * VL <= end; j += 2 * VL)
				UNROLLED for (int k = 0; k < 2; k++) {
					vf d = load(dy + j + k * VL);
					s[k] += d;
					p[k] += d * ((load(x + j + k * VL) - mean) * rstd);
				}
			for (; j < end; j += VL) {
				vf d = load_up_to(dy + j, end - j);
				s[0] += d;
				p[0] += (vf)(first_mask(end - j < VL ? end - j : VL) & (vi)(d * ((load_up_to(x + j, end - j) - mean) * rstd)));
			}
			j = end;
			total = wide_join(ADDING, total, widen(s[0] + s[1])), product = wide_join(ADDING, product, widen(p[0] + p[1]));
		}
	}
	*sum = add_wide_lanes(total);
	return add_wide_lanes(product);
}

// batch_grad_run writes dx = scale*(dy - sum - (x-mean)*product).
FN void batch_grad_run(float *dx, const float *dy, const float *x, vf mean, vf scale, vf sum, vf product, int64_t n) {
	int64_t j = 0;
	for (; j + VL <= n; j += VL) store(dx + j, scale * ((load(dy + j) - sum) - (load(x + j) - mean) * product));
	if (j < n) store_first(dx + j, scale * ((load_first(dy + j, n - j) - sum) - (load_first(x + j, n - j) - mean) * product), n - j);
}

BODY void batch_grad_planes(const struct batch *h, int64_t c0, int64_t c1) {
	double count = (double)(h->images * h->size);
	for (int64_t c = c0; c < c1; c++) {
		float rstd = (float)(1 / __builtin_sqrt(h->variance[c] + h->eps)), scale = rstd * (h->w ? h->w[c] : 1);
		double total, product = grad_products(h, c, all(rstd), &total);
		h->dw[c] = (float)product, h->db[c] = (float)total;
		for (int64_t i = 0; i < h->images; i++) {
			float *dx = h->y + i * h->y_image + c * h->y_channel;
			const float *dy = h->dy + i * h->dy_image + c * h->dy_channel;
			if (h->given) scale_run(dx, dy, (vf){0}, (vf){0}, all(scale), (vf){0}, h->size);
			else batch_grad_run(dx, dy, h->x + i * h->x_image + c * h->x_channel,
				all(h->mean[c]), all(scale), all((float)(total / count)), all((float)(product / count) * rstd), h->size);
		}
	}
}

// batch_columns is batch_planes for planes of one element.
BODY void batch_columns(const struct batch *h, int64_t c0, int64_t c1) {
	if (!h->given) {
		struct fold f = {.op = FOLD_VAR, .outer = 1, .kept = c1, .rows = 1, .n = h->images, .n_step = h->x_image,
			.out_kept = 1, .mean_kept = 1, .x = h->x, .out = h->variance, .mean = h->mean};
		fold_columns(&f, 0, c0, c1);
	}
	for (int64_t c = c0; c < c1; c += TOTALS) {
		float scale[TOTALS], shift[TOTALS];
		int64_t width = c1 - c < TOTALS ? c1 - c : TOTALS;
		for (int64_t j = 0; j < width; j++) {
			scale[j] = (float)(1 / __builtin_sqrt(h->variance[c + j] + h->eps)) * (h->w ? h->w[c + j] : 1);
			shift[j] = h->b ? h->b[c + j] : 0;
		}
		for (int64_t i = 0; i < h->images; i++)
			for (int64_t j = 0; j < width; j += VL) {
				vf d = load_up_to(h->x + i * h->x_image + c + j, width - j) - load_up_to(h->mean + c + j, width - j);
				store_up_to(h->y + i * h->y_image + c + j, d * load_up_to(scale + j, width - j) + load_up_to(shift + j, width - j), width - j);
			}
	}
}

// batch_grad_strip does a vector of channels, or fewer.
FN void batch_grad_strip(const struct batch *h, int64_t c, int64_t width) {
	vf mean = load_up_to(h->mean + c, width), w = h->w ? load_up_to(h->w + c, width) : all(1.f);
	vf rstd = all(1.f) / root(load_up_to(h->variance + c, width) + all((float)h->eps));
	struct wide total = wide_of(0), product = total, count = wide_of((double)h->images);
	for (int64_t i = 0; i < h->images;) {
		vf s = {0}, p = {0};
		for (int64_t end = h->images - i < 16 ? h->images : i + 16; i < end; i++) {
			vf d = load_up_to(h->dy + i * h->dy_image + c, width);
			s += d;
			p += d * ((load_up_to(h->x + i * h->x_image + c, width) - mean) * rstd);
		}
		total = wide_join(ADDING, total, widen(s)), product = wide_join(ADDING, product, widen(p));
	}
	store_up_to(h->db + c, narrow(total), width);
	store_up_to(h->dw + c, narrow(product), width);
	UNROLLED for (int k = 0; k < 2; k++) total.half[k] /= count.half[k], product.half[k] /= count.half[k];
	vf sum = narrow(total), by = narrow(product) * rstd, scale = w * rstd;
	for (int64_t i = 0; i < h->images; i++) {
		vf d = load_up_to(h->dy + i * h->dy_image + c, width), x = load_up_to(h->x + i * h->x_image + c, width);
		store_up_to(h->y + i * h->y_image + c, scale * (h->given ? d : (d - sum) - (x - mean) * by), width);
	}
}

BODY void batch_grad_columns(const struct batch *h, int64_t c0, int64_t c1) {
	for (; c0 < c1; c0 += VL) batch_grad_strip(h, c0, c1 - c0);
}
