// SPDX-License-Identifier: Apache-2.0
// Whether a rewritten model answers as the original does.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <quern/model.h>
#include <quern/status.h>

#include "tools/compare.h"
#include "tools/options.h"

namespace quern::tools {

struct OutputCheck {
  std::string name;
  double largest_difference = 0;
  std::string mismatch;  // a sentence; empty: within the criterion
};

struct ModelCheck {
  std::vector<OutputCheck> outputs;
  bool is_random = false;  // the model draws numbers: types were compared, and no elements

  double largest_difference() const;
  const OutputCheck* mismatch() const;  // the first; null: none
};

// Runs both without any rewrite of the engine's, on inputs of `args` or generated ones. Errors: the
// original refuses them, or the rewritten model does.
Result<ModelCheck> check_model(Model before, Model after, const InputArgs& args,
                               const DeviceArgs& device, const Criterion& criterion);

}  // namespace quern::tools
