// SPDX-License-Identifier: Apache-2.0
// The values of a model under construction that are not tensors: sequences and optionals.
#include "frontends/onnx-parser/tensor.h"
#include "tools/random/builder.h"
#include "tools/random/fill.h"

namespace quern::tools {

std::string_view Builder::add_structured(std::string_view op,
                                         const std::vector<std::string_view>& in,
                                         const Attributes& attributes) {
  return *out_.structured.insert(add_unsized(op, in, attributes)).first;
}

std::pair<std::string_view, std::string_view> Builder::add_loop_of_sequence(
    const std::vector<std::string_view>& in, const onnx::AttributeProto& body) {
  const std::string_view sequence = add_structured("Loop", in, {body});
  const std::string_view tensor = fresh("v");
  graph().nodes.back().outputs.push_back(tensor);
  made_[tensor] = made_[sequence];
  return {sequence, tensor};
}

onnx::TypeProto Builder::structured_type(onnx::TypeProto::Kind kind, DType dtype) {
  onnx::TypeProto type;
  type.kind = kind;
  onnx::TypeProto& element = type.element.emplace_back();
  element.kind = onnx::TypeProto::Kind::tensor;
  element.elem_type = onnx::onnx_type_of(dtype);
  return type;
}

void Builder::output_structured(std::string_view name, onnx::TypeProto::Kind kind, DType dtype) {
  if (scopes_.empty()) structured_.push_back({name, structured_type(kind, dtype)});
}

Builder::OptionalInput Builder::optional_input(DType dtype, const Extents& dims) {
  OptionalInput in{.name = fresh("x"), .present = {}};
  out_.graph().inputs.push_back({in.name, structured_type(onnx::TypeProto::Kind::optional, dtype)});
  for (std::size_t k = 0; k < runs_; ++k) {
    in.present[k] = rng.chance(0.6);
    out_.runs[k].push_back({std::string(in.name), {}});
    if (in.present[k])
      out_.runs[k].back().tensor =
          random_tensor(rng, dtype, shape_of(dims, k), Numbers::around_zero);
  }
  for (std::size_t k = runs_; k < most_runs; ++k) in.present[k] = in.present[0];
  return in;
}

std::string_view Builder::body_sequence(DType dtype) {
  const std::string_view name = fresh("b");
  scopes_.back().graph.inputs.push_back(
      {name, structured_type(onnx::TypeProto::Kind::sequence, dtype)});
  return name;
}

}  // namespace quern::tools
