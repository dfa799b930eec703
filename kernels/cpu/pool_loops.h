// SPDX-License-Identifier: Apache-2.0
// The loops of pool_rows.cpp: maxima and averages in f32, over channels or along planes.
#pragma once

#include <limits>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/pool.h"
#include "graph/ops/windows.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/window.h"
#include "kernels/simd/simd.h"

namespace quern {

// The placement of the input's elements. The output is placed likewise, without holes.
struct PooledImages {
  std::int64_t images = 1;
  std::int64_t groups = 1;  // of channels
  std::int64_t lanes = 1;   // contiguous channels: all, those of a block, or one
  std::int64_t column = 1;  // floats from one element to the next along the last dimension
  std::int64_t image_stride = 0, group_stride = 0;

  bool is_plane() const { return lanes == 1 && column == 1; }
};

// Neighbouring positions along one dimension.
struct PoolSpan {
  std::int64_t begin, end;
  double divisor = 1;  // of the average at each position
};

// A window over at least two dimensions whose elements are in row-major order, `column` floats
// apart.
struct PoolGeometry {
  ResolvedWindow window;
  Shape in, out;
  std::vector<std::vector<PoolSpan>> divisors;  // by dimension, in order

  TapRange taps(std::size_t d, std::int64_t position) const {
    return taps_between(window, d, position, 0, in[d]);
  }
  // The positions with all taps inside.
  PoolSpan interior(std::size_t d) const;
};

// Above this number of contiguous channels, taps are best read as rows.
inline constexpr std::int64_t pool_long_row = 256;

class PoolLoops final : public CpuKernel {
 public:
  PoolLoops(PoolKind kind, const PooledImages& source, const PoolGeometry& g, std::int64_t threads);

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override;

 private:
  enum class Variant : std::uint8_t {
    in_place,       // reads taps in place, those outside left out
    through_line,   // folds rows into a padded line, then its taps
    through_plane,  // the same for small planes as a whole, with padding all around
    by_reduction,   // contiguous taps of a plane, one position at a time
  };

  // Lines of the result that are computed alike: rows of one image, or one row of several groups of
  // channels; for all of their channels or some.
  struct Block {
    const float* x;
    Shape at;  // the position in all dimensions but the last
    float* y;
    std::int64_t lanes;
    std::int64_t lines, line_stride;
    double divisor;
    StopCheck* check;
  };

  bool is_average() const { return kind_ == PoolKind::average; }
  float of_nothing() const { return is_average() ? 0 : -std::numeric_limits<float>::infinity(); }
  // Floats from one line of the result to the next.
  std::int64_t y_line() const { return out_ * source_.lanes; }
  std::int64_t batches() const { return ceil_div(source_.groups, batch_); }
  std::int64_t pieces() const { return ceil_div(source_.lanes, piece_); }
  std::int64_t positions_of_line(std::int64_t lanes) const;
  std::int64_t line_columns(std::int64_t positions) const;
  std::int64_t planes_at_once() const;
  const float* table() const { return table_.empty() ? nullptr : table_.data(); }
  std::int64_t padded_rows() const {
    return (out_rows_ - 1) * outer_.strides[0] + outer_.extent(0);
  }
  bool line_pays() const;
  Variant best_variant() const;
  Variant long_variant() const;
  bool fits_planes() const;
  void tabulate(const std::vector<PoolSpan>& of_rows);
  void cut(const PoolGeometry& g, std::int64_t threads);

  Block block_at(const float* x, float* y, std::int64_t block, StopCheck& check) const;
  void run_block(const Block& b) const;
  void fold(const SimdWindow& w) const {
    is_average() ? simd().sum_windows(w) : simd().max_windows(w);
  }
  void fold_rows(const Block& b, std::int64_t offset, SimdWindow w) const;
  void fold_in_place(const Block& b) const;
  void fold_edge(const Block& b, std::int64_t at, SimdWindow w) const;
  void fold_through_line(const Block& b) const;
  void fold_lines(const Block& b, std::int64_t at, std::int64_t positions) const;
  void fold_columns(const Block& b, std::int64_t at, std::int64_t positions,
                    const float* buffer) const;
  void fold_ways(const float* ways, std::int64_t way_floats, SimdWindow w) const;
  void fold_through_plane(const Block& b) const;
  // Planes whose windows lie inside them.
  struct Planes {
    const float* data;
    std::int64_t width, row, plane;  // floats of a row, to the next row, to the next plane
  };
  void fold_planes(const Planes& x, std::int64_t planes, float* y) const;
  void fold_rows_of_plane(const Planes& x, const float* plane, SimdWindow w) const;
  void fold_taps(const Planes& x, const float* plane, float* y) const;
  struct Folded {
    double sum = 0;
    float most;
  };
  void reduce(const Block& b) const;
  void add_run(const float* x, std::int64_t n, Folded& onto, StopCheck& check) const;

  PoolKind kind_;
  PooledImages source_;
  std::int64_t rows_, taps_;     // of a window, only those inside
  ResolvedWindow outer_, last_;  // along all dimensions but the last, and along that
  Shape outer_in_, deep_out_;    // without the last dimension; without the last two
  std::vector<std::vector<PoolSpan>> deep_divisors_;
  std::vector<PoolSpan> bands_;  // of rows
  std::int64_t out_rows_;        // of the last dimension but one
  std::int64_t in_, out_;        // of the last dimension
  PoolSpan interior_;
  std::vector<PoolSpan> spans_;  // of one divisor
  bool has_edges_;
  Variant variant_;
  std::vector<float> table_;  // through_plane: divisors by element, where they differ
  // Size of a block in lanes and in groups of channels; bands_ gives its rows.
  std::int64_t piece_, batch_;
  bool by_groups_;
  std::int64_t blocks_, grain_;
};

}  // namespace quern
