// SPDX-License-Identifier: Apache-2.0
// One run of a model in memory, on whatever is to be compared.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <quern/custom_ops.h>
#include <quern/executable.h>
#include <quern/status.h>

#include "tools/inputs.h"

namespace quern::tools {

// A run of a device (tools/oracle has an Evaluated of its own).
struct RunResult {
  std::vector<InputValue> outputs;  // owned, in the model's order
  std::vector<StepInfo> steps;
};

// `folder` is where external data lies.
using Evaluator = std::function<Result<RunResult>(
    const std::string& model_bytes, const std::string& folder, std::span<const InputValue> inputs)>;

Evaluator device_evaluator(std::shared_ptr<Device> device, const CompileOptions& options,
                           std::shared_ptr<const CustomOps> ops = nullptr);
// The compile options of a device that serves as the judge: `reference` without rewrites, others as
// usual.
CompileOptions options_of_judge(std::string_view device);

}  // namespace quern::tools
