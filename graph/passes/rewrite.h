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
struct Roots {
  static_assert(std::variant_size_v<OpVariant> <= 128);
  std::array<std::uint64_t, 2> bits{};

  constexpr bool has(std::size_t op) const { return (bits[op / 64] >> op % 64 & 1) != 0; }
};
template <class... T>
constexpr Roots roots() {
  Roots r;
  ((r.bits[op_index<T>() / 64] |= std::uint64_t{1} << op_index<T>() % 64), ...);
  return r;
}
inline constexpr Roots any_root{{~std::uint64_t{0}, ~std::uint64_t{0}}};

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
