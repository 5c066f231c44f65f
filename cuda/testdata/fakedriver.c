// A driver library over host memory, whose work is done when the call that
// queues it returns. It refuses misuse, also where a real driver does not look.
// The tests build it with the system's C compiler:
//
//	VERSION      what cuDriverGetVersion says
//	VERSION_CODE its result code; likewise INIT_CODE and COUNT_CODE
//	COUNT        the number of devices, each with CAPACITY bytes
//	QUICK        a launch does and checks nothing, to see what leads to it
//	cuX=absent   leaves function cuX out, by giving it another name
//
// and drive it by the environment: FAKE_FAIL=symbol:n:code lets the n-th call
// of a function, counted from when the variable changed, return code. Device
// attribute 10000 + kind is how many things of that kind the device has.
#define _GNU_SOURCE
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifndef VERSION
#define VERSION 12040
#endif
#ifndef VERSION_CODE
#define VERSION_CODE 0
#endif
#ifndef INIT_CODE
#define INIT_CODE 0
#endif
#ifndef COUNT_CODE
#define COUNT_CODE 0
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int initialised;
static int retained[DEVICES], lost[DEVICES];
static struct thing things[4096];
static int high; // things in use are below
static uintptr_t serial;
static __thread int current; // device + 1, 0 without a context

static int injected(const char *symbol) {
	static char seen[128];
	static int calls;
	const char *now = getenv("FAKE_FAIL");
	if (!now) now = "";
	if (strcmp(now, seen) != 0) {
		snprintf(seen, sizeof seen, "%s", now);
		calls = 0;
	}
	char name[64];
	int nth, code;
	if (sscanf(now, "%63[^:]:%d:%d", name, &nth, &code) != 3 || strcmp(name, symbol) != 0) return 0;
	return ++calls == nth ? code : 0;
}

int enter(const char *symbol, int context) {
	pthread_mutex_lock(&lock);
	int code = injected(symbol);
	if (context && current && code >= 700 && code < 720) lose(code);
	if (code) return code;
	if (!context) return 0;
	if (!initialised) return 3;
	if (!current || !retained[current - 1]) return 201;
	return lost[current - 1];
}

void leave(void) { pthread_mutex_unlock(&lock); }
void again(void) { pthread_mutex_lock(&lock); }
int device_now(void) { return current - 1; }
void lose(int code) { lost[current - 1] = code; }

uintptr_t add(enum kind kind, uintptr_t id, size_t size) {
	int i = 0;
	while (i < high && things[i].kind) i++;
	if (i == sizeof things / sizeof *things) abort();
	if (i == high) high++;
	if (!id) id = 0x1000 + 16 * ++serial;
	things[i] = (struct thing){.kind = kind, .device = device_now(), .id = id, .size = size};
	return id;
}

struct thing *each(struct thing *t, enum kind kind) {
	for (t = t ? t + 1 : things; t < things + high; t++)
		if (t->kind == kind) return t;
	return NULL;
}

struct thing *find(enum kind kind, uintptr_t id) {
	struct thing *t = NULL;
	while ((t = each(t, kind)) && t->id != id) {}
	return t;
}

struct thing *mine(enum kind kind, uintptr_t id) {
	struct thing *t = find(kind, id);
	return t && t->device == device_now() ? t : NULL;
}

void drop(struct thing *t) { t->kind = NOTHING; }

// Start-up, devices and contexts.

PLAIN(cuInit, (unsigned int flags), {
	code = flags ? 1 : INIT_CODE;
	initialised = code == 0;
})

PLAIN(cuDriverGetVersion, (int *version), {
	*version = VERSION;
	code = VERSION_CODE;
})

PLAIN(cuDeviceGetCount, (int *count), {
	*count = COUNT;
	code = initialised ? COUNT_CODE : 3;
})

PLAIN(cuGetErrorName, (int number, const char **name), {
	*name = "CUDA_ERROR_OF_TOMORROW";
	code = number == 12345 ? 0 : 1;
})

static int known(int device) { return device >= 0 && device < COUNT; }

PLAIN(cuDeviceGet, (int *device, int ordinal), {
	*device = ordinal;
	code = known(ordinal) ? 0 : 101;
})

PLAIN(cuDeviceGetName, (char *name, int size, int device), {
	code = known(device) ? 0 : 101;
	snprintf(name, size, "Fake GPU %d", device);
})

PLAIN(cuDeviceGetUuid_v2, (unsigned char *uuid, int device), {
	code = known(device) ? 0 : 101;
	for (int i = 0; i < 16; i++) uuid[i] = 0x10 * device + i;
})

PLAIN(cuDeviceTotalMem_v2, (size_t *bytes, int device), {
	code = known(device) ? 0 : 101;
	*bytes = CAPACITY;
})

PLAIN(cuDeviceGetAttribute, (int *value, int attribute, int device), {
	if (!known(device)) code = 101;
	*value = 0;
	switch (attribute) {
	case 1: *value = 1024; break;
	case 8: *value = 48 << 10; break;
	case 10: *value = 32; break;
	case 16: *value = 4; break;
	case 38: *value = 1 << 20; break;
	case 40: *value = 2; break;
	case 75: *value = 7; break;
	case 76: *value = 5; break;
	case 97: *value = 100 << 10; break;
	case 102: case 103: *value = 1; break;
	case 110: break;
	default:
		if (attribute < 10000) code = 1;
		for (struct thing *t = NULL; (t = each(t, attribute - 10000));) *value += t->device == device;
		if (attribute == 10000) *value = retained[device];
	}
})

PLAIN(cuDevicePrimaryCtxRetain, (uintptr_t *context, int device), {
	if (!known(device)) code = 101;
	else {
		retained[device]++;
		*context = 0xC0 + device;
	}
})

// With the last user go the things of the context. Pages are not its own.
PLAIN(cuDevicePrimaryCtxRelease_v2, (int device), {
	if (!known(device) || !retained[device]) code = 201;
	else if (--retained[device] == 0) {
		lost[device] = 0;
		forget(device);
		for (int i = 0; i < high; i++)
			if (things[i].device == device && things[i].kind != PAGE) drop(&things[i]);
	}
})

#ifdef QUICK
int cuCtxSetCurrent(uintptr_t context) {
	current = (int)context - 0xC0 + 1;
	return 0;
}
#else
PLAIN(cuCtxSetCurrent, (uintptr_t context), {
	int device = (int)context - 0xC0;
	if (!known(device) || !retained[device]) code = 201;
	else current = device + 1;
})
#endif

CALL(cuCtxGetStreamPriorityRange, (int *least, int *greatest), {
	*least = 0;
	*greatest = -5;
})

#ifdef UNDEFINED
int nowhere_to_be_found(void);
int uses_it(void) { return nowhere_to_be_found(); }
#endif
