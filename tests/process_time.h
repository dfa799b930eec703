// SPDX-License-Identifier: Apache-2.0
// The processor time of this process, all threads together: others on the machine do not take it.
#pragma once

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

}  // namespace quern::testing
