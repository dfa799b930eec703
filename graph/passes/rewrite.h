// SPDX-License-Identifier: Apache-2.0
// How rules are applied: over and over, where something has changed, until none fires.
//
// A rule looks at one node and either makes one change, whole, and says true, or leaves the graph
// alone and says false. Its first lines are its algebra. Rules are rows of the table in
// pipeline.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <quern/status.h>

#include "graph/graph.h"
#include "graph/passes/pipeline.h"

namespace quern::passes {

using NodeRule = Result<bool> (*)(Graph&, NodeId);
using GraphRule = Result<bool> (*)(Graph&);

// The operators that a rule may begin at.
using Roots = bool (*)(const OpDef&);
template <class... T>
constexpr Roots roots() {
  return [](const OpDef& def) { return ((&def == &T::def()) || ...); };
}
inline constexpr Roots any_root = [](const OpDef&) { return true; };

// Patterns are recognised before elementwise nodes vanish into post-ops.
enum class Stage : std::uint8_t { simplify, fuse };

struct Pass {
  std::string_view name;
  Stage stage = Stage::simplify;
  Roots roots;                     // of a node rule
  NodeRule at_node = nullptr;      // exactly one of the two
  GraphRule over_graph = nullptr;  // once a round, before the node rules
};

// Applies the rows of `table` to the graph and its bodies.
Status rewrite(Graph& graph, std::span<const Pass> table, const PassOptions& options);

}  // namespace quern::passes
