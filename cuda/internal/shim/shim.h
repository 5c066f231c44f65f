// The table of the driver functions in use. The signatures are those that the
// driver documents; no CUDA header is needed. See doc.go.
#ifndef TARN_CUDA_SHIM_H
#define TARN_CUDA_SHIM_H

#include <stddef.h>
#include <stdint.h>

// The driver's CUresult: 0 is success.
typedef int tarn_result;

// X(field, parameters, feature, names): names are the symbols that have this
// signature, by preference, separated by spaces. feature is what is switched
// off where the driver has none of them; "" marks what no driver may lack.
#define TARN_CUDA_TABLE(X)                                                             \
	X(init, (unsigned int flags), "", "cuInit")                                        \
	X(driver_get_version, (int *version), "", "cuDriverGetVersion")                    \
	X(device_get_count, (int *count), "", "cuDeviceGetCount")                          \
	X(get_error_name, (tarn_result code, const char **name), "error names", "cuGetErrorName")

#define TARN_FIELD(field, parameters, feature, names) tarn_result(*field) parameters;
struct tarn_cuda {
	TARN_CUDA_TABLE(TARN_FIELD)
};
#undef TARN_FIELD

struct tarn_entry {
	const char *feature, *names;
	size_t offset; // of the field in struct tarn_cuda
};

// tarn_entry returns entry i of the table, NULL after the last.
const struct tarn_entry *tarn_entry(int i);
// tarn_set stores a function's address in the field of entry e.
void tarn_set(struct tarn_cuda *t, const struct tarn_entry *e, uintptr_t function);

tarn_result tarn_init(const struct tarn_cuda *t, unsigned int flags);
tarn_result tarn_driver_get_version(const struct tarn_cuda *t, int *version);
tarn_result tarn_device_get_count(const struct tarn_cuda *t, int *count);
// tarn_get_error_name returns NULL where the driver has no such function or
// knows no such code.
const char *tarn_get_error_name(const struct tarn_cuda *t, tarn_result code);

#endif
