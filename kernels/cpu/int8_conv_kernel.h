// SPDX-License-Identifier: Apache-2.0
// The kernel of int8_conv.cpp, whose ways to compute sums are in int8_products.cpp and
// int8_depthwise.cpp.
#pragma once

#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/cpu/int8_weights.h"
#include "kernels/simd/simd.h"

namespace quern {

// Shorter shapes get ones in front.
inline constexpr std::size_t int8_spatial_rank = 3;
// Bytes that may be read beyond an operand in scratch.
inline constexpr std::int64_t int8_vector_bytes = 16;

// A small operand: one element, or one per column.
struct Int8Parameter {
  std::size_t input = Int8Operands::none;
  bool is_list = false;
  DType dtype = DType::f32;

  explicit operator bool() const { return input != Int8Operands::none; }
  template <class T>
  T get(const KernelArgs& args, std::int64_t i) const {
    T v;
    std::memcpy(&v, args.inputs[input] + (is_list ? i : 0) * static_cast<std::int64_t>(sizeof v),
                sizeof v);
    return v;
  }
  // 0 if absent.
  std::int32_t zero_point(const KernelArgs& args, std::int64_t i = 0) const {
    if (!*this) return 0;
    return dtype == DType::i8 ? get<std::int8_t>(args, i) : get<std::uint8_t>(args, i);
  }
};

class Int8ConvKernel final : public CpuKernel {
 public:
  Int8ConvKernel(const KernelRequest& r, const Int8Conv& c, Int8Variant variant, FloatRange range,
                 std::shared_ptr<const std::byte> weights);

  std::size_t scratch_bytes() const { return scratch_.size(); }
  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override;

 private:
  using Index = std::array<std::int64_t, int8_spatial_rank>;
  // A position of the output.
  struct Position {
    std::int64_t image;
    Index at;
  };
  // Sums of products for `rows` positions from `position` on and n channels from `channel` on.
  struct Sums {
    std::int32_t* sums;
    std::int64_t stride;
    std::int64_t rows;
    std::int64_t position;
    std::int64_t channel;
    std::int64_t n;
  };
  // Rows of products that lie at one distance from each other.
  struct Rows {
    const std::uint8_t* x;
    std::int64_t stride;
  };
  // Data shared by the tasks of one run.
  struct Run {
    const std::uint8_t* x;
    const std::uint8_t* outside;  // read by taps outside x
    const std::byte* weights;
    std::int32_t* offsets;
    float* multipliers;
    float* f32_biases;
    std::int32_t* w_zeros;
    std::uint8_t x_zero;
    bool has_w_zeros = false;
    QuantizedInt to{};
    std::byte* scratch;
    std::byte* y;
    const Stop* stop = nullptr;
  };

  bool has_tiles() const { return packed_.variant == Int8Variant::tiles; }
  // Products of panels read unsigned bytes, so that signed ones are copied with their signs
  // flipped.
  bool copies_x() const { return x_signed_ && packed_.variant == Int8Variant::products; }
  bool is_depthwise() const { return packed_.variant == Int8Variant::depthwise; }
  // The positions that are computed at one time.
  std::int64_t block_rows() const {
    return has_tiles() ? int8_tile_rows : is_depthwise() ? 1 : int8_rows;
  }
  // At one time, for tiles: 0 if all of them can be read where they lie.
  std::int64_t gathered_rows() const {
    if (is_pointwise_ && positions_ % 16 == 0 && packed_.inner == conv_.depth) return 0;
    return std::min(packed_.gathered_rows(), round_up(positions_, 16));
  }
  // Of those that taps outside x read.
  std::int64_t outside_bytes() const {
    const std::int64_t line = is_depthwise() ? lines_.columns(lines_.piece) * lines_.block : 0;
    return std::max(conv_.groups * conv_.depth, line);
  }
  double estimated_ns() const;
  void plan_taps();
  void plan_scratch(std::int64_t x_elements);
  // Pieces that the kernels cannot read in place are copied.
  bool is_flat() const { return conv_.depth % simd_int8().group != 0; }
  Run prepare(const KernelArgs& args, const Parallel& parallel) const;
  const std::byte* pack_now(const KernelArgs& args, const Parallel& parallel) const;
  void fill_columns(const KernelArgs& args, std::int32_t x_zero, Run& run) const;
  void run_task(const Run& run, std::int64_t task) const;
  void run_products(const Run& run, std::int64_t task, std::int64_t begin, std::int64_t end) const;
  void run_depthwise(const Run& run, std::int64_t task, std::int64_t begin, std::int64_t end) const;
  void weave(const Run& run, const Position& at, std::int64_t n, std::int64_t channel,
             std::uint8_t* to) const;
  std::int64_t line_of(const Position& at, std::int64_t i) const;
  void run_lines(const Run& run, const std::uint8_t* woven, std::int64_t position, std::int64_t n,
                 std::int64_t channel) const;
  void run_tiles(const Run& run, std::int64_t task, std::int64_t begin, std::int64_t end) const;
  void multiply_group(const Run& run, Int8Product product, std::int64_t group,
                      std::int64_t position) const;
  void multiply_tiles(const Run& run, const Rows& rows, std::int64_t count, std::int64_t group,
                      std::int64_t position) const;
  void flatten(Int8Product& product, std::uint8_t* rows, const std::uint8_t** pieces) const;
  bool lies_in_place(std::int64_t position, std::int64_t rows, std::int64_t group) const;
  // The line of x that a line of the window falls on, counted over all images, or -1; for `count`
  // positions; the how manieth of a row it is.
  struct Line {
    std::int64_t line;
    std::int64_t group;
    std::int64_t count;
    std::int64_t piece;
  };
  void gather_line(const Run& run, const Line& l, const std::int32_t* at, std::uint8_t* to) const;
  void gather(const Run& run, Position at, std::int64_t rows, std::int64_t group,
              std::uint8_t* to) const;
  void write(const Run& run, const Sums& s, const std::int32_t* x_sums) const;
  bool is_to_float() const { return x_scale_ && !y_scale_; }

  Position position_of(std::int64_t p) const;
  void advance(Position& p, std::int64_t by = 1) const;
  void collect(const Run& run, Position& p, std::int64_t rows, const std::uint8_t** pieces) const;

  Int8Conv conv_;
  PackedWeights packed_;
  Int8Lines lines_;
  std::shared_ptr<const std::byte> weights_;  // null: packed in every run
  Int8Parameter x_zero_, w_zero_, x_scale_, w_scale_, y_scale_, y_zero_, bias_, f32_bias_;
  DType w_type_;
  FloatRange range_;
  bool x_signed_, y_signed_;
  bool is_pointwise_ = false;
  Index in_{}, out_{}, kernel_{};
  std::array<std::vector<std::int32_t>, int8_spatial_rank> taps_at_;  // [out][kernel]; -1: outside
  std::int64_t positions_, tasks_;
  Parts scratch_;
  std::size_t offsets_at_, multipliers_at_, f32_biases_at_, w_zeros_at_, outside_at_, x_at_,
      weights_at_;
  std::size_t task_at_, task_bytes_, rows_at_;
};

}  // namespace quern
