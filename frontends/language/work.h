// SPDX-License-Identifier: Apache-2.0
// The work that one call may do: files and texts of strangers may ask for any amount.
#pragma once

#include <cstddef>
#include <cstdint>

#include <quern/status.h>

namespace quern::language {

// Counts down; steps are of some nanoseconds each.
class Work {
 public:
  explicit Work(std::uint64_t steps) : left_(steps) {}

  // False once more was spent than there was, and then always.
  bool spend(std::uint64_t steps) {
    if (steps > left_) {
      left_ = 0;
      return false;
    }
    left_ -= steps;
    return true;
  }
  bool is_spent() const { return left_ == 0; }

 private:
  std::uint64_t left_;
};

// The limit for a text of `size` characters, generous for any tokenizer that is no attack.
inline Work work_for(std::size_t size) {
  return Work(20'000'000 + 1'000 * static_cast<std::uint64_t>(size));
}

}  // namespace quern::language
