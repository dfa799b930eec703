// SPDX-License-Identifier: Apache-2.0
// The variants of a table of loops that this CPU can run, and the one that is chosen.
#pragma once

#include <cstddef>

namespace quern {

// True if the environment allows loops of this level: QUERN_SIMD names the highest one, "avx512",
// "avx2" or "baseline" on x86-64 (above them is "amx") and "dotprod", "neon" or "baseline" on ARM
// (above them is "i8mm"). It is read when the first kernel is chosen; what is no level of this
// architecture disables nothing.
bool simd_allows(const char* level) noexcept;

// Best first; the last is what every CPU of the architecture can run.
template <class Set>
class SimdSets {
 public:
  void add(const Set& set) noexcept { sets_[count_++] = &set; }
  const Set* const* begin() const noexcept { return sets_; }
  const Set* const* end() const noexcept { return sets_ + count_; }
  const Set& best_allowed(const char* Set::*level) const noexcept {
    for (const Set* set : *this)
      if (simd_allows(set->*level)) return *set;
    return *sets_[count_ - 1];
  }

 private:
  static constexpr std::size_t most = 4;
  const Set* sets_[most] = {};
  std::size_t count_ = 0;
};

}  // namespace quern
