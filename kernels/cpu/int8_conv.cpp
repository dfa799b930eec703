// SPDX-License-Identifier: Apache-2.0
// Computes sums of x' w', where x' is x as u8 and w' is w as s8 (the other type with its top bit
// flipped and its zero point shifted). The terms of the zero points are subtracted afterwards:
//   sum (x' - a)(w' - b) = sum x' w' - a (sum w' - depth b) - b sum x'
// The sums of w' are packed with the weights; those of x' are needed only if some b is not 0. Taps
// outside x read a row of a: they add nothing.
//
// Exact on every instruction set, so that results do not depend on the machine.
#include "kernels/cpu/int8_conv.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/windows.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/integer_products.h"
#include "kernels/contract/movement.h"
#include "kernels/simd/int8.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

constexpr std::size_t spatial_rank = 3;  // shorter shapes get ones in front
constexpr double ns_per_task = 20e3;
constexpr std::int64_t packed_bytes_per_task = 1 << 15;  // likewise

// Computes the offsets of the parts of a block of memory.
class Parts {
 public:
  std::size_t add(std::int64_t bytes) {
    const std::size_t begin = size_;
    size_ += static_cast<std::size_t>(round_up(bytes, 64));
    return begin;
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

// ---- weights -----------------------------------------------------------------------------------

// The kind of computation: matrix products, or depthwise with one channel per kernel.
enum class Int8Variant : std::uint8_t { products, depthwise };

// The layout of packed weights: the elements, then the i32 sum of every column.
struct PackedWeights {
  PackedWeights(const Int8Conv& c, Int8Variant variant)
      : is_depthwise(variant == Int8Variant::depthwise),
        inner(round_up(c.depth * c.taps(), simd_int8().group)),
        panels(ceil_div(c.columns, int8_panel_columns)) {
    const SimdInt8& s = simd_int8();
    Parts parts;
    parts.add(is_depthwise ? ceil_div(c.groups, s.block) * s.depthwise_bytes(c.taps())
                           : c.groups * group_bytes());
    sums = parts.add(c.channels() * 4);
    bytes = parts.size();
  }
  // The index of a channel's offset and multiplier. They are laid out like a kernel's sums, because
  // whole vectors of them are read.
  std::int64_t parameter_at(const Int8Conv& c, std::int64_t channel) const {
    if (is_depthwise) return channel;
    return channel / c.columns * panels * int8_panel_columns + channel % c.columns;
  }
  std::int64_t parameters(const Int8Conv& c) const {
    return round_up(parameter_at(c, c.channels() - 1) + 1, int8_panel_columns);
  }
  std::int64_t panel_bytes() const { return inner * int8_panel_columns; }
  std::int64_t group_bytes() const { return panels * panel_bytes(); }

  // The position of a channel's tap in a depthwise kernel.
  std::int64_t depthwise_place(const Int8Conv& c, std::int64_t channel, std::int64_t tap) const {
    const SimdInt8& s = simd_int8();
    return channel / s.block * s.depthwise_bytes(c.taps()) +
           s.depthwise_at(c.taps(), tap, channel % s.block);
  }

  bool is_depthwise;
  std::int64_t inner;  // elements of a column, rounded up
  std::int64_t panels;
  std::size_t sums = 0;
  std::size_t bytes = 0;
};

// The byte whose xor turns an element of `type`, i8 or u8, into i8.
std::byte flip_of(DType type) {
  return std::byte{type == DType::i8 ? std::uint8_t{0} : std::uint8_t{0x80}};
}

// Packs into zeroed bytes the panels [begin, end) of products, counted over all groups. A panel
// reads its columns side by side: they are neighbours in a matrix, and lines that stay in the
// first-level cache in the weights of a convolution.
// NOLINTNEXTLINE(readability-function-size): a range of panels with what all of them share
void pack_panels(const Int8Conv& c, const PackedWeights& packed, DType type, const std::byte* w,
                 std::byte* to, std::int64_t begin, std::int64_t end, StopCheck& check) {
  const std::byte flip = flip_of(type);
  const std::int64_t group_size = simd_int8().group;
  const std::int64_t depth = c.taps() * c.depth;
  for (std::int64_t unit = begin; unit < end && !check.is_over(); ++unit) {
    const std::int64_t first = unit % packed.panels * int8_panel_columns;
    const std::int64_t columns = std::min<std::int64_t>(int8_panel_columns, c.columns - first);
    const std::int64_t channel = unit / packed.panels * c.columns + first;
    const std::byte* from = w + channel * c.column_stride;
    std::byte* panel = to + unit * packed.panel_bytes();
    std::array<std::int32_t, int8_panel_columns> sums{};
    for_each_until(depth, columns, check, [&](std::int64_t k) {
      const std::byte* x = from + k % c.depth * c.depth_stride + k / c.depth * c.tap_stride;
      std::byte* y = panel + k / group_size * int8_panel_columns * group_size + k % group_size;
      for (std::int64_t i = 0; i < columns; ++i) {
        const std::byte flipped = x[i * c.column_stride] ^ flip;
        y[i * group_size] = flipped;
        sums[static_cast<std::size_t>(i)] += static_cast<std::int8_t>(flipped);
      }
    });
    std::memcpy(to + packed.sums + channel * 4, sums.data(), static_cast<std::size_t>(columns) * 4);
  }
}

// The same for depthwise kernels.
void pack_depthwise(const Int8Conv& c, const PackedWeights& packed, DType type, const std::byte* w,
                    std::byte* to, StopCheck& check) {
  const std::byte flip = flip_of(type);
  auto* sums = reinterpret_cast<std::int32_t*>(to + packed.sums);
  for (std::int64_t channel = 0; channel < c.channels() && !check.spend(8); ++channel) {
    const std::byte* from = w + channel * c.column_stride;
    std::int32_t sum = 0;
    for_each_until(c.taps(), 8, check, [&](std::int64_t k) {
      const std::byte flipped = from[k * c.tap_stride] ^ flip;
      to[packed.depthwise_place(c, channel, k)] = flipped;
      sum += static_cast<std::int8_t>(flipped);
    });
    sums[channel] = sum;
  }
}

// ---- the kernel --------------------------------------------------------------------------------

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
  Int8ConvKernel(const KernelRequest& r, const Int8Conv& c, Int8Variant variant,
                 std::shared_ptr<const std::byte> weights);

  std::size_t scratch_bytes() const { return scratch_.size(); }
  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override;

 private:
  using Index = std::array<std::int64_t, spatial_rank>;
  // A position of the output.
  struct Position {
    std::int64_t image;
    Index at;
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
    bool has_w_zeros = false;
    QuantizedInt to{};
    std::byte* scratch;
    std::byte* y;
    const Stop* stop = nullptr;
  };

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
  void multiply_group(const Run& run, Int8Product product, std::int64_t group,
                      std::int64_t position) const;
  void flatten(Int8Product& product, std::uint8_t* rows, const std::uint8_t** pieces) const;
  void write(const Run& run, std::int32_t* sums, std::int32_t x_sum, std::int64_t position,
             std::int64_t channel, std::int64_t n) const;
  void requantize(const Run& run, const std::int32_t* sums, std::int64_t at, std::uint8_t* y,
                  std::int64_t n) const;
  bool is_to_float() const { return x_scale_ && !y_scale_; }

  Position position_of(std::int64_t p) const;
  void advance(Position& p) const;
  void collect(const Run& run, Position& p, std::int64_t rows, const std::uint8_t** pieces) const;

  Int8Conv conv_;
  PackedWeights packed_;
  std::shared_ptr<const std::byte> weights_;  // null: packed in every run
  Int8Parameter x_zero_, w_zero_, x_scale_, w_scale_, y_scale_, y_zero_, bias_, f32_bias_;
  DType w_type_;
  bool x_signed_, y_signed_;
  bool is_pointwise_ = false;
  Index in_{}, out_{}, kernel_{};
  std::array<std::vector<std::int32_t>, spatial_rank> taps_at_;  // [out][kernel]; -1: outside
  std::int64_t positions_, tasks_;
  Parts scratch_;
  std::size_t offsets_at_, multipliers_at_, f32_biases_at_, w_zeros_at_, outside_at_, x_at_,
      weights_at_;
  std::size_t task_at_, task_bytes_, rows_at_;
};

Int8Parameter parameter(const KernelRequest& r, std::size_t i) {
  if (!r.has(i)) return {};
  return {i, r.shape(i).elements() != 1, r.dtype(i)};
}

Int8ConvKernel::Int8ConvKernel(const KernelRequest& r, const Int8Conv& c, Int8Variant variant,
                               std::shared_ptr<const std::byte> weights)
    : conv_(c),
      packed_(c, variant),
      weights_(std::move(weights)),
      x_zero_(parameter(r, c.operands.x_zero)),
      w_zero_(parameter(r, c.operands.w_zero)),
      x_scale_(parameter(r, c.operands.x_scale)),
      w_scale_(parameter(r, c.operands.w_scale)),
      y_scale_(parameter(r, c.operands.y_scale)),
      y_zero_(parameter(r, c.operands.y_zero)),
      bias_(parameter(r, c.operands.bias)),
      f32_bias_(parameter(r, c.operands.f32_bias)),
      w_type_(r.dtype(c.operands.w)),
      x_signed_(r.dtype(c.operands.x) == DType::i8),
      y_signed_(r.outputs[0].dtype == DType::i8),
      positions_(c.images * c.out.elements()) {
  plan_taps();
  tasks_ = static_cast<std::int64_t>(
      std::clamp(estimated_ns() / cut_work(ns_per_task), 1.0, double(r.target.team.threads)));
  plan_scratch(r.shape(c.operands.x).elements());
}

// Of one thread, measured with AVX-512 VNNI on layers of 8 to 512 channels: what a position takes
// by itself, to write a result, and to multiply, in registers or channel by channel.
double Int8ConvKernel::estimated_ns() const {
  const auto channels = static_cast<double>(conv_.channels());
  const double multiplications = channels * static_cast<double>(conv_.depth * conv_.taps());
  const double by_position =
      10 + 0.1 * channels + multiplications * (packed_.is_depthwise ? 0.04 : 0.004);
  return static_cast<double>(positions_) * by_position;
}

void Int8ConvKernel::plan_taps() {
  const ResolvedWindow& window = conv_.window;
  in_.fill(1), out_.fill(1), kernel_.fill(1);
  taps_at_.fill({0});
  is_pointwise_ = conv_.taps() == 1 && conv_.in == conv_.out;
  for (std::size_t d = 0; d < window.rank(); ++d) {
    const std::size_t to = spatial_rank - window.rank() + d;
    in_[to] = conv_.in[d];
    out_[to] = conv_.out[d];
    kernel_[to] = window.kernel[d];
    taps_at_[to].clear();
    for (std::int64_t o = 0; o < conv_.out[d]; ++o)
      for (std::int64_t k = 0; k < window.kernel[d]; ++k) {
        const std::int64_t at =
            o * window.strides[d] - window.pads_begin[d] + k * window.dilations[d];
        const bool inside = at >= 0 && at < conv_.in[d];
        taps_at_[to].push_back(inside ? static_cast<std::int32_t>(at) : -1);
        is_pointwise_ &= at == o;
      }
  }
}

void Int8ConvKernel::plan_scratch(std::int64_t x_elements) {
  const std::int64_t column_bytes = packed_.parameters(conv_) * 4;
  offsets_at_ = scratch_.add(column_bytes);
  multipliers_at_ = scratch_.add(x_scale_ ? column_bytes : 0);
  f32_biases_at_ = scratch_.add(is_to_float() ? column_bytes : 0);
  w_zeros_at_ = scratch_.add(w_zero_ ? column_bytes : 0);
  outside_at_ = scratch_.add(conv_.groups * conv_.depth);
  x_at_ = scratch_.add(x_signed_ ? x_elements : 0);
  weights_at_ = scratch_.add(weights_ ? 0 : static_cast<std::int64_t>(packed_.bytes));
  task_at_ = scratch_.size();
  scratch_.add(conv_.taps() * int8_rows * static_cast<std::int64_t>(sizeof(void*)));
  rows_at_ = scratch_.size() - task_at_;
  scratch_.add(is_flat() && !packed_.is_depthwise ? int8_rows * packed_.inner : 0);
  task_bytes_ = scratch_.size() - task_at_;
  scratch_.add((tasks_ - 1) * static_cast<std::int64_t>(task_bytes_));
}

Status Int8ConvKernel::run(const KernelArgs& args, KernelState*, const Parallel& parallel) const {
  const Run run = prepare(args, parallel);
  if (args.is_over()) return {};
  parallel(tasks_, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) run_task(run, t);
  });
  return {};
}

// Weights that are no constants.
const std::byte* Int8ConvKernel::pack_now(const KernelArgs& args, const Parallel& parallel) const {
  std::byte* to = args.scratch + weights_at_;
  const std::byte* w = args.inputs[conv_.operands.w];
  StopCheck check(args.stop);
  zero_bytes(packed_.bytes, to, check);
  if (packed_.is_depthwise) {
    pack_depthwise(conv_, packed_, w_type_, w, to, check);
    return to;
  }
  const std::int64_t grain = 1 + cut_size(packed_bytes_per_task) / packed_.panel_bytes();
  parallel(conv_.groups * packed_.panels, grain, [&](std::int64_t begin, std::int64_t end) {
    StopCheck own(args.stop);
    pack_panels(conv_, packed_, w_type_, w, to, begin, end, own);
  });
  return to;
}

Int8ConvKernel::Run Int8ConvKernel::prepare(const KernelArgs& args,
                                            const Parallel& parallel) const {
  Run run{};
  run.scratch = args.scratch;
  run.y = args.outputs[0];
  run.stop = args.stop;
  run.x = reinterpret_cast<const std::uint8_t*>(args.inputs[conv_.operands.x]);
  std::int32_t x_zero = x_zero_.zero_point(args);
  StopCheck check(args.stop);
  if (x_signed_) {
    auto* flipped = reinterpret_cast<std::uint8_t*>(args.scratch + x_at_);
    const std::int64_t n = conv_.images * conv_.in.elements() * conv_.groups * conv_.depth;
    for_each_until(n, 1, check, [&](std::int64_t i) { flipped[i] = run.x[i] ^ 0x80; });
    run.x = flipped;
    x_zero += 128;
  }
  auto* outside = reinterpret_cast<std::uint8_t*>(args.scratch + outside_at_);
  std::memset(outside, x_zero, static_cast<std::size_t>(conv_.groups * conv_.depth));
  run.outside = outside;
  run.weights = weights_ ? weights_.get() : pack_now(args, parallel);
  fill_columns(args, x_zero, run);
  return run;
}

// Computes the offsets that are added to the sums of each column, and their multipliers.
void Int8ConvKernel::fill_columns(const KernelArgs& args, std::int32_t x_zero, Run& run) const {
  run.offsets = reinterpret_cast<std::int32_t*>(args.scratch + offsets_at_);
  run.multipliers = reinterpret_cast<float*>(args.scratch + multipliers_at_);
  run.f32_biases = reinterpret_cast<float*>(args.scratch + f32_biases_at_);
  run.w_zeros = reinterpret_cast<std::int32_t*>(args.scratch + w_zeros_at_);
  const auto* sums = reinterpret_cast<const std::int32_t*>(run.weights + packed_.sums);
  const auto depth = static_cast<std::uint32_t>(conv_.depth * conv_.taps());
  std::memset(run.offsets, 0, static_cast<std::size_t>(packed_.parameters(conv_)) * 4);
  for (std::int64_t m = 0; m < conv_.channels(); ++m) {
    const std::int64_t at = packed_.parameter_at(conv_, m);
    const std::int32_t w_zero = w_zero_.zero_point(args, m) - (w_type_ == DType::i8 ? 0 : 128);
    const std::uint32_t sum =
        static_cast<std::uint32_t>(sums[m]) - depth * static_cast<std::uint32_t>(w_zero);
    const std::uint32_t bias = bias_ ? bias_.get<std::uint32_t>(args, m) : 0;
    run.offsets[at] = static_cast<std::int32_t>(bias - static_cast<std::uint32_t>(x_zero) * sum);
    if (w_zero_) run.w_zeros[at] = w_zero;
    run.has_w_zeros |= w_zero != 0;
  }
  if (!x_scale_) return;
  const float x_scale = x_scale_.get<float>(args, 0);
  const float y_scale = y_scale_ ? y_scale_.get<float>(args, 0) : 1;
  std::memset(run.multipliers, 0, static_cast<std::size_t>(packed_.parameters(conv_)) * 4);
  for (std::int64_t m = 0; m < conv_.channels(); ++m) {
    const std::int64_t at = packed_.parameter_at(conv_, m);
    run.multipliers[at] = x_scale * w_scale_.get<float>(args, m) / y_scale;
    if (is_to_float()) run.f32_biases[at] = f32_bias_ ? f32_bias_.get<float>(args, m) : 0;
  }
  if (y_scale_) run.to = {y_zero_.zero_point(args), y_signed_};
}

void Int8ConvKernel::run_task(const Run& run, std::int64_t task) const {
  const std::int64_t begin = positions_ * task / tasks_;
  const std::int64_t end = positions_ * (task + 1) / tasks_;
  packed_.is_depthwise ? run_depthwise(run, task, begin, end) : run_products(run, task, begin, end);
}

Int8ConvKernel::Position Int8ConvKernel::position_of(std::int64_t p) const {
  Position position{};
  for (std::size_t d = spatial_rank; d-- > 0;) {
    position.at[d] = p % out_[d];
    p /= out_[d];
  }
  position.image = p;
  return position;
}

void Int8ConvKernel::advance(Position& p) const {
  for (std::size_t d = spatial_rank; d-- > 0;) {
    if (++p.at[d] < out_[d]) return;
    p.at[d] = 0;
  }
  ++p.image;
}

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

// Pieces of a few channels are too short for a call each.
inline void copy_piece(std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
  switch (n) {
    case 1: to[0] = from[0]; return;
    case 2: std::memcpy(to, from, 2); return;
    case 3: std::memcpy(to, from, 2), to[2] = from[2]; return;
    default: std::memcpy(to, from, static_cast<std::size_t>(n));
  }
}

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

std::int32_t sum_of_row(const Int8Product& p, int row) {
  std::uint32_t sum = 0;
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const std::uint8_t* piece = p.pieces[t * p.rows + row] + p.offset;
    for (std::int64_t k = 0; k < p.depth; ++k) sum += piece[k];
  }
  return static_cast<std::int32_t>(sum);
}

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
    for (int r = 0; r < product.rows; ++r)
      write(run, sums + r * width, x_sums[r], position + r, group * conv_.columns + first,
            std::min(width, conv_.columns - first));
  }
}

void Int8ConvKernel::run_depthwise(const Run& run, std::int64_t task, std::int64_t begin,
                                   std::int64_t end) const {
  constexpr std::int64_t max_block = 64;
  alignas(64) std::int32_t sums[max_block] = {};
  const SimdInt8& s = simd_int8();
  std::byte* scratch = run.scratch + task_at_ + static_cast<std::size_t>(task) * task_bytes_;
  auto** pieces = reinterpret_cast<const std::uint8_t**>(scratch);
  const auto* weights = reinterpret_cast<const std::int8_t*>(run.weights);
  Position at = position_of(begin);
  StopCheck check(run.stop);
  const std::int64_t cost = conv_.groups * conv_.taps() / 16 + 16;
  for (std::int64_t p = begin; p < end && !check.spend(cost); ++p) {
    collect(run, at, 1, pieces);
    const std::int8_t* w = weights;
    for (std::int64_t c = 0; c < conv_.groups; c += s.block, w += s.depthwise_bytes(conv_.taps())) {
      const std::int64_t n = std::min(s.block, conv_.groups - c);
      s.depthwise({pieces, c, conv_.taps(), n, w, sums});
      write(run, sums, 0, p, c, n);
    }
  }
}

void Int8ConvKernel::write(const Run& run, std::int32_t* sums, std::int32_t x_sum,
                           std::int64_t position, std::int64_t channel, std::int64_t n) const {
  const std::int64_t at = packed_.parameter_at(conv_, channel);
  if (run.has_w_zeros)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int32_t zero = w_zero_ ? run.w_zeros[at + i] : -128;
      sums[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) -
                                          static_cast<std::uint32_t>(zero) *
                                              static_cast<std::uint32_t>(x_sum));
    }
  const std::int64_t to = position * conv_.channels() + channel;
  const std::int32_t* offsets = run.offsets + at;
  if (y_scale_) return requantize(run, sums, at, reinterpret_cast<std::uint8_t*>(run.y) + to, n);
  if (is_to_float()) {
    auto* y = reinterpret_cast<float*>(run.y) + to;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) +
                                                 static_cast<std::uint32_t>(offsets[i]));
      y[i] = static_cast<float>(sum) * run.multipliers[at + i] + run.f32_biases[at + i];
    }
    return;
  }
  auto* y = reinterpret_cast<std::int32_t*>(run.y) + to;
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) +
                                     static_cast<std::uint32_t>(offsets[i]));
}

// Processes whole vectors, via a buffer if that would write too much.
void Int8ConvKernel::requantize(const Run& run, const std::int32_t* sums, std::int64_t at,
                                std::uint8_t* y, std::int64_t n) const {
  constexpr std::int64_t most = std::int64_t{int8_panels} * int8_panel_columns;
  std::uint8_t whole[most];
  const std::int64_t padded = round_up(n, int8_panel_columns);
  simd().requantize(sums, run.offsets + at, run.multipliers + at, run.to, padded == n ? y : whole,
                    padded);
  if (padded != n) std::memcpy(y, whole, static_cast<std::size_t>(n));
}

// ---- choosing ----------------------------------------------------------------------------------

// True if the zero point of the weights as s8 is known to be 0.
bool has_no_w_zero(const KernelRequest& r, const Int8Operands& o) {
  const std::byte none{r.dtype(o.w) == DType::i8 ? std::uint8_t{0} : std::uint8_t{128}};
  if (!r.has(o.w_zero)) return none == std::byte{0};
  if (!r.inputs[o.w_zero].constant) return false;
  const auto zeros = r.inputs[o.w_zero].constant->get();
  return zeros && std::all_of(zeros->data(), zeros->data() + zeros->bytes(),
                              [&](std::byte z) { return z == none; });
}

}  // namespace

bool faster_in_int8(const Shape& weights, std::int64_t groups) {
  constexpr std::int64_t shortest = 32;     // sums: shorter ones are taken piece by piece
  constexpr std::int64_t longest = 65'536;  // beyond, sums of products of bytes may overflow
  if (groups != 1 || &simd_int8() != int8_avx512_vnni()) return false;
  const std::int64_t terms = weights.elements(1);
  return terms >= shortest && terms < longest;
}

Result<KernelChoice> make_int8_conv(const KernelRequest& r, const Int8Conv& c) {
  const std::size_t w = c.operands.w;
  const bool depthwise =
      c.depth == 1 && c.columns == 1 && c.taps() > 1 && has_no_w_zero(r, c.operands);
  const Int8Variant variant = depthwise ? Int8Variant::depthwise : Int8Variant::products;
  KernelChoice choice;
  choice.input_layouts.resize(r.inputs.size());
  choice.output_layouts.resize(1);
  std::shared_ptr<const std::byte> weights;
  if (const ConstantSource* source = r.inputs[w].constant) {
    const PackedWeights packed(c, variant);
    const auto fill = [&](std::byte* to) -> Status {
      QUERN_ASSIGN(const Tensor t, source->get());
      StopCheck no_limit(nullptr);
      if (packed.is_depthwise)
        pack_depthwise(c, packed, t.dtype(), t.data(), to, no_limit);
      else
        pack_panels(c, packed, t.dtype(), t.data(), to, 0, c.groups * packed.panels, no_limit);
      return {};
    };
    const std::string key = cat("int8|", simd_int8().name, "|", depthwise, "|", c.groups, "|",
                                c.columns, "|", c.depth, "|", c.taps(), "|", c.column_stride, "|",
                                c.depth_stride, "|", c.tap_stride, "|", source->key());
    QUERN_ASSIGN(weights, r.target.weights->find_or_make(key, packed.bytes, fill));
    choice.packed_inputs.resize(r.inputs.size());
    choice.packed_inputs[w] = true;
  }
  auto kernel = std::make_unique<Int8ConvKernel>(r, c, variant, std::move(weights));
  choice.implementation = cat("int8 ", depthwise ? "depthwise " : "", simd_int8().name);
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.work = std::move(kernel);
  return choice;
}

}  // namespace quern
