// Work, and the graphs that it is captured into, of the fake driver.
#define _GNU_SOURCE
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// The driver has threads of its own for the functions of the host.
static void *host(void *work) {
	const struct work *w = work;
	w->call(w->data);
	return NULL;
}

static void perform(const struct work *w) {
	struct work copy = *w;
	pthread_t thread;
	switch (w->what) {
	case COPY: memcpy((void *)w->to, (const void *)w->from, w->size); break;
	case FILL8: memset((void *)w->to, w->value, w->size); break;
	case FILL32: for (size_t i = 0; i < w->size; i++) ((unsigned int *)w->to)[i] = w->value; break;
	case LAUNCH: run(w); break;
	case CALL_HOST:
		leave();
		if (pthread_create(&thread, NULL, host, &copy) || pthread_join(thread, NULL)) abort();
		again();
	}
}

// Of a captured stream, origin says that the capture began there, and back that
// nothing was done in it since the origin last waited for it. A graph that is
// being captured is named; broken is the code that has ended that.

static int broken(struct thing *s) { return find(GRAPH, s->capture)->broken; }

static void keep(struct thing *s, const struct work *w) {
	struct thing *g = find(GRAPH, s->capture);
	g->work = realloc(g->work, (g->size + 1) * sizeof *w);
	if (!g->work) abort();
	g->work[g->size++] = *w;
	s->back = 0;
}

int submit(uintptr_t stream, const struct work *w) {
	struct thing *s = mine(STREAM, stream);
	if (!s) return 400;
	if (!s->capture) perform(w);
	else if (broken(s)) return 901;
	else keep(s, w);
	return 0;
}

int awaitable(uintptr_t stream) {
	struct thing *s = mine(STREAM, stream);
	if (!s) return 400;
	if (!s->capture) return 0;
	find(GRAPH, s->capture)->broken = 1;
	return 900;
}

CALL(cuCtxSynchronize, (void), {
	for (struct thing *s = NULL; (s = each(s, STREAM));)
		if (s->device == device_now() && s->capture) code = awaitable(s->id);
})

CALL(cuLaunchHostFunc, (uintptr_t stream, void (*call)(void *), void *data), {
	struct work w = {.what = CALL_HOST, .call = call, .data = data};
	code = submit(stream, &w);
})

CALL(cuEventRecord, (uintptr_t event, uintptr_t stream), {
	static size_t moments;
	struct thing *e = mine(EVENT, event);
	struct thing *s = mine(STREAM, stream);
	if (!e || !s) code = 400;
	else if (s->capture && broken(s)) code = 901;
	else {
		e->owner = stream;
		e->capture = s->capture;
		e->moment = ++moments;
	}
})

CALL(cuStreamWaitEvent, (uintptr_t stream, uintptr_t event, unsigned int flags), {
	struct thing *s = mine(STREAM, stream);
	struct thing *e = find(EVENT, event);
	struct thing *g = e ? find(GRAPH, e->capture) : NULL;
	struct thing *from = e ? find(STREAM, e->owner) : NULL;
	if (!s || !e || flags) code = 400;
	else if (!e->capture && !s->capture) {}
	else if (!e->capture && e->moment) code = 905; // to wait for what is outside
	else if (!e->capture) {}
	else if (!g || !g->named) code = 907;
	else if (s->capture && s->capture != g->id) code = 902;
	else {
		s->capture = g->id;
		if (s->origin && from) from->back = 1;
	}
	if (code >= 900 && s->capture) find(GRAPH, s->capture)->broken = 1;
})

CALL(cuStreamBeginCapture_v2, (uintptr_t stream, int mode), {
	struct thing *s = mine(STREAM, stream);
	if (!s) code = 400;
	else if (mode != 2) code = 1; // RELAXED
	else if (s->capture) code = 401;
	else {
		s->capture = add(GRAPH, 0, 0);
		find(GRAPH, s->capture)->named = 1;
		s->origin = 1;
	}
})

CALL(cuStreamEndCapture, (uintptr_t stream, uintptr_t *graph), {
	struct thing *s = mine(STREAM, stream);
	struct thing *g = s ? find(GRAPH, s->capture) : NULL;
	*graph = 0;
	if (!s) code = 400;
	else if (!g) code = 401;
	else if (!s->origin) code = 903;
	else {
		for (struct thing *o = NULL; (o = each(o, STREAM));) {
			if (o->capture != g->id) continue;
			if (o != s && !o->back) code = 904;
			o->capture = o->origin = o->back = 0;
		}
		if (g->broken) code = 901;
		g->named = 0;
		if (code) {
			free(g->work);
			drop(g);
		} else *graph = g->id;
	}
})

CALL(cuStreamIsCapturing, (uintptr_t stream, int *status), {
	struct thing *s = mine(STREAM, stream);
	if (!s) code = 400;
	else *status = !s->capture ? 0 : broken(s) ? 2 : 1;
})

CALL(cuGraphGetNodes, (uintptr_t graph, uintptr_t *nodes, size_t *count), {
	struct thing *g = mine(GRAPH, graph);
	if (!g || nodes) code = g ? 1 : 400;
	else *count = g->size;
})

static void copy(struct thing *exec, const struct thing *graph) {
	exec->size = graph->size;
	exec->work = realloc(exec->work, graph->size * sizeof *graph->work + 1);
	if (!exec->work) abort();
	if (graph->size) memcpy(exec->work, graph->work, graph->size * sizeof *graph->work);
}

CALL(cuGraphInstantiateWithFlags, (uintptr_t *exec, uintptr_t graph, unsigned long long flags), {
	struct thing *g = mine(GRAPH, graph);
	if (!g || flags) code = g ? 1 : 400;
	else copy(mine(EXEC, *exec = add(EXEC, 0, 0)), g);
})

// The results are those of CUgraphExecUpdateResult.
CALL(cuGraphExecUpdate, (uintptr_t exec, uintptr_t graph, uintptr_t *node, int *result), {
	struct thing *x = mine(EXEC, exec);
	struct thing *g = mine(GRAPH, graph);
	*node = 0;
	*result = 0;
	if (!x || !g) code = 400;
	else if (x->size != g->size) *result = 2; // the topology changed
	else for (size_t i = 0; i < x->size; i++)
		if (x->work[i].what != g->work[i].what) *result = 3; // the type of a node did
	if (!code && *result) code = 910;
	if (!code) copy(x, g);
})

CALL(cuGraphLaunch, (uintptr_t exec, uintptr_t stream), {
	struct thing *x = mine(EXEC, exec);
	struct thing *s = mine(STREAM, stream);
	if (!x || !s) code = 400;
	for (size_t i = 0; !code && i < x->size; i++) code = submit(stream, &x->work[i]);
})

static int destroyed(enum kind kind, uintptr_t id) {
	struct thing *t = mine(kind, id);
	if (!t) return 400;
	free(t->work);
	drop(t);
	return 0;
}

CALL(cuGraphDestroy, (uintptr_t graph), { code = destroyed(GRAPH, graph); })
CALL(cuGraphExecDestroy, (uintptr_t exec), { code = destroyed(EXEC, exec); })
