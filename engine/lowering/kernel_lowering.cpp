// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/kernel_lowering.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/custom.h"
#include "graph/text.h"

namespace quern::lowering {
namespace {

// A constant may be read at its unaligned address in the model's file if it has no other reader,
// which could need aligned elements.
Address address_for(const Graph& g, const Node& n, std::size_t input) {
  if (input != 0 || !n.op.def().is(OpTrait::any_address)) return Address::aligned;
  const Value& v = g.value(n.inputs[0]);
  return v.uses.size() + v.handed_out == 1 ? Address::any : Address::aligned;
}

// As the stripes of one node do; all others are of whole tensors.
bool shares_weights(const Graph& g, const Node& n) {
  return n.inputs.size() > 1 && n.inputs[1] != no_value && g.value(n.inputs[1]).uses.size() > 1;
}

void describe(const Node& node, const KernelRequest& request, Step& s) {
  s.node = node.name;
  s.op = std::string(request.def().name);
  if (!s.entry.empty()) s.entries = kernels_of(request.def()).cpu;
  if (const std::string attributes = attributes_text(request.op); attributes.starts_with("kind="))
    s.op = cat(s.op, ".", attributes.substr(5, attributes.find(' ') - 5));
  if (const CustomCall* custom = custom_call(request.op)) s.op = custom->full_name();
  std::vector<TensorType> inputs;
  for (std::size_t i = 0; i < request.read_count(); ++i) {
    const KernelInput& in = request.read(i);
    inputs.push_back({in.desc.dtype, in.desc.shape});
    if (!in.present) inputs.back().shape = {0};
    if (in.present && !in.constant)
      s.shapes += cat(s.shapes.empty() ? "" : " ", inputs.back().text());
  }
  s.cost = cost_of(request.op, inputs, request.outputs);
}

}  // namespace

Status KernelLowering::lower(NodeId id, const GpuTarget* gpu) {
  const Node& n = graph_.node(id);
  std::vector<KernelInput> inputs;
  std::vector<KernelInput> operands;
  for (ValueId v : n.inputs) inputs.push_back(input_of(v));
  for (ValueId v : n.operands) operands.push_back(input_of(v));
  QUERN_ASSIGN(const std::vector<TensorType> outputs, output_types(n));
  // A vector<bool> has no bytes to point at.
  const std::unique_ptr<bool[]> wanted(new bool[outputs.size()]);
  for (std::size_t i = 0; i < outputs.size(); ++i) wanted[i] = n.outputs[i] != no_value;
  CpuTarget target = target_;
  if (stripes_ == Stripes::cache && !shares_weights(graph_, n)) {
    target.channels_last = false;
    target.formats = nullptr;
  }
  const KernelRequest request{n.op,       n.name,   inputs, outputs, {wanted.get(), outputs.size()},
                              n.post_ops, operands, target};
  QUERN_ASSIGN(KernelChoice choice, selector_.select(request, gpu));
  QUERN_ASSIGN(std::vector<Place> results, add_step(id, request, choice));
  for (std::size_t k = choice.post_ops_taken; k < n.post_ops.size(); ++k)
    QUERN_TRY(add_post_op(id, k, gpu, results[0]));
  places_.consume(n);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].present()) places_.put(n.outputs[i], results[i]);
  return {};
}

KernelInput KernelLowering::input_of(ValueId v) const {
  if (v == no_value) return {};
  KernelInput in{.present = true, .constant = constants_.find(v)};
  if (places_.of(v).empty()) {  // a constant that was not requested yet
    const TensorType type = places_.type(v);
    in.desc = TensorDesc::row_major(type.dtype, type.shape);
  } else {
    in.desc = places_.best(v).desc;
    in.is_last_use = places_.is_read_last(v);
  }
  return in;
}

// An unused output has a type too: kernels take the shapes of their work from any output.
Result<std::vector<TensorType>> KernelLowering::output_types(const Node& node) const {
  std::vector<TensorType> types;
  for (ValueId v : node.outputs)
    types.push_back(v == no_value ? TensorType{DType::f32, {0}} : places_.type(v));
  if (std::ranges::find(node.outputs, no_value) == node.outputs.end()) return types;
  QUERN_ASSIGN(const auto inferred,
               graph_.infer(node.op, node.inputs, node.outputs.size(), node.name));
  for (std::size_t i = 0; i < types.size(); ++i)
    if (node.outputs[i] == no_value)
      types[i] = {inferred[i].dtype, inferred[i].shape().value_or(Shape{0})};
  return types;
}

// Returns the places of the results before the post-ops that the kernel has not taken.
Result<std::vector<Place>> KernelLowering::add_step(NodeId id, const KernelRequest& request,
                                                    KernelChoice& choice) {
  const Node& node = graph_.node(id);
  QUERN_ASSIGN(std::vector<Place> inputs, operands(node, request, choice));
  QUERN_TRY(make_own(node, choice, inputs));
  std::vector<Place> outputs;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    outputs.push_back(node.outputs[i] == no_value
                          ? Place()
                          : result_place(node, i, request.outputs[i], choice, inputs));
  StepMeaning meaning = StepMeaning::of_kernel(id, choice.post_ops_taken);
  meaning.packed_inputs = choice.packed_inputs;
  QUERN_TRY(append(node, request, choice, inputs, outputs, std::move(meaning)));
  return outputs;
}

Result<std::vector<Place>> KernelLowering::operands(const Node& node, const KernelRequest& request,
                                                    const KernelChoice& choice) {
  std::vector<Place> places;
  const std::size_t own = node.inputs.size();
  for (std::size_t i = 0; i < node.read_count(); ++i) {
    Place& place = places.emplace_back();
    const bool packed = i < choice.packed_inputs.size() && choice.packed_inputs[i];
    // Operands of post-ops that the kernel has not taken are read by steps of their own.
    const bool later = i >= own && is_read_later(node.post_ops, choice.post_ops_taken, i - own);
    if (node.read(i) == no_value || packed || later) continue;
    const Layout layout = layout_asked(choice.input_layouts, i, request.read(i).desc.shape);
    QUERN_ASSIGN(
        place, moves_.bring(node.read(i), layout, space_of(choice), address_for(graph_, node, i)));
  }
  return places;
}

// Copies inputs whose bytes the kernel needs for a result, unless the node is their only reader.
Status KernelLowering::make_own(const Node& node, const KernelChoice& choice,
                                std::vector<Place>& inputs) {
  for (const Sharing& s : choice.sharing) {
    Place& in = inputs[s.input];
    if (s.alias != Alias::must) continue;
    const Buffer& buffer = unallocated_.buffer(in);
    if (buffer.in_arena() && in.offset == 0 && !places_.is_read_elsewhere(in)) continue;
    const std::string name = buffer.name;  // adding a buffer invalidates `buffer`
    const HeldValue held = moves_.whole(node.read(s.input));
    QUERN_ASSIGN(in, moves_.reorder(in, held, in.desc, name));
  }
  return {};
}

// Places a result in the buffer of an input if the kernel demands it, else in a new buffer.
Place KernelLowering::result_place(const Node& node, std::size_t output, const TensorType& type,
                                   const KernelChoice& choice, std::span<const Place> inputs) {
  const TensorDesc desc{type.dtype, type.shape,
                        layout_asked(choice.output_layouts, output, type.shape)};
  for (const Sharing& s : choice.sharing)
    if (s.output == output && s.alias == Alias::must) return {inputs[s.input].buffer, 0, desc};
  const std::string& name = graph_.value(node.outputs[output]).name;
  return {unallocated_.add(space_of(choice), desc.bytes(), name), 0, desc};
}

Status KernelLowering::append(const Node& node, const KernelRequest& request, KernelChoice& choice,
                              std::span<const Place> inputs, std::span<const Place> outputs,
                              StepMeaning meaning) {
  QUERN_ASSIGN(auto gpu_constants, constants_.on_device(choice.gpu_constants()));
  Step s = step_of(choice);
  s.gpu_constants = std::move(gpu_constants);
  describe(node, request, s);
  s.is_data_dependent = request.def().is(OpTrait::data_dependent);
  s.flushes_denormals = flush_denormals_ && request.def().is(OpTrait::flushes_denormals);
  if (s.is_data_dependent) s.dynamic_outputs = dynamic_outputs(node);
  unallocated_.append(std::move(s), inputs, outputs, choice, std::move(meaning));
  return {};
}

std::vector<Step::DynamicOutput> KernelLowering::dynamic_outputs(const Node& node) const {
  std::vector<Step::DynamicOutput> all;
  for (std::uint32_t result = 0; result < node.outputs.size(); ++result)
    for (std::uint32_t output = 0; output < dynamic_outputs_.size(); ++output)
      if (dynamic_outputs_[output] && graph_.outputs()[output] == node.outputs[result])
        all.push_back({result, output});
  return all;
}

// ---- regions -----------------------------------------------------------------------------------

Status KernelLowering::lower(const Region& region, KernelChoice code) {
  RegionOperands operands = operands_of(graph_, region);
  std::vector<Place> inputs;
  for (std::size_t i = 0; i < operands.inputs.size(); ++i) {
    Place& place = inputs.emplace_back();
    const ValueId v = operands.inputs[i];
    if (i < code.packed_inputs.size() && code.packed_inputs[i]) continue;
    const Layout layout = layout_asked(code.input_layouts, i, places_.type(v).shape);
    QUERN_ASSIGN(place, moves_.bring(v, layout, space_of(code)));
  }
  std::vector<Place> outputs;
  for (std::size_t i = 0; i < operands.outputs.size(); ++i) {
    const ValueId v = operands.outputs[i];
    const TensorType type = places_.type(v);
    const TensorDesc desc{type.dtype, type.shape, layout_asked(code.output_layouts, i, type.shape)};
    const BufferId buffer = unallocated_.add(space_of(code), desc.bytes(), graph_.value(v).name);
    outputs.push_back({buffer, 0, desc});
  }
  for (NodeId id : region.nodes) places_.consume(graph_.node(id));
  for (std::size_t i = 0; i < outputs.size(); ++i) places_.put(operands.outputs[i], outputs[i]);

  Step s = step_of(code);
  s.op = "Region";
  s.node =
      cat(graph_.node(region.nodes.front()).name, " .. ", graph_.node(region.nodes.back()).name);
  s.shapes = cat(region.nodes.size(), " nodes");
  StepMeaning meaning =
      StepMeaning::of_region(std::move(operands.inputs), std::move(operands.outputs));
  meaning.packed_inputs = code.packed_inputs;
  unallocated_.append(std::move(s), inputs, outputs, code, std::move(meaning));
  return {};
}

// ---- post-ops ----------------------------------------------------------------------------------

// y = f(y) or y = f(y, operand) on the result of the kernel, in place if possible.
Status KernelLowering::add_post_op(NodeId id, std::size_t number, const GpuTarget* gpu,
                                   Place& result) {
  const Node& node = graph_.node(id);
  const PostOpWork work = work_of(node, node.post_ops[number], result);
  const TensorType out{result.desc.dtype, result.desc.shape};
  const bool wanted = true;
  const PostOps none;
  const KernelRequest request{work.op,      node.name, work.inputs, {&out, 1},
                              {&wanted, 1}, none,      {},          target_};
  QUERN_ASSIGN(KernelChoice choice, selector_.select(request, gpu));
  QUERN_ASSIGN(const std::vector<Place> inputs,
               operands(work, choice, result, {node.outputs[0], number}));
  const std::array outputs = {result_place(node, 0, out, choice, inputs)};
  QUERN_TRY(append(node, request, choice, inputs, outputs, StepMeaning::of_post_op(id, number)));
  result = outputs[0];
  return {};
}

KernelLowering::PostOpWork KernelLowering::work_of(const Node& node, const PostOp& post_op,
                                                   const Place& result) const {
  const KernelInput self{.present = true, .desc = result.desc, .is_last_use = true};
  const auto* binary = std::get_if<BinaryPostOp>(&post_op);
  if (!binary) return {.op = *std::get_if<Op>(&post_op), .inputs = {self}};
  const ValueId operand = node.operands[binary->operand];
  KernelInput other = input_of(operand);
  other.is_last_use = false;  // the node reads it until its last post-op
  PostOpWork work{.op = operator_of(*binary), .inputs = {self, other}, .operand = operand};
  if (binary->swapped) {
    std::swap(work.inputs[0], work.inputs[1]);
    work.self = 1;
  }
  return work;
}

Result<std::vector<Place>> KernelLowering::operands(const PostOpWork& work,
                                                    const KernelChoice& choice, const Place& result,
                                                    const HeldValue& held) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < work.inputs.size(); ++i) {
    const Layout layout = layout_asked(choice.input_layouts, i, work.inputs[i].desc.shape);
    const Space space = space_of(choice);
    QUERN_ASSIGN(places.emplace_back(), i == work.self ? moves_.bring(result, held, layout, space)
                                                       : moves_.bring(work.operand, layout, space));
  }
  return places;
}

}  // namespace quern::lowering
