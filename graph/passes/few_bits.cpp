// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/few_bits.h"

#include <vector>

#include "graph/ops/binary.h"
#include "graph/ops/block_quantized.h"
#include "graph/ops/cast.h"
#include "graph/ops/matmul.h"
#include "graph/ops/quantize.h"
#include "graph/ops/reshape.h"
#include "graph/ops/slice.h"
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

  Result<ValueId> weights(std::int64_t depth) {
    QUERN_ASSIGN(ValueId numbers, g_.add(UnpackBits{op_.bits}, {inputs_[1]}));
    QUERN_ASSIGN(numbers, reshaped(numbers, {columns(), blocks() * op_.block_size}));
    QUERN_ASSIGN(const ValueId w, has_float_zeros() ? by_floats(numbers) : by_bytes(numbers));
    if (blocks() * op_.block_size == depth) return w;
    return g_.add(Slice{}, {w, add_ints(g_, {0}), add_ints(g_, {depth}), add_ints(g_, {1})});
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
  if (!g.type(n.inputs[2]).fully_known() || !dims || !dims->back().known() || !n.post_ops.empty())
    return {};
  QUERN_ASSIGN(const ValueId w, Dequantised(g, n).weights(dims->back().value()));
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

}  // namespace quern
