// What the parts of the fake driver share.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifndef COUNT
#define COUNT 2
#endif
#ifndef CAPACITY
#define CAPACITY (64 << 20)
#endif
#define DEVICES 8

// Whatever the driver has made and not yet taken away.
enum kind { NOTHING, STREAM, EVENT, ALLOCATION, PINNED, RANGE, PAGE, MAPPING, MODULE, FUNCTION };

struct thing {
	enum kind kind;
	int device;
	uintptr_t id; // handle or address; handles are not used twice
	size_t size;
	uintptr_t owner; // page of a mapping, module of a function
	int named, mapped, access;
	FILE *file; // memory of a page, so that it can have many addresses
	char name[32];
};

// A function of the driver. enter fails as the environment says, and where
// the calling thread has no current context or a lost one.
#define CALL(symbol, parameters, ...)       \
	int symbol parameters {             \
		int code = enter(#symbol, 1); \
		if (code == 0) __VA_ARGS__  \
		leave();                    \
		return code;                \
	}
// One that needs no context.
#define PLAIN(symbol, parameters, ...)      \
	int symbol parameters {             \
		int code = enter(#symbol, 0); \
		if (code == 0) __VA_ARGS__  \
		leave();                    \
		return code;                \
	}

int enter(const char *symbol, int context);
void leave(void);
int device_now(void);   // of the calling thread's context
void lose(int code);    // the context of the calling thread is lost

// add returns the id: that of the caller, or a fresh handle for 0.
uintptr_t add(enum kind kind, uintptr_t id, size_t size);
struct thing *find(enum kind kind, uintptr_t id); // on any device
struct thing *mine(enum kind kind, uintptr_t id); // on the current one
struct thing *each(struct thing *after, enum kind kind); // NULL begins and ends
void drop(struct thing *t);

int usable(uintptr_t p, size_t size); // by a kernel or copy of the current device
