// What Go cannot say of the functions that are handed to package cuda.
#ifndef TARN_CUDASIM_TABLE_H
#define TARN_CUDASIM_TABLE_H

#include "shim.h"

// What an OS thread has: its current context, whether it runs a host function,
// and an address that is its alone.
struct tarnsim_thread {
	tarn_handle context;
	int in_host_function;
	uintptr_t id;
};
struct tarnsim_thread tarnsim_thread(void);
void tarnsim_set_thread(tarn_handle context);
// tarnsim_symbol returns the function that stands for one of the driver, 0 if
// there is none. slot is the machine's.
uintptr_t tarnsim_symbol(const char *name, int slot);
// tarnsim_call runs a host function.
void tarnsim_call(uintptr_t function, uintptr_t data);

#endif
