// SPDX-License-Identifier: Apache-2.0
// The numbers of NumPy's RandomState: the Mersenne Twister (Matsumoto, Nishimura: Mersenne Twister:
// a 623-dimensionally equidistributed uniform pseudo-random number generator; ACM TOMACS 8, 1998),
// which the standard library brings, and what makes floats of its words.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace quern {

class MersenneNumbers {
 public:
  // `seed` is below 2^32, which the operators' inference has checked.
  explicit MersenneNumbers(std::uint64_t seed)
      : words_(static_cast<std::mt19937::result_type>(seed)) {}

  // Uniform in [0, 1), in steps of 2^-53, of two words.
  double uniform() {
    const auto high = static_cast<std::uint64_t>(words_()) >> 5;
    const auto low = static_cast<std::uint64_t>(words_()) >> 6;
    return static_cast<double>(high << 26 | low) * 0x1p-53;
  }

  // Standard normal, by the polar method of Marsaglia: two numbers of a point in the circle, of
  // which the second comes out first.
  double normal() {
    if (has_first_) {
      has_first_ = false;
      return first_;
    }
    double x = 0;
    double y = 0;
    double r2 = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      r2 = x * x + y * y;
    } while (r2 >= 1 || r2 == 0);
    const double f = std::sqrt(-2 * std::log(r2) / r2);
    first_ = f * x;
    has_first_ = true;
    return f * y;
  }

 private:
  std::mt19937 words_;
  double first_ = 0;
  bool has_first_ = false;
};

}  // namespace quern
