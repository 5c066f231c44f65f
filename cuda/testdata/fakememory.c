// Memory of the fake driver.
#define _GNU_SOURCE
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRANULE ((size_t)2 << 20)

size_t used(int device) {
	size_t sum = pooled(device);
	for (struct thing *t = NULL; (t = each(t, ALLOCATION));) sum += t->device == device && !t->owner ? t->size : 0;
	for (struct thing *t = NULL; (t = each(t, PAGE));) sum += t->device == device ? t->size : 0;
	return sum;
}

static int inside(uintptr_t p, size_t size, const struct thing *t) {
	return p >= t->id && size <= t->size && p - t->id <= t->size - size;
}

// mapped returns the mapping that p lies in.
static struct thing *mapped(uintptr_t p) {
	struct thing *t = NULL;
	while ((t = each(t, MAPPING)) && !inside(p, 1, t)) {}
	return t;
}

// covered reports whether mappings side by side fill the range, and with whole
// ones if they must be.
static int covered(uintptr_t p, size_t size, int whole, int access) {
	for (uintptr_t at = p; at < p + size;) {
		struct thing *t = mapped(at);
		if (!t || (t->access & access) != access) return 0;
		if (whole && (t->id != at || t->size > p + size - at)) return 0;
		at = t->id + t->size;
	}
	return 1;
}

int usable(uintptr_t p, size_t size) {
	if (size == 0) return 1;
	for (struct thing *t = NULL; (t = each(t, ALLOCATION));)
		if ((t->device == device_now() || peer(t->device)) && inside(p, size, t)) return 1;
	return covered(p, size, 0, 1 << device_now());
}

CALL(cuMemGetInfo_v2, (size_t *free, size_t *total), {
	*total = CAPACITY;
	*free = CAPACITY - used(device_now());
})

CALL(cuMemAlloc_v2, (uintptr_t *p, size_t size), {
	void *memory = NULL;
	if (size == 0) code = 1;
	else if (size > CAPACITY - used(device_now())) code = 2;
	else if (posix_memalign(&memory, 512, size)) code = 2;
	else *p = add(ALLOCATION, (uintptr_t)memory, size);
})

CALL(cuMemFree_v2, (uintptr_t p), {
	struct thing *t = mine(ALLOCATION, p);
	if (!t || t->owner) code = 1;
	else {
		drop(t);
		free((void *)p);
	}
})

// Host memory may be any; it is up to the caller when to touch it again.
CALL(cuMemcpyHtoDAsync_v2, (uintptr_t to, const void *from, size_t size, uintptr_t stream), {
	struct work w = {.what = COPY, .to = to, .from = (uintptr_t)from, .size = size};
	code = !mine(STREAM, stream) || usable(to, size) ? submit(stream, &w) : 1;
})

CALL(cuMemcpyDtoHAsync_v2, (void *to, uintptr_t from, size_t size, uintptr_t stream), {
	struct work w = {.what = COPY, .to = (uintptr_t)to, .from = from, .size = size};
	code = !mine(STREAM, stream) || usable(from, size) ? submit(stream, &w) : 1;
})

CALL(cuMemcpyDtoDAsync_v2, (uintptr_t to, uintptr_t from, size_t size, uintptr_t stream), {
	struct work w = {.what = COPY, .to = to, .from = from, .size = size};
	code = !mine(STREAM, stream) || (usable(to, size) && usable(from, size)) ? submit(stream, &w) : 1;
})

CALL(cuMemsetD8Async, (uintptr_t to, unsigned char value, size_t count, uintptr_t stream), {
	struct work w = {.what = FILL8, .to = to, .size = count, .value = value};
	code = !mine(STREAM, stream) || usable(to, count) ? submit(stream, &w) : 1;
})

CALL(cuMemsetD32Async, (uintptr_t to, unsigned int value, size_t count, uintptr_t stream), {
	struct work w = {.what = FILL32, .to = to, .size = count, .value = value};
	code = !mine(STREAM, stream) || (to % 4 == 0 && usable(to, 4 * count)) ? submit(stream, &w) : 1;
})

CALL(cuMemHostAlloc, (void **p, size_t size, unsigned int flags), {
	if (size == 0 || flags != 1) code = 1;
	else if (posix_memalign(p, 4096, size)) code = 2;
	else add(PINNED, (uintptr_t)*p, size);
})

CALL(cuMemFreeHost, (void *p), {
	struct thing *t = mine(PINNED, (uintptr_t)p);
	if (!t) code = 1;
	else {
		drop(t);
		free(p);
	}
})

// Virtual memory. A range is address space without access; a page is a file
// that can be mapped there.

struct allocation { int type, handles, place, id; void *metadata; unsigned char flags[8]; };

static int proper(const struct allocation *what) {
	static const unsigned char none[8];
	return what->type == 1 && !what->handles && what->place == 1 && what->id < COUNT &&
	       !what->metadata && !memcmp(what->flags, none, sizeof none);
}

CALL(cuMemGetAllocationGranularity, (size_t *bytes, const struct allocation *what, int option), {
	code = proper(what) && (option == 0 || option == 1) ? 0 : 1;
	*bytes = GRANULE << option;
})

static void *closed(void *at, size_t size) {
	int flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | (at ? MAP_FIXED : 0);
	return mmap(at, size, PROT_NONE, flags, -1, 0);
}

CALL(cuMemAddressReserve, (uintptr_t *p, size_t size, size_t alignment, uintptr_t hint, unsigned long long flags), {
	if (alignment < GRANULE) alignment = GRANULE;
	if (size == 0 || size % GRANULE || alignment & (alignment - 1) || hint || flags) code = 1;
	else {
		char *all = closed(NULL, size + alignment);
		if (all == MAP_FAILED) code = 2;
		else {
			char *start = (char *)(((uintptr_t)all + alignment - 1) & -alignment);
			if (start > all) munmap(all, start - all);
			munmap(start + size, all + alignment - start);
			*p = add(RANGE, (uintptr_t)start, size);
		}
	}
})

CALL(cuMemAddressFree, (uintptr_t p, size_t size), {
	struct thing *r = find(RANGE, p);
	if (!r || r->size != size) code = 1;
	for (struct thing *t = NULL; code == 0 && (t = each(t, MAPPING));)
		if (inside(t->id, t->size, r)) code = 1;
	if (code == 0) {
		drop(r);
		munmap((void *)p, size);
	}
})

CALL(cuMemCreate, (uint64_t *page, size_t size, const struct allocation *what, unsigned long long flags), {
	if (!proper(what) || size == 0 || size % GRANULE || flags) code = 1;
	else if (size > CAPACITY - used(what->id)) code = 2;
	else {
		*page = add(PAGE, 0, size);
		struct thing *t = find(PAGE, *page);
		t->device = what->id;
		t->named = 1;
		t->file = tmpfile();
		if (!t->file || ftruncate(fileno(t->file), size)) abort();
	}
})

// settle takes a page away that has neither name nor address.
static void settle(struct thing *page) {
	if (page->named || page->mapped) return;
	fclose(page->file);
	drop(page);
}

CALL(cuMemRelease, (uint64_t page), {
	struct thing *t = find(PAGE, page);
	if (!t || !t->named) code = 1;
	else {
		t->named = 0;
		settle(t);
	}
})

CALL(cuMemMap, (uintptr_t p, size_t size, size_t offset, uint64_t page, unsigned long long flags), {
	struct thing *pg = find(PAGE, page);
	int fits = 0;
	for (struct thing *r = NULL; (r = each(r, RANGE));) fits |= inside(p, size, r);
	if (!pg || !pg->named || pg->size != size || p % GRANULE || offset || flags || !fits) code = 1;
	for (struct thing *t = NULL; (t = each(t, MAPPING));)
		if (t->id < p + size && p < t->id + t->size) code = 1;
	if (code == 0) {
		if (mmap((void *)p, size, PROT_NONE, MAP_SHARED | MAP_FIXED, fileno(pg->file), 0) == MAP_FAILED) abort();
		pg->mapped++;
		add(MAPPING, p, size);
		find(MAPPING, p)->owner = page;
	}
})

CALL(cuMemSetAccess, (uintptr_t p, size_t size, const int *who, size_t count), {
	if (count != 1 || who[0] != 1 || who[1] < 0 || who[1] >= COUNT || who[2] != 3 || !covered(p, size, 1, 0)) code = 1;
	else if (mprotect((void *)p, size, PROT_READ | PROT_WRITE)) abort();
	else for (uintptr_t at = p; at < p + size; at += mapped(at)->size) mapped(at)->access |= 1 << who[1];
})

CALL(cuMemUnmap, (uintptr_t p, size_t size), {
	if (size == 0 || !covered(p, size, 1, 0)) code = 1;
	else for (uintptr_t at = p; at < p + size;) {
		struct thing *t = mapped(at);
		struct thing *pg = find(PAGE, t->owner);
		at += t->size;
		closed((void *)t->id, t->size);
		drop(t);
		pg->mapped--;
		settle(pg);
	}
})
