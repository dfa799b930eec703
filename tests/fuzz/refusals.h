// SPDX-License-Identifier: Apache-2.0
// Models that one device takes and another refuses, and why that is right. Anything that is not in
// this list is a mistake of one of them.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "tests/fuzz/model_run.h"

namespace quern::fuzz {

enum class Refuses : std::uint8_t { reference, cpu };

struct KnownRefusal {
  Refuses who;
  std::string_view message;  // a part of it
  std::string_view reason;
};

inline constexpr std::array<KnownRefusal, 0> known_refusals = {};

// Of the two, one refused.
inline bool is_known_refusal(const Answer& reference, const Answer& cpu) {
  const Refuses who = cpu.code == Code::ok ? Refuses::reference : Refuses::cpu;
  const Answer& refused = cpu.code == Code::ok ? reference : cpu;
  return std::ranges::any_of(known_refusals, [&](const KnownRefusal& k) {
    return k.who == who && refused.message.find(k.message) != std::string::npos;
  });
}

}  // namespace quern::fuzz
