// SPDX-License-Identifier: Apache-2.0
// Einsum of one or two operands: as a matrix product if the labels can be divided into batch, rows,
// columns and sum, with layouts in this order; else with einsum.comp.
#include "kernels/contract/einsum.h"

#include <algorithm>
#include <array>

#include "graph/ops/control_flow.h"
#include "graph/ops/einsum.h"
#include "kernels/contract/iterate.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/matmul.h"

namespace quern::gpu {
namespace {

// The role of a label in a matrix product.
enum class Role { batch, row, column, sum };

// The use of labels: as dimensions of the result, or as terms of its sums.
enum class Labels : std::uint8_t { of_result, summed };

std::optional<Role> role_of(const EinsumLoops::Label& l, Labels labels) {
  const bool is_outer = labels == Labels::of_result;
  const bool in_a = l.strides[0] != 0;
  const bool in_b = l.strides[1] != 0;
  if (in_a && in_b) return is_outer ? Role::batch : Role::sum;
  if (!is_outer) return std::nullopt;
  return in_a ? Role::row : in_b ? Role::column : std::optional<Role>();
}

struct Contraction {
  std::array<std::int64_t, 4> sizes = {1, 1, 1, 1};  // by role
  std::array<Layout, 2> operands;
  Layout result;
};

// Dimensions in the order of the roles of their labels; those of size 1 have none.
Layout in_order(const Shape& shape, std::span<const std::size_t> labels,
                std::span<const std::optional<Role>> roles, std::array<Role, 3> order) {
  std::vector<std::int64_t> dims;
  for (const Role r : order) {
    // Labels with the same role are sorted by number, for both operands and the result.
    std::vector<std::pair<std::size_t, std::int64_t>> found;
    for (std::size_t d = 0; d < labels.size(); ++d)
      if (roles[labels[d]] == r) found.emplace_back(labels[d], static_cast<std::int64_t>(d));
    std::ranges::sort(found);
    for (const auto& [label, d] : found) dims.push_back(d);
  }
  return Layout::permuted(shape, dims);
}

// nullopt if a label is in one operand only and summed, broadcasts, or is a diagonal.
std::optional<Contraction> contraction_of(const KernelRequest& request, const EinsumLoops& loops) {
  std::vector<std::optional<Role>> roles;
  std::vector<std::int64_t> sizes;
  Contraction c;
  for (const Labels kind : {Labels::of_result, Labels::summed})
    for (const EinsumLoops::Label& l : kind == Labels::of_result ? loops.outer : loops.summed) {
      roles.push_back(l.size == 1 ? std::nullopt : role_of(l, kind));
      if (!roles.back() && l.size != 1) return std::nullopt;
      if (roles.back()) c.sizes[static_cast<std::size_t>(*roles.back())] *= l.size;
      sizes.push_back(l.size);
    }
  constexpr std::array<std::array<Role, 3>, 2> orders = {
      {{Role::batch, Role::row, Role::sum}, {Role::batch, Role::sum, Role::column}}};
  for (std::size_t k = 0; k < 2; ++k) {
    const Shape& x = request.shape(k);
    std::vector<bool> seen(roles.size(), false);
    for (std::size_t d = 0; d < x.rank(); ++d) {
      const std::size_t label = loops.labels[k][d];
      if (x[d] != sizes[label] || (x[d] != 1 && seen[label])) return std::nullopt;
      seen[label] = true;
    }
    c.operands[k] = in_order(x, loops.labels[k], roles, orders[k]);
  }
  std::vector<std::size_t> outer(loops.outer.size());
  for (std::size_t i = 0; i < outer.size(); ++i) outer[i] = i;
  c.result =
      in_order(request.outputs[0].shape, outer, roles, {Role::batch, Role::row, Role::column});
  return c;
}

Selection as_product(const KernelRequest& request, const Contraction& c) {
  const auto size = [&](Role r) { return c.sizes[static_cast<std::size_t>(r)]; };
  const std::int64_t rows = size(Role::row);
  const std::int64_t columns = size(Role::column);
  const std::int64_t depth = size(Role::sum);
  const Product p{.rows = rows,
                  .columns = columns,
                  .depth = depth,
                  .a_row = depth,
                  .w_row = columns,
                  .batch = {size(Role::batch), 1},
                  .a_batch = {rows * depth, 0},
                  .w_batch = {depth * columns, 0},
                  .may_round = request.half_products};
  const Steps none({request.outputs[0].shape, c.result, columns % 4 == 0}, StepSet::few);
  auto d = product_dispatch(p, BufferUse::input(0), BufferUse::input(1), BufferUse::output(0), none,
                            *request.gpu);
  if (!d) return unsupported();
  KernelChoice choice;
  choice.implementation = "product";
  choice.input_layouts = {c.operands[0], c.operands[1]};
  choice.output_layouts = {c.result};
  choice.on_gpu().dispatches.push_back(std::move(*d));
  return std::optional<KernelChoice>(std::move(choice));
}

// Sizes and strides of labels in the form of make_loop().
std::optional<Loop> loop_of(const std::vector<EinsumLoops::Label>& labels, Labels kind) {
  if (labels.size() > Shape::max_rank) return std::nullopt;
  Shape sizes;
  std::array<Shape, 3> strides;
  std::vector<std::size_t> order;
  for (const EinsumLoops::Label& l : labels) {
    order.push_back(sizes.rank());
    sizes.push_back(l.size);
    strides[0].push_back(l.strides[0]);
    strides[1].push_back(l.strides.size() > 1 ? l.strides[1] : 0);
  }
  strides[2] = kind == Labels::of_result ? row_major_strides(sizes) : strides[0];
  return make_loop(sizes, strides, order);
}

// The sums over `summed` for each element of `outer`, with strides of a, b and the result.
Selection sums_of(const KernelRequest& request, const Loop& outer, const Loop& summed) {
  constexpr std::size_t most_summed = 3;
  const bool doubles = request.dtype(0) == DType::f64;
  if (summed.dims.size() > most_summed || (doubles && !request.gpu->float64) ||
      !can_loop(summed.elements() + summed.elements() / summed.dims[0] * 2, *request.gpu))
    return unsupported();
  const bool has_b = request.inputs.size() > 1;
  Dispatch d;
  d.shader = doubles ? "einsum_doubles" : "einsum";
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, has_b};
  d.push = {word(outer.elements())};
  append(d.push, outer.dims, 1);
  append(d.push, outer.strides[0], 0);
  append(d.push, outer.strides[1], 0);
  const auto append_summed = [&](const std::vector<std::int64_t>& values, std::int64_t fill) {
    for (std::size_t i = 0; i < most_summed; ++i)
      d.push.push_back(word(i < values.size() ? values[i] : fill));
  };
  append_summed(summed.dims, 1);
  append_summed(summed.strides[0], 0);
  append_summed(summed.strides[1], 0);
  d.buffers = {BufferUse::input(0), BufferUse::input(has_b ? 1 : 0), BufferUse::output(0)};
  d.groups = linear_groups(d.push[0], local, *request.gpu);
  KernelChoice choice;
  choice.implementation = "loops";
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

Selection as_loops(const KernelRequest& request, const EinsumLoops& loops) {
  const auto outer = loop_of(loops.outer, Labels::of_result);
  const auto summed = loop_of(loops.summed, Labels::summed);
  return outer && summed ? sums_of(request, *outer, *summed) : unsupported();
}

bool has_words(const Shape& shape) {
  return shape.elements() > 0 && shape.elements() < (std::int64_t{1} << 31);
}

}  // namespace

Selection product_in_loops(const KernelRequest& request, const ProductShape& p) {
  const Shape& y = request.outputs[0].shape;
  if (!has_words(request.shape(0)) || !has_words(request.shape(1)) || !has_words(y) ||
      p.batch.rank() + 2 > Shape::max_rank)
    return unsupported();
  Shape sizes = p.batch;
  std::array<Shape, 3> strides = {p.a_batch, p.b_batch, {}};
  const auto add = [&](std::int64_t size, std::int64_t a, std::int64_t b) {
    sizes.push_back(size);
    strides[0].push_back(a);
    strides[1].push_back(b);
  };
  add(p.rows, p.a_row, 0);
  add(p.columns, 0, p.b_column);
  strides[2] = row_major_strides(sizes);
  const auto outer = make_loop(sizes, strides, memory_order(sizes, strides[2]));
  const auto summed = make_loop({p.depth}, std::array{Shape{p.a_column}, Shape{p.b_row}},
                                std::array<std::size_t, 1>{0});
  return outer && summed ? sums_of(request, *outer, *summed) : unsupported();
}

Selection select_einsum(const KernelRequest& request) {
  const Shape& y = request.outputs[0].shape;
  const bool floats = request.dtype(0) == DType::f32;
  if (request.inputs.size() > 2 || (!floats && request.dtype(0) != DType::f64) || !has_words(y))
    return unsupported();
  std::vector<Shape> operands;
  for (std::size_t k = 0; k < request.inputs.size(); ++k) {
    operands.push_back(request.shape(k));
    if (!has_words(operands[k])) return unsupported();
  }
  const EinsumLoops loops = einsum_loops(request.as<Einsum>(), operands);
  if (floats && operands.size() == 2) {
    if (const auto c = contraction_of(request, loops)) {
      auto choice = as_product(request, *c);
      if (!choice || *choice) return choice;
    }
  }
  return as_loops(request, loops);
}

}  // namespace quern::gpu
