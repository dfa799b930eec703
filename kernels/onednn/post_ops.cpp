// SPDX-License-Identifier: Apache-2.0
// Converts the post-ops of a node to those of a oneDNN primitive.
#include <algorithm>

#include "graph/ops/binary_kind.h"
#include "graph/ops/unary.h"
#include "kernels/onednn/onednn.h"

namespace quern::onednn {
namespace {

using dnnl::algorithm;

struct Eltwise {
  algorithm kind;
  float alpha = 0;
  float beta = 0;

  bool operator==(const Eltwise&) const = default;
};

// Empty if no form keeps our rules; exp of NaN would be +inf. Relu, clip and the hard sigmoid would
// be expensive as separate steps, so they are fused although they lose NaN (see
// docs/adding-an-operator.md, Numbers).
std::vector<Eltwise> eltwise_of(const Unary& u) {
  const auto alpha = static_cast<float>(u.alpha);
  const auto beta = static_cast<float>(u.beta);
  switch (u.kind) {
    case UnaryKind::relu: return {{algorithm::eltwise_relu}};
    case UnaryKind::leaky_relu: return {{algorithm::eltwise_relu, alpha}};
    case UnaryKind::elu: return {{algorithm::eltwise_elu, alpha}};
    case UnaryKind::tanh: return {{algorithm::eltwise_tanh}};
    case UnaryKind::sigmoid: return {{algorithm::eltwise_logistic}};
    case UnaryKind::abs: return {{algorithm::eltwise_abs}};
    case UnaryKind::sqrt: return {{algorithm::eltwise_sqrt}};
    case UnaryKind::gelu: return {{algorithm::eltwise_gelu_erf}};
    case UnaryKind::gelu_tanh: return {{algorithm::eltwise_gelu_tanh}};
    case UnaryKind::swish: return {{algorithm::eltwise_swish, alpha}};
    case UnaryKind::clip: return {{algorithm::eltwise_clip, alpha, beta}};
    case UnaryKind::neg: return {{algorithm::eltwise_linear, -1}};
    case UnaryKind::affine: return {{algorithm::eltwise_linear, alpha, beta}};
    case UnaryKind::mish: return {{algorithm::eltwise_mish}};
    case UnaryKind::hard_sigmoid:
      return {{algorithm::eltwise_linear, alpha, beta}, {algorithm::eltwise_clip, 0, 1}};
    case UnaryKind::hard_swish:
#if QUERN_ONEDNN_3
      return {{algorithm::eltwise_hardswish, 1.0f / 6, 0.5f}};
#else
      return {{algorithm::eltwise_hardswish}};
#endif
    default: return {};
  }
}

// min and max are left out: they would give the operand where the other side is NaN.
std::optional<algorithm> binary_algorithm(const BinaryPostOp& b) {
  switch (b.kind) {
    case BinaryKind::add: return algorithm::binary_add;
    case BinaryKind::mul: return algorithm::binary_mul;
    case BinaryKind::sub: return b.swapped ? std::nullopt : std::optional(algorithm::binary_sub);
    case BinaryKind::div: return b.swapped ? std::nullopt : std::optional(algorithm::binary_div);
    default: return std::nullopt;
  }
}

// The operand's shape extended to the destination's rank with ones in front.
Shape pad_rank(const Shape& shape, std::size_t rank) {
  Shape s = shape;
  while (s.rank() < rank) s.insert(0, 1);
  return s;
}

// A chain of post-ops under construction. If append() fails, the chain is unchanged.
class Chain {
 public:
  Chain(const KernelRequest& request, const Shape& dst, const PostOpRules& rules)
      : request_(request),
        dst_(dst),
        rules_(rules),
        dst_layout_(rules.dst_layout.value_or(Layout::row_major(dst))) {
    if (rules.scale != 1) append({{algorithm::eltwise_linear, rules.scale, 0}});
  }

  bool append(const PostOp& p) {
    const Unary* unary = unary_of(p);
    const bool ok = unary ? append(eltwise_of(*unary)) : append(*std::get_if<BinaryPostOp>(&p));
    fused_.taken += ok ? 1 : 0;
    return ok;
  }
  FusedPostOps take() { return std::move(fused_); }

 private:
  bool append(const std::vector<Eltwise>& steps) {
    if (steps.empty() || !std::ranges::all_of(steps, [&](const auto& e) { return is_told(e); }))
      return false;
    for (const Eltwise& e : steps) {
#if QUERN_ONEDNN_3
      fused_.ops.append_eltwise(e.kind, e.alpha, e.beta);
#else
      fused_.ops.append_eltwise(1.0f, e.kind, e.alpha, e.beta);
#endif
      eltwise_.push_back(e);
    }
    return true;
  }

  // That of the result, which operands share.
  DType dtype() const {
    return request_.outputs[0].dtype;
  }
  // True if the library would compute this step with the step's own parameters.
  bool is_told(const Eltwise& step) const {
    return tells_repeated_eltwise_apart() ||
           std::ranges::none_of(eltwise_, [&](const Eltwise& other) {
             return other.kind == step.kind && !(other == step);
           });
  }

  bool append(const BinaryPostOp& b) {
    const KernelInput& in = request_.operands[b.operand];
    const auto algorithm = binary_algorithm(b);
    if (!algorithm || in.desc.dtype != dtype() || in.desc.shape.rank() > dst_.rank()) return false;
    const Shape shape = pad_rank(in.desc.shape, dst_.rank());
    const bool full = shape == dst_;
    const bool row = shape.elements(0, dst_.rank() - 1) == 1;  // one per last-dimension element
    if (rules_.as_matrix && !full && !row) return false;
    const auto layout = full ? without_leading(in.desc.shape.rank())
                             : std::optional(Layout::row_major(in.desc.shape));
    if (!layout) return false;
    if (full && b.kind == BinaryKind::add && rules_.allow_sum && in.is_last_use && !in.constant &&
        !fused_.sum_input) {
      fused_.ops.append_sum(1.0f);
      fused_.sum_input = request_.read_of(b);
      fused_.operands.push_back({-1, request_.read_of(b), Md(), *layout});
      fused_.traits.add(Trait::sum);
      return true;
    }
    return rules_.allow_binary && append_operand(b, *algorithm, shape, *layout);
  }

  // The destination's layout for an operand with the same elements but a lower rank. nullopt if the
  // blocks of the destination's channels would be those of another dimension.
  std::optional<Layout> without_leading(std::size_t rank) const {
    Layout l = dst_layout_;
    if (l.block && rank != l.strides.rank()) return std::nullopt;
    while (l.strides.rank() > rank) l.strides.erase(0);
    return l;
  }

  bool append_operand(const BinaryPostOp& b, algorithm kind, const Shape& shape,
                      const Layout& asked) {
    const bool full = shape == dst_;
    const Shape matrix = {full ? dst_.elements(0, dst_.rank() - 1) : 1, shape.back()};
    const auto operand =
        rules_.as_matrix ? md_of(TensorDesc::row_major(dtype(), matrix))
                         : md_of({dtype(), shape, full ? dst_layout_ : Layout::row_major(shape)});
    if (!operand) return false;
    fused_.ops.append_binary(kind, *operand);
    fused_.operands.push_back({fused_.ops.len() - 1, request_.read_of(b), *operand, asked});
    fused_.traits.add(operand_traits(shape, dst_));
    return true;
  }

  const KernelRequest& request_;
  const Shape& dst_;
  const PostOpRules& rules_;
  Layout dst_layout_;
  FusedPostOps fused_;
  std::vector<Eltwise> eltwise_;
};

}  // namespace

FusedPostOps fuse_post_ops(const KernelRequest& request, const Shape& dst_shape,
                           const PostOpRules& rules) {
  Chain chain(request, dst_shape, rules);
  const std::size_t end = std::min(request.post_ops.size(),
                                   rules.skip + std::min(rules.at_most, request.post_ops.size()));
  for (std::size_t i = rules.skip; i < end; ++i)
    if (!chain.append(request.post_ops[i])) break;
  return chain.take();
}

const BinaryPostOp* leading_sum(const KernelRequest& request) {
  if (request.post_ops.empty()) return nullptr;
  const auto* binary = std::get_if<BinaryPostOp>(&request.post_ops[0]);
  return binary && binary->kind == BinaryKind::add ? binary : nullptr;
}

}  // namespace quern::onednn
