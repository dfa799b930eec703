// SPDX-License-Identifier: Apache-2.0
#include "graph/evaluate.h"

#include <array>
#include <cstdint>
#include <memory>

#include "graph/ops/batch_norm.h"
#include "graph/ops/binary.h"
#include "graph/ops/block_quantized.h"
#include "graph/ops/cast.h"
#include "graph/ops/concat.h"
#include "graph/ops/einsum.h"
#include "graph/ops/fill.h"
#include "graph/ops/gather.h"
#include "graph/ops/one_hot.h"
#include "graph/ops/pad.h"
#include "graph/ops/pool.h"
#include "graph/ops/quantize.h"
#include "graph/ops/rearrange.h"
#include "graph/ops/reduce.h"
#include "graph/ops/reshape.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/slice.h"
#include "graph/ops/softmax.h"
#include "graph/ops/split.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"

namespace quern {
namespace {

// Constants may alias a mapped file at any address; references want aligned elements.
Result<Tensor> aligned(const Tensor& t) {
  if (!t.valid() || reinterpret_cast<std::uintptr_t>(t.data()) % size_of(t.dtype()) == 0) return t;
  return Tensor::copy_of(t.type(), {t.data(), t.bytes()});
}

// Owners of the memory to which the elements of a string tensor point.
struct StringOwners {
  std::shared_ptr<const void> bytes;
  std::vector<Tensor> inputs;
  std::shared_ptr<StringPool> strings;
};

Result<std::vector<Tensor>> run_reference(const OpReference& reference, const Op& op,
                                          std::span<const Tensor> inputs,
                                          std::span<const TensorType> types, const Stop* stop) {
  std::vector<Tensor> in;
  std::vector<TensorView> in_views;
  std::vector<TensorType> in_types;
  for (const Tensor& t : inputs) {
    QUERN_ASSIGN(in.emplace_back(), aligned(t));
    in_views.push_back(in.back().view());
    in_types.push_back(t.type());
  }
  std::vector<Tensor> out;
  std::vector<MutableTensorView> out_views;
  for (const TensorType& t : types) {
    QUERN_ASSIGN(out.emplace_back(), Tensor::zeros(t));
    out_views.push_back({t, out.back().mutable_data()});
  }
  const std::size_t scratch_bytes = reference.scratch ? reference.scratch(op, in_types, types) : 0;
  QUERN_ASSIGN(Tensor memory,
               Tensor::zeros({DType::u8, {static_cast<std::int64_t>(scratch_bytes)}}));
  Scratch scratch(memory.mutable_data(), scratch_bytes);
  auto strings = std::make_shared<StringPool>();
  QUERN_TRY(reference.run({op, in_views, out_views, scratch, *strings, stop}));
  if (stop) QUERN_TRY(stop->check());
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::shared_ptr<const void> owner = out[i].owner();
    if (types[i].dtype == DType::string)
      owner = std::make_shared<StringOwners>(StringOwners{owner, in, strings});
    out[i] = Tensor(out_views[i].type, std::move(owner), out[i].data());
  }
  return out;
}

}  // namespace

bool can_evaluate(const OpDef& def) {
  return !def.is(OpTrait::random) && !def.is(OpTrait::data_dependent) &&
         !def.is(OpTrait::structural) && !def.is(OpTrait::makes_text);
}

namespace {

// Each element of an operand is read, each of a result is written, a few times.
bool is_linear(const Op& op, const OpDef& def) {
  return def.is(OpTrait::elementwise) || def.is(OpTrait::view) ||
         op.is_any_of<Cast, BitCast, Bf16Parts, Identity, Transpose, Concat, Split, Slice, Pad,
                      Expand, Tile, Gather, DepthSpace, Trilu, OneHot, ConstantOfShape, Range,
                      ShapeOf, SizeOf, Quantize, Dequantize, UnpackBits, Reduce, BatchNorm,
                      Softmax>();
}

double elements_of(std::span<const TensorType> types) {
  double n = 0;
  for (const TensorType& t : types) n += static_cast<double>(t.shape.elements());
  return n;
}

}  // namespace

double evaluation_work(const Op& op, const OpDef& def, std::span<const TensorType> inputs,
                       std::span<const TensorType> outputs) {
  const double in = elements_of(inputs);
  const double out = elements_of(outputs);
  if (op.is<Einsum>()) {
    double pairs = 256;  // what walking the indices of a pair costs
    for (const TensorType& t : inputs) pairs *= static_cast<double>(t.shape.elements());
    return pairs;
  }
  if (const auto* roi = op.as<RoiPool>(); roi && roi->sampling_ratio > 0) {
    const auto points = static_cast<double>(roi->sampling_ratio);
    return in + out * points * points;
  }
  return is_linear(op, def) ? in + out : in * out;
}

// NOLINTNEXTLINE(readability-function-size): a fused node has as many parts
Result<std::vector<Tensor>> evaluate(const OpSet& ops, const Op& op, const PostOps& post_ops,
                                     std::span<const Tensor> inputs,
                                     std::span<const Tensor> operands,
                                     std::span<const TensorType> types, const Stop* stop) {
  QUERN_ASSIGN(std::vector<Tensor> out,
               run_reference(ops.reference_of(op.def()), op, inputs, types, stop));
  for (const PostOp& p : post_ops) {
    std::array<Tensor, 2> step = {std::move(out[0])};
    std::size_t given = 1;
    Op step_op = Binary{};
    if (const auto* b = std::get_if<BinaryPostOp>(&p)) {
      step_op = Binary{b->kind};
      step[given++] = operands[b->operand];
      if (b->swapped) std::swap(step[0], step[1]);
    } else {
      step_op = *std::get_if<Op>(&p);
    }
    QUERN_ASSIGN(auto y,
                 run_reference(ops.reference_of(step_op.def()), step_op,
                               std::span<const Tensor>(step).first(given), types.first(1), stop));
    out[0] = std::move(y[0]);
  }
  return out;
}

}  // namespace quern
