// SPDX-License-Identifier: Apache-2.0
// Holds what a graph is given against what it declares of its inputs. Everything that inference and
// passes know of a graph rests on these types, so a plan is made only for inputs that keep to them.
#pragma once

#include <span>

#include <quern/status.h>

#include "engine/compile/value.h"
#include "graph/graph.h"

namespace quern {

// One value an input of `graph`, in order. An error names the input, its type and the declared one;
// where two dimensions of one name differ, both values that the name stands for.
Status check_declared_types(const Graph& graph, std::span<const RuntimeValue> inputs);

}  // namespace quern
