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
enum kind { NOTHING, STREAM, EVENT, ALLOCATION, PINNED, RANGE, PAGE, MAPPING, MODULE, FUNCTION,
	GRAPH, EXEC };

struct thing {
	enum kind kind;
	int device;
	uintptr_t id; // handle or address; handles are not used twice
	size_t size;
	uintptr_t owner; // page of a mapping, module of a function, pool of an allocation, stream of an event
	int named, mapped, access; // access: the devices of a mapping, as bits
	uintptr_t capture;         // of a stream, and of an event that was recorded there: the graph
	int origin, back, broken;  // of captures; see fakegraph.c
	size_t moment;             // of an event; 0 before it is recorded
	struct work *work;         // size of them, of a graph
	FILE *file; // memory of a page, so that it can have many addresses
	char name[32];
};

// What a stream does. A captured one only keeps it.
struct work {
	enum { COPY, FILL8, FILL32, LAUNCH, CALL_HOST } what;
	uintptr_t to, from;
	size_t size; // bytes, or words
	unsigned int value;
	void (*call)(void *data);
	void *data;
	char kernel[32];
	unsigned char args[64];
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
void again(void); // takes the lock back, after leave in the midst of a function
int device_now(void);   // of the calling thread's context
void lose(int code);    // the context of the calling thread is lost

// add returns the id: that of the caller, or a fresh handle for 0.
uintptr_t add(enum kind kind, uintptr_t id, size_t size);
struct thing *find(enum kind kind, uintptr_t id); // on any device
struct thing *mine(enum kind kind, uintptr_t id); // on the current one
struct thing *each(struct thing *after, enum kind kind); // NULL begins and ends
void drop(struct thing *t);

int usable(uintptr_t p, size_t size); // by a kernel or copy of the current device
int peer(int device);                    // the current device may touch the other's allocations

// submit does the work, or keeps it for the graph; the result is the code.
int submit(uintptr_t stream, const struct work *w);
int awaitable(uintptr_t stream); // the code of a query or wait
void run(const struct work *w);  // a kernel
size_t used(int device);   // bytes of a device that are taken
size_t pooled(int device); // of these, what its pool holds
void forget(int device);   // its pool, and who may touch its memory
