// SPDX-License-Identifier: Apache-2.0
// The memory of exact_search.cpp: states from which no placement was found, so that none is
// searched twice.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern {

// The position in the canonical order: the next buffer has no smaller (offset, rank).
template <class T>
struct Cursor {
  T offset = 0;
  std::int32_t rank = 0;

  auto operator<=>(const Cursor&) const = default;  // NOLINT: no zero is meant
};

// States that failed, with the lowest cursor from which they did: a set with open addressing, which
// forgets when it is full. Keys are sums of 128 bits per buffer.
template <class T>
class FailedStates {
 public:
  struct Key {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
  };

  bool contains(const Key& key, Cursor<T> cursor) const {
    if (slots_.empty()) return false;
    for (std::size_t k = 0; k < probes; ++k) {
      const Slot& s = slots_[(key.low + k) & (slots_.size() - 1)];
      if (s.low == key.low && s.high == key.high) return s.cursor <= cursor;
      if (s.empty()) return false;
    }
    return false;
  }

  void add(const Key& key, Cursor<T> cursor) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    for (std::size_t k = 0; k < probes; ++k) {
      Slot& s = slots_[(key.low + k) & (slots_.size() - 1)];
      if (s.low == key.low && s.high == key.high) {
        s.cursor = std::min(s.cursor, cursor);
        return;
      }
      if (!s.empty()) continue;
      s = {key.low, key.high, cursor};
      ++used_;
      return;
    }
    slots_[key.low & (slots_.size() - 1)] = {key.low, key.high, cursor};
  }

 private:
  struct Slot {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    Cursor<T> cursor;

    bool empty() const { return low == 0 && high == 0; }
  };
  static constexpr std::size_t probes = 8;
  static constexpr std::size_t max_slots = std::size_t{1} << 20;

  void grow() {
    if (slots_.size() >= max_slots) return;
    std::vector<Slot> old(slots_.empty() ? 1024 : 4 * slots_.size());
    old.swap(slots_);
    used_ = 0;
    for (const Slot& s : old)
      if (!s.empty()) add({s.low, s.high}, s.cursor);
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace quern
