// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/ledger.h"

namespace quern {
namespace {

// Measured with glibc's allocator over the graphs of tests/limits/memory_test.cpp.
constexpr std::size_t node_bytes = 900;    // with attributes, edges and what its allocations cost
constexpr std::size_t value_bytes = 500;   // with its type, name and uses
constexpr std::size_t step_bytes = 2000;   // with operands, texts and its buffers of the plan
constexpr std::size_t buffer_bytes = 160;  // of a memory problem and its plan
constexpr std::size_t dispatch_bytes = 1500;  // with its pipeline's share

}  // namespace

std::size_t table_bytes(const Graph& graph) {
  std::size_t bytes = sizeof(Graph) + graph.value_count() * value_bytes;
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    bytes += node_bytes + node.name.size();
    for (const Graph& body : node.bodies) bytes += table_bytes(body);
  }
  return bytes;
}

std::size_t table_bytes(const Program& program) {
  std::size_t bytes = sizeof(Program);
  for (const Step& s : program.steps)
    bytes += step_bytes + s.node.size() + s.shapes.size() + s.dispatches.size() * dispatch_bytes;
  const std::size_t buffers =
      program.memory_problem.intervals.size() + program.device_problem.intervals.size();
  return bytes + buffers * buffer_bytes;
}

std::size_t least_program_bytes(const Graph& graph) {
  return graph.order().size() / 4 * step_bytes;  // views and nodes that are fused are no steps
}

}  // namespace quern
