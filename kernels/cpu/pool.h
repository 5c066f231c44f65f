// pool.h: the threads that share out the pieces of one op.
#ifndef TARN_POOL_H
#define TARN_POOL_H

#include <stdint.h>

// piece_func does piece i of a job. worker numbers who does it, from 0 and
// below the threads of the job, for work space that is not shared.
typedef void piece_func(const void *job, int64_t i, int worker);

// tarn_share runs f for the pieces 0 to pieces-1 of a job on up to threads
// threads, that of the caller among them, and returns when all are done. No
// piece may depend on which thread does it. While one caller has the pool
// others do their jobs alone.
void tarn_share(piece_func *f, const void *job, int64_t pieces, int threads);

#endif
