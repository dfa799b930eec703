/* SPDX-License-Identifier: Apache-2.0 */
/* A placement strategy in a shared object, for `quern plan --strategy so:./mine.so`: it defines
 *
 *     int quern_plan(const quern_plan_buffer* buffers, size_t count, uint64_t capacity,
 *                    double seconds, uint64_t* offsets);
 *
 * and writes the offset of every buffer. Buffers that are live at one time must not overlap, and
 * offsets are multiples of the alignment; the answer is checked. Any arena that fits `capacity` is
 * good enough (UINT64_MAX: as small as possible). It is called in a process of its own, which ends
 * some time after `seconds`. Not 0: it gives up. A problem with banks is not given to it. */
#ifndef QUERN_C_STRATEGY_H
#define QUERN_C_STRATEGY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUERN_PLAN_ANYWHERE UINT64_MAX

/* In the steps [first, end) only the bytes [from, to) are in use. */
typedef struct quern_plan_gap {
  int64_t first;
  int64_t end;
  uint64_t from;
  uint64_t to;
} quern_plan_gap;

typedef struct quern_plan_buffer {
  uint64_t size;
  uint64_t alignment;
  int64_t first; /* live in the steps [first, end) */
  int64_t end;
  uint64_t fixed_offset; /* QUERN_PLAN_ANYWHERE: not fixed */
  int must_be_zero;      /* not 0: shares memory with no other */
  const quern_plan_gap* gaps;
  size_t gap_count;
} quern_plan_buffer;

int quern_plan(const quern_plan_buffer* buffers, size_t count, uint64_t capacity, double seconds,
               uint64_t* offsets);

#ifdef __cplusplus
}
#endif

#endif
