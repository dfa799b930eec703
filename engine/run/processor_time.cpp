// SPDX-License-Identifier: Apache-2.0
#include <quern/device.h>
#include <quern/executable.h>
#include <quern/processor_time.h>
#include <quern/session.h>

#include "engine/vocabulary/platform/process.h"
#include "kernels/contract/openmp.h"
#include "kernels/contract/team_clock.h"

namespace quern {

std::chrono::nanoseconds processor_time(int threads) noexcept {
  const auto team = threads > 1 ? time_of_team(threads) : std::chrono::nanoseconds(0);
  return team + platform::thread_time();
}

// A team that a device's host does not need is not made for the clock.
std::chrono::nanoseconds processor_time(const Session& session) noexcept {
  const bool is_host = session.executable().device().info().kind == DeviceInfo::Kind::cpu;
  if (!is_host || session.threads() == 1) return platform::thread_time();
  return session.thread_pool() ? time_of_helpers() + platform::thread_time()
                               : processor_time(session.threads());
}

}  // namespace quern
