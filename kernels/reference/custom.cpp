// SPDX-License-Identifier: Apache-2.0
// Operators of the host (quern/c/custom_op.h): calls of its functions.
//
// The reference is the host's `reference`, which has neither workspace nor state; without one it is
// `run` with a kernel of its own. What is here allocates in references alone: sizes of the arrays
// that a call shows are a node's, and nothing but constant folding and comparisons runs them.
#include "graph/ops/custom.h"

#include <memory>
#include <utility>

#include "graph/custom/operator_call.h"
#include "kernels/contract/kernel.h"

namespace quern {
namespace {

// Constants of the node, for `prepare`.
class PreparingHost final : public OperatorHost {
 public:
  explicit PreparingHost(const KernelRequest& request) : request_(request) {}
  Result<const void*> constant(std::size_t input) const override {
    const ConstantSource* const source = request_.inputs[input].constant;
    if (!source) return static_cast<const void*>(nullptr);
    QUERN_ASSIGN(Tensor t, source->get());
    if (WeightStore* const weights = request_.target.weights) QUERN_TRY(weights->reading(t.data()));
    const auto address = reinterpret_cast<std::uintptr_t>(t.data());
    if (address % size_of(t.dtype()) != 0) {
      QUERN_ASSIGN(t, Tensor::copy_of(t.type(), {t.data(), t.bytes()}));
    }
    held_.push_back(std::move(t));
    return static_cast<const void*>(held_.back().data());
  }

 private:
  const KernelRequest& request_;
  mutable std::vector<Tensor> held_;
};

// The threads and the end of one run.
class RunningHost final : public OperatorHost {
 public:
  RunningHost(const Parallel* parallel, const Stop* stop) : parallel_(parallel), stop_(stop) {}
  void parallel_for(std::int64_t count, std::int64_t grain, quern_op_body body,
                    void* data) const override {
    if (!parallel_) return OperatorHost::parallel_for(count, grain, body, data);
    (*parallel_)(count, grain,
                 [&](std::int64_t begin, std::int64_t end) { body(data, begin, end); });
  }
  bool is_over() const override { return stop_ && stop_->is_reached(); }

 private:
  const Parallel* parallel_;
  const Stop* stop_;
};

struct CustomTypes {
  std::vector<std::optional<TensorType>> inputs;  // nullopt: left out
  std::vector<TensorType> outputs;
};

void show_types(OperatorCall& call, const CustomTypes& types) {
  for (std::size_t i = 0; i < types.inputs.size(); ++i)
    if (types.inputs[i]) call.show_input(i, *types.inputs[i]);
  for (std::size_t i = 0; i < types.outputs.size(); ++i) call.show_output(i, types.outputs[i]);
}

class CustomKernel final : public CpuKernel {
 public:
  CustomKernel(std::string name, CustomTypes types, PreparedOperator prepared)
      : name_(std::move(name)), types_(std::move(types)), prepared_(std::move(prepared)) {}

  struct State final : KernelState {
    State(const BoundOperator& op, const CustomTypes& types)
        : call(op, types.inputs.size(), types.outputs.size()) {
      show_types(call, types);
    }
    OperatorCall call;
  };

  Result<std::unique_ptr<KernelState>> make_state() const override {
    return std::unique_ptr<KernelState>(std::make_unique<State>(prepared_.op(), types_));
  }

  Status run(const KernelArgs& args, KernelState* kernel_state,
             const Parallel& parallel) const override {
    OperatorCall& call = static_cast<State*>(kernel_state)->call;
    for (std::size_t i = 0; i < types_.inputs.size(); ++i)
      if (types_.inputs[i]) call.set_input_data(i, args.inputs[i]);
    for (std::size_t i = 0; i < types_.outputs.size(); ++i)
      call.set_output_data(i, args.outputs[i]);
    call.set_work(prepared_.state(), args.scratch, prepared_.workspace_bytes(), parallel.threads());
    return call.run(prepared_.op().functions().run, RunningHost(&parallel, args.stop)).in(name_);
  }

 private:
  std::string name_;
  CustomTypes types_;
  PreparedOperator prepared_;
};

Selection select_custom(const KernelRequest& r) {
  const CustomCall& custom = *custom_call(r.op);
  CustomTypes types{.inputs = {}, .outputs = {r.outputs.begin(), r.outputs.end()}};
  for (const KernelInput& in : r.inputs) {
    auto& type = types.inputs.emplace_back();
    if (in.present) type = TensorType{in.desc.dtype, in.desc.shape};
  }
  OperatorCall call(*custom.bound, types.inputs.size(), types.outputs.size());
  show_types(call, types);
  std::string name = r.description();
  auto prepared = PreparedOperator::make(custom.bound, call, PreparingHost(r));
  if (!prepared) return std::move(prepared).error().in(name);
  KernelChoice choice;
  choice.implementation = "host " + custom.full_name();
  choice.scratch_bytes = prepared->workspace_bytes();
  const bool in_place = custom.bound->definition().is(QUERN_OP_IN_PLACE) && !types.inputs.empty() &&
                        types.inputs[0] == types.outputs[0];
  if (in_place) choice.sharing = {{0, 0, Alias::may}};
  choice.work =
      std::make_unique<CustomKernel>(std::move(name), std::move(types), std::move(*prepared));
  return std::optional<KernelChoice>(std::move(choice));
}

// ---- reference

CustomTypes types_of(std::span<const TensorView> inputs,
                     std::span<const MutableTensorView> outputs) {
  CustomTypes types;
  for (const TensorView& in : inputs)
    types.inputs.push_back(in.present() ? std::optional(in.type) : std::nullopt);
  for (const MutableTensorView& out : outputs) types.outputs.push_back(out.type);
  return types;
}

Status custom_reference(const ReferenceCall& c) {
  const BoundOperator& bound = *custom_call(c.op)->bound;
  const CustomTypes types = types_of(c.inputs, c.outputs);
  OperatorCall call(bound, c.inputs.size(), c.outputs.size());
  show_types(call, types);
  const RunningHost host(nullptr, c.stop);
  const auto show_data = [&] {
    for (std::size_t i = 0; i < c.inputs.size(); ++i)
      if (types.inputs[i]) call.set_input_data(i, c.inputs[i].data);
    for (std::size_t i = 0; i < c.outputs.size(); ++i) call.set_output_data(i, c.outputs[i].data);
  };
  if (const auto reference = bound.functions().reference) {
    show_data();
    return call.run(reference, host);
  }
  QUERN_ASSIGN(const PreparedOperator prepared,
               PreparedOperator::make(custom_call(c.op)->bound, call, host));
  QUERN_ASSIGN(Tensor memory,
               Tensor::zeros({DType::u8, {static_cast<std::int64_t>(prepared.workspace_bytes())}}));
  show_data();
  call.set_work(prepared.state(), memory.mutable_data(), prepared.workspace_bytes(), 1);
  return call.run(bound.functions().run, host);
}

constexpr CpuImplementation custom_on_cpu[] = {{"host", select_custom}};
constexpr OpKernels custom_kernels{.reference = {custom_reference, nullptr}, .cpu = custom_on_cpu};

}  // namespace

const OpKernels& Custom::kernels() {
  return custom_kernels;
}
const OpKernels& CustomRandom::kernels() {
  return custom_kernels;
}

}  // namespace quern
