// SPDX-License-Identifier: Apache-2.0
// Tells whether two devices gave the same answer: shapes, types, integers and texts exactly, floats
// within what rounding can do.
#pragma once

#include <optional>
#include <string>

#include "tests/fuzz/model_run.h"

namespace quern::fuzz {

// This is the relative rounding of the coarsest float type in the model.
double coarsest_rounding(const Model& model);

// This says what differs, in a sentence; "" for nothing. `moved` may be null; it is what `wanted`
// becomes for slightly changed inputs. Elements that follow the change may differ as far again.
std::string difference(const Answer& wanted, const Answer& given, const Answer* moved,
                       double rounding);

// True if every bit is the same.
bool is_same(const Answer& wanted, const Answer& given);

// This says what is outside of the bounds that tools/oracle derives for this round, in a sentence;
// "" for nothing. It returns no value if the oracle refuses the model.
std::optional<std::string> outside_of_bounds(const Model& model, int round, const Answer& given);

}  // namespace quern::fuzz
