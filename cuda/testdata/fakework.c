// Streams, events, modules and launches of the fake driver.
#define _GNU_SOURCE
#include "fake.h"

#include <string.h>

// Streams and events belong to a context: the current one's only are taken.
// The driver's own default stream, 0, is refused: Tarn has another.

CALL(cuStreamCreateWithPriority, (uintptr_t *stream, unsigned int flags, int priority), {
	if (flags != 1) code = 1; // NON_BLOCKING
	else *stream = add(STREAM, 0, (size_t)-priority);
})

static int destroyed(enum kind kind, uintptr_t id) {
	struct thing *t = mine(kind, id);
	if (!t) return 400;
	drop(t);
	return 0;
}

CALL(cuStreamDestroy_v2, (uintptr_t stream), { code = destroyed(STREAM, stream); })
CALL(cuStreamSynchronize, (uintptr_t stream), { code = awaitable(stream); })
CALL(cuStreamQuery, (uintptr_t stream), { code = awaitable(stream); })

CALL(cuEventCreate, (uintptr_t *event, unsigned int flags), {
	if (flags & ~2u) code = 1; // DISABLE_TIMING
	else mine(EVENT, *event = add(EVENT, 0, 0))->named = flags == 0;
})

static int settled(uintptr_t event) {
	struct thing *e = mine(EVENT, event);
	return !e ? 400 : e->capture ? 907 : 0;
}

CALL(cuEventQuery, (uintptr_t event), { code = settled(event); })
CALL(cuEventSynchronize, (uintptr_t event), { code = settled(event); })
CALL(cuEventDestroy_v2, (uintptr_t event), { code = destroyed(EVENT, event); })

// From one record to the next of the whole driver it is half a millisecond.
CALL(cuEventElapsedTime, (float *milliseconds, uintptr_t from, uintptr_t to), {
	struct thing *a = mine(EVENT, from);
	struct thing *b = mine(EVENT, to);
	if (!a || !b || !a->named || !b->named || !a->moment || !b->moment) code = 400;
	else if (a->capture || b->capture) code = 907;
	else *milliseconds = 0.5f * (float)((double)b->moment - (double)a->moment);
})

// parameters returns how many bytes a kernel's parameters take, as its text
// declares them up to the closing parenthesis.
static size_t parameters(const char *text, const char *end) {
	size_t size = 0;
	while ((text = strstr(text, ".param .")) && text < end) {
		unsigned int bits;
		text += strlen(".param .");
		sscanf(text + 1, "%u", &bits);
		size_t bytes = bits / 8;
		size = (size + bytes - 1) / bytes * bytes + bytes;
	}
	return size;
}

CALL(cuModuleLoadDataEx, (uintptr_t *module, const char *text, unsigned int count, int *options, void **values), {
	if (count != 2 || options[0] != 5 || options[1] != 6) code = 1;
	else if (strncmp(text, ".version ", 9) != 0) {
		code = 218;
		snprintf(values[0], (size_t)values[1],
			"ptxas application ptx input, line 1; fatal   : Missing .version directive\n");
	} else {
		*module = add(MODULE, 0, 0);
		for (const char *at = text; (at = strstr(at, ".entry "));) {
			const char *end = strchr(at, ')');
			uintptr_t id = add(FUNCTION, 0, parameters(at, end));
			struct thing *f = mine(FUNCTION, id);
			f->owner = *module;
			sscanf(at, ".entry %31[a-z_0-9]", f->name);
			at = end;
		}
	}
})

CALL(cuModuleUnload, (uintptr_t module), {
	code = destroyed(MODULE, module);
	for (struct thing *f = NULL; code == 0 && (f = each(f, FUNCTION));)
		if (f->owner == module) drop(f);
})

CALL(cuModuleGetFunction, (uintptr_t *function, uintptr_t module, const char *name), {
	code = mine(MODULE, module) ? 500 : 400;
	for (struct thing *f = NULL; code == 500 && (f = each(f, FUNCTION));)
		if (f->owner == module && strcmp(f->name, name) == 0) {
			*function = f->id;
			code = 0;
		}
})

CALL(cuFuncSetAttribute, (uintptr_t function, int attribute, int value), {
	struct thing *f = mine(FUNCTION, function);
	if (!f) code = 400;
	else if (attribute != 8 || value < 0 || value > 100 << 10) code = 1;
	else f->access = value;
})

CALL(cuFuncGetAttribute, (int *value, int attribute, uintptr_t function), {
	static const int values[] = {1024, 128, 64, 32, 24, 70, 75, 0};
	struct thing *f = mine(FUNCTION, function);
	if (!f) code = 400;
	else if (attribute < 0 || attribute > 8) code = 1;
	else *value = attribute < 8 ? values[attribute] : f->access;
})

// run is the kernel, by its name. A fault shows at the next call.
void run(const struct work *w) {
	if (strcmp(w->kernel, "fault") == 0) lose(700);
	if (strcmp(w->kernel, "scale") != 0) return;
	float *p;
	uint32_t n;
	float by;
	memcpy(&p, w->args, 8);
	memcpy(&n, w->args + 8, 4);
	memcpy(&by, w->args + 12, 4);
	if (!usable((uintptr_t)p, n * sizeof *p)) {
		lose(700);
		return;
	}
	for (uint32_t i = 0; i < n; i++) p[i] *= by;
}

#ifdef QUICK
int cuLaunchKernel(void) { return 0; }
#else
CALL(cuLaunchKernel, (uintptr_t function, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, uintptr_t stream,
	void **list, void **extra), {
	struct work w = {.what = LAUNCH};
	struct thing *f = mine(FUNCTION, function);
	size_t dynamic = f && f->access ? f->access : 48 << 10;
	if (!f || !mine(STREAM, stream)) code = 400;
	else if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || shared > dynamic) code = 1;
	else if (list || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4]) code = 1;
	else if (*(size_t *)extra[3] != f->size || f->size > sizeof w.args) code = 1;
	else {
		memcpy(w.kernel, f->name, sizeof w.kernel);
		memcpy(w.args, extra[1], f->size);
		code = submit(stream, &w);
	}
})
#endif
