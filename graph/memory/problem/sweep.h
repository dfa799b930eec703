// SPDX-License-Identifier: Apache-2.0
// Beginnings and ends of pieces in order of time.
#pragma once

#include "graph/memory/problem/plan.h"

namespace quern {

struct Event {
  std::int64_t time;
  bool begins;  // ends sort before beginnings of the same time: lifetimes are half-open
  std::size_t piece;
};
std::vector<Event> events_of(std::span<const Piece> pieces);

}  // namespace quern
