// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/turns.h"

#include <algorithm>

namespace quern::vulkan {

std::size_t Turns::next(bool others_came, Clock::time_point now) {
  using namespace std::chrono_literals;
  constexpr Clock::duration longest = 20ms;
  if (others_came) shared_until_ = now + 200ms;
  const bool is_shared = now < shared_until_;
  const Clock::duration most =
      is_shared ? std::clamp<Clock::duration>(waited_ / 2, 2ms, longest) : longest;
  if (ran_ > most)
    pieces_ = std::max<std::size_t>(pieces_ * static_cast<std::size_t>(most / 1us) /
                                        static_cast<std::size_t>(ran_ / 1us),
                                    1);
  else if (ran_ > Clock::duration::zero() && ran_ < most * 2 / 5)
    pieces_ *= 2;
  return pieces_;
}

void Turns::end(Clock::duration waited, Clock::duration ran) {
  waited_ = waited;
  ran_ = ran;
}

}  // namespace quern::vulkan
