// SPDX-License-Identifier: Apache-2.0
// The smallest model that still shows what a random model showed.
#pragma once

#include <functional>

#include "tools/random/random_model.h"

namespace quern::tools {

// True if a candidate still shows the failure. Candidates may be invalid.
using StillFails = std::function<bool(const RandomModel&)>;

// Removes outputs, runs, nodes, attributes and inputs, replaces nodes by their values, and makes
// dimensions smaller, as long as `fails` returns true and for at most `seconds`.
RandomModel shrink(const RandomModel& model, const StillFails& fails, double seconds);

// DIR/model.onnx and DIR/test_data_set_K/input_I.pb; output_I.pb as the reference has them, where
// it accepts the model. Layout of the ONNX backend tests.
Status write_case(const RandomModel& model, const std::string& folder);

}  // namespace quern::tools
