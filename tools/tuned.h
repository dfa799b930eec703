// SPDX-License-Identifier: Apache-2.0
// --tune and --tuning: kernels that are chosen by measuring.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <quern/executable.h>
#include <quern/model.h>
#include <quern/status.h>
#include <quern/tuning.h>

#include "tools/console.h"
#include "tools/inputs.h"
#include "tools/json.h"
#include "tools/options.h"

namespace quern::tools {

// What the file of --tuning knows; null without one, unless kernels are to be measured.
Result<std::shared_ptr<const Tuning>> load_tuning(const DeviceArgs& device);
// Measures with these inputs what `options.tuning` does not know, puts the result there and saves
// it, and says on stderr what came of it; `console` may be null.
Status tune_model(const Model& model, std::span<const InputValue> inputs, const DeviceArgs& device,
                  const Console* console, CompileOptions& options);

// The kernels that were measured for the works of a plan: a table for people, and a list.
std::string considered_text(const PlanInfo& plan, const Tuning& tuning, const Console& console);
Json considered_json(const PlanInfo& plan, const Tuning& tuning);

}  // namespace quern::tools
