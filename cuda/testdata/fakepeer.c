// Access between the devices of the fake driver, all of which have it, and the
// pools that the driver allocates from.
#define _GNU_SOURCE
#include "fake.h"

#include <stdlib.h>
#include <string.h>

static int enabled[DEVICES][DEVICES]; // of whom, to whom

int peer(int device) { return enabled[device_now()][device]; }

PLAIN(cuDeviceCanAccessPeer, (int *can, int device, int other), {
	if (device < 0 || device >= COUNT || other < 0 || other >= COUNT) code = 101;
	else *can = device != other;
})

static int number(uintptr_t context) { return (int)context - 0xC0; }
static int foreign(int device) { return device >= 0 && device < COUNT && device != device_now(); }

CALL(cuCtxEnablePeerAccess, (uintptr_t context, unsigned int flags), {
	int other = number(context);
	if (!foreign(other) || flags) code = 101;
	else if (enabled[device_now()][other]++) code = 704;
})

CALL(cuCtxDisablePeerAccess, (uintptr_t context), {
	int other = number(context);
	if (!foreign(other)) code = 101;
	else if (!enabled[device_now()][other]) code = 705;
	else enabled[device_now()][other] = 0;
})

static int lies(uintptr_t p, size_t size, int device) {
	for (struct thing *t = NULL; (t = each(t, ALLOCATION));)
		if (t->device == device && p >= t->id && size <= t->size && p - t->id <= t->size - size) return 1;
	return 0;
}

// It needs no access.
CALL(cuMemcpyPeerAsync, (uintptr_t to, uintptr_t there, uintptr_t from, uintptr_t here, size_t size, uintptr_t stream), {
	struct work w = {.what = COPY, .to = to, .from = from, .size = size};
	if (!mine(STREAM, stream)) code = 400;
	else if (!lies(to, size, number(there)) || !lies(from, size, number(here))) code = 1;
	else code = submit(stream, &w);
})

// A pool holds what is in use, and of the rest as much as the threshold says.
// Its handle is 0xB0 and the device.

static struct pool { uint64_t threshold, reserved, most, used, peak; } pools[DEVICES];

size_t pooled(int device) { return pools[device].reserved; }

static struct pool *pool(uintptr_t handle) {
	return handle >= 0xB0 && handle < 0xB0 + COUNT ? &pools[handle - 0xB0] : NULL;
}

void forget(int device) {
	pools[device] = (struct pool){0};
	for (int i = 0; i < DEVICES; i++) enabled[device][i] = enabled[i][device] = 0;
}

static void limit(struct pool *p, uint64_t keep) {
	if (p->reserved > keep) p->reserved = p->used > keep ? p->used : keep;
}

PLAIN(cuDeviceGetDefaultMemPool, (uintptr_t *handle, int device), {
	if (device < 0 || device >= COUNT) code = 101;
	else *handle = 0xB0 + device;
})

CALL(cuMemPoolSetAttribute, (uintptr_t handle, int attribute, uint64_t *value), {
	struct pool *p = pool(handle);
	if (!p) code = 400;
	else if (attribute == 4) p->threshold = *value;
	else if (attribute == 6 && *value == 0) p->most = p->reserved;
	else if (attribute == 8 && *value == 0) p->peak = p->used;
	else code = 1;
})

CALL(cuMemPoolGetAttribute, (uintptr_t handle, int attribute, uint64_t *value), {
	struct pool *p = pool(handle);
	if (!p) code = 400;
	else switch (attribute) {
	case 4: *value = p->threshold; break;
	case 5: *value = p->reserved; break;
	case 6: *value = p->most; break;
	case 7: *value = p->used; break;
	case 8: *value = p->peak; break;
	default: code = 1;
	}
})

CALL(cuMemPoolTrimTo, (uintptr_t handle, size_t keep), {
	struct pool *p = pool(handle);
	if (!p) code = 400;
	else limit(p, keep);
})

// An allocation in a capture would be a node, which Tarn has no use for.
CALL(cuMemAllocAsync, (uintptr_t *at, size_t size, uintptr_t stream), {
	struct pool *p = &pools[device_now()];
	struct thing *s = mine(STREAM, stream);
	void *memory = NULL;
	if (!s) code = 400;
	else if (s->capture) code = 900;
	else if (size == 0) code = 1;
	else if (p->used + size > p->reserved && p->used + size - p->reserved > CAPACITY - used(device_now())) code = 2;
	else if (posix_memalign(&memory, 512, size)) code = 2;
	else {
		mine(ALLOCATION, *at = add(ALLOCATION, (uintptr_t)memory, size))->owner = 0xB0 + device_now();
		p->used += size;
		if (p->reserved < p->used) p->reserved = p->used;
		if (p->most < p->reserved) p->most = p->reserved;
		if (p->peak < p->used) p->peak = p->used;
	}
})

CALL(cuMemFreeAsync, (uintptr_t at, uintptr_t stream), {
	struct thing *t = mine(ALLOCATION, at);
	struct thing *s = mine(STREAM, stream);
	if (!s) code = 400;
	else if (s->capture) code = 900;
	else if (!t || !t->owner) code = 1;
	else {
		struct pool *p = pool(t->owner);
		p->used -= t->size;
		drop(t);
		free((void *)at);
		limit(p, p->threshold);
	}
})
