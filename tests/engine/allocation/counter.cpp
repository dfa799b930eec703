// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/allocation/counter.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <link.h>

#include "tests/sanitized.h"

#if defined(__GLIBC__) && !QUERN_SANITIZED
#define QUERN_COUNT_ALLOCATIONS 1
#endif

namespace {

constexpr int max_frames = 32;

std::atomic<bool> counting = false;
std::atomic<std::size_t> ours = 0;
std::atomic<std::size_t> onednn = 0;
std::atomic<std::size_t> onednn_bytes = 0;
void* first_frames[max_frames];
std::atomic<int> first_frame_count = 0;

// Where libdnnl lies in memory; empty when it is not loaded.
std::uintptr_t onednn_begin = 0;
std::uintptr_t onednn_end = 0;

int find_onednn(dl_phdr_info* info, std::size_t, void*) {
  if (!std::strstr(info->dlpi_name, "libdnnl")) return 0;
  onednn_begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD)
      onednn_end =
          std::max<std::uintptr_t>(onednn_end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  return 1;
}

#ifdef QUERN_COUNT_ALLOCATIONS
bool is_onednn(void* frame) {
  const auto at = reinterpret_cast<std::uintptr_t>(frame);
  return at >= onednn_begin && at < onednn_end;
}

void note(std::size_t size) {
  if (!counting.load(std::memory_order_relaxed)) return;
  void* frames[max_frames];
  const int n = backtrace(frames, max_frames);
  if (std::any_of(frames, frames + n, is_onednn)) {
    ++onednn;
    onednn_bytes += size;
  } else if (ours.fetch_add(1) == 0) {
    std::copy_n(frames, n, first_frames);
    first_frame_count = n;
  }
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
  note(size);
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  note(n * size);
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  note(size);
  return __libc_realloc(p, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note(size);
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
  dl_iterate_phdr(find_onednn, nullptr);
  first_frame_count = 0;
  ours = 0;
  onednn = 0;
  onednn_bytes = 0;
  counting = true;
}

AllocationCounter::~AllocationCounter() {
  counting = false;
}

AllocationCounter::Counts AllocationCounter::stop() {
  counting = false;
  return {ours, onednn, onednn_bytes};
}

std::string AllocationCounter::first_caller() const {
  std::string text;
  char** symbols = backtrace_symbols(first_frames, first_frame_count);
  for (int i = 0; i < first_frame_count && symbols; ++i) text += std::string("\n  ") + symbols[i];
  std::free(symbols);
  return text;
}

}  // namespace quern::testing
