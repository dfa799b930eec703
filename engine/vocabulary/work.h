// SPDX-License-Identifier: Apache-2.0
// A limit on the work of a search, counted and not timed: the same input gives the same answer on
// every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/vocabulary/stop.h"

namespace quern {

// Counts down. A unit is about a nanosecond: some elements that are looked at. What counts asks
// before long loops, or charges what a loop has cost; once everything is spent, it stays so.
// Nothing is left, either, once `stop` (it may be null) is reached: what comes of that is not used.
class Work {
 public:
  Work() = default;  // no limit
  explicit Work(std::uint64_t units, const Stop* stop = nullptr) : left_(units), check_(stop) {}

  // Returns false if that is more than what is left: then nothing is left.
  bool spend(std::uint64_t units) {
    if (units > left_ || check_.spend(static_cast<std::int64_t>(std::min(units, most_at_once)))) {
      left_ = 0;
      return false;
    }
    if (left_ != unlimited) left_ -= units;
    return true;
  }
  bool is_spent() const { return left_ == 0; }
  std::uint64_t left() const { return left_; }

 private:
  static constexpr std::uint64_t most_at_once = std::uint64_t{1} << 40;
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t left_ = unlimited;
  StopCheck check_{nullptr};
};

}  // namespace quern
