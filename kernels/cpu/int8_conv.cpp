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
#include <limits>
#include <optional>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/windows.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/integer_products.h"
#include "kernels/contract/movement.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/int8_conv_kernel.h"
#include "kernels/cpu/int8_weights.h"
#include "kernels/simd/int8.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

constexpr std::size_t spatial_rank = int8_spatial_rank;
constexpr double ns_per_task = 20e3;
constexpr std::int64_t packed_bytes_per_task = 1 << 15;  // likewise

// ---- the kernel --------------------------------------------------------------------------------

Int8Parameter parameter(const KernelRequest& r, std::size_t i) {
  if (!r.has(i)) return {};
  return {i, r.shape(i).elements() != 1, r.dtype(i)};
}

}  // namespace

Int8ConvKernel::Int8ConvKernel(const KernelRequest& r, const Int8Conv& c, Int8Variant variant,
                               FloatRange range, std::shared_ptr<const std::byte> weights)
    : conv_(c),
      packed_(c, variant),
      lines_(c),
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
      range_(range),
      x_signed_(r.dtype(c.operands.x) == DType::i8),
      y_signed_(r.outputs[0].dtype == DType::i8),
      positions_(c.images * c.out.elements()) {
  plan_taps();
  tasks_ = static_cast<std::int64_t>(
      std::clamp(estimated_ns() / cut_work(ns_per_task), 1.0, double(r.target.team.threads)));
  plan_scratch(r.shape(c.operands.x).elements());
}

// Of one thread, measured with AVX-512 VNNI and AMX on layers of 8 to 512 channels: what a position
// takes by itself, to write a result, and to multiply: in registers, in tiles, or along lines.
double Int8ConvKernel::estimated_ns() const {
  const auto channels = static_cast<double>(conv_.channels());
  const double depth = static_cast<double>(conv_.depth * conv_.taps());
  const auto lines = static_cast<double>(lines_.groups());
  double by_position = 0;
  switch (packed_.variant) {
    case Int8Variant::products: by_position = 10 + channels * (0.1 + 0.004 * depth); break;
    case Int8Variant::tiles: by_position = 3 + channels * (0.1 + 0.0006 * depth); break;
    case Int8Variant::depthwise:
      by_position = 3 + channels * (0.15 + lines * (0.1 + 0.02 * static_cast<double>(lines_.taps)));
  }
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
  const std::int64_t outside = outside_bytes();
  offsets_at_ = scratch_.add(column_bytes);
  multipliers_at_ = scratch_.add(x_scale_ ? column_bytes : 0);
  f32_biases_at_ = scratch_.add(is_to_float() ? column_bytes : 0);
  w_zeros_at_ = scratch_.add(w_zero_ ? column_bytes : 0);
  outside_at_ = scratch_.add(outside + int8_vector_bytes);
  x_at_ = scratch_.add(copies_x() ? x_elements : 0);
  weights_at_ = scratch_.add(weights_ ? 0 : static_cast<std::int64_t>(packed_.bytes));
  task_at_ = scratch_.size();
  if (packed_.variant == Int8Variant::products)
    scratch_.add(conv_.taps() * block_rows() * static_cast<std::int64_t>(sizeof(void*)));
  rows_at_ = scratch_.size() - task_at_;
  if (is_depthwise()) scratch_.add(lines_.woven_bytes());
  std::int64_t rows = has_tiles() ? gathered_rows() : block_rows();
  if (is_depthwise() || (!has_tiles() && !is_flat())) rows = 0;
  if (rows > 0) scratch_.add(rows * packed_.inner + int8_vector_bytes);
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
  if (is_depthwise()) {
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
  if (copies_x()) {
    auto* flipped = reinterpret_cast<std::uint8_t*>(args.scratch + x_at_);
    const std::int64_t n = conv_.images * conv_.in.elements() * conv_.groups * conv_.depth;
    for_each_until(n, 1, check, [&](std::int64_t i) { flipped[i] = run.x[i] ^ 0x80; });
    run.x = flipped;
  }
  auto* outside = reinterpret_cast<std::uint8_t*>(args.scratch + outside_at_);
  // As the bytes that stand in its place: lines of a depthwise convolution are flipped when woven.
  const std::int32_t as_read = copies_x() ? x_zero + 128 : x_zero;
  std::memset(outside, as_read, static_cast<std::size_t>(outside_bytes()));
  if (x_signed_ && !has_tiles()) x_zero += 128;
  run.x_zero = static_cast<std::uint8_t>(x_zero);
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
  const auto repeat = [&](auto* list) {
    if (!is_depthwise()) return;
    for (std::int64_t i = conv_.channels(); i < packed_.parameters(conv_); ++i)
      list[i] = list[i - conv_.channels()];
  };
  repeat(run.offsets);
  if (!x_scale_) return;
  const float x_scale = x_scale_.get<float>(args, 0);
  const float y_scale = y_scale_ ? y_scale_.get<float>(args, 0) : 1;
  std::memset(run.multipliers, 0, static_cast<std::size_t>(packed_.parameters(conv_)) * 4);
  for (std::int64_t m = 0; m < conv_.channels(); ++m) {
    const std::int64_t at = packed_.parameter_at(conv_, m);
    run.multipliers[at] = x_scale * w_scale_.get<float>(args, m) / y_scale;
    if (is_to_float()) run.f32_biases[at] = f32_bias_ ? f32_bias_.get<float>(args, m) : 0;
  }
  repeat(run.multipliers);
  if (is_to_float()) repeat(run.f32_biases);
  if (y_scale_) run.to = {y_zero_.zero_point(args), y_signed_};
}

void Int8ConvKernel::run_task(const Run& run, std::int64_t task) const {
  const std::int64_t blocks = ceil_div(positions_, block_rows());
  const std::int64_t begin = blocks * task / tasks_ * block_rows();
  const std::int64_t end = std::min(positions_, blocks * (task + 1) / tasks_ * block_rows());
  switch (packed_.variant) {
    case Int8Variant::products: return run_products(run, task, begin, end);
    case Int8Variant::tiles: return run_tiles(run, task, begin, end);
    case Int8Variant::depthwise: return run_depthwise(run, task, begin, end);
  }
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

void Int8ConvKernel::advance(Position& p, std::int64_t by) const {
  for (std::size_t d = spatial_rank; d-- > 0;) {
    p.at[d] += by;
    if (p.at[d] < out_[d]) return;
    by = p.at[d] / out_[d];
    p.at[d] %= out_[d];
  }
  p.image += by;
}

void Int8ConvKernel::write(const Run& run, const Sums& s, const std::int32_t* x_sums) const {
  const std::int64_t at = packed_.parameter_at(conv_, s.channel);
  if (run.has_w_zeros)
    for (std::int64_t r = 0; r < s.rows; ++r)
      for (std::int64_t i = 0; i < s.n; ++i) {
        const std::int32_t zero = w_zero_ ? run.w_zeros[at + i] : -128;
        std::int32_t& sum = s.sums[r * s.stride + i];
        sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) -
                                        static_cast<std::uint32_t>(zero) *
                                            static_cast<std::uint32_t>(x_sums[r]));
      }
  const std::int64_t channels = conv_.channels();
  const std::int64_t to = s.position * channels + s.channel;
  const SimdSums scaled{s.sums, s.stride, s.rows, s.n, run.offsets + at, run.multipliers + at};
  if (y_scale_)
    return simd().requantize(scaled, run.to, reinterpret_cast<std::uint8_t*>(run.y) + to, channels);
  if (is_to_float())
    return simd().scale_sums(scaled, run.f32_biases + at, range_.low, range_.high,
                             reinterpret_cast<float*>(run.y) + to, channels);
  auto* y = reinterpret_cast<std::int32_t*>(run.y) + to;
  for (std::int64_t r = 0; r < s.rows; ++r)
    for (std::int64_t i = 0; i < s.n; ++i)
      y[r * channels + i] =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(s.sums[r * s.stride + i]) +
                                    static_cast<std::uint32_t>(run.offsets[at + i]));
}

// ---- choosing ----------------------------------------------------------------------------------

namespace {

// True if the zero point of the weights as s8 is known to be 0.
bool has_no_w_zero(const KernelRequest& r, const Int8Operands& o) {
  const std::byte none{r.dtype(o.w) == DType::i8 ? std::uint8_t{0} : std::uint8_t{128}};
  if (!r.has(o.w_zero)) return none == std::byte{0};
  if (!r.inputs[o.w_zero].constant) return false;
  const auto zeros = r.inputs[o.w_zero].constant->get();
  return zeros && std::all_of(zeros->data(), zeros->data() + zeros->bytes(),
                              [&](std::byte z) { return z == none; });
}

// To take the units costs a third of a microsecond, and to gather rows as much again: measured over
// 270 shapes of products (bench/results/2026-11-28-int8-amx.md).
bool suits_tiles(const Int8Conv& c) {
  constexpr std::int64_t worth_gathering = 400'000;  // multiplications
  constexpr std::int64_t least_rows = 8;
  const std::int64_t rows = c.images * c.out.elements();
  const std::int64_t depth = c.depth * c.taps();
  if (c.taps() == 1 && rows % 16 == 0 && depth % int8_tile_depth == 0) return true;
  return rows >= least_rows &&
         static_cast<double>(rows) * static_cast<double>(depth) * static_cast<double>(c.columns) >=
             cut_work(worth_gathering);
}

Int8Variant variant_for(const KernelRequest& r, const Int8Conv& c) {
  if (c.depth == 1 && c.columns == 1 && c.taps() > 1 && has_no_w_zero(r, c.operands) &&
      Int8Lines(c).is_sensible())
    return Int8Variant::depthwise;
  return c.scratch && suits_tiles(c) && simd_int8_tiles() ? Int8Variant::tiles
                                                          : Int8Variant::products;
}

// The limits that the first post-op sets to a result in f32, if that is what it does.
std::optional<FloatRange> range_of_post_op(const KernelRequest& r, const Int8Operands& o) {
  if (o.y_scale != Int8Operands::none || o.x_scale == Int8Operands::none) return std::nullopt;
  return leading_range(r.post_ops);
}

}  // namespace

bool faster_in_int8(const Shape& weights, std::int64_t groups) {
  constexpr std::int64_t shortest = 32;     // sums: shorter ones are taken piece by piece
  constexpr std::int64_t longest = 65'536;  // beyond, sums of products of bytes may overflow
  if (groups != 1 || !simd_int8().outruns_floats) return false;
  const std::int64_t terms = weights.elements(1);
  return terms >= shortest && terms < longest;
}

Result<KernelChoice> make_int8_conv(const KernelRequest& r, const Int8Conv& conv) {
  Int8Conv c = conv;
  c.scratch = r.target.scratch;
  const std::size_t w = c.operands.w;
  const Int8Variant variant = variant_for(r, c);
  const std::optional<FloatRange> range = range_of_post_op(r, c.operands);
  KernelChoice choice;
  choice.input_layouts.resize(r.inputs.size());
  choice.output_layouts.resize(1);
  std::shared_ptr<const std::byte> weights;
  if (const ConstantSource* source = r.inputs[w].constant) {
    const PackedWeights packed(c, variant);
    const auto fill = [&](std::byte* to) -> Status {
      QUERN_ASSIGN(const Tensor t, source->get());
      StopCheck check(r.target.stop);
      if (variant == Int8Variant::depthwise)
        pack_depthwise(c, packed, t.dtype(), t.data(), to, check);
      else
        pack_panels(c, packed, t.dtype(), t.data(), to, 0, c.groups * packed.panels, check);
      return r.target.packed();
    };
    const Int8Lines lines(c);
    const std::string key =
        cat("int8|", simd_int8().name, "|", int(variant), "|", c.groups, "|", c.columns, "|",
            c.depth, "|", c.taps(), "|", c.column_stride, "|", c.depth_stride, "|", c.tap_stride,
            "|", lines.taps, "|", lines.is_flat, "|", source->key());
    QUERN_ASSIGN(weights, r.target.weights->find_or_make(key, packed.bytes, fill));
    choice.packed_inputs.resize(r.inputs.size());
    choice.packed_inputs[w] = true;
  }
  auto kernel = std::make_unique<Int8ConvKernel>(r, c, variant, range.value_or(FloatRange{}),
                                                 std::move(weights));
  choice.implementation = cat("int8 ", variant == Int8Variant::depthwise ? "depthwise " : "",
                              variant == Int8Variant::tiles ? "amx" : simd_int8().name);
  choice.post_ops_taken = range ? 1 : 0;
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.work = std::move(kernel);
  return choice;
}

}  // namespace quern
