// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/allocation/counter.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <iterator>
#include <link.h>

#include "tests/sanitized.h"

#if defined(__GLIBC__) && !QUERN_SANITIZED
#define QUERN_COUNT_ALLOCATIONS 1
#endif

namespace {

constexpr int max_frames = 32;
constexpr const char* runtimes[] = {"libc.", "libstdc++.", "libgcc_s.", "linux-vdso."};

std::atomic<bool> counting = false;
std::atomic<void (*)(std::size_t)> watcher = nullptr;
std::atomic<std::size_t> ours = 0;
std::atomic<std::size_t> onednn = 0;
std::atomic<std::size_t> onednn_bytes = 0;
void* first_frames[max_frames];
std::atomic<int> first_frame_count = 0;

std::atomic<bool> refusing = false;
std::atomic<std::uint64_t> asked = 0;
std::uint64_t first_to_refuse = 0;
quern::testing::Failing failing = quern::testing::Failing::one;

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
bool is_refused() {
  if (!refusing.load(std::memory_order_relaxed)) return false;
  const std::uint64_t number = asked.fetch_add(1);
  return failing == quern::testing::Failing::one ? number == first_to_refuse
                                                 : number >= first_to_refuse;
}

bool is_onednn(void* frame) {
  const auto at = reinterpret_cast<std::uintptr_t>(frame);
  return at >= onednn_begin && at < onednn_end;
}

void note(std::size_t size) {
  if (const auto watch = watcher.load(std::memory_order_relaxed)) watch(size);
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
  if (is_refused()) return nullptr;
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  note(n * size);
  if (is_refused()) return nullptr;
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  note(size);
  if (is_refused()) return nullptr;
  return __libc_realloc(p, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note(size);
  if (is_refused()) return nullptr;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note(size);
  if (is_refused()) return nullptr;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t size) {
  note(size);
  *p = is_refused() ? nullptr : __libc_memalign(alignment, size);
  return *p ? 0 : ENOMEM;
}
}
#endif

namespace quern::testing {

void refuse_allocations(std::uint64_t first, Failing which) {
  first_to_refuse = first;
  failing = which;
  asked = 0;
  refusing = true;
}

std::uint64_t allow_allocations() {
  refusing = false;
  return asked;
}

void name_innermost_library(char* to, std::size_t size) {
  void* frames[max_frames];
  const int n = backtrace(frames, max_frames);
  bool is_below_signal = false;
  for (int i = 0; i < n; ++i) {
    Dl_info info;
    if (!dladdr(frames[i], &info) || !info.dli_fname) continue;
    const char* slash = std::strrchr(info.dli_fname, '/');
    const char* name = slash ? slash + 1 : info.dli_fname;
    const bool is_runtime =
        std::any_of(std::begin(runtimes), std::end(runtimes),
                    [&](const char* r) { return std::strncmp(name, r, std::strlen(r)) == 0; });
    is_below_signal = is_below_signal || is_runtime;  // after the frames of the handler itself
    if (!is_below_signal || is_runtime) continue;
    std::strncpy(to, name, size - 1);
    return;
  }
}

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
  return symbols_of({first_frames, static_cast<std::size_t>(first_frame_count)});
}

std::string symbols_of(std::span<void* const> frames) {
  std::string text;
  char** symbols = backtrace_symbols(frames.data(), static_cast<int>(frames.size()));
  for (std::size_t i = 0; i < frames.size() && symbols; ++i)
    text += std::string("\n  ") + symbols[i];
  std::free(symbols);
  return text;
}

void watch_allocations(void (*watch)(std::size_t)) {
  watcher = watch;
}

bool is_below_onednn(std::span<void* const> frames) {
  if (onednn_begin == 0) dl_iterate_phdr(find_onednn, nullptr);
  return std::ranges::any_of(frames, [](void* frame) {
    const auto at = reinterpret_cast<std::uintptr_t>(frame);
    return at >= onednn_begin && at < onednn_end;
  });
}

}  // namespace quern::testing
