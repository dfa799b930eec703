// SPDX-License-Identifier: Apache-2.0
// MatMul with matmul.comp; on GPUs small products use matmul_few.comp, others product_tiled.comp or
// product_cooperative.comp.
#include "kernels/gpu/matmul.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/ops/matmul.h"
#include "graph/ops/products.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/matmul_shape.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/tiles.h"

namespace quern::gpu {
namespace {

// [k][n, padded to four], from a constant of two dimensions.
GpuConstant pack(const ConstantSource& source, Transposed factors, const Product& p) {
  const bool transposed = factors.right;
  GpuConstant c;
  c.key =
      cat(transposed ? "gpu-wt|" : "gpu-w|", p.w_type == DType::f16 ? "f16|" : "", source.key());
  c.bytes = static_cast<std::size_t>(p.depth * p.w_row) * size_of(p.w_type);
  c.fill = [&source, transposed, p](std::byte* to) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    for (std::int64_t k = 0; k < p.depth; ++k) {
      for (std::int64_t n = 0; n < p.columns; ++n) {
        const std::int64_t at = transposed ? n * p.depth + k : k * p.columns + n;
        write_weight(p.w_type, to, k * p.w_row + n, t.data() + at * 4);
      }
    }
    return {};
  };
  return c;
}

// The batch dimensions merged into two; nullopt if that is not possible.
bool join_batch(const ProductShape& s, Product& p) {
  Shape y = Shape::filled(s.batch.rank(), 1);
  std::int64_t stride = 1;
  std::vector<std::size_t> order(s.batch.rank());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t d = s.batch.rank(); d-- > 0;) {
    y[d] = stride;
    stride *= s.batch[d];
  }
  const auto loop = make_loop(s.batch, std::array{s.a_batch, s.b_batch, y}, order);
  if (!loop || loop->dims.size() > 2) return false;
  for (std::size_t d = 0; d < loop->dims.size(); ++d) {
    p.batch[d] = loop->dims[d];
    p.a_batch[d] = loop->strides[0][d];
    p.w_batch[d] = loop->strides[1][d];
  }
  return true;
}

// One right-hand matrix for the whole batch: the batch becomes additional rows.
void fold_batch_into_rows(Product& p) {
  if (p.batch[1] != 1 || p.w_batch[0] != 0 || p.a_batch[0] != p.rows * p.a_row) return;
  p.rows *= p.batch[0];
  p.batch[0] = 1;
  p.a_batch[0] = 0;
}

}  // namespace

Layout columns_first(const Shape& shape) {
  if (shape.rank() < 2) return Layout::row_major(shape);
  std::vector<std::int64_t> order(shape.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return Layout::permuted(shape, order);
}

namespace {

// Rows and vectors of four columns per invocation, and adjacent invocations.
struct ProductTile {
  std::uint32_t local, rows, vectors;
};

std::vector<ProductTile> product_tiles(const Product& p, const GpuTarget& target) {
  const auto most_rows = static_cast<std::uint32_t>(std::min<std::int64_t>(p.rows, 14));
  const auto rows = [&](std::uint32_t wanted) { return std::min(wanted, most_rows); };
  const std::uint32_t local = side_by_side(target);
  const std::uint32_t vectors = p.columns > std::int64_t{4} * local ? 2 : 1;
  std::vector<ProductTile> tiles = {{local, rows(8), vectors}};
  for (const std::uint32_t r : {4, 6, 12, 14}) tiles.push_back({local, rows(r), vectors});
  for (const std::uint32_t r : {4, 8, 14}) tiles.push_back({local, rows(r), 3 - vectors});
  if (!target.software)
    for (const std::uint32_t l : {local / 2, 2 * local}) tiles.push_back({l, rows(8), vectors});
  return tiles;
}

// The layout of the operands.
ProductSize size_of(const Product& p) {
  const auto multiple = [](std::int64_t v) { return v % 4 == 0; };
  ProductSize size{.rows = p.rows, .columns = p.columns, .depth = p.depth};
  size.batch = p.batch[0] * p.batch[1];
  size.a_vectors = multiple(p.a_row) && multiple(p.a_batch[0]) && multiple(p.a_batch[1]);
  size.w_vectors =
      multiple(p.w_row) && multiple(p.w_first) && multiple(p.w_batch[0]) && multiple(p.w_batch[1]);
  size.y_vectors = multiple(p.columns);
  size.may_round = p.may_round;
  size.w_type = p.w_type;
  size.may_split = p.may_split;
  return size;
}

std::optional<Dispatch> in_registers(const ProductTile& t, const ProductSize& size,
                                     const GpuTarget& target) {
  const auto columns = static_cast<std::uint64_t>(size.columns);
  const std::uint32_t line =
      across(t.local, ceil_div_word(columns, std::uint64_t{4} * t.vectors), target);
  const std::array<std::uint64_t, 3> groups = {
      ceil_div_word(columns, std::uint64_t{4} * line * t.vectors),
      ceil_div_word(static_cast<std::uint64_t>(size.rows),
                    std::uint64_t{t.rows} * (t.local / line)),
      static_cast<std::uint64_t>(size.batch)};
  if (!fits(groups, target)) return std::nullopt;
  Dispatch d;
  d.shader = "matmul";
  d.constants = {t.local, t.rows, t.vectors, size.a_vectors, size.w_vectors, size.y_vectors};
  set_across(d, line);
  for (std::size_t i = 0; i < 3; ++i) d.groups[i] = static_cast<std::uint32_t>(groups[i]);
  return d;
}

// A dispatch of matmul_few.comp, with its cost in the unit of Tiling::cost.
struct SharedTerms {
  Dispatch dispatch;
  double cost;
};

// The invocations of a workgroup share the terms of sums. Up to eight rows are one block, so that
// the weights are read once; more are blocks of four. The order of summation differs from other
// shaders, so that there are no other candidates.
std::optional<SharedTerms> in_lines_of(std::uint32_t line, const ProductSize& size,
                                       const GpuTarget& target) {
  constexpr std::int64_t most_at_once = 8;
  const std::uint32_t local = std::min(std::bit_floor(target.max_invocations), 256U);
  const std::uint32_t rows = size.rows <= most_at_once ? word(size.rows) : 4;
  const std::array<std::uint64_t, 3> groups = {
      ceil_div_word(static_cast<std::uint64_t>(size.columns), std::uint64_t{4} * line),
      ceil_div_word(static_cast<std::uint64_t>(size.rows), rows),
      static_cast<std::uint64_t>(size.batch)};
  if (local < line || !fits(groups, target)) return std::nullopt;
  // As in tiles.cpp: the constants fit times of an H200.
  constexpr double start = 2e5, round = 5e4, term = 4;
  const double rounds =
      ceil_div_word(groups[0] * groups[1] * groups[2], std::max(target.units, 1U));
  const double results = 4.0 * line * rows;
  SharedTerms shared{.cost = start +
                             rounds * (round + term * results * static_cast<double>(size.depth))};
  Dispatch& d = shared.dispatch;
  d.shader = "matmul_few";
  d.constants = {local, rows, line, size.w_vectors, size.y_vectors, size.w_type == DType::f16};
  for (std::size_t i = 0; i < 3; ++i) d.groups[i] = static_cast<std::uint32_t>(groups[i]);
  return shared;
}

// The best length of lines: long ones read the weights best, short ones give more workgroups.
std::optional<SharedTerms> with_shared_terms(const ProductSize& size, const GpuTarget& target) {
  const std::int64_t least_depth = cut_size(64);
  const std::uint32_t local = std::min(std::bit_floor(target.max_invocations), 256U);
  if (target.software || size.depth < least_depth ||
      4 * sizeof(float) * local > target.shared_bytes || !can_loop(size.depth, target))
    return std::nullopt;
  std::optional<SharedTerms> best;
  for (const std::uint32_t line : {4, 8, 16}) {
    auto shared = in_lines_of(line, size, target);
    if (shared && (!best || shared->cost < best->cost)) best = std::move(shared);
  }
  return best;
}

// The size for tiling, which has no tail of single elements.
ProductSize tiled_size_of(const Product& p) {
  ProductSize size = size_of(p);
  size.a_vectors = size.a_vectors && p.depth % 4 == 0;
  return size;
}

Tiling tiled_candidates(const Product& p, const GpuTarget& target) {
  Tiling tiling = matrix_tiles_of(tiled_size_of(p), target);
  return tiling.candidates.empty() ? tiles_of(tiled_size_of(p), target) : tiling;
}

// The dispatch with shared terms, where that is the fastest way.
std::optional<Dispatch> small_product(const Product& p, const Tiling& tiling,
                                      const GpuTarget& target) {
  constexpr std::uint64_t narrow_rounds =
      8;  // of workgroups, while registers alone wait for memory
  const ProductSize size = size_of(p);
  auto shared = with_shared_terms(size, target);
  if (!shared) return std::nullopt;
  const auto& groups = shared->dispatch.groups;
  const std::uint64_t all = std::uint64_t{groups[0]} * groups[1] * groups[2];
  const bool is_small = tiling.candidates.empty()
                            ? groups[1] == 1 || all <= narrow_rounds * std::max(target.units, 1U)
                            : shared->cost <= tiling.cost;
  if (!is_small) return std::nullopt;
  return std::move(shared->dispatch);
}

Tiling product_candidates(const Product& p, const GpuTarget& target) {
  Tiling tiling = tiled_candidates(p, target);
  if (auto small = small_product(p, tiling, target)) return {.candidates = {std::move(*small)}};
  // Split sums have another order of summation, and matrices other operands.
  const ProductSize size = size_of(p);
  const bool is_plain = tiling.candidates.empty() || tiling.candidates[0].shader == "matmul_tiled";
  if (is_plain && tiling.parts == 1 && can_loop(size.a_vectors ? p.depth / 4 + 4 : p.depth, target))
    append_candidates<ProductTile>(
        tiling.candidates, product_tiles(p, target),
        [&](const ProductTile& t) { return in_registers(t, size, target); });
  return tiling;
}

void push_product(Dispatch& d, const Product& p, std::uint32_t parts) {
  for (std::int64_t v : {p.rows, p.columns, p.depth, p.a_row, p.w_row}) d.push.push_back(word(v));
  for (const auto* pair : {p.batch, p.a_batch, p.w_batch})
    for (int i = 0; i < 2; ++i) d.push.push_back(word(pair[i]));
  d.push.push_back(word(p.w_first));
  if (!is_tiled(d)) return;
  d.push.push_back(parts);
  d.counts_z = parts > 1;
}

}  // namespace

bool wants_halves(const Product& p, const GpuTarget& target) {
  const Tiling tiling = tiled_candidates(p, target);
  if (small_product(p, tiling, target)) return p.may_round && size_of(p).w_vectors;
  return !matrix_tiles_of(tiled_size_of(p), target).candidates.empty();
}

void write_weight(DType type, std::byte* weights, std::int64_t at, const std::byte* element) {
  if (type != DType::f16) {
    std::memcpy(weights + at * 4, element, 4);
    return;
  }
  float value = 0;
  std::memcpy(&value, element, 4);
  const std::uint16_t half = float_to_half(value);
  std::memcpy(weights + at * 2, &half, 2);
}

bool has_room_to_split(std::int64_t results, std::uint64_t scratch_bytes, const GpuTarget& target) {
  const std::int64_t partial = most_parts * results;
  return partial < (std::int64_t{1} << 31) &&
         scratch_bytes + static_cast<std::uint64_t>(partial) * sizeof(float) + 256 <=
             target.max_range;
}

bool add_candidates(KernelChoice& choice, std::vector<Dispatch> candidates, std::uint32_t parts,
                    std::int64_t results, const Steps& steps, const GpuTarget& target) {
  if (candidates.empty()) return false;
  choice.implementation = candidates.front().shader;
  BufferUse to = BufferUse::output(0);
  const std::uint64_t offset = round_up(choice.scratch_bytes, 256);
  const std::uint64_t bytes = parts * static_cast<std::uint64_t>(results) * sizeof(float);
  if (parts > 1) {
    to = BufferUse::scratch(offset, bytes, BufferAccess::write);
    choice.scratch_bytes = offset + bytes;
  }
  for (Dispatch& d : candidates) {
    d.buffers.push_back(to);
    (parts > 1 ? steps.none() : steps).finish(d);
  }
  choice.on_gpu().dispatches.push_back(*with_candidates(std::move(candidates)));
  if (parts == 1) return true;
  Dispatch sum;
  sum.shader = "product_sum";
  const std::uint32_t local = lanes(target);
  sum.constants = {local, results % 4 == 0};
  sum.push = {word(results), parts};
  sum.buffers = {BufferUse::scratch(offset, bytes, BufferAccess::read), BufferUse::output(0)};
  sum.groups = linear_groups(ceil_div_word(static_cast<std::uint64_t>(results), 4), local, target);
  steps.finish(sum);
  choice.on_gpu().dispatches.push_back(std::move(sum));
  return true;
}

bool add_product(KernelChoice& choice, const Product& p, BufferUse a, BufferUse w,
                 const Steps& steps, const GpuTarget& target) {
  Tiling tiling = product_candidates(p, target);
  for (Dispatch& d : tiling.candidates) {
    push_product(d, p, tiling.parts);
    d.buffers = {a, w};
  }
  return add_candidates(choice, std::move(tiling.candidates), tiling.parts,
                        p.batch[0] * p.batch[1] * p.rows * p.columns, steps, target);
}

std::optional<Dispatch> product_dispatch(const Product& p, BufferUse a, BufferUse w, BufferUse y,
                                         const Steps& steps, const GpuTarget& target) {
  std::vector<Dispatch> candidates = product_candidates(p, target).candidates;
  for (Dispatch& d : candidates) {
    push_product(d, p, 1);
    d.buffers = {a, w, y};
    steps.finish(d);
  }
  return with_candidates(std::move(candidates));
}

Selection select_matmul(const KernelRequest& request) {
  const auto& op = request.as<MatMul>();
  const Shape& a = request.shape(0);
  const Shape& b = request.shape(1);
  const TensorType& out = request.outputs[0];
  if (request.dtype(0) == DType::f64 && op.alpha == 1)
    return product_in_loops(request, product_shape(a, b, transposed_in(op)));
  if (request.dtype(0) != DType::f32 || request.dtype(1) != DType::f32 ||
      out.shape.elements() == 0 || a.elements() == 0)
    return unsupported();
  const Transposed transposed = transposed_in(op);
  const ProductShape s = product_shape(a, b, transposed);
  Product p{.rows = s.rows, .columns = s.columns, .depth = s.depth};
  p.may_round = request.half_products;
  p.a_row = a.rank() > 1 ? p.depth : 0;
  p.w_row = b.rank() > 1 ? p.columns : 1;
  if (!join_batch(s, p)) return unsupported();
  KernelChoice choice;
  choice.input_layouts = {transposed.left ? columns_first(a) : Layout::row_major(a),
                          transposed.right ? columns_first(b) : Layout::row_major(b)};
  choice.input_layouts.resize(request.inputs.size());
  choice.output_layouts = {Layout::row_major(out.shape)};
  BufferUse w = BufferUse::input(1);
  const bool is_packed = request.inputs[1].constant && b.rank() == 2;
  if (is_packed) p.w_row = round_up(p.columns, 4);
  fold_batch_into_rows(p);
  p.may_split = has_room_to_split(out.shape.elements(), 0, *request.gpu);
  if (is_packed) {
    if (wants_halves(p, *request.gpu)) p.w_type = DType::f16;
    choice.on_gpu().constants.push_back(pack(*request.inputs[1].constant, transposed, p));
    choice.packed_inputs = {false, true};
    w = BufferUse::constant(0);
  }
  Steps steps({out.shape, choice.output_layouts[0], p.columns % 4 == 0}, StepSet::few);
  if (op.alpha != 1) (void)steps.add_factor(op.alpha);
  choice.post_ops_taken = steps.add_post_ops(request);
  steps.ask_layouts(choice.input_layouts);
  if (!add_product(choice, p, BufferUse::input(0), w, steps, *request.gpu)) return unsupported();
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
