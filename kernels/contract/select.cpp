// SPDX-License-Identifier: Apache-2.0
// Walks the list of implementations, with the reference at its end.
#include <algorithm>
#include <array>

#include "engine/vocabulary/text_util.h"
#include "graph/built_for.h"
#include "kernels/contract/kernel.h"

namespace quern {
namespace {

class ReferenceKernel final : public CpuKernel {
 public:
  ReferenceKernel(const KernelRequest& request, std::size_t scratch_bytes)
      : op_(request.op),
        reference_(kernels_of(request.def()).reference.run),
        name_(request.description()),
        scratch_bytes_(scratch_bytes),
        outputs_(request.outputs.begin(), request.outputs.end()) {
    for (const KernelInput& in : request.inputs) inputs_.push_back({in.desc.dtype, in.desc.shape});
  }

  struct State final : KernelState {
    std::vector<TensorView> inputs;
    std::vector<MutableTensorView> outputs;
  };

  Result<std::unique_ptr<KernelState>> make_state() const override {
    auto state = std::make_unique<State>();
    for (const TensorType& t : inputs_) state->inputs.push_back({t, nullptr});
    for (const TensorType& t : outputs_) state->outputs.push_back({t, nullptr});
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(const KernelArgs& args, KernelState* kernel_state, const Parallel&) const override {
    auto& state = *static_cast<State*>(kernel_state);
    for (std::size_t i = 0; i < inputs_.size(); ++i) state.inputs[i].data = args.inputs[i];
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      state.outputs[i] = {outputs_[i], args.outputs[i]};
    Scratch scratch(args.scratch, scratch_bytes_);
    Status s = reference_({op_, state.inputs, state.outputs, scratch, *args.strings, args.stop});
    if (!s.ok()) return std::move(s).in(name_);
    if (args.output_shapes)
      for (std::size_t i = 0; i < outputs_.size(); ++i)
        args.output_shapes[i] = state.outputs[i].type.shape;
    return s;
  }

 private:
  Op op_;
  ReferenceFn reference_;
  std::string name_;
  std::size_t scratch_bytes_;
  std::vector<TensorType> inputs_;
  std::vector<TensorType> outputs_;
};

}  // namespace

std::string KernelRequest::description() const {
  return cat("node '", printable(name), "' (", def().name, ")");
}

Selection select_reference(const KernelRequest& request) {
  const OpReference& reference = kernels_of(request.def()).reference;
  if (!reference.run) return unsupported();
  std::vector<TensorType> inputs;
  for (const KernelInput& in : request.inputs) inputs.push_back({in.desc.dtype, in.desc.shape});
  KernelChoice choice;
  choice.implementation = "reference";
  choice.entry = "reference";
  if (reference.scratch)
    choice.scratch_bytes = reference.scratch(request.op, inputs, request.outputs);
  choice.work = std::make_unique<ReferenceKernel>(request, choice.scratch_bytes);
  return std::optional<KernelChoice>(std::move(choice));
}

namespace {

Selection select_entry(const CpuImplementation& implementation, const KernelRequest& request) {
  QUERN_ASSIGN(std::optional<KernelChoice> choice, implementation.select(request));
  if (choice) choice->entry = implementation.name;
  return choice;
}

// Nothing where the list has no entry of this name, or it does not answer.
Selection select_named(std::string_view name, const KernelRequest& request) {
  if (name == "reference") return select_reference(request);
  for (const CpuImplementation& implementation : kernels_of(request.def()).cpu) {
    if (implementation.name != name) continue;
    QUERN_ASSIGN(std::optional<KernelChoice> choice, select_entry(implementation, request));
    if (choice) return std::optional<KernelChoice>(std::move(*choice));
  }
  return unsupported();
}

}  // namespace

namespace {

// `measured`: the entry that was measured to be the fastest; empty: none was.
Result<KernelChoice> select_from_list(const KernelRequest& request, std::string_view measured) {
  for (const std::string_view entry : {request.target.entry, measured}) {
    if (entry.empty()) continue;
    QUERN_ASSIGN(std::optional<KernelChoice> choice, select_named(entry, request));
    if (choice) return std::move(*choice);
  }
  for (const CpuImplementation& implementation : kernels_of(request.def()).cpu) {
    if (implementation.by_name_only) continue;
    QUERN_ASSIGN(std::optional<KernelChoice> choice, select_entry(implementation, request));
    if (choice) return std::move(*choice);
  }
  QUERN_ASSIGN(std::optional<KernelChoice> choice, select_reference(request));
  if (choice) return std::move(*choice);
  return Status(Code::unsupported,
                cat(request.description(), ": no kernel for this device", built_for()));
}

}  // namespace

Result<KernelChoice> select_cpu_kernel(const KernelRequest& request) {
  const MeasuredEntries* measured = request.target.measured;
  if (!measured) return select_from_list(request, {});
  std::string work = work_text(request);
  QUERN_ASSIGN(KernelChoice choice, select_from_list(request, measured->entry_for(work)));
  choice.work_text = std::move(work);
  return choice;
}

namespace {

// True if no element of the results is to be computed, whatever the data is.
bool has_no_work(const KernelRequest& request) {
  return !request.outputs.empty() && !request.def().is(OpTrait::data_dependent) &&
         std::ranges::all_of(request.outputs,
                             [](const TensorType& t) { return t.shape.elements() == 0; });
}

// Takes all and dispatches nothing.
KernelChoice empty_choice(const KernelRequest& request) {
  KernelChoice choice;
  choice.implementation = "empty";
  choice.post_ops_taken = request.post_ops.size();
  choice.on_gpu();
  return choice;
}

}  // namespace

Selection select_gpu_kernel(const KernelRequest& request) {
  if (has_no_work(request)) return std::optional<KernelChoice>(empty_choice(request));
  const GpuSelect select = kernels_of(request.def()).gpu;
  if (!select) return unsupported();
  QUERN_ASSIGN(std::optional<KernelChoice> choice, select(request));
  if (choice) choice->on_gpu();  // even if nothing is dispatched
  return choice;
}

Cost traffic(std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  Cost cost;
  for (const TensorType& t : inputs) cost.bytes += static_cast<double>(t.bytes());
  for (const TensorType& t : outputs) cost.bytes += static_cast<double>(t.bytes());
  return cost;
}

Cost chosen_elements(const Op&, std::span<const TensorType> inputs,
                     std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs.subspan(1), outputs);
  for (const TensorType& t : outputs) {
    cost.bytes += static_cast<double>(t.bytes());
    cost.flops += static_cast<double>(t.shape.elements());
  }
  return cost;
}

Cost cost_of(const Op& op, std::span<const TensorType> inputs,
             std::span<const TensorType> outputs) {
  if (const CostFn flops = kernels_of(op.def()).flops) return flops(op, inputs, outputs);
  Cost cost = traffic(inputs, outputs);
  for (const TensorType& t : outputs) cost.flops += static_cast<double>(t.shape.elements());
  return cost;
}

}  // namespace quern
