// SPDX-License-Identifier: Apache-2.0
#include <quern/processor_time.h>

#include "kernels/contract/openmp.h"
#include "kernels/contract/team_clock.h"

namespace quern {

std::chrono::nanoseconds processor_time(int threads) noexcept {
  const auto team = threads > 1 ? time_of_team(threads) : std::chrono::nanoseconds(0);
  return team + thread_time();
}

}  // namespace quern
