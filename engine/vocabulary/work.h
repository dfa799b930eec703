// SPDX-License-Identifier: Apache-2.0
// A limit on the work of a search, counted and not timed: the same input gives the same answer on
// every machine.
#pragma once

#include <cstdint>
#include <limits>

namespace quern {

// Counts down. A unit is about a nanosecond: some elements that are looked at. What counts asks
// before long loops, or charges what a loop has cost; once everything is spent, it stays so.
class Work {
 public:
  Work() = default;  // no limit
  explicit Work(std::uint64_t units) : left_(units) {}

  // Returns false if that is more than what is left: then nothing is left.
  bool spend(std::uint64_t units) {
    if (units > left_) {
      left_ = 0;
      return false;
    }
    if (left_ != unlimited) left_ -= units;
    return true;
  }
  bool is_spent() const { return left_ == 0; }
  std::uint64_t left() const { return left_; }

 private:
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t left_ = unlimited;
};

}  // namespace quern
