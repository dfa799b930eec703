// SPDX-License-Identifier: Apache-2.0
#include "engine/planning/abstract_node.h"

#include <algorithm>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/evaluate.h"
#include "graph/ops/shape_of.h"
#include "graph/text.h"

namespace quern::specializing {
namespace {

// Results up to this size are computed when the plan is made, if their inputs are known.
constexpr std::size_t evaluated_bytes = 64 << 10;

// The result of a ShapeOf or a SizeOf of a tensor of this shape.
Tensor shape_tensor(const Node& n, const Shape& shape) {
  if (n.as<SizeOf>()) return Tensor::scalar<std::int64_t>(DType::i64, shape.elements());
  const ShapePart part = part_of(*n.as<ShapeOf>(), shape.rank());
  const std::span<const std::int64_t> dims(shape.begin(), shape.end());
  return Tensor::from_values<std::int64_t>(DType::i64, {static_cast<std::int64_t>(part.count)},
                                           dims.subspan(part.begin, part.count));
}

}  // namespace

Result<std::vector<ValueType>> infer_node(const Node& n, const OpDef& def, AbstractReads reads) {
  std::vector<InferInput> in;
  for (const Abstract* a : reads.first(n.inputs.size())) {
    if (!a) {
      in.emplace_back();
      continue;
    }
    in.push_back({true, ValueType(a->type), a->constant.valid() ? &a->constant : nullptr});
  }
  InferContext context(n.op, def.name, n.name, in, n.outputs.size());
  QUERN_TRY((def.bound ? def.bound : def.infer)(context));
  std::vector<ValueType> types(context.outputs().begin(), context.outputs().end());
  for (const ValueType& t : types) {
    if (!t.fully_known()) return context.unsupported("the output's shape cannot be determined");
    if (!t.shape()->checked_elements(size_of(t.dtype)))
      return context.error(cat("output of ", type_text(t), " is too large"));
  }
  return types;
}

std::optional<Result<std::vector<Tensor>>> fold_node(const OpSet& ops, const Node& n,
                                                     const OpDef& def, AbstractReads reads,
                                                     std::span<const ValueType> types,
                                                     const Stop* stop) {
  if (n.post_ops.empty() && (n.as<ShapeOf>() || n.as<SizeOf>()))
    return std::vector<Tensor>{shape_tensor(n, reads[0]->type.shape)};
  if (!can_evaluate(def)) return std::nullopt;
  std::vector<Tensor> read;
  for (const Abstract* a : reads) {
    if (a && !a->constant.valid()) return std::nullopt;
    read.push_back(a ? a->constant : Tensor());
  }
  const auto inputs = std::span(read).first(n.inputs.size());
  std::vector<TensorType> out;
  std::size_t bytes = 0;
  for (const ValueType& t : types) {
    out.push_back({t.dtype, *t.shape()});
    bytes += out.back().bytes();
  }
  if (bytes > evaluated_bytes) return std::nullopt;
  std::vector<TensorType> in;
  for (const Tensor& t : inputs)
    if (t.valid()) in.push_back(t.type());
  if (evaluation_work(n.op, def, in, out) > quick_work) return std::nullopt;
  const auto operands = std::span(read).subspan(n.inputs.size());
  auto r = evaluate(ops, n.op, n.post_ops, inputs, operands, out, stop);
  if (!r)
    return Result<std::vector<Tensor>>(
        std::move(r).error().in(cat("node '", printable(n.name), "' (", def.name, ")")));
  return r;
}

}  // namespace quern::specializing
