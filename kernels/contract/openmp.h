// SPDX-License-Identifier: Apache-2.0
// The OpenMP runtime that oneDNN uses, loaded at run time: our own loops run on the same team of
// threads, so that two thread pools never compete for the cores.
#pragma once

namespace quern {

// Opens libgomp once, with a short spin before idle threads park (GOMP_SPINCOUNT=300, unless the
// environment says otherwise): by default idle threads spin for milliseconds, and two processes on
// the same cores slow each other down nineteen-fold. The variable is read when the library is
// loaded, so this must come before anything else loads it; a host that uses OpenMP itself sets it
// for its own process. Returns false if there is no such library; then everything runs on the
// caller's thread.
bool open_openmp() noexcept;

// Sets the number of threads that oneDNN may use for calls from this thread; returns the previous
// number.
int set_openmp_threads(int threads) noexcept;

// Sets the number of threads for one scope.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(int threads) noexcept : before_(set_openmp_threads(threads)) {}
  ~OpenMpThreads() { set_openmp_threads(before_); }
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int before_;
};

// min(CPUs that this process may run on, its cgroup's CPU quota), at least 1.
int default_threads() noexcept;

}  // namespace quern
