#include "pool.h"

#include <pthread.h>
#include <sched.h>
#ifndef _WIN32
#include <signal.h>
#endif
#include <stdatomic.h>
#include <time.h>

// A job lies in the pool while it runs. Its pieces are claimed from one word,
// {epoch, pieces left}: a worker that comes late finds another epoch, or no
// pieces, and so never touches a job that is over. Waiting is first a short
// spin that yields, so that a worker on the caller's core does not hold it up,
// then sleep.

enum { MAX_WORKERS = 255, SPIN_NS = 20000 };

static struct {
	pthread_mutex_t taken; // by the caller whose job runs; guards workers
	int workers;           // threads that were started

	// The job. Written by the caller before claim is, read by workers before
	// they claim a piece: a claim that succeeds shows that what they read was
	// of this job.
	_Atomic(piece_func *) f;
	_Atomic(const void *) job;
	atomic_int helpers; // workers from this number on take no part

	_Atomic uint64_t claim; // epoch << 32 | pieces left
	_Atomic int64_t undone; // pieces not finished

	pthread_mutex_t sleep;
	pthread_cond_t begun, done; // of a job, on sleep
	atomic_int sleepers;        // workers that wait for begun
	atomic_int dozing;          // the caller waits for done
} pool = {.taken = PTHREAD_MUTEX_INITIALIZER, .sleep = PTHREAD_MUTEX_INITIALIZER,
          .begun = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static uint32_t epoch_of(uint64_t claim) { return (uint32_t)(claim >> 32); }
static uint32_t left_of(uint64_t claim) { return (uint32_t)claim; }

static int64_t nanoseconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// work does pieces of the job of an epoch until none is left.
static void work(uint32_t epoch, piece_func *f, const void *job, int worker) {
	uint64_t claim = atomic_load(&pool.claim);
	while (epoch_of(claim) == epoch && left_of(claim) > 0) {
		if (!atomic_compare_exchange_weak(&pool.claim, &claim, claim - 1)) continue;
		f(job, left_of(claim) - 1, worker);
		if (atomic_fetch_sub(&pool.undone, 1) == 1 && atomic_load(&pool.dozing)) {
			pthread_mutex_lock(&pool.sleep);
			pthread_cond_signal(&pool.done);
			pthread_mutex_unlock(&pool.sleep);
		}
		claim = atomic_load(&pool.claim);
	}
}

// next_epoch waits for an epoch after seen.
static uint32_t next_epoch(uint32_t seen) {
	for (int64_t until = nanoseconds() + SPIN_NS; nanoseconds() < until; sched_yield()) {
		uint32_t epoch = epoch_of(atomic_load(&pool.claim));
		if (epoch != seen) return epoch;
	}
	pthread_mutex_lock(&pool.sleep);
	atomic_fetch_add(&pool.sleepers, 1);
	uint32_t epoch;
	while ((epoch = epoch_of(atomic_load(&pool.claim))) == seen) pthread_cond_wait(&pool.begun, &pool.sleep);
	atomic_fetch_sub(&pool.sleepers, 1);
	pthread_mutex_unlock(&pool.sleep);
	return epoch;
}

static void *worker_main(void *number) {
	int worker = (int)(intptr_t)number;
	for (uint32_t epoch = 0;;) {
		epoch = next_epoch(epoch);
		piece_func *f = atomic_load(&pool.f);
		const void *job = atomic_load(&pool.job);
		if (worker <= atomic_load(&pool.helpers)) work(epoch, f, job, worker);
	}
	return NULL;
}

// hire starts threads until there are as many workers, or no more can be had.
// They take no signals: those are for the threads of the Go runtime.
static void hire(int workers) {
	if (pool.workers >= workers) return;
#ifndef _WIN32
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
	while (pool.workers < workers) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, worker_main, (void *)(intptr_t)(pool.workers + 1))) break;
		pthread_detach(thread);
		pool.workers++;
	}
#ifndef _WIN32
	pthread_sigmask(SIG_SETMASK, &before, NULL);
#endif
}

static void await_pieces(void) {
	for (int64_t until = nanoseconds() + SPIN_NS; nanoseconds() < until; sched_yield())
		if (atomic_load(&pool.undone) == 0) return;
	pthread_mutex_lock(&pool.sleep);
	atomic_store(&pool.dozing, 1);
	while (atomic_load(&pool.undone) > 0) pthread_cond_wait(&pool.done, &pool.sleep);
	atomic_store(&pool.dozing, 0);
	pthread_mutex_unlock(&pool.sleep);
}

void tarn_share(piece_func *f, const void *job, int64_t pieces, int threads) {
	if (threads > MAX_WORKERS + 1) threads = MAX_WORKERS + 1;
	if (threads > pieces) threads = (int)pieces;
	if (threads <= 1 || pieces > UINT32_MAX || pthread_mutex_trylock(&pool.taken)) {
		for (int64_t i = 0; i < pieces; i++) f(job, i, 0);
		return;
	}
	hire(threads - 1);
	atomic_store(&pool.f, f);
	atomic_store(&pool.job, job);
	atomic_store(&pool.helpers, threads - 1);
	atomic_store(&pool.undone, pieces);
	uint32_t epoch = epoch_of(atomic_load(&pool.claim)) + 1;
	atomic_store(&pool.claim, (uint64_t)epoch << 32 | (uint64_t)pieces);
	if (atomic_load(&pool.sleepers) > 0) {
		pthread_mutex_lock(&pool.sleep);
		pthread_cond_broadcast(&pool.begun);
		pthread_mutex_unlock(&pool.sleep);
	}
	work(epoch, f, job, 0);
	await_pieces();
	pthread_mutex_unlock(&pool.taken);
}
