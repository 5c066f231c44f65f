// The functions by the names of the driver's. All but a few are exported by Go.
#include "table.h"

#include <string.h>

static __thread struct tarnsim_thread thread;

struct tarnsim_thread tarnsim_thread(void) {
	thread.id = (uintptr_t)&thread;
	return thread;
}

void tarnsim_set_thread(tarn_handle context) { thread.context = context; }

void tarnsim_call(uintptr_t function, uintptr_t data) {
	thread.in_host_function++;
	((void (*)(void *))function)((void *)data);
	thread.in_host_function--;
}

// A call without a handle does not say whose it is, so each machine has a
// function of its own for it.
extern tarn_result tarnsim_slot_init(int slot, unsigned int flags);
extern tarn_result tarnsim_slot_driver_get_version(int slot, int *version);
extern tarn_result tarnsim_slot_device_get_count(int slot, int *count);
extern tarn_result tarnsim_slot_device_get(int slot, int *device, int ordinal);

#define SLOT(n)                                                                                           \
	static tarn_result init_##n(unsigned int flags) { return tarnsim_slot_init(n, flags); }           \
	static tarn_result version_##n(int *version) { return tarnsim_slot_driver_get_version(n, version); } \
	static tarn_result count_##n(int *count) { return tarnsim_slot_device_get_count(n, count); }      \
	static tarn_result get_##n(int *device, int ordinal) { return tarnsim_slot_device_get(n, device, ordinal); }
#define ROW(n) {(uintptr_t)init_##n, (uintptr_t)version_##n, (uintptr_t)count_##n, (uintptr_t)get_##n},
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
// The numbers are octal: 00 to 057.
#define ALL(X) EIGHT(X, 0) EIGHT(X, 01) EIGHT(X, 02) EIGHT(X, 03) EIGHT(X, 04) EIGHT(X, 05)

ALL(SLOT)
static const uintptr_t by_slot[][4] = {ALL(ROW)};
static const char *const by_slot_names[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet"};

#define DECLARE(field, parameters, feature, names) extern tarn_result tarnsim_##field parameters;
#define ENTRY(field, parameters, feature, names) {names, (uintptr_t)tarnsim_##field},
TARN_CUDA_TABLE(DECLARE)

// The rows have functions of that kind too; they are never handed out.
tarn_result tarnsim_init(unsigned int flags) { return init_00(flags); }
tarn_result tarnsim_driver_get_version(int *version) { return version_00(version); }
tarn_result tarnsim_device_get_count(int *count) { return count_00(count); }
tarn_result tarnsim_device_get(int *device, int ordinal) { return get_00(device, ordinal); }

static const struct {
	const char *names;
	uintptr_t function;
} functions[] = {TARN_CUDA_TABLE(ENTRY)};

// has reports whether a list that spaces separate has a name.
static int has(const char *list, const char *name) {
	size_t n = strlen(name);
	for (const char *at = list; (at = strstr(at, name)); at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return 1;
	return 0;
}

uintptr_t tarnsim_symbol(const char *name, int slot) {
	for (size_t i = 0; i < sizeof by_slot_names / sizeof *by_slot_names; i++)
		if (strcmp(by_slot_names[i], name) == 0) return by_slot[slot][i];
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (has(functions[i].names, name)) return functions[i].function;
	return 0;
}
