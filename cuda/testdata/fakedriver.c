// A driver library that answers what it was compiled to answer. The tests
// build it with the system's C compiler:
//
//	VERSION      what cuDriverGetVersion says
//	VERSION_CODE its result code; likewise INIT_CODE and COUNT_CODE
//	COUNT        the number of devices
//	NO_INIT ...  leaves the function out
#ifndef VERSION
#define VERSION 12040
#endif
#ifndef VERSION_CODE
#define VERSION_CODE 0
#endif
#ifndef INIT_CODE
#define INIT_CODE 0
#endif
#ifndef COUNT
#define COUNT 2
#endif
#ifndef COUNT_CODE
#define COUNT_CODE 0
#endif

static int initialised;

#ifndef NO_INIT
int cuInit(unsigned int flags) {
	if (flags != 0) return 1;
	initialised = INIT_CODE == 0;
	return INIT_CODE;
}
#endif

#ifndef NO_VERSION
int cuDriverGetVersion(int *version) {
	*version = VERSION;
	return VERSION_CODE;
}
#endif

#ifndef NO_COUNT
int cuDeviceGetCount(int *count) {
	if (!initialised) return 3;
	*count = COUNT;
	return COUNT_CODE;
}
#endif

#ifndef NO_NAMES
int cuGetErrorName(int code, const char **name) {
	if (code != 12345) return 1;
	*name = "CUDA_ERROR_OF_TOMORROW";
	return 0;
}
#endif

#ifdef UNDEFINED
int nowhere_to_be_found(void);
int uses_it(void) { return nowhere_to_be_found(); }
#endif
