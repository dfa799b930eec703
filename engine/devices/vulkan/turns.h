// SPDX-License-Identifier: Apache-2.0
// How many pieces of a long run go out together, so that runs share a queue by turns: its commands
// run in the order of their submission, whoever submitted them.
#pragma once

#include <chrono>
#include <cstddef>

namespace quern::vulkan {

// The turns of one run. While nobody else submits, a turn is so long (8 to 20 ms) that waiting for
// its end costs nothing. Where others do, it is half as long as the last one had to wait for them,
// and 2 to 20 ms: short runs wait for one turn of a long one, which gets a share of the time still.
class Turns {
 public:
  using Clock = std::chrono::steady_clock;

  // The number of pieces of the next turn. `others_came`: others have submitted since the last one
  // was submitted.
  std::size_t next(bool others_came, Clock::time_point now);
  // The last turn is over: it began `waited` after it was submitted, and took `ran`.
  void end(Clock::duration waited, Clock::duration ran);

 private:
  std::size_t pieces_ = 1;
  Clock::duration waited_{}, ran_{};
  Clock::time_point shared_until_{};
};

}  // namespace quern::vulkan
