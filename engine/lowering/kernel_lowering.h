// SPDX-License-Identifier: Apache-2.0
// Lowers a node to the step of a kernel and brings its operands to the layouts and memories that
// the kernel wants; post-ops that the kernel does not take become steps after it. A region that a
// device has compiled as a whole becomes one step.
#pragma once

#include <span>
#include <vector>

#include "engine/compile/region.h"
#include "engine/lowering/moves.h"
#include "engine/lowering/selection.h"

namespace quern::lowering {

class KernelLowering {
 public:
  // All arguments must outlive this object.
  KernelLowering(const Graph& graph, const LowerOptions& options, UnallocatedProgram& unallocated,
                 ValuePlaces& places, ConstantPlaces& constants, Moves& moves)
      : graph_(graph),
        dynamic_outputs_(options.dynamic_outputs),
        target_(cpu_target(options)),
        stripes_(options.stripes),
        flush_denormals_(options.flush_denormals && !options.reference_only),
        unallocated_(unallocated),
        places_(places),
        constants_(constants),
        moves_(moves),
        selector_(options) {}

  // `gpu`: the device that the node is offered to; null: the CPU computes it.
  Status lower(NodeId id, const GpuTarget* gpu);
  // Lowers a region to one step of the device.
  Status lower(const Region& region, KernelChoice code);
  const KernelSelector& selector() const { return selector_; }

 private:
  // A post-op as an operator of its own.
  struct PostOpWork {
    Op op;
    std::vector<KernelInput> inputs;
    std::size_t self = 0;        // the index of the input that is the result so far
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
  std::vector<Step::DynamicOutput> dynamic_outputs(const Node& node) const;
  Status add_post_op(NodeId id, std::size_t number, const GpuTarget* gpu, Place& result);
  PostOpWork work_of(const Node& node, const PostOp& post_op, const Place& result) const;
  // `held` is the value in `result`.
  Result<std::vector<Place>> operands(const PostOpWork& work, const KernelChoice& choice,
                                      const Place& result, const HeldValue& held);

  const Graph& graph_;
  std::span<const bool> dynamic_outputs_;  // of the graph
  CpuTarget target_;
  Stripes stripes_;
  bool flush_denormals_;
  UnallocatedProgram& unallocated_;
  ValuePlaces& places_;
  ConstantPlaces& constants_;
  Moves& moves_;
  KernelSelector selector_;
};

}  // namespace quern::lowering
