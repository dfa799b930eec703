// SPDX-License-Identifier: Apache-2.0
// A graph as nodes, wires and groups with places and texts: what `quern inspect --html` shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "tools/picture/layout.h"
#include "tools/picture/node_costs.h"

namespace quern::tools {

// Text from a model as a page shows it: control characters, marks that turn the direction of
// writing and broken UTF-8 become visible ("\u202e"), and what is longer than `most` code points
// ends with "…".
std::string visible_text(std::string_view text, std::size_t most = 120);

// The number of a family colours a node: see family_names().
std::size_t family_of(const OpDef& def);
std::span<const std::string_view> family_names();

struct DrawnOperand {
  std::string text;
  std::int64_t maker = -1;  // the node that makes it; -1: a constant, or what is not drawn
};

// A body of If, Loop or Scan, as a number of a scene.
struct DrawnBody {
  std::string title;
  std::uint32_t scene = 0;
};

struct DrawnNode {
  enum class Kind : std::uint8_t { node, input, output };

  Kind kind = Kind::node;
  std::size_t family = 0;
  std::int64_t group = -1;  // of the scene; -1: none
  std::string op, name, attributes;
  std::vector<std::string> post_ops;
  std::vector<DrawnOperand> inputs, outputs;
  std::vector<DrawnBody> bodies;
  NodeCost cost;
};

// Nodes whose names begin alike; those of a group inside are among them.
struct DrawnGroup {
  std::string name;         // the last part
  std::int64_t outer = -1;  // comes before it
};

// A graph, or a body of one of its nodes.
struct Scene {
  std::vector<DrawnNode> nodes;  // a node after those that it reads
  std::vector<LayoutWire> wires;
  std::vector<std::string> wire_texts;  // "f32[1,64,56,56]"
  std::vector<DrawnGroup> groups;
  Layout layout;
};

struct Drawing {
  std::vector<Scene> scenes;  // the first is the graph
  std::size_t left_out = 0;   // nodes, and those of bodies
  std::size_t constants = 0;  // nodes that are not drawn since they need constants only
};

// Whether nodes that need constants only are drawn. Passes leave them, as part of the weights that
// a plan packs.
enum class ConstantNodes : std::uint8_t { drawn, hidden };

struct DrawingLimits {
  std::size_t nodes = 20'000;  // of all scenes; those that come first are drawn
  std::size_t text =
      32'000'000;  // bytes of details, about: nodes after that have an operator and a name
  std::size_t operands = 24;  // that a node lists
  std::size_t groups = 4000;  // of a scene
  std::size_t depth = 8;      // of bodies in bodies
};

// `costs` may be null: nothing is known of kernels.
Drawing draw_graph(const Graph& graph, const NodeCosts* costs, ConstantNodes constants,
                   const DrawingLimits& limits = {});

}  // namespace quern::tools
