// The entries as data, and the calls through them, since Go cannot call a C
// function pointer. See shim.h.
#include "shim.h"

#include <string.h>

_Static_assert(sizeof(tarn_result) == 4, "CUresult is an int");
_Static_assert(sizeof(uintptr_t) == sizeof(void (*)(void)), "a function's address is an integer");
_Static_assert(sizeof(struct tarn_location) == 8, "CUmemLocation");
_Static_assert(sizeof(struct tarn_access) == 12, "CUmemAccessDesc");
_Static_assert(offsetof(struct tarn_access, flags) == 8, "CUmemAccessDesc.flags");
_Static_assert(offsetof(struct tarn_allocation, location) == 8, "CUmemAllocationProp.location");
_Static_assert(sizeof(void *) != 8 || sizeof(struct tarn_allocation) == 32, "CUmemAllocationProp");
_Static_assert(sizeof(void *) != 8 || offsetof(struct tarn_allocation, rdma) == 25, "CUmemAllocationProp.allocFlags");
_Static_assert(offsetof(struct tarn_launch, args) % 8 == 0, "arguments are aligned");

#define TARN_ENTRY(field, parameters, feature, names) {feature, names, offsetof(struct tarn_cuda, field)},
static const struct tarn_entry entries[] = {TARN_CUDA_TABLE(TARN_ENTRY)};
#undef TARN_ENTRY

const struct tarn_entry *tarn_entry(int i) { return i < TARN_ENTRIES ? &entries[i] : NULL; }

void tarn_set(struct tarn_cuda *t, const struct tarn_entry *e, uintptr_t function) {
	memcpy((char *)t + e->offset, &function, sizeof function);
}

// begin makes the context current. It reports whether entry can be called; o
// says why not.
static int begin(const struct tarn_cuda *t, int entry, tarn_handle context, struct tarn_out *o) {
	uintptr_t function;
	memcpy(&function, (const char *)t + entries[entry].offset, sizeof function);
	*o = (struct tarn_out){.entry = entry, .missing = !function};
	if (o->missing) return 0;
	if (!context) return 1;
	o->code = t->set_current(context);
	if (o->code == 0) return 1;
	o->entry = TARN_set_current;
	return 0;
}

// Memory of one device, with no handle that another process could open.
static struct tarn_allocation on_device(int device) {
	return (struct tarn_allocation){.type = 1, .location = {.type = 1, .id = device}};
}

struct tarn_out tarn_call(const struct tarn_cuda *t, int entry, tarn_handle context,
	uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
	struct tarn_out o;
	if (!begin(t, entry, context, &o)) return o;
	int i = 0, j = 0;
	size_t m = 0, n = 0;
	uintptr_t p = 0;
	void *host = NULL;
	switch (entry) {
	case TARN_init: o.code = t->init(a); break;
	case TARN_driver_get_version: o.code = t->driver_get_version(&i); break;
	case TARN_device_get_count: o.code = t->device_get_count(&i); break;
	case TARN_device_get: o.code = t->device_get(&i, a); break;
	case TARN_device_total_mem: o.code = t->device_total_mem(&m, a); break;
	case TARN_device_get_attribute: o.code = t->device_get_attribute(&i, b, a); break;
	case TARN_primary_retain: o.code = t->primary_retain(&p, a); break;
	case TARN_primary_release: o.code = t->primary_release(a); break;
	case TARN_synchronize: o.code = t->synchronize(); break;
	case TARN_priority_range: o.code = t->priority_range(&i, &j); break;
	case TARN_stream_create: o.code = t->stream_create(&p, a, (int)b); break;
	case TARN_stream_destroy: o.code = t->stream_destroy(a); break;
	case TARN_stream_synchronize: o.code = t->stream_synchronize(a); break;
	case TARN_stream_query: o.code = t->stream_query(a); break;
	case TARN_stream_wait_event: o.code = t->stream_wait_event(a, b, 0); break;
	case TARN_event_create: o.code = t->event_create(&p, a); break;
	case TARN_event_record: o.code = t->event_record(a, b); break;
	case TARN_event_query: o.code = t->event_query(a); break;
	case TARN_event_synchronize: o.code = t->event_synchronize(a); break;
	case TARN_event_destroy: o.code = t->event_destroy(a); break;
	case TARN_mem_get_info: o.code = t->mem_get_info(&m, &n); break;
	case TARN_mem_alloc: o.code = t->mem_alloc(&p, a); break;
	case TARN_mem_free: o.code = t->mem_free(a); break;
	case TARN_copy_in: o.code = t->copy_in(a, (const void *)(uintptr_t)b, c, d); break;
	case TARN_copy_out: o.code = t->copy_out((void *)(uintptr_t)a, b, c, d); break;
	case TARN_copy: o.code = t->copy(a, b, c, d); break;
	case TARN_fill8: o.code = t->fill8(a, b, c, d); break;
	case TARN_fill32: o.code = t->fill32(a, b, c, d); break;
	case TARN_host_alloc: o.code = t->host_alloc(&host, a, b); p = (uintptr_t)host; break;
	case TARN_host_free: o.code = t->host_free((void *)(uintptr_t)a); break;
	case TARN_granularity: {
		struct tarn_allocation what = on_device(a);
		o.code = t->granularity(&m, &what, b);
		break;
	}
	case TARN_reserve: o.code = t->reserve(&p, a, b, 0, 0); break;
	case TARN_release_range: o.code = t->release_range(a, b); break;
	case TARN_create: {
		struct tarn_allocation what = on_device(a);
		o.code = t->create(&o.value, b, &what, 0);
		return o;
	}
	case TARN_release: o.code = t->release(a); break;
	case TARN_map: o.code = t->map(a, b, d, c, 0); break;
	case TARN_unmap: o.code = t->unmap(a, b); break;
	case TARN_set_access: {
		struct tarn_access who = {.location = {.type = 1, .id = c}, .flags = 3};
		o.code = t->set_access(a, b, &who, 1);
		break;
	}
	case TARN_module_unload: o.code = t->module_unload(a); break;
	case TARN_function_set_attribute: o.code = t->function_set_attribute(a, b, c); break;
	case TARN_function_get_attribute: o.code = t->function_get_attribute(&i, b, a); break;
	case TARN_event_elapsed: {
		float milliseconds = 0;
		uint32_t bits;
		o.code = t->event_elapsed(&milliseconds, a, b);
		memcpy(&bits, &milliseconds, sizeof bits);
		m = bits;
		break;
	}
	case TARN_begin_capture: o.code = t->begin_capture(a, b); break;
	case TARN_end_capture: o.code = t->end_capture(a, &p); break;
	case TARN_is_capturing: o.code = t->is_capturing(a, &i); break;
	case TARN_graph_nodes: o.code = t->graph_nodes(a, NULL, &m); break;
	case TARN_graph_destroy: o.code = t->graph_destroy(a); break;
	case TARN_graph_instantiate: o.code = t->graph_instantiate(&p, a, 0); break;
	case TARN_graph_launch: o.code = t->graph_launch(a, b); break;
	case TARN_exec_destroy: o.code = t->exec_destroy(a); break;
	case TARN_exec_update: {
		tarn_handle node = 0;
		o.code = t->exec_update(a, b, &node, &i);
		break;
	}
	case TARN_can_access_peer: o.code = t->can_access_peer(&i, a, b); break;
	case TARN_enable_peer: o.code = t->enable_peer(a, 0); break;
	case TARN_disable_peer: o.code = t->disable_peer(a); break;
	case TARN_default_pool: o.code = t->default_pool(&p, a); break;
	case TARN_pool_set_attribute: {
		uint64_t value = c;
		o.code = t->pool_set_attribute(a, b, &value);
		break;
	}
	case TARN_pool_get_attribute: o.code = t->pool_get_attribute(a, b, &o.value); return o;
	case TARN_pool_trim: o.code = t->pool_trim(a, b); break;
	case TARN_alloc_async: o.code = t->alloc_async(&p, a, b); break;
	case TARN_free_async: o.code = t->free_async(a, b); break;
	default: o.missing = 1; // it takes more than numbers
	}
	// An entry puts out one kind of number or one pair; the others are 0.
	o.value = p | m | (uint64_t)(int64_t)i;
	o.more = n | (uint64_t)(int64_t)j;
	return o;
}

struct tarn_out tarn_copy_wait(const struct tarn_cuda *t, int entry, tarn_handle context,
	tarn_address device, void *host, size_t size, tarn_handle stream) {
	struct tarn_out o;
	if (!begin(t, entry, context, &o)) return o;
	o.code = entry == TARN_copy_in ? t->copy_in(device, host, size, stream)
	                               : t->copy_out(host, device, size, stream);
	if (o.code != 0) return o;
	o.entry = TARN_stream_synchronize;
	o.code = t->stream_synchronize(stream);
	return o;
}

struct tarn_out tarn_copy_peer(const struct tarn_cuda *t, tarn_handle context, tarn_address to,
	tarn_handle to_context, tarn_address from, tarn_handle from_context, size_t size, tarn_handle stream) {
	struct tarn_out o;
	if (!begin(t, TARN_copy_peer, context, &o)) return o;
	o.code = t->copy_peer(to, to_context, from, from_context, size, stream);
	return o;
}

extern void tarn_run_host_function(uintptr_t function);

static void run_host_function(void *function) { tarn_run_host_function((uintptr_t)function); }

struct tarn_out tarn_host_function(const struct tarn_cuda *t, tarn_handle context,
	tarn_handle stream, uintptr_t function) {
	struct tarn_out o;
	if (!begin(t, TARN_host_function, context, &o)) return o;
	o.code = t->host_function(stream, run_host_function, (void *)function);
	return o;
}

struct tarn_out tarn_device_text(const struct tarn_cuda *t, int entry, int device, void *text, int size) {
	struct tarn_out o;
	if (!begin(t, entry, 0, &o)) return o;
	o.code = entry == TARN_device_get_uuid ? t->device_get_uuid(text, device)
	                                       : t->device_get_name(text, size, device);
	return o;
}

struct tarn_out tarn_module_load(const struct tarn_cuda *t, tarn_handle context,
	const void *image, char *log, unsigned int size) {
	struct tarn_out o;
	if (!begin(t, TARN_module_load, context, &o)) return o;
	enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };
	int options[] = {ERROR_LOG, ERROR_LOG_SIZE};
	void *values[] = {log, (void *)(uintptr_t)(size - 1)};
	tarn_handle module = 0;
	memset(log, 0, size);
	o.code = t->module_load(&module, image, 2, options, values);
	o.value = module;
	return o;
}

struct tarn_out tarn_module_get_function(const struct tarn_cuda *t, tarn_handle context,
	tarn_handle module, const char *name) {
	struct tarn_out o;
	if (!begin(t, TARN_module_get_function, context, &o)) return o;
	tarn_handle function = 0;
	o.code = t->module_get_function(&function, module, name);
	o.value = function;
	return o;
}

struct tarn_out tarn_launch(const struct tarn_cuda *t, const struct tarn_launch *l) {
	struct tarn_out o;
	if (!begin(t, TARN_launch_kernel, l->context, &o)) return o;
	size_t size = l->size;
	// CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END.
	void *extra[] = {(void *)1, (void *)l->args, (void *)2, &size, NULL};
	o.code = t->launch_kernel(l->function, l->grid[0], l->grid[1], l->grid[2],
		l->block[0], l->block[1], l->block[2], l->shared, l->stream, NULL, extra);
	return o;
}

const char *tarn_get_error_name(const struct tarn_cuda *t, tarn_result code) {
	const char *name = NULL;
	if (!t->get_error_name || t->get_error_name(code, &name) != 0) return NULL;
	return name;
}

void tarn_hand_over(uintptr_t function, const struct tarn_cuda *t) {
	((void (*)(const struct tarn_cuda *))function)(t);
}

void tarn_nothing(const struct tarn_launch *l) { (void)l; }
