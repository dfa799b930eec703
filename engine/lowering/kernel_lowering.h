// SPDX-License-Identifier: Apache-2.0
// A node as the step of a kernel, its operands brought to where the kernel wants them; post-ops
// that the kernel leaves are steps behind it.
#pragma once

#include <span>
#include <vector>

#include "engine/lowering/moves.h"
#include "engine/lowering/selection.h"

namespace quern::lowering {

class KernelLowering {
 public:
  // All that is given outlives this.
  KernelLowering(const Graph& graph, const LowerOptions& options, UnallocatedProgram& unallocated,
                 ValuePlaces& places, ConstantPlaces& constants, Moves& moves)
      : graph_(graph),
        dynamic_outputs_(options.dynamic_outputs),
        target_(cpu_target(options)),
        unallocated_(unallocated),
        places_(places),
        constants_(constants),
        moves_(moves),
        selector_(options) {}

  Status lower(NodeId id);
  const KernelSelector& selector() const { return selector_; }

 private:
  // A post-op as the operator that it is.
  struct PostOpWork {
    Op op;
    std::vector<KernelInput> inputs;
    std::size_t self = 0;        // the input that is the result so far
    ValueId operand = no_value;  // the other
  };

  KernelInput input_of(ValueId v) const;
  Result<std::vector<TensorType>> output_types(const Node& node) const;
  Result<std::vector<Place>> add_step(NodeId id, const KernelRequest& request,
                                      KernelChoice& choice);
  Result<std::vector<Place>> operands(const Node& node, const KernelRequest& request,
                                      const KernelChoice& choice);
  Status make_own(const Node& node, const KernelChoice& choice, std::vector<Place>& inputs);
  Place result_place(const Node& node, std::size_t output, const TensorType& type,
                     const KernelChoice& choice, std::span<const Place> inputs);
  Status append(const Node& node, const KernelRequest& request, KernelChoice& choice,
                std::span<const Place> inputs, std::span<const Place> outputs, StepMeaning meaning);
  std::vector<std::int32_t> dynamic_outputs(const Node& node) const;
  Status add_post_op(NodeId id, std::size_t number, Place& result);
  PostOpWork work_of(const Node& node, const PostOp& post_op, const Place& result) const;
  // `held`: what `result` holds.
  Result<std::vector<Place>> operands(const PostOpWork& work, const KernelChoice& choice,
                                      const Place& result, const HeldValue& held);

  const Graph& graph_;
  std::span<const bool> dynamic_outputs_;  // of the graph
  CpuTarget target_;
  UnallocatedProgram& unallocated_;
  ValuePlaces& places_;
  ConstantPlaces& constants_;
  Moves& moves_;
  KernelSelector selector_;
};

}  // namespace quern::lowering
