// SPDX-License-Identifier: Apache-2.0
// BlockQuantizedMatMul in f32 by constant weights, which stay in their bits: panels of 16 columns
// are unpacked in registers, for a few rows of x at a time. For many rows a tile of the weights is
// unpacked once for all of them: to floats, or to bytes where there are units for matrices of
// those.
#include "kernels/cpu/few_bits_rows.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/block_quantized.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/integer_products.h"
#include "kernels/contract/parts.h"
#include "kernels/contract/rows.h"
#include "kernels/cpu/few_bits_weights.h"
#include "kernels/cpu/product_pieces.h"
#include "kernels/simd/few_bits.h"
#include "kernels/simd/int8.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

// The rows from which on a tile takes less time than it costs, and the depth of one of floats: it
// stays in the second cache. A tile of bytes has a block at a time.
constexpr std::int64_t least_rows_of_tiles = 16;
constexpr std::int64_t tile_depth = 512;
constexpr std::int64_t least_byte_block = 32;
constexpr std::int64_t most_byte_block = 4096;
constexpr std::int64_t byte_tile_columns = std::int64_t{int8_tile_panels} * few_bits_columns;
static_assert(few_bits_sum_stride == byte_tile_columns && few_bits_sum_rows == int8_tile_rows);
constexpr std::int64_t byte_tile_bytes = 1 << 18;  // of blocks that are unpacked at a time, or one

enum class FewBitsWay : std::uint8_t { panels, float_tiles, byte_tiles };

struct FewBitsProduct {
  FewBitsForm form;
  std::int64_t rows;
  std::int64_t depth;
  bool quantize_x;
  FewBitsWay way = FewBitsWay::panels;

  // A row of x as kernels read it: each block is padded to whole steps.
  std::int64_t row_numbers() const { return form.blocks * form.size; }
  bool copies_x() const { return quantize_x || depth != row_numbers(); }
};

class FewBitsRows final : public CpuKernel {
 public:
  FewBitsRows(const FewBitsProduct& p, int threads, std::shared_ptr<const std::byte> packed)
      : p_(p), packed_(std::move(packed)) {
    const std::int64_t rows = padded_rows();
    const std::int64_t blocks = rows * p_.form.blocks;
    Parts parts;
    const std::int64_t number = p_.quantize_x ? 1 : 4;
    x_at_ = parts.add(p_.copies_x() ? rows * p_.row_numbers() * number + int8_tile_depth : 0);
    scales_at_ = parts.add(p_.quantize_x ? blocks * 4 : 0);
    sums_at_ = parts.add(has_float_tiles() ? 0 : blocks * 4);
    tiles_at_ = parts.add(threads * slot_bytes());
    scratch_bytes_ = parts.size();
  }
  std::size_t scratch_bytes() const { return scratch_bytes_; }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    parallel(p_.rows, row_grain(p_.depth), [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(args.stop);
      for (std::int64_t m = begin; m < end && !check.spend(p_.depth / 8); ++m) prepare(args, m);
    });
    switch (p_.way) {
      case FewBitsWay::panels: run_panels(args, parallel); break;
      case FewBitsWay::float_tiles: run_float_tiles(args, parallel); break;
      case FewBitsWay::byte_tiles: run_byte_tiles(args, parallel);
    }
    return {};
  }

 private:
  bool has_float_tiles() const { return p_.way == FewBitsWay::float_tiles; }
  bool has_byte_tiles() const { return p_.way == FewBitsWay::byte_tiles; }
  // What a thread works in: a tile of floats; or one of bytes, its sums and its results.
  std::int64_t slot_bytes() const {
    switch (p_.way) {
      case FewBitsWay::panels: return 0;
      case FewBitsWay::float_tiles: return tile_depth * simd_panel * 4;
      default:
        return byte_tile_columns * (tile_blocks() * byte_tile_depth() +
                                    4 * (2 * blocks_at_once * int8_tile_rows + most_tile_rows));
    }
  }
  std::int64_t unit_depth() const {
    return p_.form.size <= int8_half_tile_depth ? int8_half_tile_depth : int8_tile_depth;
  }
  std::int64_t byte_tile_depth() const { return round_up(p_.form.size, unit_depth()); }
  // The blocks of a tile of bytes.
  std::int64_t tile_blocks() const {
    const std::int64_t fit = cut_size(byte_tile_bytes) / (byte_tile_columns * byte_tile_depth());
    return std::clamp<std::int64_t>(fit, 1, p_.form.blocks);
  }

  template <class T>
  T* at(const KernelArgs& args, std::size_t offset) const {
    return reinterpret_cast<T*>(args.scratch + offset);
  }
  // Units for matrices read whole tiles, beyond the last row, too.
  std::int64_t padded_rows() const {
    return has_byte_tiles() ? round_up(p_.rows, int8_tile_rows) : p_.rows;
  }
  // Where the scale and the sum of a block of row m lie: those of all rows side by side for tiles
  // of bytes, else those of all blocks.
  std::int64_t at_block(std::int64_t m, std::int64_t block) const {
    return has_byte_tiles() ? block * padded_rows() + m : m * p_.form.blocks + block;
  }
  // Rows of x in floats as they are multiplied.
  const float* floats_of(const KernelArgs& args) const {
    return p_.copies_x() ? at<float>(args, x_at_) : reinterpret_cast<const float*>(args.inputs[0]);
  }

  // Row m: copied or rounded, with the sums of its blocks.
  void prepare(const KernelArgs& args, std::int64_t m) const {
    const float* x = reinterpret_cast<const float*>(args.inputs[0]) + m * p_.depth;
    const FewBitsForm& f = p_.form;
    for (std::int64_t b = 0; b < f.blocks; ++b, x += f.block_size) {
      const std::int64_t n = std::min(f.block_size, p_.depth - b * f.block_size);
      const std::int64_t to = m * p_.row_numbers() + b * f.size;
      if (p_.quantize_x) {
        quantize(args, x, n, to, at_block(m, b));
        continue;
      }
      const float* block = x;
      if (p_.copies_x()) block = padded(x, n, at<float>(args, x_at_) + to);
      if (!has_float_tiles() && f.zeros != FewBitsZeros::middle)
        at<float>(args, sums_at_)[at_block(m, b)] = simd().sum(block, n);
    }
  }
  const float* padded(const float* x, std::int64_t n, float* to) const {
    std::memcpy(to, x, static_cast<std::size_t>(n) * 4);
    std::memset(to + n, 0, static_cast<std::size_t>(p_.form.size - n) * 4);
    return to;
  }
  void quantize(const KernelArgs& args, const float* x, std::int64_t n, std::int64_t to,
                std::int64_t block) const {
    const SimdFewBits& simd = simd_few_bits();
    const BlockSteps<float> steps(simd.most(x, n));
    std::int8_t* q = at<std::int8_t>(args, x_at_) + to;
    at<std::int32_t>(args, sums_at_)[block] = simd.quantize(x, steps.inverse, q, n);
    at<float>(args, scales_at_)[block] = steps.scale;
    std::memset(q + n, 0, static_cast<std::size_t>(p_.form.size - n));
  }

  // ---- few rows, or bytes: panel by panel
  void run_panels(const KernelArgs& args, const Parallel& parallel) const {
    // A panel's bytes are brought once, and computed with for each row.
    const std::int64_t work = p_.form.panel_bytes() * (1 + p_.rows / 4);
    const std::int64_t grain = std::max<std::int64_t>(1, cut_size(64 << 10) / work);
    const std::int64_t pieces = ceil_div(p_.rows, std::int64_t{piece_rows});
    parallel(p_.form.panels() * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(args.stop);
      for (std::int64_t u = begin; u < end; ++u) {
        const std::int64_t first = u % pieces * piece_rows;
        const std::int64_t rows = std::min<std::int64_t>(piece_rows, p_.rows - first);
        if (check.spend(1 + work / 16)) return;
        multiply_panel(args, u / pieces, first, first + rows);
      }
    });
  }
  void multiply_panel(const KernelArgs& args, std::int64_t index, std::int64_t begin,
                      std::int64_t end) const {
    const FewBitsPanel panel = p_.form.panel(packed_.get(), index);
    alignas(64) float y[few_bits_rows * few_bits_columns];
    for (std::int64_t m = begin; m < end; m += few_bits_rows) {
      const int rows = static_cast<int>(std::min<std::int64_t>(few_bits_rows, end - m));
      const std::int64_t row = m * p_.row_numbers();
      const std::int64_t block = m * p_.form.blocks;
      if (p_.quantize_x)
        simd_few_bits().multiply_bytes(panel, {.x = at<std::int8_t>(args, x_at_) + row,
                                               .x_stride = p_.row_numbers(),
                                               .scales = at<float>(args, scales_at_) + block,
                                               .sums = at<std::int32_t>(args, sums_at_) + block,
                                               .rows = rows,
                                               .y = y});
      else
        simd_few_bits().multiply_floats(panel, {.x = floats_of(args) + row,
                                                .x_stride = p_.row_numbers(),
                                                .sums = at<float>(args, sums_at_) + block,
                                                .rows = rows,
                                                .y = y});
      write(args, y, index * few_bits_columns, m, rows);
    }
  }
  void write(const KernelArgs& args, const float* from, std::int64_t column, std::int64_t row,
             std::int64_t rows) const {
    const std::int64_t columns = std::min<std::int64_t>(few_bits_columns, p_.form.columns - column);
    float* y = reinterpret_cast<float*>(args.outputs[0]) + row * p_.form.columns + column;
    for (std::int64_t r = 0; r < rows; ++r, y += p_.form.columns, from += few_bits_columns)
      std::memcpy(y, from, static_cast<std::size_t>(columns) * 4);
    add_bias(args, column, columns, row, rows);
  }
  void add_bias(const KernelArgs& args, std::int64_t column, std::int64_t columns, std::int64_t row,
                std::int64_t rows) const {
    if (args.inputs.size() <= 4 || !args.inputs[4]) return;
    const float* bias = reinterpret_cast<const float*>(args.inputs[4]) + column;
    float* y = reinterpret_cast<float*>(args.outputs[0]) + row * p_.form.columns + column;
    for (std::int64_t r = 0; r < rows; ++r, y += p_.form.columns)
      for (std::int64_t n = 0; n < columns; ++n) y[n] += bias[n];
  }

  template <class T>
  T* slot_of(const KernelArgs& args, std::size_t slot) const {
    return at<T>(args, tiles_at_ + slot * static_cast<std::size_t>(slot_bytes()));
  }

  // ---- many rows of floats: tile by tile
  void run_float_tiles(const KernelArgs& args, const Parallel& parallel) const {
    constexpr std::int64_t fewest_rows = 64;  // that a tile is widened for
    const std::int64_t groups = ceil_div(p_.form.columns, simd_panel);
    const std::int64_t pieces = std::clamp<std::int64_t>(
        ceil_div(std::int64_t{2} * parallel.threads(), groups), 1, ceil_div(p_.rows, fewest_rows));
    const std::int64_t rows = ceil_div(p_.rows, pieces);
    parallel.each(groups * pieces, [&](std::size_t slot, std::int64_t u) {
      const std::int64_t first = u % pieces * rows;
      if (first >= p_.rows) return;
      float* tile = slot_of<float>(args, slot);
      multiply_group(args, {u / pieces * simd_panel, first, std::min(rows, p_.rows - first)}, tile);
    });
  }

  // Columns from `column` on, at most simd_panel.
  struct Part {
    std::int64_t column, row, rows;
  };
  void multiply_group(const KernelArgs& args, const Part& part, float* tile) const {
    const FewBitsForm& f = p_.form;
    const std::int64_t columns = std::min(simd_panel, f.columns - part.column);
    StopCheck check(args.stop);
    SimdProduct product{
        .a = floats_of(args) + part.row * p_.row_numbers(),
        .a_stride = p_.row_numbers(),
        .b = tile,
        .b_stride = simd_panel,
        .b_panel = simd_panel * tile_depth,
        .c = reinterpret_cast<float*>(args.outputs[0]) + part.row * f.columns + part.column,
        .c_stride = f.columns,
        .rows = part.rows,
        .depth = 0,
        .columns = columns,
        .accumulate = false};
    for (std::int64_t k = 0; k < p_.row_numbers(); k += tile_depth) {
      product.depth = std::min(tile_depth, p_.row_numbers() - k);
      for (std::int64_t n = 0; n < columns; n += few_bits_columns)
        widen(f.panel(packed_.get(), (part.column + n) / few_bits_columns), k, k + product.depth,
              tile + n);
      multiply_until(product, check);
      if (check.is_over()) return;
      product.a += tile_depth;
      product.accumulate = true;
    }
    add_bias(args, part.column, columns, part.row, part.rows);
  }
  // The numbers [begin, end) of a panel, blocks one after the other.
  void widen(const FewBitsPanel& panel, std::int64_t begin, std::int64_t end, float* to) const {
    for (std::int64_t k = begin; k < end;) {
      const std::int64_t block = k / panel.size;
      const std::int64_t first = block * panel.size;
      const std::int64_t last = std::min(end, first + panel.size);
      simd_few_bits().widen(panel, block, k - first, last - first, to, simd_panel);
      to += (last - k) * simd_panel;
      k = last;
    }
  }

  // ---- many rows of bytes: two panels at a time
  //
  // Some rows go through all blocks of a tile before the next ones do, so that their results stay
  // in the first cache; and the sums of blocks are added while the units compute the next ones.
  void run_byte_tiles(const KernelArgs& args, const Parallel& parallel) const {
    const std::int64_t groups = ceil_div(p_.form.columns, byte_tile_columns);
    const std::int64_t pieces = ceil_div(p_.rows, most_tile_rows);
    parallel.each(groups * pieces, [&](std::size_t slot, std::int64_t u) {
      const std::int64_t first = u % pieces * most_tile_rows;
      auto* columns = slot_of<std::int8_t>(args, slot);
      auto* sums = reinterpret_cast<std::int32_t*>(columns + byte_tile_columns * byte_tile_depth() *
                                                                 tile_blocks());
      multiply_byte_group(
          args, {u / pieces * byte_tile_columns, first, std::min(most_tile_rows, p_.rows - first)},
          {columns, sums, reinterpret_cast<float*>(sums + 2 * blocks_at_once * byte_tile_sums)});
    });
  }

  static constexpr std::int64_t byte_tile_sums = byte_tile_columns * int8_tile_rows;
  static constexpr std::int64_t blocks_at_once = 2;  // whose sums are added in one pass over y
  struct ByteTile {
    std::int8_t* columns;  // of each block its panels, [byte_tile_depth() / 4][few_bits_columns][4]
    std::int32_t* sums;    // of blocks_at_once, and of as many
    float* y;              // [most_tile_rows][byte_tile_columns]
  };
  struct BytePanels {
    FewBitsPanel of[int8_tile_panels];
    int count;
  };
  struct BlockRange {
    std::int64_t from, to;
  };

  void multiply_byte_group(const KernelArgs& args, const Part& part, const ByteTile& t) const {
    const FewBitsForm& f = p_.form;
    const std::int64_t width = std::min(byte_tile_columns, f.columns - part.column);
    BytePanels panels;
    panels.count = static_cast<int>(ceil_div(width, std::int64_t{few_bits_columns}));
    for (int q = 0; q < panels.count; ++q)
      panels.of[q] = f.panel(packed_.get(), part.column / few_bits_columns + q);
    std::memset(t.y, 0, static_cast<std::size_t>(part.rows * byte_tile_columns) * 4);
    StopCheck check(args.stop);
    simd_int8_tiles()->begin(unit_depth());
    for (std::int64_t b = 0; b < f.blocks && !check.is_over(); b += tile_blocks()) {
      const BlockRange blocks = {b, std::min(b + tile_blocks(), f.blocks)};
      const std::int64_t work = (blocks.to - blocks.from) * byte_tile_depth() * byte_tile_columns;
      unpack_bytes(panels, blocks, t.columns);
      for (std::int64_t r = 0; r < part.rows && !check.spend(work * int8_tile_rows / 1024);
           r += int8_tile_rows)
        multiply_bytes(args, {part.column, part.row + r, part.rows - r}, blocks, panels,
                       {t.columns, t.sums, t.y + r * byte_tile_columns});
    }
    simd_int8_tiles()->end();
    float* y = reinterpret_cast<float*>(args.outputs[0]) + part.row * f.columns + part.column;
    for (std::int64_t r = 0; r < part.rows; ++r)
      std::memcpy(y + r * f.columns, t.y + r * byte_tile_columns,
                  static_cast<std::size_t>(width) * 4);
    add_bias(args, part.column, width, part.row, part.rows);
  }
  void unpack_bytes(const BytePanels& panels, const BlockRange& blocks, std::int8_t* to) const {
    const std::int64_t panel_bytes = byte_tile_depth() * few_bits_columns;
    if (byte_tile_depth() != p_.form.size)
      std::memset(to, 0,
                  static_cast<std::size_t>((blocks.to - blocks.from) * panels.count * panel_bytes));
    for (std::int64_t b = blocks.from; b < blocks.to; ++b)
      for (int q = 0; q < panels.count; ++q, to += panel_bytes)
        simd_few_bits().unpack(panels.of[q], b, to);
  }
  // The products of some blocks with the first rows of `part`, added to y.
  void multiply_bytes(const KernelArgs& args, const Part& part, const BlockRange& blocks,
                      const BytePanels& panels, const ByteTile& t) const {
    const int rows = static_cast<int>(std::min<std::int64_t>(int8_tile_rows, part.rows));
    const std::int64_t block_bytes = byte_tile_depth() * few_bits_columns * panels.count;
    const std::uint8_t* x = at<std::uint8_t>(args, x_at_) + part.row * p_.row_numbers();
    SumsOfBlocks before = {};
    std::int64_t half = 0;
    for (std::int64_t b = blocks.from; b < blocks.to; b += blocks_at_once, half ^= 1) {
      const auto count = static_cast<int>(std::min(blocks_at_once, blocks.to - b));
      const SumsOfBlocks now = {b, count, t.sums + half * blocks_at_once * byte_tile_sums};
      for (std::int64_t i = 0; i < count; ++i)
        simd_int8_tiles()->multiply({.x = x + (b + i) * p_.form.size,
                                     .x_stride = p_.row_numbers(),
                                     .is_signed = true,
                                     .rows = rows,
                                     .panels = panels.count,
                                     .depth = byte_tile_depth(),
                                     .columns = t.columns + (b + i - blocks.from) * block_bytes,
                                     .sums = now.sums + i * byte_tile_sums,
                                     .tile_depth = unit_depth()});
      if (before.count > 0) add_blocks(args, part.row, rows, before, panels, t.y);
      before = now;
    }
    add_blocks(args, part.row, rows, before, panels, t.y);
  }
  struct SumsOfBlocks {
    std::int64_t block;
    int count;
    std::int32_t* sums;  // of each block [int8_tile_rows][byte_tile_columns]
  };
  void add_blocks(const KernelArgs& args, std::int64_t row, int rows, const SumsOfBlocks& of,
                  const BytePanels& panels, float* y) const {
    const std::int64_t at_first = at_block(row, of.block);
    for (std::int64_t q = 0; q < panels.count; ++q)
      simd_few_bits().add_sums(panels.of[q], {.block = of.block,
                                              .blocks = of.count,
                                              .sums = of.sums + q * few_bits_columns,
                                              .scales = at<float>(args, scales_at_) + at_first,
                                              .x_sums = at<std::int32_t>(args, sums_at_) + at_first,
                                              .scale_stride = padded_rows(),
                                              .rows = rows,
                                              .y = y + q * few_bits_columns});
  }

  static constexpr int piece_rows = 64;                // of a task, for one panel
  static constexpr std::int64_t most_tile_rows = 256;  // of a task, by tiles of bytes

  FewBitsProduct p_;
  std::shared_ptr<const std::byte> packed_;
  std::size_t x_at_, scales_at_, sums_at_, tiles_at_, scratch_bytes_;
};

// ---- choosing ----------------------------------------------------------------------------------

bool is_packable(const KernelRequest& r) {
  for (std::size_t i : {1, 2, 3})
    if (r.has(i) && !r.inputs[i].constant) return false;
  return r.dtype(0) == DType::f32 && r.outputs[0].shape.elements() > 0 && r.shape(0).back() > 0;
}

Result<std::shared_ptr<const std::byte>> packed_weights(const KernelRequest& r,
                                                        const FewBitsForm& form) {
  const ConstantSource& numbers = *r.inputs[1].constant;
  const ConstantSource& scales = *r.inputs[2].constant;
  const ConstantSource* zeros = r.has(3) ? r.inputs[3].constant : nullptr;
  const auto fill = [&](std::byte* to) -> Status {
    QUERN_ASSIGN(const Tensor w, numbers.get());
    QUERN_ASSIGN(const Tensor s, scales.get());
    Tensor z;
    if (zeros) {
      QUERN_ASSIGN(z, zeros->get());
    }
    pack_few_bits(form, {w.data(), s.data(), z.valid() ? z.data() : nullptr}, to);
    return {};
  };
  return r.target.weights->find_or_make(
      cat("few bits|", form.bits, "|", form.block_size, "|", form.columns, "|", form.blocks, "|",
          int(form.zeros), "|", numbers.key(), "|", scales.key(), "|", zeros ? zeros->key() : ""),
      static_cast<std::size_t>(form.bytes()), fill);
}

FewBitsWay way_for(const KernelRequest& r, const FewBitsProduct& p) {
  if (!r.target.scratch || p.rows < cut_size(least_rows_of_tiles)) return FewBitsWay::panels;
  if (!p.quantize_x) return FewBitsWay::float_tiles;
  const bool fits = p.form.size >= least_byte_block && p.form.size <= most_byte_block;
  return fits && simd_few_bits().unpack && simd_int8_tiles() ? FewBitsWay::byte_tiles
                                                             : FewBitsWay::panels;
}

std::string implementation_name(const FewBitsProduct& p) {
  switch (p.way) {
    case FewBitsWay::float_tiles: return cat("few bits widened ", simd().name);
    case FewBitsWay::byte_tiles: return "few bits bytes amx";
    default: return cat("few bits ", p.quantize_x ? "bytes " : "", simd_few_bits().name);
  }
}

}  // namespace

Selection select_block_quantized_matmul(const KernelRequest& r) {
  const auto& op = r.as<BlockQuantizedMatMul>();
  if (!is_packable(r)) return unsupported();
  FewBitsProduct p{.form = {.bits = op.bits,
                            .block_size = op.block_size,
                            .size = round_up(op.block_size, few_bits_step),
                            .blocks = r.shape(2)[1],
                            .columns = r.shape(2)[0],
                            .zeros = !r.has(3)                 ? FewBitsZeros::middle
                                     : r.dtype(3) == DType::u8 ? FewBitsZeros::bytes
                                                               : FewBitsZeros::floats},
                   .rows = r.outputs[0].shape.elements() / r.shape(2)[0],
                   .depth = r.shape(0).back(),
                   .quantize_x = op.quantize_x};
  p.way = way_for(r, p);
  QUERN_ASSIGN(auto packed, packed_weights(r, p.form));
  KernelChoice choice;
  choice.implementation = implementation_name(p);
  choice.packed_inputs = {false, true, true};
  choice.packed_inputs.resize(r.inputs.size());
  if (r.has(3)) choice.packed_inputs[3] = true;
  auto kernel = std::make_unique<FewBitsRows>(p, r.target.team.threads, std::move(packed));
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.work = std::move(kernel);
  return std::optional<KernelChoice>(std::move(choice));
}

std::int64_t rows_faster_by_few_bits() {
  return std::string_view(simd_few_bits().level) == "baseline" ? 0 : few_bits_rows;
}

}  // namespace quern
