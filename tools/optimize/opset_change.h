// SPDX-License-Identifier: Apache-2.0
// Which nodes of a model mean the same in another opset of ai.onnx.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <quern/status.h>

#include "tools/optimize/graph_writer.h"
#include "tools/quantize/edited_model.h"

namespace quern::tools {

// A node stays as it is where it is imported as the same operators over the same operands in both
// opsets, bodies included; operators that the opset has no more do not. Others are written in the
// form that they have there, if there is one. Errors: invalid_argument, for an opset that is not
// known; those of the import.
Result<OpsetChange> opset_change(const EditedModel& model, std::int64_t opset);

}  // namespace quern::tools
