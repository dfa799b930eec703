// SPDX-License-Identifier: Apache-2.0
// Regions: the parts of a static graph that a device offers to compute, and what a device calls to
// turn one into steps of a program.
#pragma once

#include <functional>
#include <vector>

#include <quern/status.h>

#include "graph/graph.h"
#include "kernels/contract/kernel.h"

namespace quern {

// Nodes in the order of the graph. A region is convex: no path from one of its nodes to another
// leaves it, so that all of it may run as one step.
struct Region {
  std::vector<NodeId> nodes;
};

// The values at the border of a region, each once, in the order of their first use.
struct RegionOperands {
  std::vector<ValueId> inputs;   // read by its nodes and made outside; constants too
  std::vector<ValueId> outputs;  // made by its nodes and read outside, or outputs of the graph
};
RegionOperands operands_of(const Graph& graph, const Region& region);

// Returns true if a compiler that knows numbers and fixed shapes alone may take the node: it has no
// bodies, works on no strings, and its shapes depend on no data.
bool fits_in_region(const Graph& graph, NodeId node);

// Returns the nodes that `takes` accepts as convex regions: a region ends only where one of its
// results comes back through a node that was not accepted. Linear in the size of the graph.
std::vector<Region> convex_regions(const Graph& graph, const std::function<bool(NodeId)>& takes);

// A piece of a graph: a region of a device, or one node outside of all regions.
struct GraphPiece {
  Region region;
  bool is_region = false;
};
// Returns all nodes in an order in which each region is one piece, as close to the graph's order as
// that allows. Errors: internal if a node is in two regions, or if a region is not convex.
Result<std::vector<GraphPiece>> pieces_in_order(const Graph& graph, std::vector<Region> regions);

// Compiles one region for a device. Each node of it must be added once: all of them by one add(),
// or one by one, in the order of the region.
class RegionCompiler {
 public:
  virtual ~RegionCompiler() = default;

  virtual const Graph& graph() const = 0;
  // The constant of this value, or null if the value depends on inputs of the graph.
  virtual const ConstantSource* constant(ValueId v) const = 0;

  // Adds one step that computes the whole region. `code` is DeviceCode; its inputs and outputs are
  // those of operands_of(), dense and row-major where it asks for no layout.
  virtual Status add(const Region& region, KernelChoice code) = 0;
  // Adds the dispatches that kernels/gpu has for a node on such a device, and the kernel of the CPU
  // if there are none. Nodes that are views need neither.
  virtual Status add_dispatches(NodeId node, const GpuTarget& target) = 0;
  // Leaves a node to the CPU.
  virtual Status add_on_cpu(NodeId node) = 0;
};

// Adds each node of the region by add_dispatches(), for devices with kernels for single nodes.
Status add_node_by_node(const Region& region, const GpuTarget& target, RegionCompiler& compiler);

}  // namespace quern
