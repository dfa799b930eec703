// SPDX-License-Identifier: Apache-2.0
// Random problems with banks.
#pragma once

#include "tests/graph/memory/problems.h"

namespace quern {

struct BankFeatures {
  std::uint64_t banks = 2;
  std::uint64_t capacity = 6;  // at most, of the first; the others have more
  bool alignments = false;
  bool choices = true;
  bool reuse = false;
  bool fixed = false;  // two buffers, in any bank
};

// The cheaper a bank, the smaller it is, most often.
inline MemoryProblem with_random_banks(MemoryProblem p, Random& random, const BankFeatures& f) {
  for (std::uint64_t b = 0; b < f.banks; ++b) {
    Bank bank{.name = "m" + std::to_string(b)};
    bank.capacity = 1 + random.below(f.capacity) * (1 + b) + b;
    if (f.alignments && random.one_in(3)) bank.alignment = 2;
    bank.cost = b == 0 ? random.below(2) : 1 + random.below(3);
    if (f.reuse && !random.one_in(3)) bank.reuse = 1 + random.below(5);
    p.banks.push_back(std::move(bank));
  }
  if (!f.choices) return p;
  p.choices.resize(p.intervals.size());
  for (BankChoice& c : p.choices) {
    if (random.one_in(6)) c.banks = {static_cast<std::uint32_t>(random.below(f.banks))};
    if (random.one_in(4)) c.separation = 1 + static_cast<std::uint32_t>(random.below(2));
    if (random.one_in(4)) c.colocation = 1 + static_cast<std::uint32_t>(random.below(2));
  }
  return p;
}

inline MemoryProblem random_bank_problem(std::size_t buffers, unsigned seed,
                                         const BankFeatures& f = {}, std::uint64_t max_size = 4,
                                         std::uint64_t steps = 4) {
  Random random(seed);
  MemoryProblem p;
  for (std::size_t n = 0; n < buffers; ++n) {
    const auto first = static_cast<std::int64_t>(random.below(steps));
    const auto end = first + 1 + static_cast<std::int64_t>(random.below(steps));
    Interval i = interval(first, end, 1 + random.below(max_size));
    if (f.alignments && random.one_in(4)) i.alignment = 2;
    if (random.one_in(8)) add_gap(i, random, false);
    p.intervals.push_back(std::move(i));
  }
  if (f.fixed && buffers > 1) {
    p.intervals[0].fixed_offset = p.intervals[0].alignment * random.below(2);
    p.intervals[1].fixed_offset = p.intervals[1].alignment * random.below(4);
  }
  return with_random_banks(std::move(p), random, f);
}

}  // namespace quern
