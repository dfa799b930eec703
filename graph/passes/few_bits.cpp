// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/few_bits.h"

#include <optional>
#include <utility>
#include <vector>

#include "graph/ops/binary.h"
#include "graph/ops/block_quantized.h"
#include "graph/ops/cast.h"
#include "graph/ops/matmul.h"
#include "graph/ops/quantize.h"
#include "graph/ops/reshape.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/slice.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"
#include "graph/passes/match.h"

namespace quern {
namespace {

using passes::add_ints;

// The weights [N, K] of a product, dequantised.
class Dequantised {
 public:
  Dequantised(Graph& g, const Node& n)
      : g_(g),
        op_(*n.as<BlockQuantizedMatMul>()),
        inputs_(n.inputs),
        shape_(*g.type(inputs_[2]).shape()) {}

  // As deep as x is wide.
  Result<ValueId> weights(ValueId x) {
    const Dim depth = g_.type(x).dims->back();
    QUERN_ASSIGN(ValueId numbers, g_.add(UnpackBits{op_.bits}, {inputs_[1]}));
    QUERN_ASSIGN(numbers, reshaped(numbers, {columns(), blocks() * op_.block_size}));
    QUERN_ASSIGN(const ValueId w, has_float_zeros() ? by_floats(numbers) : by_bytes(numbers));
    if (depth.is(blocks() * op_.block_size)) return w;
    QUERN_ASSIGN(const ValueId end, depth.known() ? Result<ValueId>(add_ints(g_, {depth.value()}))
                                                  : g_.add(ShapeOf{.start = -1}, {x}));
    return g_.add(Slice{}, {w, add_ints(g_, {0}), end, add_ints(g_, {1})});
  }

 private:
  std::int64_t columns() const { return shape_[0]; }
  std::int64_t blocks() const { return shape_[1]; }
  bool has_zeros() const { return inputs_.size() > 3 && inputs_[3] != no_value; }
  bool has_float_zeros() const { return has_zeros() && g_.type(inputs_[3]).dtype != DType::u8; }

  Result<ValueId> reshaped(ValueId v, const Ints& shape) {
    return g_.add(Reshape{}, {v, add_ints(g_, shape)});
  }
  // (number - zero) * scale, block by block.
  Result<ValueId> by_floats(ValueId numbers) {
    const Ints blocked = {columns(), blocks(), op_.block_size};
    const Ints each = {columns(), blocks(), 1};
    QUERN_ASSIGN(ValueId w, g_.add(Cast{.to = g_.type(inputs_[2]).dtype}, {numbers}));
    QUERN_ASSIGN(w, reshaped(w, blocked));
    QUERN_ASSIGN(const ValueId zeros, reshaped(inputs_[3], each));
    QUERN_ASSIGN(const ValueId scales, reshaped(inputs_[2], each));
    QUERN_ASSIGN(w, g_.add(Binary{.kind = BinaryKind::sub}, {w, zeros}));
    QUERN_ASSIGN(w, g_.add(Binary{.kind = BinaryKind::mul}, {w, scales}));
    return reshaped(w, {columns(), blocks() * op_.block_size});
  }
  Result<ValueId> by_bytes(ValueId numbers) {
    QUERN_ASSIGN(const ValueId zeros, byte_zeros());
    return g_.add(Dequantize{.axis = 1, .block_size = op_.block_size},
                  {numbers, inputs_[2], zeros});
  }
  Result<ValueId> byte_zeros() {
    if (!has_zeros()) {
      const std::vector<double> middle(static_cast<std::size_t>(shape_.elements()),
                                       static_cast<double>(1 << (op_.bits - 1)));
      return g_.add_constant(passes::number_tensor(DType::u8, shape_, middle));
    }
    QUERN_ASSIGN(const ValueId zeros, g_.add(UnpackBits{op_.bits}, {inputs_[3]}));
    return g_.add(Slice{}, {zeros, add_ints(g_, {0}), add_ints(g_, {blocks()}), add_ints(g_, {1})});
  }

  Graph& g_;
  BlockQuantizedMatMul op_;
  std::vector<ValueId> inputs_;
  Shape shape_;  // of the scales
};

Status widen(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const ValueId x = n.inputs[0];
  const ValueId bias = n.inputs.size() > 4 ? n.inputs[4] : no_value;
  const auto& dims = g.type(x).dims;
  if (!g.type(n.inputs[2]).fully_known() || !dims || dims->empty() || !n.post_ops.empty())
    return {};
  QUERN_ASSIGN(const ValueId w, Dequantised(g, n).weights(x));
  if (bias == no_value) return g.replace(id, MatMul{.transpose_b = true}, {x, w});
  QUERN_ASSIGN(const ValueId product, g.add(MatMul{.transpose_b = true}, {x, w}));
  return g.replace(id, Binary{.kind = BinaryKind::add}, {product, bias});
}

}  // namespace

Status widen_block_quantized(Graph& graph) {
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    for (std::size_t i = 0; i < graph.node(id).bodies.size(); ++i)
      QUERN_TRY(widen_block_quantized(graph.body(id, i)));
    if (graph.node(id).as<BlockQuantizedMatMul>()) QUERN_TRY(widen(graph, id));
  }
  return {};
}

// ---- products of few rows

namespace {

constexpr std::int64_t least_weights = 65'536;

// A product whose weights are dequantised.
struct QuantizedWeights {
  ValueId w, scale;
  std::int64_t depth, columns;
  std::int64_t blocks;  // of a column
  bool is_transposed;   // w is [columns, depth]
};

bool is_signed_type(DType t) {
  return t == DType::i8 || t == DType::i4;
}

// The zero points are the middle of the type.
bool is_symmetric(const Graph& g, const Node& dequantize) {
  const DType type = g.type(dequantize.inputs[0]).dtype;
  if (!passes::has_input(dequantize, 2)) return is_signed_type(type);
  const double middle = type == DType::u8 ? 128 : 0;
  return (is_signed_type(type) || type == DType::u8) &&
         passes::is_splat(g, dequantize.inputs[2], middle);
}

// The blocks of a column that scales of this shape make; nullopt if they are of something else.
std::optional<std::int64_t> blocks_of(const Graph& g, const Node& dequantize,
                                      const QuantizedWeights& q) {
  const auto& op = *dequantize.as<Dequantize>();
  const auto shape = g.type(q.scale).shape();
  if (!shape) return std::nullopt;
  if (shape->elements() == 1) return 1;
  const std::size_t axis = positive_axis(op.axis, 2);
  const bool is_along_depth = (axis == 1) == q.is_transposed;
  if (op.block_size == 0) return is_along_depth ? std::nullopt : std::optional<std::int64_t>(1);
  if (!is_along_depth || q.depth % op.block_size != 0) return std::nullopt;
  return q.depth / op.block_size;
}

std::optional<QuantizedWeights> quantized_weights(const Graph& g, const Node& n,
                                                  std::int64_t most_rows) {
  const auto* product = n.as<MatMul>();
  if (!product || product->transpose_a || product->alpha != 1 || product->f32_result)
    return std::nullopt;
  const Node* d = passes::bare<Dequantize>(g, n.inputs[1]);
  if (!d || passes::bare<Dequantize>(g, n.inputs[0])) return std::nullopt;
  const auto x = g.type(n.inputs[0]).shape();
  const auto w = g.type(d->inputs[0]).shape();
  if (!x || !w || x->empty() || w->rank() != 2 || w->elements() < least_weights ||
      g.type(n.inputs[0]).dtype != DType::f32 || !is_symmetric(g, *d))
    return std::nullopt;
  const bool is_transposed = product->transpose_b;
  QuantizedWeights q{
      d->inputs[0], d->inputs[1], (*w)[is_transposed ? 1 : 0], (*w)[is_transposed ? 0 : 1], 0,
      is_transposed};
  if (x->elements() > most_rows * q.depth || q.depth > most_in_block) return std::nullopt;
  for (const ValueId v : {q.w, q.scale})
    if (!passes::is_constant_expression(g, v)) return std::nullopt;
  const auto blocks = blocks_of(g, *d, q);
  if (!blocks) return std::nullopt;
  q.blocks = *blocks;
  return q;
}

// The operands of the product, as expressions of constants.
class KeptWeights {
 public:
  KeptWeights(Graph& g, const QuantizedWeights& q) : g_(g), q_(q) {}

  Result<std::vector<ValueId>> operands(ValueId x) {
    QUERN_ASSIGN(ValueId w, by_columns(q_.w));
    QUERN_ASSIGN(w, unsigned_bytes(w));
    QUERN_ASSIGN(
        w, g_.add(Reshape{}, {w, add_ints(g_, {q_.columns, q_.blocks, q_.depth / q_.blocks})}));
    QUERN_ASSIGN(const ValueId scales, for_each_block(q_.scale));
    return std::vector<ValueId>{x, w, scales};
  }

 private:
  Result<ValueId> by_columns(ValueId v) {
    if (q_.is_transposed) return v;
    return g_.add(Transpose{.perm = {1, 0}}, {v});
  }
  // Numbers with a sign, plus 128.
  Result<ValueId> unsigned_bytes(ValueId v) {
    if (g_.type(v).dtype == DType::u8) return v;
    if (g_.type(v).dtype == DType::i4) {
      QUERN_ASSIGN(v, g_.add(Cast{.to = DType::i8}, {v}));
    }
    QUERN_ASSIGN(const ValueId bytes, g_.add(BitCast{.to = DType::u8}, {v}));
    const ValueId top =
        g_.add_constant(passes::number_tensor(DType::u8, {}, std::vector<double>{128}));
    return g_.add(Binary{.kind = BinaryKind::bitwise_xor}, {bytes, top});
  }
  // [columns, blocks] of one for all, one for each column, or blocks as they lie in w.
  Result<ValueId> for_each_block(ValueId v) {
    const Shape shape = *g_.type(v).shape();
    if (shape.elements() == 1) {
      QUERN_ASSIGN(const ValueId one, g_.add(Reshape{}, {v, add_ints(g_, {1, 1})}));
      return g_.add(Expand{}, {one, add_ints(g_, {q_.columns, q_.blocks})});
    }
    if (shape.rank() == 2) return by_columns(v);
    return g_.add(Reshape{}, {v, add_ints(g_, {q_.columns, 1})});
  }

  Graph& g_;
  const QuantizedWeights& q_;
};

}  // namespace

Status keep_quantized_weights(Graph& graph, std::int64_t most_rows) {
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    const auto q = quantized_weights(graph, graph.node(id), most_rows);
    if (!q) continue;
    PostOps post_ops = graph.node(id).post_ops;
    std::vector<ValueId> of_post_ops = graph.node(id).operands;
    QUERN_ASSIGN(std::vector<ValueId> inputs,
                 KeptWeights(graph, *q).operands(graph.node(id).inputs[0]));
    QUERN_TRY(graph.replace(id, BlockQuantizedMatMul{.bits = 8, .block_size = q->depth / q->blocks},
                            std::move(inputs), std::move(post_ops), std::move(of_post_ops)));
  }
  graph.erase_dead();
  return {};
}

}  // namespace quern
