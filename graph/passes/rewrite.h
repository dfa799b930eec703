// SPDX-License-Identifier: Apache-2.0
// Applies rules repeatedly to changed parts of the graph until none fires.
//
// A rule looks at one node and either makes one complete change and returns true, or leaves the
// graph unchanged and returns false. A comment at its head states its algebra. Rules are rows of
// the table in pipeline.cpp.
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

// The operators at which a rule can start.
using Roots = bool (*)(const OpDef&);
template <class... T>
constexpr Roots roots() {
  return [](const OpDef& def) { return ((&def == &T::def()) || ...); };
}
inline constexpr Roots any_root = [](const OpDef&) { return true; };

// Patterns are recognised before slices go through them, and both before elementwise nodes are
// fused into post-ops.
enum class Stage : std::uint8_t { simplify, cut, fuse };

struct Pass {
  std::string_view name;
  Stage stage = Stage::simplify;
  Roots roots;                     // for a node rule
  NodeRule at_node = nullptr;      // exactly one of the two
  GraphRule over_graph = nullptr;  // once per round, before the node rules
};

// Applies the rows of `table` to the graph and its bodies.
Status rewrite(Graph& graph, std::span<const Pass> table, const PassOptions& options);

}  // namespace quern::passes
