// SPDX-License-Identifier: Apache-2.0
// One tensor operator of a graph that is executed abstractly: the types of its outputs and, where
// its inputs are known and the work is small, their elements.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "engine/planning/abstract_values.h"
#include "graph/graph.h"
#include "graph/op_def.h"

namespace quern::specializing {

// The values that a node reads (Node::read), all tensors; null where an input is left out.
using AbstractReads = std::span<const Abstract* const>;

// Every dimension is a number.
Result<std::vector<ValueType>> infer_node(const Node& n, const OpDef& def, AbstractReads reads);

// Returns the outputs, of `types`, if they can be computed and that is cheap enough. `stop` (it may
// be null) ends it with its error.
std::optional<Result<std::vector<Tensor>>> fold_node(const OpSet& ops, const Node& n,
                                                     const OpDef& def, AbstractReads reads,
                                                     std::span<const ValueType> types,
                                                     const Stop* stop);

}  // namespace quern::specializing
