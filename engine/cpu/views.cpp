// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/views.h"

namespace quern::cpu {
namespace {

using Views = std::optional<std::vector<View>>;

Views transpose(const Transpose& op, const TensorDesc& in) {
  if (in.layout.block) return std::nullopt;
  View v;
  const std::size_t rank = in.shape.rank();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t from =
        op.perm.empty() ? rank - 1 - i
                        : static_cast<std::size_t>(op.perm[i] < 0
                                                       ? op.perm[i] + static_cast<std::int64_t>(rank)
                                                       : op.perm[i]);
    v.layout.strides.push_back(in.layout.strides[from]);
  }
  return std::vector{v};
}

Views reshape(const Shape& to, const TensorDesc& in) {
  View v;
  if (!reshape_in_place(in, to, v.layout)) return std::nullopt;
  return std::vector{v};
}

}  // namespace

Views views_of(const Graph& g, NodeId id, const TensorDesc& input) {
  const Node& n = g.node(id);
  if (!n.post_ops.empty() || n.outputs.empty() || n.outputs[0] == no_value) return std::nullopt;
  if (n.as<Identity>()) return std::vector{View{0, input.layout}};
  if (g.def(id).is(OpTrait::view)) return reshape(*g.type(n.outputs[0]).shape(), input);
  if (const auto* t = n.as<Transpose>()) return transpose(*t, input);
  return std::nullopt;
}

}  // namespace quern::cpu
