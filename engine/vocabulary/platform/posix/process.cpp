// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/platform/process.h"

#if !defined(_WIN32) && !defined(__wasi__)
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__aarch64__) || defined(__arm__)
#include <sys/auxv.h>
#endif
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#endif

#include "engine/vocabulary/platform/waiting.h"

namespace quern::platform {
namespace {

std::chrono::nanoseconds duration_of(const timespec& t) {
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

}  // namespace

// ---- the process -------------------------------------------------------------------------------

std::int64_t process_id() noexcept {
  return ::getpid();
}

void on_fork(void (*before)(), void (*in_child)()) noexcept {
  (void)::pthread_atfork(before, nullptr, in_child);
}

int allowed_cpus() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

// That of the cgroup (version 2, then version 1).
double cpu_quota() {
  std::string quota;
  double period = 0;
  if (std::ifstream f("/sys/fs/cgroup/cpu.max"); f >> quota >> period && quota != "max")
    return period > 0 ? std::atof(quota.c_str()) / period : 0;
  double q = 0;
  std::ifstream q1("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream p1("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (q1 >> q && p1 >> period && q > 0 && period > 0) return q / period;
  return 0;
}

std::size_t second_level_cache() noexcept {
#ifdef _SC_LEVEL2_CACHE_SIZE
  return static_cast<std::size_t>(std::max(::sysconf(_SC_LEVEL2_CACHE_SIZE), 0L));
#else
  return 0;
#endif
}

std::size_t peak_resident_bytes() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

std::string system_name() {
  utsname system{};
  ::uname(&system);
  return std::string(system.sysname) + " " + system.release + " " + system.machine;
}

bool is_terminal(Stream stream) noexcept {
  constexpr int descriptors[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  return ::isatty(descriptors[static_cast<std::size_t>(stream)]) == 1;
}

void set_variable(const char* name, const char* value) {
  ::setenv(name, value, 1);
}

// The environment has the variable in a second array of the same strings: setenv() would rearrange
// the array that other threads may be reading. The second array stays for those that have begun to
// read it.
void* with_variable(char* variable, void* (*open)()) noexcept {
  static char** extended = nullptr;
  char** const before = environ;
  std::size_t count = 0;
  while (before && before[count]) ++count;
  extended = new (std::nothrow) char*[count + 2];
  if (!extended) return open();
  std::copy_n(before, count, extended);
  extended[count] = variable;
  extended[count + 1] = nullptr;
  environ = extended;
  void* const opened = open();
  if (environ == extended) environ = before;  // else somebody has set a variable since
  return opened;
}

std::string make_private_folder(const std::string& prefix) {
  std::string name = prefix + "XXXXXX";
  return ::mkdtemp(name.data()) ? name : std::string();
}

// What is being written when the signal comes is written.
OnInterrupt::OnInterrupt(void (*handler)(int)) noexcept {
  static_assert(sizeof(struct sigaction) <= sizeof before_);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, &before);
  std::memcpy(before_, &before, sizeof before);
}

OnInterrupt::~OnInterrupt() {
  struct sigaction before {};
  std::memcpy(&before, before_, sizeof before);
  ::sigaction(SIGINT, &before, nullptr);
}

// ---- threads and clocks ------------------------------------------------------------------------

ThreadClock this_thread_clock() noexcept {
  clockid_t id{};
  return ::pthread_getcpuclockid(::pthread_self(), &id) == 0 ? id : CLOCK_THREAD_CPUTIME_ID;
}

std::chrono::nanoseconds time_of(ThreadClock clock) noexcept {
  timespec t{};
  if (::clock_gettime(static_cast<clockid_t>(clock), &t) != 0) return std::chrono::nanoseconds(0);
  return duration_of(t);
}

std::chrono::nanoseconds thread_time() noexcept {
  return time_of(CLOCK_THREAD_CPUTIME_ID);
}

std::chrono::nanoseconds process_time() noexcept {
  return time_of(CLOCK_PROCESS_CPUTIME_ID);
}

// Past libc, and past the page that the kernel maps for it.
std::chrono::nanoseconds raw_time() noexcept {
  timespec t{};
  if (::syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &t) != 0)
    return std::chrono::steady_clock::now().time_since_epoch();
  return duration_of(t);
}

std::tm local_time(std::time_t time) noexcept {
  std::tm parts{};
  ::localtime_r(&time, &parts);
  return parts;
}

void wait_while(const std::atomic<unsigned>& value, unsigned known) noexcept {
  value.wait(known);
}
void wake_one(std::atomic<unsigned>& value) noexcept {
  value.notify_one();
}
void wake_all(std::atomic<unsigned>& value) noexcept {
  value.notify_all();
}

void name_thread(std::thread& thread, const char* name) noexcept {
  (void)::pthread_setname_np(thread.native_handle(), name);
}

// ---- the CPU -----------------------------------------------------------------------------------

CpuBits cpu_bits() noexcept {
#if defined(__aarch64__) || defined(__arm__)
  return {::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2)};
#else
  return {};
#endif
}

int sve_bytes() noexcept {
#if defined(__aarch64__)
  const int length = ::prctl(PR_SVE_GET_VL);  // in bytes, in the lower half; below 0: no SVE
  return length > 0 ? length & PR_SVE_VL_LEN_MASK : 0;
#else
  return 0;
#endif
}

// The kernel refuses processes that have a signal stack without room for the tiles.
bool may_use_tiles() noexcept {
#if defined(__x86_64__)
  constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;               // XFEATURE_XTILE_DATA
  return ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

// glibc opens libgcc the first time that an exception passes one of its own functions, as those of
// oneDNN do in pthread_once(), and ends the process if it then has no memory for that.
void load_unwinder() noexcept {
#if __has_include(<execinfo.h>)
  void* frame[1];
  ::backtrace(frame, 1);
#endif
}

}  // namespace quern::platform
#endif
