// SPDX-License-Identifier: Apache-2.0
// The range of a model's values over samples of its data.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "tools/console.h"
#include "tools/options.h"
#include "tools/quantize/edited_model.h"

namespace quern::tools {

// Includes 0, so that padding has a number of its own.
struct Interval {
  float low = 0, high = 0;
};
using Ranges = std::map<std::string, Interval, std::less<>>;

// Where the inputs of each sample come from: pictures, .npy files or folders test_data_set_N in
// `folder`, by name, at most `most`; the word random stands for generated inputs. `base` has what
// holds for all: shapes, preparation of pictures. Errors: not_found, invalid_argument.
Result<std::vector<InputArgs>> find_samples(const std::string& folder, const InputArgs& base,
                                            std::size_t most);

struct CalibrationOptions {
  DeviceArgs device;
  // The share of a value's elements, in percent, that its range must hold; the others are cut off.
  double percentile = 100;
};

// The ranges of the values of f32 that are named, over all samples. Errors: those of runs.
Result<Ranges> calibrate(EditedModel& model, const std::vector<std::string_view>& names,
                         const std::vector<InputArgs>& samples, const CalibrationOptions& options,
                         const Console& console);

}  // namespace quern::tools
