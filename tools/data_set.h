// SPDX-License-Identifier: Apache-2.0
// A test_data_set_N of the ONNX backend tests: inputs and the outputs that they should give.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <quern/model.h>
#include <quern/session.h>
#include <quern/status.h>

#include "tools/compare.h"
#include "tools/inputs.h"

namespace quern::tools {

struct DataSet {
  std::string name;
  std::vector<InputValue> inputs;
  std::vector<std::optional<InputValue>> outputs;  // nothing: no file says
};

// Errors: not_found, where an input has no file, or no output has one.
Result<DataSet> read_set(const std::string& folder, const std::vector<ValueSpec>& inputs,
                         const std::vector<ValueSpec>& outputs);

// The tensors of an output after a run: one, those of a sequence, or none.
Result<std::vector<TensorView>> output_views(const Session& session, std::size_t output);

// One output against what it should hold.
Comparison compare_lists(std::span<const TensorView> got, std::span<const TensorView> wanted,
                         const Criterion& criterion);
std::vector<TensorView> views_of(std::span<const Tensor> tensors);

}  // namespace quern::tools
