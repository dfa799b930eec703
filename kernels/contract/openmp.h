// SPDX-License-Identifier: Apache-2.0
// The OpenMP runtime that oneDNN uses, loaded at run time: our own loops run on the same team of
// threads, so that two thread pools never compete for the cores.
#pragma once

#include <chrono>
#include <functional>
#include <future>

#include "kernels/contract/kernel.h"

namespace quern {

// Opens libgomp once, with a spin of 30 us before idle threads park (GOMP_SPINCOUNT, unless the
// environment has it): by default idle threads spin for milliseconds, and two processes on the same
// cores slow each other down nineteen-fold; with 3 us, where a virtual machine takes long to wake a
// CPU, two threads were five times slower than one. The variable is read when the library is
// loaded, so this must come before anything else loads it; a host that uses OpenMP itself sets it
// for its own process. Returns false if there is no such library; then everything runs on the
// caller's thread.
bool open_openmp() noexcept;

// A oneDNN primitive divides its work among the threads that it was created for, and computes a
// part of the result alone when OpenMP gives it a smaller team: wrong in silence. OpenMP does so
// beyond OMP_THREAD_LIMIT, with OMP_DYNAMIC, and inside of a host's own parallel region. What
// follows sees to it that a team is as large as it was asked for.

// Returns the threads of a run for which a host wants so many (0 or less: as many as are useful):
// at most the CPUs that this process may use, since the threads of one run wait for each other, and
// others on the same CPU do nothing but make them wait; and no more than OpenMP gives. At least 1.
int threads_of_run(int wanted);
// The same for a run by the threads of `pool`, unless it is null: at most as many as it has.
Team team_of_run(int wanted, const ThreadPool* pool);

// Sets the number of threads for calls from this thread for one scope, and that teams have all of
// them (OMP_DYNAMIC off).
class OpenMpThreads {
 public:
  explicit OpenMpThreads(int threads) noexcept;
  ~OpenMpThreads();
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int threads_before_ = 1;
  int dynamic_before_ = 0;
};

// Returns true if the caller is a thread of a parallel region, whose own regions have one thread,
// or lost its team by fork(), so that they would wait for ever.
bool in_openmp_team() noexcept;

// Runs `f` outside of any parallel region: on the caller's thread, or on a new one if
// in_openmp_team(). Throws what `f` throws, and std::system_error if there is no new thread.
template <class F>
auto outside_of_team(const F& f) -> decltype(f()) {
  if (!in_openmp_team()) return f();
  return std::async(std::launch::async, std::cref(f)).get();
}

// Returns the processor time that the other threads of the caller's teams have used since they were
// first seen. The first call with another number than the last opens a region of so many threads,
// to see them; later on each is seen that runs a part of a Parallel. 0 where there is no memory.
std::chrono::nanoseconds time_of_team(int threads) noexcept;
// The same for threads of pools, which are seen without that.
std::chrono::nanoseconds time_of_helpers() noexcept;

// min(CPUs that this process may run on, its cgroup's CPU quota), at least 1.
int default_threads();

}  // namespace quern
