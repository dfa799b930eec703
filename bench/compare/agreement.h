// SPDX-License-Identifier: Apache-2.0
// Tells whether two engines gave the same answer.
#pragma once

#include <string>
#include <vector>

#include "bench/compare/engine.h"

namespace quern::bench {

// Why the outputs differ: names, types, shapes, or by more than 1e-3 (f16: 1e-2) of their mean
// magnitude on average or in more than 1 % of the elements. Empty: they agree.
std::string disagreement(const std::vector<NamedTensor>& got,
                         const std::vector<NamedTensor>& wanted);

}  // namespace quern::bench
