// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "frontends/onnx-parser/node_import.h"
#include "graph/ops/unary.h"

namespace quern::onnx {

// The activations of a recurrent layer by their names, with the parameters that the node lists;
// nothing after an error.
std::vector<Unary> recurrent_activations(NodeImport& n, const std::vector<std::string>& names);

}  // namespace quern::onnx
