// SPDX-License-Identifier: Apache-2.0
// What a quantised model loses and gains beside the one that it was made of.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <quern/model.h>
#include <quern/status.h>

#include "tools/console.h"
#include "tools/options.h"

namespace quern::tools {

// One output over all samples, of f32.
struct OutputLoss {
  std::string name;
  double mean_cosine = 0, least_cosine = 0;  // of the angle between the two models' outputs
  std::size_t rows = 0;                      // of scores of classes; 0: it has none
  std::size_t same_class = 0;                // rows whose best class is the same
};

struct Assessment {
  std::vector<OutputLoss> outputs;
  double before_ms = 0, after_ms = 0;  // medians of runs in turns
};

// Runs both on every sample, and times them on the last. Errors: those of runs.
Result<Assessment> assess(Model before, Model after, const std::vector<InputArgs>& samples,
                          const DeviceArgs& device, const Console& console);

}  // namespace quern::tools
