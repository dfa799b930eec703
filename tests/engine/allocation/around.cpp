// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/allocation/around.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/engine/allocation/counter.h"
#include "tests/sanitized.h"

namespace {

constexpr std::size_t large = 64 << 10;
constexpr int most_frames = 32;

std::atomic<bool> watching = false;
thread_local int own = 0;  // scopes of HostsOwn, and calls of this file
std::atomic<std::size_t> allocations = 0;
std::atomic<std::size_t> maps = 0;
std::atomic<std::size_t> of_onednn = 0;
std::atomic<std::size_t> threads = 0;
std::atomic<std::size_t> environment = 0;
std::atomic<bool> has_first = false;
void* first[most_frames];
int first_count = 0;
char** host_environment = nullptr;

void count(std::atomic<std::size_t>& what) {
  if (!watching || own > 0) return;
  ++own;
  void* frames[most_frames];
  const int n = backtrace(frames, most_frames);
  if (quern::testing::is_below_onednn({frames, static_cast<std::size_t>(n)})) {
    ++of_onednn;
  } else {
    ++what;
    if (!has_first.exchange(true)) {
      std::copy_n(frames, n, first);
      first_count = n;
    }
  }
  --own;
}

void count_allocation(std::size_t size) {
  if (size > large) count(allocations);
}

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#if defined(__GLIBC__) && !QUERN_SANITIZED
extern "C" {
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  static const auto call = next<void* (*)(void*, std::size_t, int, int, int, off_t)>("mmap");
  if (bytes > large && (flags & MAP_ANONYMOUS) != 0) count(maps);
  return call(at, bytes, protection, flags, file, offset);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto call = next<Create>("pthread_create");
  count(threads);
  return call(thread, attributes, start, argument);
}
int setenv(const char* name, const char* value, int overwrite) {
  static const auto call = next<int (*)(const char*, const char*, int)>("setenv");
  count(environment);
  return call(name, value, overwrite);
}
int unsetenv(const char* name) {
  static const auto call = next<int (*)(const char*)>("unsetenv");
  count(environment);
  return call(name);
}
int putenv(char* text) {
  static const auto call = next<int (*)(char*)>("putenv");
  count(environment);
  return call(text);
}
void* dlopen(const char* name, int how) {
  static const auto call = next<void* (*)(const char*, int)>("dlopen");
  if (environ != host_environment) count(environment);
  return call(name, how);
}
}
#endif

namespace quern::testing {

AroundHost::AroundHost() {
  void* warm[1];
  backtrace(warm, 1);  // loads its library, which allocates
  for (auto* counter : {&allocations, &maps, &of_onednn, &threads, &environment}) *counter = 0;
  has_first = false;
  host_environment = environ;
  watch_allocations(count_allocation);
  watching = true;
}

AroundHost::~AroundHost() {
  (void)stop();
}

AroundHost::Counts AroundHost::stop() {
  watching = false;
  watch_allocations(nullptr);
  return {allocations, maps, of_onednn, threads, environment};
}

std::string AroundHost::first_caller() const {
  return has_first ? symbols_of({first, static_cast<std::size_t>(first_count)}) : std::string();
}

HostsOwn::HostsOwn() {
  ++own;
}

HostsOwn::~HostsOwn() {
  --own;
}

}  // namespace quern::testing
