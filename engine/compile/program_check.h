// SPDX-License-Identifier: Apache-2.0
// Plays a program over symbolic bytes: every step must find, in each operand, the elements of the
// value that its node reads there. Knows the graph and the program, and nothing of how the one
// became the other; a program that passes is wrong only if a kernel is.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <quern/status.h>

#include "engine/compile/program.h"
#include "graph/graph.h"
#include "kernels/contract/kernel.h"

namespace quern {

// A value after so many post-ops of the node that makes it; its readers see it after all of them.
struct HeldValue {
  ValueId value = no_value;
  std::size_t post_ops = 0;

  bool operator==(const HeldValue&) const = default;
};

// What a step of a program is for. Its operands are those of the step, as the kernel was told that
// they lie.
struct StepMeaning {
  enum class Kind : std::uint8_t {
    kernel,   // reads the inputs of `node`, writes its outputs, the first after `post_ops` of them
    post_op,  // applies the post-op number `post_ops` of `node` to its result so far
    move,     // reads and writes `held`
  };

  Kind kind = Kind::kernel;
  NodeId node = no_node;
  std::size_t post_ops = 0;
  HeldValue held;
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
  // Inputs that the kernel holds, and what may lie in whose place while it runs.
  std::vector<bool> packed_inputs;
  std::vector<Sharing> sharing;
  std::vector<CopiedInput> copies;

  static StepMeaning of_kernel(NodeId node, std::size_t post_ops_taken) {
    return {.kind = Kind::kernel, .node = node, .post_ops = post_ops_taken};
  }
  static StepMeaning of_post_op(NodeId node, std::size_t number) {
    return {.kind = Kind::post_op, .node = node, .post_ops = number};
  }
  static StepMeaning of_move(const HeldValue& held) { return {.kind = Kind::move, .held = held}; }
};

// Whether every read of the program, and every output after its last step, finds what the graph
// says: with the outputs in the arena, and with each of them bound to bytes of its own. Operands of
// one step overlap only where its kernel allows it, and lie within their memories. All dimensions
// of the graph are numbers; `meanings` are those of the steps, in their order.
// Which bytes a step wrote is followed exactly; of the elements of an operand those at the edges of
// what was written by different steps, at the ends of each dimension, and some between are
// compared. Errors: internal, with the step, the operand and what lies there instead; out_of_memory
// for an input or output whose bytes have no number.
Status check_program(const Graph& graph, const Program& program,
                     std::span<const StepMeaning> meanings);

}  // namespace quern
