/* SPDX-License-Identifier: Apache-2.0 */
/* A placement strategy as a shared object:
 *
 *     cc -O2 -shared -fPIC first_fit.c -o first_fit.so
 *     quern plan buffers.csv --strategy so:./first_fit.so
 *
 * In the order given, each buffer at the lowest address that is free. Gaps and fixed offsets are
 * not looked at. */
#include <quern/c/strategy.h>

static int meet(const quern_plan_buffer* a, const quern_plan_buffer* b) {
  if (a->must_be_zero || b->must_be_zero) return 1;
  return a->first < b->end && b->first < a->end;
}

static uint64_t align_up(uint64_t n, uint64_t alignment) {
  return (n + alignment - 1) / alignment * alignment;
}

int quern_plan(const quern_plan_buffer* buffers, size_t count, uint64_t capacity, double seconds,
               uint64_t* offsets) {
  size_t i, j;
  (void)capacity;
  (void)seconds;
  for (i = 0; i < count; ++i) {
    offsets[i] = 0;
    for (j = 0; j < i; ++j) {
      if (!meet(&buffers[i], &buffers[j])) continue;
      if (offsets[i] >= offsets[j] + buffers[j].size) continue;
      if (offsets[j] >= offsets[i] + buffers[i].size) continue;
      /* In the way: above it, and all are looked at again. */
      offsets[i] = align_up(offsets[j] + buffers[j].size, buffers[i].alignment);
      j = (size_t)-1;
    }
  }
  return 0;
}
