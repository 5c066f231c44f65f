// The table of the driver functions in use. The signatures are those that the
// driver documents; no CUDA header is needed. See doc.go.
#ifndef TARN_CUDA_SHIM_H
#define TARN_CUDA_SHIM_H

#include <stddef.h>
#include <stdint.h>

// The driver's types. Handles are pointers that nobody but the driver follows,
// so they are integers here: CUcontext, CUstream, CUevent, CUmodule and
// CUfunction are tarn_handle, CUdeviceptr is tarn_address, CUdevice and all
// enumerations are int, CUmemGenericAllocationHandle is uint64_t.
typedef int tarn_result; // CUresult: 0 is success
typedef uintptr_t tarn_handle;
typedef uintptr_t tarn_address;

// CUmemLocation, CUmemAllocationProp and CUmemAccessDesc.
struct tarn_location {
	int type, id;
};
struct tarn_allocation {
	int type, handle_types;
	struct tarn_location location;
	void *win32_metadata;
	unsigned char compression, rdma;
	unsigned short usage;
	unsigned char reserved[4];
};
struct tarn_access {
	struct tarn_location location;
	int flags;
};

// X(field, parameters, feature, names): names are the symbols that have this
// signature, by preference, separated by spaces. feature is what is switched
// off, all of it, where the driver has none of them; "" marks what no driver
// may lack. entries.go has the same rows in the same order.
#define TARN_CUDA_TABLE(X)                                                                      \
	X(init, (unsigned int flags), "", "cuInit")                                             \
	X(driver_get_version, (int *version), "", "cuDriverGetVersion")                         \
	X(get_error_name, (tarn_result code, const char **name), "error names", "cuGetErrorName") \
	X(device_get_count, (int *count), "", "cuDeviceGetCount")                               \
	X(device_get, (int *device, int ordinal), "", "cuDeviceGet")                            \
	X(device_get_name, (char *name, int size, int device), "", "cuDeviceGetName")           \
	X(device_get_uuid, (unsigned char *uuid, int device), "device UUIDs",                   \
	  "cuDeviceGetUuid_v2 cuDeviceGetUuid")                                                 \
	X(device_total_mem, (size_t *bytes, int device), "", "cuDeviceTotalMem_v2")             \
	X(device_get_attribute, (int *value, int attribute, int device), "", "cuDeviceGetAttribute") \
	X(primary_retain, (tarn_handle *context, int device), "", "cuDevicePrimaryCtxRetain")   \
	X(primary_release, (int device), "", "cuDevicePrimaryCtxRelease_v2")                    \
	X(set_current, (tarn_handle context), "", "cuCtxSetCurrent")                            \
	X(synchronize, (void), "", "cuCtxSynchronize")                                          \
	X(priority_range, (int *least, int *greatest), "", "cuCtxGetStreamPriorityRange")       \
	X(stream_create, (tarn_handle *stream, unsigned int flags, int priority), "",           \
	  "cuStreamCreateWithPriority")                                                         \
	X(stream_destroy, (tarn_handle stream), "", "cuStreamDestroy_v2")                       \
	X(stream_synchronize, (tarn_handle stream), "", "cuStreamSynchronize")                  \
	X(stream_query, (tarn_handle stream), "", "cuStreamQuery")                              \
	X(stream_wait_event, (tarn_handle stream, tarn_handle event, unsigned int flags), "",   \
	  "cuStreamWaitEvent")                                                                  \
	X(event_create, (tarn_handle *event, unsigned int flags), "", "cuEventCreate")          \
	X(event_record, (tarn_handle event, tarn_handle stream), "", "cuEventRecord")           \
	X(event_query, (tarn_handle event), "", "cuEventQuery")                                 \
	X(event_synchronize, (tarn_handle event), "", "cuEventSynchronize")                     \
	X(event_destroy, (tarn_handle event), "", "cuEventDestroy_v2")                          \
	X(mem_get_info, (size_t *free, size_t *total), "", "cuMemGetInfo_v2")                   \
	X(mem_alloc, (tarn_address *p, size_t size), "", "cuMemAlloc_v2")                       \
	X(mem_free, (tarn_address p), "", "cuMemFree_v2")                                       \
	X(copy_in, (tarn_address to, const void *from, size_t size, tarn_handle stream), "",    \
	  "cuMemcpyHtoDAsync_v2")                                                               \
	X(copy_out, (void *to, tarn_address from, size_t size, tarn_handle stream), "",         \
	  "cuMemcpyDtoHAsync_v2")                                                               \
	X(copy, (tarn_address to, tarn_address from, size_t size, tarn_handle stream), "",      \
	  "cuMemcpyDtoDAsync_v2")                                                               \
	X(fill8, (tarn_address to, unsigned char value, size_t count, tarn_handle stream), "",  \
	  "cuMemsetD8Async")                                                                    \
	X(fill32, (tarn_address to, unsigned int value, size_t count, tarn_handle stream), "",  \
	  "cuMemsetD32Async")                                                                   \
	X(host_alloc, (void **p, size_t size, unsigned int flags), "", "cuMemHostAlloc")        \
	X(host_free, (void *p), "", "cuMemFreeHost")                                            \
	X(granularity, (size_t *bytes, const struct tarn_allocation *what, int option),         \
	  "virtual memory", "cuMemGetAllocationGranularity")                                    \
	X(reserve, (tarn_address *p, size_t size, size_t alignment, tarn_address hint,          \
	  unsigned long long flags), "virtual memory", "cuMemAddressReserve")                   \
	X(release_range, (tarn_address p, size_t size), "virtual memory", "cuMemAddressFree")   \
	X(create, (uint64_t *page, size_t size, const struct tarn_allocation *what,             \
	  unsigned long long flags), "virtual memory", "cuMemCreate")                           \
	X(release, (uint64_t page), "virtual memory", "cuMemRelease")                           \
	X(map, (tarn_address p, size_t size, size_t offset, uint64_t page,                      \
	  unsigned long long flags), "virtual memory", "cuMemMap")                              \
	X(unmap, (tarn_address p, size_t size), "virtual memory", "cuMemUnmap")                 \
	X(set_access, (tarn_address p, size_t size, const struct tarn_access *who, size_t count), \
	  "virtual memory", "cuMemSetAccess")                                                   \
	X(module_load, (tarn_handle *module, const void *image, unsigned int count, int *options, \
	  void **values), "", "cuModuleLoadDataEx")                                             \
	X(module_unload, (tarn_handle module), "", "cuModuleUnload")                            \
	X(module_get_function, (tarn_handle *function, tarn_handle module, const char *name), "", \
	  "cuModuleGetFunction")                                                                \
	X(function_set_attribute, (tarn_handle function, int attribute, int value), "",         \
	  "cuFuncSetAttribute")                                                                 \
	X(function_get_attribute, (int *value, int attribute, tarn_handle function), "",        \
	  "cuFuncGetAttribute")                                                                 \
	X(event_elapsed, (float *milliseconds, tarn_handle from, tarn_handle to), "",           \
	  "cuEventElapsedTime")                                                                 \
	X(host_function, (tarn_handle stream, void (*function)(void *), void *data), "host functions", \
	  "cuLaunchHostFunc")                                                                   \
	X(begin_capture, (tarn_handle stream, int mode), "graphs", "cuStreamBeginCapture_v2")   \
	X(end_capture, (tarn_handle stream, tarn_handle *graph), "graphs", "cuStreamEndCapture") \
	X(is_capturing, (tarn_handle stream, int *status), "graphs", "cuStreamIsCapturing")     \
	X(graph_nodes, (tarn_handle graph, tarn_handle *nodes, size_t *count), "graphs",        \
	  "cuGraphGetNodes")                                                                    \
	X(graph_destroy, (tarn_handle graph), "graphs", "cuGraphDestroy")                       \
	X(graph_instantiate, (tarn_handle *exec, tarn_handle graph, unsigned long long flags),  \
	  "graphs", "cuGraphInstantiateWithFlags")                                              \
	X(graph_launch, (tarn_handle exec, tarn_handle stream), "graphs", "cuGraphLaunch")      \
	X(exec_destroy, (tarn_handle exec), "graphs", "cuGraphExecDestroy")                     \
	X(exec_update, (tarn_handle exec, tarn_handle graph, tarn_handle *node, int *result),   \
	  "graph updates", "cuGraphExecUpdate")                                                 \
	X(can_access_peer, (int *can, int device, int peer), "peer access", "cuDeviceCanAccessPeer") \
	X(enable_peer, (tarn_handle peer, unsigned int flags), "peer access",                   \
	  "cuCtxEnablePeerAccess")                                                              \
	X(disable_peer, (tarn_handle peer), "peer access", "cuCtxDisablePeerAccess")            \
	X(copy_peer, (tarn_address to, tarn_handle to_context, tarn_address from,               \
	  tarn_handle from_context, size_t size, tarn_handle stream), "peer access",            \
	  "cuMemcpyPeerAsync")                                                                  \
	X(default_pool, (tarn_handle *pool, int device), "stream-ordered pool",                 \
	  "cuDeviceGetDefaultMemPool")                                                          \
	X(pool_set_attribute, (tarn_handle pool, int attribute, void *value), "stream-ordered pool", \
	  "cuMemPoolSetAttribute")                                                              \
	X(pool_get_attribute, (tarn_handle pool, int attribute, void *value), "stream-ordered pool", \
	  "cuMemPoolGetAttribute")                                                              \
	X(pool_trim, (tarn_handle pool, size_t keep), "stream-ordered pool", "cuMemPoolTrimTo") \
	X(alloc_async, (tarn_address *p, size_t size, tarn_handle stream), "stream-ordered pool", \
	  "cuMemAllocAsync")                                                                    \
	X(free_async, (tarn_address p, tarn_handle stream), "stream-ordered pool", "cuMemFreeAsync") \
	X(launch_kernel, (tarn_handle function, unsigned int grid_x, unsigned int grid_y,       \
	  unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z, \
	  unsigned int shared, tarn_handle stream, void **parameters, void **extra), "",        \
	  "cuLaunchKernel")

#define TARN_FIELD(field, parameters, feature, names) tarn_result(*field) parameters;
struct tarn_cuda {
	TARN_CUDA_TABLE(TARN_FIELD)
};
#undef TARN_FIELD

#define TARN_NUMBER(field, parameters, feature, names) TARN_##field,
enum { TARN_CUDA_TABLE(TARN_NUMBER) TARN_ENTRIES };
#undef TARN_NUMBER

struct tarn_entry {
	const char *feature, *names;
	size_t offset; // of the field in struct tarn_cuda
};

// What a call came to. It is returned by value, so that no Go memory has to
// be handed to C for it.
struct tarn_out {
	uint64_t value, more; // what the function put out
	tarn_result code;
	int entry;   // whose code it is: of a call that takes several steps
	int missing; // the driver has no such function; code is 0
};

// A launch; shim.Launch in Go. args are packed as the kernel declares them.
struct tarn_launch {
	uint64_t context, function, stream;
	uint32_t grid[3], block[3], shared, size;
	unsigned char args[4096];
};

// tarn_entry returns entry i of the table, NULL after the last.
const struct tarn_entry *tarn_entry(int i);
// tarn_set stores a function's address in the field of entry e.
void tarn_set(struct tarn_cuda *t, const struct tarn_entry *e, uintptr_t function);

// All calls make the context current first, where it is not 0: Go moves its
// goroutines between threads from one call to the next.
//
// tarn_call calls an entry whose arguments are all numbers.
struct tarn_out tarn_call(const struct tarn_cuda *t, int entry, tarn_handle context,
	uint64_t a, uint64_t b, uint64_t c, uint64_t d);
// tarn_copy_wait is copy_in or copy_out followed by a wait for the stream, so
// that it is safe with memory that the driver may not keep.
struct tarn_out tarn_copy_wait(const struct tarn_cuda *t, int entry, tarn_handle context,
	tarn_address device, void *host, size_t size, tarn_handle stream);
// tarn_copy_peer is copy_peer.
struct tarn_out tarn_copy_peer(const struct tarn_cuda *t, tarn_handle context, tarn_address to,
	tarn_handle to_context, tarn_address from, tarn_handle from_context, size_t size, tarn_handle stream);
// tarn_host_function queues a call of tarn_run_host_function in Go.
struct tarn_out tarn_host_function(const struct tarn_cuda *t, tarn_handle context,
	tarn_handle stream, uintptr_t function);
// tarn_device_text is device_get_name, or device_get_uuid into 16 bytes.
struct tarn_out tarn_device_text(const struct tarn_cuda *t, int entry, int device, void *text, int size);
// tarn_module_load leaves the compiler's complaints in log, ended by a NUL.
struct tarn_out tarn_module_load(const struct tarn_cuda *t, tarn_handle context,
	const void *image, char *log, unsigned int size);
struct tarn_out tarn_module_get_function(const struct tarn_cuda *t, tarn_handle context,
	tarn_handle module, const char *name);
struct tarn_out tarn_launch(const struct tarn_cuda *t, const struct tarn_launch *l);
// tarn_get_error_name returns NULL where the driver has no such function or
// knows no such code.
const char *tarn_get_error_name(const struct tarn_cuda *t, tarn_result code);
// tarn_hand_over calls a void (*)(const struct tarn_cuda *) with the table.
void tarn_hand_over(uintptr_t function, const struct tarn_cuda *t);
// tarn_nothing is a call into C that does nothing, to compare others with.
void tarn_nothing(const struct tarn_launch *l);

#endif
