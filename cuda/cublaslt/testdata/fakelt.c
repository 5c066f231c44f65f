// A cuBLASLt that multiplies with plain loops, at once, on the host memory of
// the fake driver. It keeps what descriptors were told and refuses what does not
// fit together, with the sizes of attributes that the real library has. The
// tests build it with
//
//	cublasLtX=absent  leaves function cublasLtX out
//
// and drive it by the environment: FAKE_LT_DRIVER is the path of the driver, and
// FAKE_LT_FAIL=symbol:code lets a function return code.
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS, NOT_INITIALIZED, INVALID_VALUE = 7, EXECUTION_FAILED = 13, INTERNAL_ERROR, NOT_SUPPORTED = 15 };
enum { F32, F64, F16, BF16 = 14 };

// Whatever the library has made and not yet taken away, of each kind.
enum { HANDLE = 'H', PRODUCT = 'P', LAYOUT = 'L', PREFERENCE = 'R' };
int fake_lt_live[128], fake_lt_heuristics, fake_lt_products;

struct object {
	int kind;
	uint64_t serial;
	int compute, scale; // product
	int type;           // layout
	uint64_t attribute[32];
};

static const struct object *made(void **at, struct object o) {
	static uint64_t serial;
	struct object *p = malloc(sizeof *p);
	*p = o;
	p->serial = ++serial;
	fake_lt_live[o.kind]++;
	return *at = p;
}

static int is(const void *p, int kind) { return p && ((const struct object *)p)->kind == kind; }

static int destroyed(void *p, int kind) {
	if (!is(p, kind)) return INVALID_VALUE;
	fake_lt_live[kind]--;
	memset(p, 0, sizeof(struct object));
	free(p);
	return SUCCESS;
}

static int injected(const char *symbol) {
	const char *fail = getenv("FAKE_LT_FAIL");
	char name[64];
	int code;
	return fail && sscanf(fail, "%63[^:]:%d", name, &code) == 2 && !strcmp(name, symbol) ? code : SUCCESS;
}
#define ENTER                                  \
	do {                                   \
		int code = injected(__func__); \
		if (code) return code;         \
	} while (0)

// The driver's own functions, and its look at memory.
static int driver(const char *symbol, uintptr_t a, size_t b) {
	void *lib = dlopen(getenv("FAKE_LT_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
	int (*function)(uintptr_t, size_t) = NULL;
	if (lib) *(void **)&function = dlsym(lib, symbol);
	return function ? function(a, b) : -1;
}

int cublasLtCreate(void **handle) {
	ENTER;
	if (driver("cuCtxSynchronize", 0, 0) != 0) return NOT_INITIALIZED; // no current context
	made(handle, (struct object){.kind = HANDLE});
	return SUCCESS;
}

int cublasLtDestroy(void *handle) {
	ENTER;
	if (driver("cuCtxSynchronize", 0, 0) != 0) return NOT_INITIALIZED;
	return destroyed(handle, HANDLE);
}

int cublasLtMatmulDescCreate(void **product, int compute, int scale) {
	ENTER;
	made(product, (struct object){.kind = PRODUCT, .compute = compute, .scale = scale, .attribute = {[7] = 1}});
	return SUCCESS;
}
int cublasLtMatmulDescDestroy(void *product) { return destroyed(product, PRODUCT); }

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns, int64_t lead) {
	ENTER;
	made(layout, (struct object){.kind = LAYOUT, .type = type,
		.attribute = {[2] = rows, [3] = columns, [4] = lead, [5] = 1}});
	return SUCCESS;
}
int cublasLtMatrixLayoutDestroy(void *layout) { return destroyed(layout, LAYOUT); }

int cublasLtMatmulPreferenceCreate(void **preference) {
	ENTER;
	made(preference, (struct object){.kind = PREFERENCE, .attribute = {[3] = 7, [5] = 256, [6] = 256, [7] = 256, [8] = 256}});
	return SUCCESS;
}
int cublasLtMatmulPreferenceDestroy(void *preference) { return destroyed(preference, PREFERENCE); }

// set takes values of 4 or 8 bytes; sizes has a digit for each attribute.
static int set(void *p, int kind, const char *sizes, int attribute, const void *value, size_t size) {
	struct object *o = p;
	if (!is(p, kind) || attribute < 0 || attribute >= (int)strlen(sizes) || !value) return INVALID_VALUE;
	if (size == 0 || sizes[attribute] != '0' + (int)size) return INVALID_VALUE;
	o->attribute[attribute] = 0;
	memcpy(&o->attribute[attribute], value, size);
	return SUCCESS;
}

int cublasLtMatmulDescSetAttribute(void *product, int attribute, const void *value, size_t size) {
	ENTER;
	return set(product, PRODUCT, "44444444808888844888888844", attribute, value, size);
}
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t size) {
	ENTER;
	return set(layout, LAYOUT, "44888488", attribute, value, size);
}
int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t size) {
	ENTER;
	return set(preference, PREFERENCE, "48040444440008", attribute, value, size);
}

struct algo {
	uint64_t product, a, b, d, workspace; // serials, and bytes
	uint16_t alignment[4];                // of A, B, D and the bias
	uint64_t rest[2];
};
struct result {
	struct algo algo;
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};
_Static_assert(sizeof(struct algo) == 64 && sizeof(struct result) == 96, "as in cublasLt.h");

// fits says whether the operands make a product.
static int fits(const struct object *p, const struct object *a, const struct object *b, const struct object *c, const struct object *d) {
	if (!is(p, PRODUCT) || !is(a, LAYOUT) || !is(b, LAYOUT) || !is(c, LAYOUT) || !is(d, LAYOUT)) return 0;
	uint64_t ta = p->attribute[3], tb = p->attribute[4];
	if (ta > 1 || tb > 1) return 0;
	uint64_t m = a->attribute[2 + ta], k = a->attribute[3 - ta];
	if (b->attribute[2 + tb] != k || d->attribute[2] != m || d->attribute[3] != b->attribute[3 - tb]) return 0;
	const struct object *all[] = {a, b, c, d};
	for (int i = 0; i < 4; i++) {
		const uint64_t *l = all[i]->attribute;
		if (l[1] != 0 || l[4] < l[2] || !l[2] || !l[3] || l[5] != d->attribute[5]) return 0;
	}
	if (memcmp(c->attribute, d->attribute, sizeof c->attribute) || c->type != d->type || a->type != b->type) return 0;
	if (p->compute == 70) return p->scale == F64 && a->type == F64 && d->type == F64;
	return p->compute == 68 && p->scale == F32 && a->type != F64 && (d->type == a->type || d->type == F32);
}

static uint16_t alignment(uint64_t p) { return p % 256 ? p & -p : 256; }

int cublasLtMatmulAlgoGetHeuristic(void *handle, struct object *p, struct object *a, struct object *b, struct object *c,
	struct object *d, struct object *preference, int wanted, struct result *results, int *found) {
	ENTER;
	fake_lt_heuristics++;
	if (!is(handle, HANDLE) || !is(preference, PREFERENCE) || wanted != 1 || !fits(p, a, b, c, d)) return INVALID_VALUE;
	*found = 0;
	uint64_t k = a->attribute[3 - p->attribute[3]];
	if (k == 666) return NOT_SUPPORTED;
	if (k == 667) return SUCCESS; // nothing found
	*found = 1;
	*results = (struct result){.state = k == 668 ? NOT_SUPPORTED : SUCCESS,
		.algo = {.product = p->serial, .a = a->serial, .b = b->serial, .d = d->serial}};
	for (int i = 0; i < 3; i++) results->algo.alignment[i] = preference->attribute[5 + i];
	results->algo.alignment[3] = alignment(p->attribute[8]);
	// Long sums take all the workspace that they may.
	results->workspace = results->algo.workspace = k > 100 ? preference->attribute[1] : 0;
	return SUCCESS;
}

static size_t size_of(int type) { return type == F64 ? 8 : type == F32 ? 4 : 2; }

static double load(int type, uintptr_t p, int64_t i) {
	const char *at = (const char *)p + i * (int64_t)size_of(type);
	double v;
	float f;
	uint32_t bits = 0;
	switch (type) {
	case F64: memcpy(&v, at, 8); return v;
	case F32: memcpy(&f, at, 4); return f;
	case BF16: memcpy((char *)&bits + 2, at, 2); memcpy(&f, &bits, 4); return f;
	}
	memcpy(&bits, at, 2);
	int exponent = bits >> 10 & 31;
	v = exponent ? ldexp(1024 + (bits & 1023), exponent - 25) : ldexp(bits & 1023, -24);
	return bits >> 15 ? -v : v;
}

static void store(int type, uintptr_t p, int64_t i, double v) {
	char *at = (char *)p + i * (int64_t)size_of(type);
	float f = (float)v;
	uint32_t bits;
	int exponent;
	switch (type) {
	case F64: memcpy(at, &v, 8); return;
	case F32: memcpy(at, &f, 4); return;
	case BF16:
		memcpy(&bits, &f, 4);
		bits += 0x7fff + (bits >> 16 & 1);
		memcpy(at, (char *)&bits + 2, 2);
		return;
	}
	// What is too large or too small for an f16 does not come up.
	double digits = frexp(fabs(v), &exponent);
	bits = v == 0 ? 0 : ((uint32_t)(exponent + 13) << 10) + (uint32_t)nearbyint(digits * 2048);
	uint16_t half = (uint16_t)(bits | (v < 0 ? 0x8000 : 0));
	memcpy(at, &half, 2);
}

// reachable reports whether all of an operand lies in memory of the device.
static int reachable(uintptr_t p, const struct object *l) {
	const uint64_t *n = l->attribute;
	uint64_t last = (n[5] - 1) * n[6] + (n[3] - 1) * n[4] + n[2];
	return p && p % size_of(l->type) == 0 && driver("usable", p, last * size_of(l->type)) == 1;
}

static int64_t place(const struct object *l, uint64_t transposed, int64_t row, int64_t column, int64_t batch) {
	int64_t lead = (int64_t)l->attribute[4], step = (int64_t)l->attribute[6];
	return batch * step + (transposed ? row * lead + column : column * lead + row);
}

int cublasLtMatmul(void *handle, struct object *p, const void *alpha, uintptr_t a, struct object *la, uintptr_t b,
	struct object *lb, const void *beta, uintptr_t c, struct object *lc, uintptr_t d, struct object *ld,
	const struct algo *algo, uintptr_t workspace, size_t workspace_size, uintptr_t stream) {
	ENTER;
	fake_lt_products++;
	if (!is(handle, HANDLE) || !fits(p, la, lb, lc, ld) || !algo) return INVALID_VALUE;
	if (algo->product != p->serial || algo->a != la->serial || algo->b != lb->serial || algo->d != ld->serial) return INVALID_VALUE;
	// The stream must be one of the context that is current.
	if (driver("cuStreamQuery", stream, 0) != 0) return EXECUTION_FAILED;
	const uint64_t *is_set = p->attribute;
	uintptr_t bias = is_set[7] & 4 ? is_set[8] : 0;
	if (is_set[7] & 4 && driver("usable", bias, ld->attribute[2] * size_of(ld->type)) != 1) return INVALID_VALUE;
	if (alignment(a) < algo->alignment[0] || alignment(b) < algo->alignment[1] || alignment(d) < algo->alignment[2]) return INVALID_VALUE;
	if (bias && alignment(bias) < algo->alignment[3]) return INVALID_VALUE;
	if (workspace_size < algo->workspace || workspace % 256) return INVALID_VALUE;
	if (workspace_size && driver("usable", workspace, workspace_size) != 1) return INVALID_VALUE;
	if (!reachable(a, la) || !reachable(b, lb) || !reachable(d, ld) || c != d) return INVALID_VALUE;
	if (workspace_size) memset((void *)workspace, 0xee, workspace_size);

	sched_yield(); // others may come who should not
	if (bias && is_set[8] != bias) return INTERNAL_ERROR;
	double times = load(p->scale, (uintptr_t)alpha, 0), keep = load(p->scale, (uintptr_t)beta, 0);
	int64_t m = (int64_t)ld->attribute[2], n = (int64_t)ld->attribute[3], k = (int64_t)la->attribute[3 - is_set[3]];
	for (int64_t i = 0; i < (int64_t)ld->attribute[5]; i++)
		for (int64_t column = 0; column < n; column++)
			for (int64_t row = 0; row < m; row++) {
				double sum = 0;
				for (int64_t j = 0; j < k; j++)
					sum += load(la->type, a, place(la, is_set[3], row, j, i)) * load(lb->type, b, place(lb, is_set[4], j, column, i));
				int64_t at = place(ld, 0, row, column, i);
				sum *= times;
				if (keep != 0) sum += keep * load(ld->type, d, at);
				if (bias) sum += load(ld->type, bias, i * (int64_t)is_set[10] + row);
				if (is_set[7] & 2 && sum < 0) sum = 0;
				store(ld->type, d, at, sum);
			}
	return SUCCESS;
}
