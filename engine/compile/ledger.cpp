// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/ledger.h"

#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

// Measured with glibc's allocator over the graphs of tests/limits/memory_test.cpp.
constexpr std::size_t node_bytes = 900;   // with attributes, edges and what its allocations cost
constexpr std::size_t value_bytes = 500;  // with its type, name and uses
constexpr std::size_t step_bytes = 2000;  // with operands, texts and its buffers of the plan
constexpr std::size_t unplaced_step_bytes = 3000;  // before its buffers have places
constexpr std::size_t buffer_bytes = 160;          // of a memory problem and its plan
constexpr std::size_t dispatch_bytes = 1500;       // with its pipeline's share
// oneDNN's descriptors, primitive and arguments of one node, whose code others share.
constexpr std::size_t primitive_bytes = 3200;

std::size_t bytes_of_primitives(const Graph& graph) {
  std::size_t count = 0;
  for (NodeId id : graph.order()) {
    const std::string_view family = graph.def(id).name;
    count += family == "MatMul" || family == "Conv" || family == "ConvTranspose";
  }
  return count * primitive_bytes;
}

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

Status check_room(const Graph& graph, CompilePhase phase, std::size_t limit) {
  constexpr std::size_t slack = std::size_t{4} << 20;
  const std::size_t nodes = graph.order().size();
  const std::size_t steps = phase == CompilePhase::lowering ? nodes : 0;
  const std::size_t bytes = 2 * table_bytes(graph) + steps * (step_bytes + unplaced_step_bytes) +
                            (steps ? bytes_of_primitives(graph) : 0);
  if (limit == 0 || bytes <= limit || bytes - limit <= slack) return {};
  return {Code::out_of_memory, cat("compiling a graph of ", nodes, " nodes takes some ", bytes,
                                   " bytes, the limit is ", limit)};
}

}  // namespace quern
