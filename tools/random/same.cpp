// SPDX-License-Identifier: Apache-2.0
// Operators that need no family of their own: those that the parser imports as they are
// (OpDef::onnx), with operands of one type and shape that inference accepts.
#include <array>

#include "graph/op_fields.h"
#include "tools/random/families.h"

namespace quern::tools {
namespace {

// Nobody knows how large the numbers are that come out: few operators read them.
constexpr double most_of_unknown = 1e4;

const std::vector<const OpDef*>& candidates() {
  static const std::vector<const OpDef*> all = [] {
    std::vector<const OpDef*> suitable;
    for (const OpDef* def : all_ops())
      if (!def->onnx.name.empty() && def->inputs.min > 0 && def->plan_operands == 0 &&
          !def->plan_operands_of && !def->is(OpTrait::data_dependent | OpTrait::structural))
        suitable.push_back(def);
    return suitable;
  }();
  return all;
}

Extents some_dims(Builder& b) {
  Extents dims = b.random_dims(static_cast<std::size_t>(b.rng.between(1, 4)));
  if (dims.size() > 1 && b.rng.chance(0.5)) {  // square matrices
    dims.back() = fixed(b.rng.between(1, 5));
    dims[dims.size() - 2] = dims.back();
  }
  return dims;
}

// The first result for operands of this type; nullopt if inference refuses them.
std::optional<TensorType> result(const OpDef& def, const TensorType& operand) {
  const Op op = default_op(def);
  const std::vector<InferInput> in(def.inputs.min, {true, ValueType(operand), nullptr});
  InferContext context(op, def.name, "", in, def.outputs.min);
  if (!def.infer(context).ok()) return std::nullopt;
  const ValueType& y = context.outputs()[0];
  if (y.kind != ValueType::Kind::tensor || !y.dims) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const Dim d : *y.dims) {
    if (!d.known()) return std::nullopt;
    sizes.push_back(d.value());
  }
  return TensorType{y.dtype, Shape(sizes)};
}

// The type and extents of the first result, run by run.
std::optional<Effect> effect_of(const OpDef& def, DType dtype, const Extents& dims) {
  Effect effect;
  for (std::size_t run = 0; run < most_runs; ++run) {
    std::vector<std::int64_t> sizes;
    for (const Extent& e : dims) sizes.push_back(e[run]);
    const auto y = result(def, {dtype, Shape(sizes)});
    if (!y) return std::nullopt;
    if (run == 0) effect = {y->dtype, Extents(y->shape.rank()), most_of_unknown};
    for (std::size_t d = 0; d < effect.dims.size(); ++d) effect.dims[d][run] = y->shape[d];
  }
  return effect;
}

bool same(Builder& b) {
  const OpDef& def = *b.rng.pick(candidates());
  if (def.onnx.domain.empty() && def.onnx.since > b.opset()) return false;
  const DType dtype = b.rng.pick(ordinary_floats());
  const Extents dims = some_dims(b);
  const auto effect = effect_of(def, dtype, dims);
  if (!effect || !b.fits(dims) || !b.fits(effect->dims)) return false;
  Values in;
  for (std::size_t i = 0; i < def.inputs.min; ++i) in.push_back(b.take_like(dtype, dims));
  b.add_of(def.onnx.domain, def.onnx.name, in, {}, *effect);
  return true;
}

constexpr std::array same_table = {Family{"same", 0.8, same}};

}  // namespace

std::span<const Family> same_families() {
  return same_table;
}

}  // namespace quern::tools
