// SPDX-License-Identifier: Apache-2.0
// The processor time of this process, all threads together: others on the machine do not take it,
// but they make it longer. So a limit holds for the least of some measures.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>

namespace quern::testing {

inline std::chrono::nanoseconds process_time() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

inline double process_ms() {
  return std::chrono::duration<double, std::milli>(process_time()).count();
}

/// The processor time of `work`, in milliseconds.
template <class Work>
double process_ms_of(const Work& work) {
  const double before = process_ms();
  work();
  return process_ms() - before;
}

/// The least of at most nine measures; the first that is below `limit` is the last.
template <class Measure>
double least_of(double limit, const Measure& measure) {
  double least = measure();
  for (int i = 0; i < 8 && !(least < limit); ++i) least = std::min(least, measure());
  return least;
}

}  // namespace quern::testing
