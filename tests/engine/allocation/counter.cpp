// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/allocation/counter.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <execinfo.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define QUERN_COUNT_ALLOCATIONS 1
#endif

namespace {

std::atomic<bool> counting = false;
std::atomic<std::size_t> count = 0;
constexpr int max_frames = 24;
void* frames[max_frames];
std::atomic<int> frame_count = 0;

#ifdef QUERN_COUNT_ALLOCATIONS
void note() {
  if (!counting.load(std::memory_order_relaxed)) return;
  if (count.fetch_add(1) == 0) frame_count = backtrace(frames, max_frames);
}
#endif

}  // namespace

#ifdef QUERN_COUNT_ALLOCATIONS
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  note();
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  note();
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  note();
  return __libc_realloc(p, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t size) {
  *p = memalign(alignment, size);
  return *p ? 0 : ENOMEM;
}
}
#endif

namespace quern::testing {

bool can_count_allocations() {
#ifdef QUERN_COUNT_ALLOCATIONS
  return true;
#else
  return false;
#endif
}

AllocationCounter::AllocationCounter() {
  void* warm[1];
  backtrace(warm, 1);  // loads its library, which allocates
  frame_count = 0;
  count = 0;
  counting = true;
}

AllocationCounter::~AllocationCounter() {
  counting = false;
}

std::size_t AllocationCounter::stop() {
  counting = false;
  return count;
}

std::string AllocationCounter::first_caller() const {
  std::string text;
  char** symbols = backtrace_symbols(frames, frame_count);
  for (int i = 0; i < frame_count && symbols; ++i) text += std::string("\n  ") + symbols[i];
  std::free(symbols);
  return text;
}

}  // namespace quern::testing
