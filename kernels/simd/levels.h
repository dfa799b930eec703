// SPDX-License-Identifier: Apache-2.0
// The sets of loops that are built for an architecture, which of them this CPU can run, and the one
// that is chosen.
#pragma once

#include <cstddef>
#include <span>

namespace quern {

// True if the environment allows loops of this level: QUERN_SIMD names the highest one, "avx512",
// "avx2" or "baseline" on x86-64 (above them is "amx") and "dotprod", "neon" or "baseline" on ARM
// (above them is "i8mm"). It is read when the first kernel is chosen; what is no level of this
// architecture disables nothing.
bool simd_allows(const char* level) noexcept;

// A set without its loops: who asks for its name alone has none of their code.
struct BuiltSet {
  const char* name;
  const char* level;  // as at simd_allows()
  bool (*is_here)() noexcept;
};
// The place of the best that is here and allowed. Best first; the last is what every CPU of the
// architecture can run.
std::size_t best_of(std::span<const BuiltSet> built) noexcept;

// The tables of loops that this CPU can run, best first.
template <class Table>
class SimdSets {
 public:
  SimdSets(std::span<const BuiltSet> built, const Table* const* tables) noexcept {
    for (std::size_t i = 0; i < built.size(); ++i)
      if (built[i].is_here()) sets_[count_++] = tables[i];
  }
  const Table* const* begin() const noexcept { return sets_; }
  const Table* const* end() const noexcept { return sets_ + count_; }

 private:
  static constexpr std::size_t most = 4;
  const Table* sets_[most] = {};
  std::size_t count_ = 0;
};

}  // namespace quern
