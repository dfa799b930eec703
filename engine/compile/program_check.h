// SPDX-License-Identifier: Apache-2.0
// Executes a program on symbolic bytes: every step must find, in each operand, the elements of the
// value that its node reads there. The check uses only the graph and the program, and nothing of
// the lowering between them; a program that passes is wrong only if a kernel is wrong.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <quern/status.h>

#include "engine/compile/program.h"
#include "graph/graph.h"
#include "kernels/contract/kernel.h"

namespace quern {

// A value after the first `post_ops` post-ops of the node that makes it; its readers see it after
// all of them.
struct HeldValue {
  ValueId value = no_value;
  std::size_t post_ops = 0;

  bool operator==(const HeldValue&) const = default;
};

// The meaning of a step of a program in terms of the graph. `inputs` and `outputs` are the operands
// of the step, in the layouts that the kernel was given.
struct StepMeaning {
  enum class Kind : std::uint8_t {
    kernel,   // reads the inputs of `node`, writes its outputs, the first after `post_ops` of them
    post_op,  // applies the post-op number `post_ops` of `node` to its result so far
    region,   // reads the values of `reads`, writes those of `writes`
    move,     // reads and writes `held`
  };

  Kind kind = Kind::kernel;
  NodeId node = no_node;
  std::size_t post_ops = 0;
  HeldValue held;
  std::vector<ValueId> reads;
  std::vector<ValueId> writes;
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
  // Inputs that the kernel holds packed, and the operands that may share memory while it runs.
  std::vector<bool> packed_inputs;
  std::vector<Sharing> sharing;
  std::vector<CopiedInput> copies;

  static StepMeaning of_kernel(NodeId node, std::size_t post_ops_taken) {
    return {.kind = Kind::kernel, .node = node, .post_ops = post_ops_taken};
  }
  static StepMeaning of_post_op(NodeId node, std::size_t number) {
    return {.kind = Kind::post_op, .node = node, .post_ops = number};
  }
  static StepMeaning of_region(std::vector<ValueId> reads, std::vector<ValueId> writes) {
    return {.kind = Kind::region, .reads = std::move(reads), .writes = std::move(writes)};
  }
  static StepMeaning of_move(const HeldValue& held) { return {.kind = Kind::move, .held = held}; }
};

// Checks that every read of the program, and every output after its last step, finds the elements
// that the graph requires: with the outputs in the arena, and with each of them bound to memory of
// its own. Also checks that operands of one step overlap only where its kernel allows it and lie
// within their memories. All dimensions of the graph are numbers; `meanings` has one entry per
// step, in order. The bytes that a step wrote are tracked exactly. The elements of an operand are
// sampled: those at the boundaries between bytes written by different steps, those at the ends of
// each dimension, and some in between are compared. Errors: internal, with the step, the operand
// and the elements found instead; out_of_memory for an input or output whose size in bytes
// overflows.
Status check_program(const Graph& graph, const Program& program,
                     std::span<const StepMeaning> meanings);

}  // namespace quern
