// SPDX-License-Identifier: Apache-2.0
// MatMul in f32 by the engine's own matrix product, for machines without oneDNN. A right-hand side
// with contiguous columns is read in place; a transposed one is packed into panels, once if it is
// constant. A left-hand side whose rows are not contiguous is copied first.
#include "kernels/cpu/matmul_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/matmul.h"
#include "graph/ops/products.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/matmul_shape.h"
#include "kernels/contract/rows.h"
#include "kernels/cpu/product_pieces.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/simd_lines.h"

namespace quern {
namespace {

constexpr std::int64_t block_rows = 48;

std::int64_t panel_floats(const ProductShape& p) {
  return round_up(p.columns, simd_panel) * p.depth;
}

// A constant right-hand side of few columns is packed column by column.
bool has_few_columns(const ProductShape& p) {
  return simd().is_few(p.columns, p.depth, 1);
}

class MatMulRows final : public CpuKernel {
 public:
  // `packed`: a constant right-hand side for the whole batch; null if it is an operand.
  MatMulRows(const ProductShape& p, float alpha, std::shared_ptr<const std::byte> packed)
      : p_(p), alpha_(alpha), packed_(std::move(packed)) {}

  static bool packs_each_run(const ProductShape& p) { return p.b_column != 1 && p.columns > 1; }
  static bool copies_rows(const ProductShape& p) { return p.a_column != 1 && p.depth > 1; }
  // First the copy of rows, then panels.
  std::size_t scratch_bytes() const {
    const bool packs = !packed_ && packs_each_run(p_);
    return static_cast<std::size_t>(row_floats(p_) + (packs ? panel_floats(p_) : 0)) *
           sizeof(float);
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    std::int64_t matrix = 0;
    StopCheck check(args.stop);
    for_each_offset(p_.batch, std::array{p_.a_batch, p_.b_batch}, 8, check, [&](const auto& at) {
      const Operand b = right_hand_side(args, at[1], check);
      auto* c = reinterpret_cast<float*>(args.outputs[0]) + matrix++ * p_.rows * p_.columns;
      multiply(left_hand_side(args, at[0], parallel), b, c, args.stop, parallel);
    });
    return {};
  }

 private:
  struct Operand {
    const float* data;
    std::int64_t stride, panel;
  };
  struct Rows {
    const float* data;
    std::int64_t stride;
  };

  static std::int64_t row_floats(const ProductShape& p) {
    return copies_rows(p) ? round_up(p.rows * p.depth, simd_panel) : 0;
  }

  Rows left_hand_side(const KernelArgs& args, std::int64_t at, const Parallel& parallel) const {
    const auto* a = reinterpret_cast<const float*>(args.inputs[0]) + at;
    if (!copies_rows(p_)) return {a, p_.a_row};
    auto* to = reinterpret_cast<float*>(args.scratch);
    // Some rows at a time, so that what is read side by side stays in the first cache.
    constexpr std::int64_t side_by_side = 16;
    parallel(ceil_div(p_.rows, side_by_side),
             std::max<std::int64_t>(1, cut_size(100'000) / (side_by_side * p_.depth)),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               for (std::int64_t i = begin; i < end && !check.is_over(); ++i) {
                 const std::int64_t first = i * side_by_side;
                 const std::int64_t last = std::min(first + side_by_side, p_.rows);
                 for_each_until(p_.depth, 2 * side_by_side, check, [&](std::int64_t k) {
                   for (std::int64_t r = first; r < last; ++r)
                     to[r * p_.depth + k] = a[r * p_.a_row + k * p_.a_column];
                 });
               }
             });
    return {to, p_.depth};
  }

  Operand right_hand_side(const KernelArgs& args, std::int64_t at, StopCheck& check) const {
    const std::int64_t panel = simd_panel * p_.depth;
    if (packed_ && has_few_columns(p_))
      return {reinterpret_cast<const float*>(packed_.get()), 1, p_.depth};
    if (packed_) return {reinterpret_cast<const float*>(packed_.get()), simd_panel, panel};
    const auto* b = reinterpret_cast<const float*>(args.inputs[1]) + at;
    if (!packs_each_run(p_)) return {b, p_.b_row, simd_panel};
    auto* to = reinterpret_cast<float*>(args.scratch) + row_floats(p_);
    pack_panels(p_.depth, p_.columns, to, panel, check,
                [&](std::int64_t k, std::int64_t n) { return b[k * p_.b_row + n * p_.b_column]; });
    return {to, simd_panel, panel};
  }

  void multiply(const Rows& a, const Operand& b, float* c, const Stop* stop,
                const Parallel& parallel) const {
    const std::int64_t blocks = ceil_div(p_.rows, block_rows);
    const std::int64_t cuts = column_cuts(blocks, parallel.threads());
    const std::int64_t columns = round_up(ceil_div(p_.columns, cuts), simd_panel);
    const std::int64_t work = 2 * std::min(block_rows, p_.rows) * columns * p_.depth;
    parallel(blocks * cuts,
             std::max<std::int64_t>(1, cut_size(400'000) / std::max<std::int64_t>(work, 1)),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(stop);
               if (cuts == 1) return multiply_part(a, b, c, {begin, end, 0, p_.columns}, check);
               for (std::int64_t u = begin; u < end && !check.is_over(); ++u) {
                 const std::int64_t block = u / cuts, column = u % cuts * columns;
                 multiply_part(a, b, c,
                               {block, block + 1, column, std::min(column + columns, p_.columns)},
                               check);
               }
             });
  }
  // Columns are cut where there are not enough blocks of rows for all threads.
  std::int64_t column_cuts(std::int64_t blocks, int threads) const {
    if (threads == 1) return 1;
    return std::clamp<std::int64_t>(ceil_div(std::int64_t{2} * threads, blocks), 1,
                                    ceil_div(p_.columns, simd_panel));
  }

  // Blocks of rows [block, end_block), columns [column, end_column), which begin at a panel.
  struct Part {
    std::int64_t block, end_block, column, end_column;
  };
  void multiply_part(const Rows& a, const Operand& b, float* c, const Part& part,
                     StopCheck& check) const {
    const std::int64_t first = part.block * block_rows;
    const std::int64_t rows = std::min(part.end_block * block_rows, p_.rows) - first;
    const std::int64_t columns = part.end_column - part.column;
    if (columns <= 0) return;
    float* const to = c + first * p_.columns + part.column;
    multiply_until({.a = a.data + first * a.stride,
                    .a_stride = a.stride,
                    .b = b.data + part.column / simd_panel * b.panel,
                    .b_stride = b.stride,
                    .b_panel = b.panel,
                    .c = to,
                    .c_stride = p_.columns,
                    .rows = rows,
                    .depth = p_.depth,
                    .columns = columns,
                    .accumulate = false},
                   check, packed_ && has_few_columns(p_) ? simd().multiply_few : simd().multiply);
    if (alpha_ == 1) return;
    const bool is_dense = columns == p_.columns;
    for (std::int64_t i = 0; i < (is_dense ? 1 : rows); ++i) {
      float* const row = to + i * p_.columns;
      lines::multiply({row, false}, {&alpha_, true}, row, is_dense ? rows * columns : columns);
    }
  }

  ProductShape p_;
  float alpha_;
  std::shared_ptr<const std::byte> packed_;
};

Result<std::shared_ptr<const std::byte>> pack_constant(const KernelRequest& r,
                                                       const ProductShape& p) {
  const ConstantSource& source = *r.inputs[1].constant;
  const bool is_few = has_few_columns(p);
  const auto fill = [&](std::byte* packed) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    StopCheck check(r.target.stop);
    auto* to = reinterpret_cast<float*>(packed);
    const auto element = [&](std::int64_t k, std::int64_t n) {
      float f;  // may be unaligned in a mapped file
      std::memcpy(&f, t.data() + (k * p.b_row + n * p.b_column) * 4, sizeof f);
      return f;
    };
    if (!is_few) pack_panels(p.depth, p.columns, to, simd_panel * p.depth, check, element);
    for (std::int64_t n = 0; is_few && n < p.columns; ++n)
      for (std::int64_t k = 0; k < p.depth; ++k) to[n * p.depth + k] = element(k, n);
    return r.target.packed();
  };
  const std::int64_t floats = is_few ? p.columns * p.depth : panel_floats(p);
  return r.target.weights->find_or_make(
      cat(is_few ? "product columns|" : "product panels|", p.depth, "x", p.columns, "|", p.b_row,
          "|", p.b_column, "|", source.key()),
      static_cast<std::size_t>(floats) * sizeof(float), fill);
}

bool is_one_matrix(const Shape& strides) {
  return std::ranges::all_of(strides.dims(), [](std::int64_t s) { return s == 0; });
}

// The rows of a batch that are multiplied by one matrix are those of one product, which reads that
// matrix once.
ProductShape folded(ProductShape p) {
  if (p.a_column != 1 || !is_one_matrix(p.b_batch)) return p;
  std::int64_t matrix = p.rows * p.depth;
  for (std::size_t d = p.batch.rank(); d-- > 0; matrix *= p.batch[d])
    if (p.batch[d] != 1 && p.a_batch[d] != matrix) return p;
  p.rows *= p.batch.elements();
  p.a_row = p.depth;
  p.batch = p.a_batch = p.b_batch = Shape();
  return p;
}

ProductShape folded_shape(const KernelRequest& r) {
  return folded(product_shape(r.shape(0), r.shape(1), transposed_in(r.as<MatMul>())));
}

}  // namespace

Selection select_matmul_rows(const KernelRequest& r) {
  const auto& op = r.as<MatMul>();
  if (r.dtype(0) != DType::f32 || r.dtype(1) != DType::f32 || r.outputs[0].shape.elements() == 0)
    return unsupported();
  const ProductShape p = folded_shape(r);
  if (p.depth == 0) return unsupported();
  std::shared_ptr<const std::byte> packed;
  if (r.inputs[1].constant && is_one_matrix(p.b_batch)) {
    QUERN_ASSIGN(packed, pack_constant(r, p));
  }
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.packed_inputs = {false, packed != nullptr};
  auto rows = std::make_unique<MatMulRows>(p, op.alpha, std::move(packed));
  choice.scratch_bytes = rows->scratch_bytes();
  choice.work = std::move(rows);
  return std::optional<KernelChoice>(std::move(choice));
}

Selection select_matmul_of_few_rows(const KernelRequest& r) {
  if (!r.inputs[1].constant || r.outputs[0].shape.elements() == 0) return unsupported();
  const ProductShape p = folded_shape(r);
  if (p.batch.elements() != 1) return unsupported();
  constexpr std::int64_t most_rows = 32, cached_floats = std::int64_t{128} * 1024;
  const bool reads_memory = p.columns >= 4 * simd_panel && p.columns * p.depth >= cached_floats;
  const bool few = p.rows <= most_rows && reads_memory && simd().name == std::string_view("avx512");
  return p.rows == 1 || few || has_few_columns(p) ? select_matmul_rows(r) : unsupported();
}

}  // namespace quern
