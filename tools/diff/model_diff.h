// SPDX-License-Identifier: Apache-2.0
// What differs between two ONNX files, by their messages: nothing is imported, so that models with
// operators that the engine lacks can be compared, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <quern/status.h>

#include "tools/quantize/edited_model.h"

namespace quern::tools {

enum class DiffPart : std::uint8_t { model, opset, metadata, input, output, constant, node };
std::string_view name_of(DiffPart part);

// One line of the comparison. A text is empty where the model has nothing of the kind.
struct DiffRow {
  DiffPart part = DiffPart::model;
  std::string name;  // in the first model, or in the second where the first has none
  std::string what;  // "only in A", "only in B", "renamed", "type", "values", "attribute axis", ...
  std::string a, b;
  double mean_difference = 0, max_difference = 0;  // of "values"
};

struct ModelDiff {
  std::vector<DiffRow> rows;  // in the order of DiffPart, within it as the models have them
  std::size_t equal_nodes = 0, equal_constants = 0;

  bool is_equal() const { return rows.empty(); }
};

// Constants are initializers and the values of Constant nodes; they and nodes are matched by their
// names, then by what they are: elements, or an operator with its attributes over the same values.
// Names within bodies count as they are. Nearly linear in the size of both. Errors: invalid_model,
// nodes in a circle.
Result<ModelDiff> diff_models(const EditedModel& a, const EditedModel& b);

}  // namespace quern::tools
