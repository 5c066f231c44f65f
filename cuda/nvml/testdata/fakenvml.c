// A management library of one whole device and one part, built by the tests with
//
//	INIT_CODE    the result of nvmlInit_v2
//	GROWS        programs come while they are counted, so often
//	FIRST        the number of the first program; the others' follow
//	nvmlX=absent leaves function nvmlX out
#include <string.h>
#include <unistd.h>

#ifndef INIT_CODE
#define INIT_CODE 0
#endif
#ifndef FIRST
#define FIRST 100
#endif
#ifndef GROWS
#define GROWS 0
#endif

static int initialised;

int nvmlInit_v2(void) {
	initialised += INIT_CODE == 0;
	return INIT_CODE;
}

int nvmlShutdown(void) { return initialised-- > 0 ? 0 : 1; }

const char *nvmlErrorString(int code) { return code == 6 ? "Not Found" : code == 1 ? "Uninitialized" : "Unknown Error"; }

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
	static char whole, part;
	if (initialised <= 0) return 1;
	if (!strcmp(uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f")) *device = &whole;
	else if (!strcmp(uuid, "MIG-10111213-1415-1617-1819-1a1b1c1d1e1f")) *device = &part;
	else return 6;
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3]) {
	memory[0] = 80ull << 30;
	memory[1] = 70ull << 30;
	memory[2] = 10ull << 30;
	return device ? 0 : 2;
}

struct process {
	unsigned int pid;
	unsigned long long used;
	unsigned int instance, compute_instance;
};

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *n, struct process *list) {
	static unsigned int programs = 2, grows = GROWS;
	if (grows > 0) {
		grows--;
		programs += 10;
	}
	unsigned int room = *n;
	*n = programs;
	if (room < programs) return 7;
	for (unsigned int i = 0; i < programs; i++)
		list[i] = (struct process){FIRST + i, i == 1 ? ~0ull : 1ull << 30, ~0u, ~0u};
	return 0;
}
