// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/element_source.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/concat.h"
#include "graph/ops/reshape.h"
#include "graph/ops/slice.h"
#include "graph/ops/split.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"
#include "kernels/contract/slice.h"

namespace quern {
namespace {

using Index = std::array<std::int64_t, Shape::max_rank>;

Index index_of(const Shape& shape, std::int64_t linear) {
  Index at{};
  for (std::size_t d = shape.rank(); d-- > 0;) {
    at[d] = linear % shape[d];
    linear /= shape[d];
  }
  return at;
}

std::int64_t linear_of(const Shape& shape, const Index& at) {
  std::int64_t linear = 0;
  for (std::size_t d = 0; d < shape.rank(); ++d) linear = linear * shape[d] + at[d];
  return linear;
}

std::int64_t of_transpose(const Transpose& op, const Shape& from, const Shape& to,
                          std::int64_t linear) {
  const std::size_t rank = to.rank();
  const Index at = index_of(to, linear);
  Index there{};
  for (std::size_t d = 0; d < rank; ++d)
    there[op.perm.empty() ? rank - 1 - d : positive_axis(op.perm[d], rank)] = at[d];
  return linear_of(from, there);
}

std::int64_t of_expand(const Shape& from, const Shape& to, std::int64_t linear) {
  const Index at = index_of(to, linear);
  Index there{};
  const std::size_t skipped = to.rank() - from.rank();
  for (std::size_t d = 0; d < from.rank(); ++d) there[d] = from[d] == 1 ? 0 : at[skipped + d];
  return linear_of(from, there);
}

}  // namespace

std::optional<Element> ElementSources::source(const Element& e) {
  const Value& v = graph_.value(e.value);
  if (v.producer == no_node) return std::nullopt;
  const Node& n = graph_.node(v.producer);
  if (!n.post_ops.empty() || n.inputs.empty() || n.inputs[0] == no_value) return std::nullopt;
  const ValueId in = n.inputs[0];
  if (n.as<Identity>() || n.op.def().is(OpTrait::view)) return Element{in, e.index};
  if (const auto* t = n.as<Transpose>())
    return Element{in, of_transpose(*t, shape(in), shape(e.value), e.index)};
  if (n.as<Expand>()) return Element{in, of_expand(shape(in), shape(e.value), e.index)};
  if (n.as<Slice>()) return of_slice(n, e);
  if (n.as<Split>()) return of_split(n, e);
  if (n.as<Concat>()) return of_concat(n, e);
  return std::nullopt;
}

Element ElementSources::origin(Element e) {
  while (const auto next = source(e)) e = *next;
  return e;
}

std::optional<Element> ElementSources::of_slice(const Node& node, const Element& e) {
  const Shape from = shape(node.inputs[0]);
  auto [at, is_new] = slices_.try_emplace(e.value);
  Steps& s = at->second;
  if (is_new) {
    std::vector<Tensor> operands;
    std::vector<TensorView> views = {{{DType::f32, from}, nullptr}};
    operands.reserve(node.inputs.size());
    for (ValueId v : std::span(node.inputs).subspan(1)) {
      Tensor& t = operands.emplace_back();
      if (v != no_value) {
        const Tensor& constant = graph_.value(v).constant;
        if (!constant.valid()) return std::nullopt;
        auto copy = Tensor::copy_of(constant.type(), {constant.data(), constant.bytes()});
        if (!copy) return std::nullopt;
        t = std::move(*copy);
      }
      views.push_back(t.view());
    }
    for (const SliceStep& step : slice_steps(from, views)) {
      s.start.push_back(step.start);
      s.step.push_back(step.step);
    }
  }
  if (s.start.empty()) return std::nullopt;
  Index there = index_of(shape(e.value), e.index);
  for (std::size_t d = 0; d < from.rank(); ++d) there[d] = s.start[d] + s.step[d] * there[d];
  return Element{node.inputs[0], linear_of(from, there)};
}

std::optional<Element> ElementSources::of_split(const Node& node, const Element& e) {
  const Shape from = shape(node.inputs[0]);
  const std::size_t axis = positive_axis(node.as<Split>()->axis, from.rank());
  const Value& v = graph_.value(e.value);
  auto [at, is_new] = parts_.try_emplace(v.producer);
  if (is_new) {
    const auto types = graph_.infer(node.op, node.inputs, node.outputs.size(), node.name);
    std::int64_t begin = 0;
    for (std::size_t i = 0; types && i < types->size(); ++i) {
      at->second.push_back(begin);
      begin += (*(*types)[i].shape())[axis];
    }
  }
  if (v.producer_output >= at->second.size()) return std::nullopt;
  Index there = index_of(shape(e.value), e.index);
  there[axis] += at->second[v.producer_output];
  return Element{node.inputs[0], linear_of(from, there)};
}

std::optional<Element> ElementSources::of_concat(const Node& node, const Element& e) const {
  const Shape to = shape(e.value);
  const std::size_t axis = positive_axis(node.as<Concat>()->axis, to.rank());
  Index there = index_of(to, e.index);
  for (ValueId part : node.inputs) {
    const Shape from = shape(part);
    if (there[axis] < from[axis]) return Element{part, linear_of(from, there)};
    there[axis] -= from[axis];
  }
  return std::nullopt;
}

std::uint64_t byte_of(const TensorDesc& desc, std::int64_t index) {
  const Index at = index_of(desc.shape, index);
  std::int64_t element = 0;
  for (std::size_t d = 0; d < desc.shape.rank(); ++d) {
    const bool blocked = desc.layout.block && d == 1;
    element += (blocked ? at[d] / desc.layout.block : at[d]) * desc.layout.strides[d];
    if (blocked) element += at[d] % desc.layout.block;
  }
  return static_cast<std::uint64_t>(element) * size_of(desc.dtype);
}

std::optional<std::int64_t> element_at(const TensorDesc& desc, std::uint64_t byte) {
  if (byte % size_of(desc.dtype) != 0) return std::nullopt;
  auto rest = static_cast<std::int64_t>(byte / size_of(desc.dtype));
  const int block = desc.layout.block;
  const std::int64_t in_block = block ? rest % block : 0;
  rest -= in_block;
  // In order of decreasing strides: each gives the index of the element along its dimension.
  std::array<std::size_t, Shape::max_rank> order{};
  for (std::size_t d = 0; d < desc.shape.rank(); ++d) order[d] = d;
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(desc.shape.rank()),
            [&](std::size_t a, std::size_t b) {
              return desc.layout.strides[a] > desc.layout.strides[b];
            });
  Index at{};
  for (std::size_t k = 0; k < desc.shape.rank(); ++k) {
    const std::size_t d = order[k];
    const std::int64_t n = block && d == 1 ? ceil_div(desc.shape[d], block) : desc.shape[d];
    if (n == 1 || desc.layout.strides[d] <= 0) continue;
    at[d] = std::min(rest / desc.layout.strides[d], n - 1);
    rest -= at[d] * desc.layout.strides[d];
  }
  if (block) at[1] = at[1] * block + in_block;
  if (rest != 0 || (block && at[1] >= desc.shape[1])) return std::nullopt;
  return linear_of(desc.shape, at);
}

}  // namespace quern
