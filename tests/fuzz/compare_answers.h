// SPDX-License-Identifier: Apache-2.0
// Whether two devices gave the same answer: shapes, types, integers and texts exactly, floats
// within what rounding can do.
#pragma once

#include <optional>
#include <string>

#include "tests/fuzz/model_run.h"

namespace quern::fuzz {

// Of the coarsest type of floats in the model, relative.
double coarsest_rounding(const Model& model);

// What differs, in a sentence; "" for nothing. `moved` may be null: what `wanted` becomes when its
// inputs are changed a little. Elements that follow such a change may differ as far again.
std::string difference(const Answer& wanted, const Answer& given, const Answer* moved,
                       double rounding);

// Whether every bit is the same.
bool is_same(const Answer& wanted, const Answer& given);

// What is outside of the bounds that tools/oracle derives for this round, in a sentence; "":
// nothing. No value: the oracle refuses the model.
std::optional<std::string> outside_of_bounds(const Model& model, int round, const Answer& given);

}  // namespace quern::fuzz
