// SPDX-License-Identifier: Apache-2.0
// Products of rows by columns: by vectors, some rows at a time that are read where they lie, or by
// units for matrices, in blocks of rows at one distance from each other.
#include <algorithm>

#include "kernels/cpu/int8_conv_kernel.h"
#include "kernels/simd/int8.h"

namespace quern {

// Lists the pieces of `rows` rows from position p on, tap by tap.
void Int8ConvKernel::collect(const Run& run, Position& p, std::int64_t rows,
                             const std::uint8_t** pieces) const {
  const std::int64_t channels = conv_.groups * conv_.depth;
  for (std::int64_t r = 0; r < rows; ++r, advance(p)) {
    const std::uint8_t* image = run.x + p.image * in_[0] * in_[1] * in_[2] * channels;
    const std::uint8_t** piece = pieces + r;
    const std::int32_t* at2 = taps_at_[2].data() + p.at[2] * kernel_[2];
    for (std::int64_t i = 0; i < kernel_[0]; ++i)
      for (std::int64_t k = 0; k < kernel_[1]; ++k) {
        const std::int64_t at0 = taps_at_[0][static_cast<std::size_t>(p.at[0] * kernel_[0] + i)];
        const std::int64_t at1 = taps_at_[1][static_cast<std::size_t>(p.at[1] * kernel_[1] + k)];
        const std::int64_t line = (at0 * in_[1] + at1) * in_[2];
        for (std::int64_t j = 0; j < kernel_[2]; ++j, piece += rows)
          *piece = (at0 | at1 | at2[j]) < 0 ? run.outside : image + (line + at2[j]) * channels;
      }
  }
}

void Int8ConvKernel::run_products(const Run& run, std::int64_t task, std::int64_t begin,
                                  std::int64_t end) const {
  std::byte* scratch = run.scratch + task_at_ + static_cast<std::size_t>(task) * task_bytes_;
  auto** pieces = reinterpret_cast<const std::uint8_t**>(scratch);
  Position at = position_of(begin);
  StopCheck check(run.stop);
  const std::int64_t cost = conv_.groups * packed_.panels * packed_.panel_bytes() / 64 + 16;
  for (std::int64_t p = begin; p < end && !check.spend(cost);) {
    const auto rows = static_cast<int>(std::min<std::int64_t>(int8_rows, end - p));
    if (is_pointwise_) {
      for (int r = 0; r < rows; ++r) pieces[r] = run.x + (p + r) * conv_.groups * conv_.depth;
    } else {
      collect(run, at, rows, pieces);
    }
    for (std::int64_t g = 0; g < conv_.groups; ++g) {
      Int8Product product{.pieces = pieces,
                          .offset = g * conv_.depth,
                          .rows = rows,
                          .taps = conv_.taps(),
                          .depth = conv_.depth};
      const std::uint8_t* flat[int8_rows];
      if (is_flat()) flatten(product, reinterpret_cast<std::uint8_t*>(scratch + rows_at_), flat);
      multiply_group(run, product, g, p);
    }
    p += rows;
  }
}

namespace {

// Copies n bytes and less than a vector more.
inline void copy_vectors(std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += int8_vector_bytes)
    std::memcpy(to + i, from + i, int8_vector_bytes);
}

// Pieces of a few channels are too short for a call each.
inline void copy_piece(std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
  switch (n) {
    case 1: to[0] = from[0]; return;
    case 2: std::memcpy(to, from, 2); return;
    case 3: std::memcpy(to, from, 2), to[2] = from[2]; return;
    default: std::memcpy(to, from, static_cast<std::size_t>(n));
  }
}

}  // namespace

// Copies the pieces of each row so that they are contiguous, padded with zeros.
void Int8ConvKernel::flatten(Int8Product& product, std::uint8_t* rows,
                             const std::uint8_t** pieces) const {
  const std::int64_t used = product.taps * product.depth;
  for (int r = 0; r < product.rows; ++r) {
    std::uint8_t* row = rows + r * packed_.inner;
    for (std::int64_t t = 0; t < product.taps; ++t)
      copy_piece(row + t * product.depth, product.pieces[t * product.rows + r] + product.offset,
                 product.depth);
    std::memset(row + used, 0, static_cast<std::size_t>(packed_.inner - used));
    pieces[r] = row;
  }
  product.pieces = pieces;
  product.offset = 0;
  product.taps = 1;
  product.depth = packed_.inner;
}

namespace {

std::int32_t sum_of_row(const Int8Product& p, int row) {
  std::uint32_t sum = 0;
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const std::uint8_t* piece = p.pieces[t * p.rows + row] + p.offset;
    for (std::int64_t k = 0; k < p.depth; ++k) sum += piece[k];
  }
  return static_cast<std::int32_t>(sum);
}

template <class T>
std::int32_t sum_of_bytes(const std::uint8_t* x, std::int64_t n) {
  std::int32_t sum = 0;
  for (std::int64_t k = 0; k < n; ++k) sum += static_cast<T>(x[k]);
  return sum;
}

}  // namespace

void Int8ConvKernel::multiply_group(const Run& run, Int8Product product, std::int64_t group,
                                    std::int64_t position) const {
  alignas(64) std::int32_t sums[int8_rows * int8_panels * int8_panel_columns];
  std::int32_t x_sums[int8_rows] = {};
  if (run.has_w_zeros)
    for (int r = 0; r < product.rows; ++r) x_sums[r] = sum_of_row(product, r);
  product.sums = sums;
  const auto* columns =
      reinterpret_cast<const std::int8_t*>(run.weights) + group * packed_.group_bytes();
  for (std::int64_t panel = 0; panel < packed_.panels; panel += int8_panels) {
    product.columns = columns + panel * packed_.panel_bytes();
    product.panels = static_cast<int>(std::min<std::int64_t>(int8_panels, packed_.panels - panel));
    simd_int8().multiply(product);
    const std::int64_t first = panel * int8_panel_columns;
    const std::int64_t width = std::int64_t{product.panels} * int8_panel_columns;
    write(run,
          {sums, width, product.rows, position, group * conv_.columns + first,
           std::min(width, conv_.columns - first)},
          x_sums);
  }
}

// ---- by units for matrices

void Int8ConvKernel::run_tiles(const Run& run, std::int64_t task, std::int64_t begin,
                               std::int64_t end) const {
  std::byte* scratch = run.scratch + task_at_ + static_cast<std::size_t>(task) * task_bytes_;
  auto* gathered = reinterpret_cast<std::uint8_t*>(scratch + rows_at_);
  const std::int64_t channels = conv_.groups * conv_.depth;
  const std::int64_t most = packed_.gathered_rows();
  Position at = position_of(begin);
  StopCheck check(run.stop);
  const std::int64_t cost = conv_.groups * packed_.panels * packed_.panel_bytes() / 64 + 64;
  simd_int8_tiles()->begin(int8_tile_depth);
  for (std::int64_t p = begin; p < end && !check.spend(cost); p += most) {
    const std::int64_t rows = std::min(most, end - p);
    for (std::int64_t g = 0; g < conv_.groups; ++g) {
      Rows x{gathered, packed_.inner};
      if (lies_in_place(p, rows, g))
        x = {run.x + p * channels + g * conv_.depth, channels};
      else
        gather(run, at, rows, g, gathered);
      for (std::int64_t r = 0; r < rows; r += int8_tile_rows)
        multiply_tiles(run, {x.x + r * x.stride, x.stride},
                       std::min<std::int64_t>(int8_tile_rows, rows - r), g, p + r);
    }
    advance(at, rows);
  }
  simd_int8_tiles()->end();
}

// True if whole tiles of these rows can be read of x: beyond a row the next one follows, and of the
// last ones what is read must not lie beyond x.
bool Int8ConvKernel::lies_in_place(std::int64_t position, std::int64_t rows,
                                   std::int64_t group) const {
  const std::int64_t channels = conv_.groups * conv_.depth;
  const std::int64_t last = position + round_up(rows, 16) - 1;
  return is_pointwise_ &&
         last * channels + group * conv_.depth + packed_.inner <= positions_ * channels;
}

// Copies the pieces of each row so that they are contiguous. What lies beyond them meets weights
// that are 0.
void Int8ConvKernel::gather(const Run& run, Position p, std::int64_t rows, std::int64_t group,
                            std::uint8_t* to) const {
  while (rows > 0) {
    const std::int64_t n = std::min(rows, out_[2] - p.at[2]);
    const std::int32_t* at2 = taps_at_[2].data() + p.at[2] * kernel_[2];
    for (std::int64_t i = 0; i < kernel_[0]; ++i)
      for (std::int64_t k = 0; k < kernel_[1]; ++k) {
        const std::int64_t at0 = taps_at_[0][static_cast<std::size_t>(p.at[0] * kernel_[0] + i)];
        const std::int64_t at1 = taps_at_[1][static_cast<std::size_t>(p.at[1] * kernel_[1] + k)];
        const std::int64_t line = (p.image * in_[0] + at0) * in_[1] + at1;
        const std::int64_t piece = i * kernel_[1] + k;
        gather_line(run, {(at0 | at1) < 0 ? -1 : line, group, n, piece}, at2, to);
      }
    advance(p, n);
    rows -= n;
    to += n * packed_.inner;
  }
}

// The taps along one line, for neighbours in y. Those that are neighbours in x are one piece. What
// is copied too much is overwritten by the next piece of the row, or lies beyond the last one.
void Int8ConvKernel::gather_line(const Run& run, const Line& l, const std::int32_t* at,
                                 std::uint8_t* to) const {
  // Stores of bytes may be to anything but variables of this function.
  const std::int64_t taps = kernel_[2];
  const std::int64_t depth = conv_.depth;
  const std::int64_t channels = conv_.groups * depth;
  const std::int64_t line_bytes = in_[2] * channels;
  const std::int64_t inner = packed_.inner;
  const std::int64_t begin = l.line * line_bytes + l.group * depth;
  const std::int64_t used = (l.piece + 1) * taps * depth;  // of a row, with this piece
  const std::int64_t all = conv_.images * in_[0] * in_[1] * line_bytes;
  const bool joins = conv_.groups == 1 && l.line >= 0;
  const bool has_room =
      used + int8_vector_bytes <= inner || used < depth * conv_.taps();  // to copy too much
  const std::uint8_t* const x = run.x;
  to += l.piece * taps * depth;
  for (std::int64_t r = 0; r < l.count; ++r, at += taps, to += inner) {
    const bool whole = joins && at[0] >= 0 && at[taps - 1] == at[0] + taps - 1;
    const std::int64_t n = whole ? taps * depth : depth;
    for (std::int64_t j = 0; j * depth < taps * depth; j += whole ? taps : 1) {
      const bool inside = l.line >= 0 && at[j] >= 0;
      const std::int64_t from = begin + at[j] * channels;
      const std::uint8_t* piece = inside ? x + from : run.outside;
      const bool may_read = !inside || from + n + int8_vector_bytes <= all;
      has_room&& may_read ? copy_vectors(to + j * depth, piece, n)
                          : copy_piece(to + j * depth, piece, n);
    }
  }
}

void Int8ConvKernel::multiply_tiles(const Run& run, const Rows& x, std::int64_t rows,
                                    std::int64_t group, std::int64_t position) const {
  constexpr std::int64_t width = std::int64_t{int8_tile_panels} * int8_panel_columns;
  alignas(64) std::int32_t sums[int8_tile_rows * width];
  std::int32_t x_sums[int8_tile_rows] = {};
  const std::int64_t depth = conv_.depth * conv_.taps();
  if (run.has_w_zeros)
    for (std::int64_t r = 0; r < rows; ++r)
      x_sums[r] = x_signed_ ? sum_of_bytes<std::int8_t>(x.x + r * x.stride, depth)
                            : sum_of_bytes<std::uint8_t>(x.x + r * x.stride, depth);
  const auto* columns =
      reinterpret_cast<const std::int8_t*>(run.weights) + group * packed_.group_bytes();
  Int8Block block{.x = x.x,
                  .x_stride = x.stride,
                  .is_signed = x_signed_,
                  .rows = static_cast<int>(rows),
                  .depth = packed_.inner,
                  .sums = sums};
  for (std::int64_t panel = 0; panel < packed_.panels; panel += int8_tile_panels) {
    block.panels =
        static_cast<int>(std::min<std::int64_t>(int8_tile_panels, packed_.panels - panel));
    block.columns = columns + panel * packed_.panel_bytes();
    simd_int8_tiles()->multiply(block);
    const std::int64_t first = panel * int8_panel_columns;
    write(run,
          {sums, width, rows, position, group * conv_.columns + first,
           std::min(width, conv_.columns - first)},
          x_sums);
  }
}

}  // namespace quern
