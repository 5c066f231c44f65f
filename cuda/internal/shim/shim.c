// The entries as data, and one C function for each, since Go cannot call a C
// function pointer. See shim.h.
#include "shim.h"

#include <string.h>

_Static_assert(sizeof(tarn_result) == 4, "CUresult is an int");
_Static_assert(sizeof(uintptr_t) == sizeof(void (*)(void)), "a function's address is an integer");

#define TARN_ENTRY(field, parameters, feature, names) {feature, names, offsetof(struct tarn_cuda, field)},
static const struct tarn_entry entries[] = {TARN_CUDA_TABLE(TARN_ENTRY)};
#undef TARN_ENTRY

const struct tarn_entry *tarn_entry(int i) {
	return i < (int)(sizeof entries / sizeof *entries) ? &entries[i] : NULL;
}

void tarn_set(struct tarn_cuda *t, const struct tarn_entry *e, uintptr_t function) {
	memcpy((char *)t + e->offset, &function, sizeof function);
}

tarn_result tarn_init(const struct tarn_cuda *t, unsigned int flags) { return t->init(flags); }

tarn_result tarn_driver_get_version(const struct tarn_cuda *t, int *version) {
	return t->driver_get_version(version);
}

tarn_result tarn_device_get_count(const struct tarn_cuda *t, int *count) {
	return t->device_get_count(count);
}

const char *tarn_get_error_name(const struct tarn_cuda *t, tarn_result code) {
	const char *name = NULL;
	if (!t->get_error_name || t->get_error_name(code, &name) != 0) return NULL;
	return name;
}
