// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/turns.h"

#include <algorithm>
#include <utility>

namespace quern::vulkan {

std::size_t Turns::next(Others others, Clock::time_point now) {
  using namespace std::chrono_literals;
  constexpr Clock::duration longest = 20ms;
  if (others == Others::something) shared_until_ = now + 200ms;
  const bool is_shared = now < shared_until_;
  const Clock::duration most =
      is_shared ? std::clamp<Clock::duration>(waited_ / 2, 2ms, longest) : longest;
  if (ran_ > most)
    pieces_ = std::max<std::size_t>(
        pieces_ * static_cast<std::size_t>(most / 1us) / static_cast<std::size_t>(ran_ / 1us), 1);
  else if (ran_ > Clock::duration::zero() && ran_ < most * 2 / 5)
    pieces_ *= 2;
  return pieces_;
}

void Turns::end(Clock::duration waited, Clock::duration ran) {
  waited_ = waited;
  ran_ = ran;
}

void YoungRuns::change(int by) {
  const std::scoped_lock lock(mutex_);
  count_ += by;
  if (count_ == 0) none_.notify_all();
}

void YoungRuns::Member::leave() {
  if (std::exchange(is_young_, false)) runs_.change(-1);
}

void YoungRuns::Member::spend(Clock::duration ran) {
  ran_ += ran;
  if (ran_ > youth) leave();
}

YoungRuns::Clock::duration YoungRuns::Member::yield(const Stop& stop) {
  using namespace std::chrono_literals;
  if (is_young_) return {};
  const auto begin = Clock::now();
  std::unique_lock lock(runs_.mutex_);
  for (int i = 0; i < 10 && runs_.count_ > 0 && !stop.is_reached(); ++i)
    runs_.none_.wait_for(lock, 5ms, [&] { return runs_.count_ == 0; });
  return Clock::now() - begin;
}

}  // namespace quern::vulkan
