// SPDX-License-Identifier: Apache-2.0
// The difference of two values: how many elements differ, which one most, and by how much.
#pragma once

#include <cstdint>
#include <string>

#include "tools/compare.h"
#include "tools/inputs.h"
#include "tools/json.h"

namespace quern::tools {

// One element of two tensors.
struct Spot {
  std::string at;  // "[0,3,17]"; of a sequence "2:[0,3,17]"
  std::string got, wanted;
  double by = 0;
};

struct Divergence {
  bool parts = false;
  std::string type;      // of what is wanted
  std::string mismatch;  // types or counts differ: nothing else is known
  std::int64_t outside = 0;
  std::int64_t elements = 0;
  Spot largest;          // of all elements outside of the criterion
  Spot relative;         // by |got - wanted| / |wanted|; empty: every wanted one is 0
  double agreement = 0;  // largest difference of all elements
};

Divergence difference_of(const InputValue& got, const InputValue& wanted,
                         const Criterion& criterion);
Json difference_json(const Divergence& d);
std::string criterion_text(const Criterion& c);

}  // namespace quern::tools
