// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/resize_axes.h"

#include <algorithm>
#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/operands.h"
#include "graph/ops/infer.h"
#include "graph/ops/resampling.h"

namespace quern {
namespace {

std::int64_t count_of(const TensorView& v) {
  return v.present() ? v.type.shape.elements() : 0;
}

Status invalid(std::string message) {
  return {Code::invalid_model, std::move(message)};
}

// The product in float, as ONNX's own shape inference has it: a scale such as 0.7 is itself a
// rounded float, and 0.7 * 10 is meant to be 7.
Status apply_scale(const TensorView& scales, std::int64_t i, ResizeAxis& axis) {
  const auto scale = static_cast<float>(float_element(scales, i));
  if (!(scale > 0) || std::isinf(scale))
    return invalid(cat("scale ", scale, " is not a positive number"));
  const float out = std::floor(static_cast<float>(axis.in) * scale);
  if (out > static_cast<float>(std::int64_t{1} << 48))
    return invalid(cat("scale ", scale, " makes too much of ", axis.in, " elements"));
  axis.scale = static_cast<double>(scale);
  axis.out = static_cast<std::int64_t>(out);
  return {};
}

Status apply_size(const TensorView& sizes, std::int64_t i, ResizeAxis& axis) {
  axis.out = int_element(sizes, i);
  if (axis.out < 0) return invalid(cat("size ", axis.out, " is negative"));
  if (axis.in == 0 && axis.out > 0)
    return invalid(cat("there is nothing to make ", axis.out, " elements of"));
  if (axis.in > 0) axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
  return {};
}

// One scale for all resized axes: the smallest (not_larger) or the largest of theirs.
void keep_aspect(AspectPolicy policy, std::span<ResizeAxis* const> resized) {
  if (resized.empty() || policy == AspectPolicy::stretch) return;
  double scale = resized.front()->scale;
  for (const ResizeAxis* a : resized)
    scale =
        policy == AspectPolicy::not_larger ? std::min(scale, a->scale) : std::max(scale, a->scale);
  for (ResizeAxis* a : resized) {
    a->scale = scale;
    a->out = static_cast<std::int64_t>(std::min(std::floor(a->unrounded() + 0.5), 0x1p48));
  }
}

bool has_part(const Resize& op, const Shape& in) {
  return !op.part.empty() && op.part[0] >= 0 && op.part[0] < static_cast<std::int64_t>(in.rank());
}

// The axis was resolved for the whole; `in` is the size of the part.
Status take_part(const Resize& op, std::int64_t in, ResizeAxis& axis) {
  const auto is_inside = [](std::int64_t first, std::int64_t size, std::int64_t whole) {
    return first >= 0 && size >= 0 && first <= whole && size <= whole - first;
  };
  const std::int64_t out = op.part[4];
  if (!is_inside(op.part[2], in, axis.in) || !is_inside(op.part[3], out, axis.out) ||
      (in == 0 && out > 0))
    return invalid(cat("part ", list_text(op.part), " lies outside of what it is a part of"));
  axis.before_in = op.part[2];
  axis.behind_in = axis.in - in - axis.before_in;
  axis.before_out = op.part[3];
  axis.behind_out = axis.out - out - axis.before_out;
  axis.in = in;
  axis.out = out;
  return {};
}

}  // namespace

Status resolve_resize(const Resize& op, const Shape& in, const ResizeOperands& operands,
                      ResizeAxes& axes) {
  const std::size_t n = op.axes.empty() ? in.rank() : op.axes.size();
  const auto wanted = static_cast<std::int64_t>(n);
  const bool by_scales = count_of(operands.scales) > 0;
  if (by_scales == (count_of(operands.sizes) > 0)) return invalid("wants either scales or sizes");
  if (count_of(by_scales ? operands.scales : operands.sizes) != wanted)
    return invalid(cat(by_scales ? "scales" : "sizes", " must have ", n, " elements"));
  const bool has_region = op.coordinates == CoordinateMode::tf_crop_and_resize;
  if (has_region && count_of(operands.roi) != 2 * wanted)
    return invalid(cat("roi must have ", 2 * n, " elements"));
  if (!op.part.empty() && (op.part.size() != 5 || !has_part(op, in) || op.part[1] < 0))
    return invalid(cat("part ", list_text(op.part), " is none of a tensor of rank ", in.rank()));
  for (std::size_t d = 0; d < in.rank(); ++d) axes[d] = {.in = in[d], .out = in[d]};
  if (has_part(op, in)) {
    ResizeAxis& axis = axes[static_cast<std::size_t>(op.part[0])];
    axis.in = axis.out = op.part[1];
  }
  std::array<ResizeAxis*, Shape::max_rank> resized{};
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    ResizeAxis& axis = axes[op.axes.empty() ? i : positive_axis(op.axes[i], in.rank())];
    QUERN_TRY(by_scales ? apply_scale(operands.scales, at, axis)
                        : apply_size(operands.sizes, at, axis));
    resized[i] = &axis;
    if (!has_region) continue;
    axis.roi_begin = float_element(operands.roi, at);
    axis.roi_end = float_element(operands.roi, at + wanted);
  }
  if (!by_scales) keep_aspect(op.aspect, std::span(resized).first(n));
  if (!has_part(op, in)) return {};
  const auto d = static_cast<std::size_t>(op.part[0]);
  return take_part(op, in[d], axes[d]);
}

double resize_coordinate(CoordinateMode mode, const ResizeAxis& a, std::int64_t index) {
  const auto x = static_cast<double>(index);
  if (a.keeps_elements()) return x;
  const auto in = static_cast<double>(a.whole_in());
  const double half_pixel = (x + 0.5) / a.scale - 0.5;
  switch (mode) {
    case CoordinateMode::half_pixel: return half_pixel;
    case CoordinateMode::half_pixel_symmetric:
      return in / 2 * (1 - static_cast<double>(a.whole_out()) / a.unrounded()) + half_pixel;
    case CoordinateMode::pytorch_half_pixel: return a.whole_out() > 1 ? half_pixel : 0;
    case CoordinateMode::align_corners: return index == 0 ? 0 : x * (in - 1) / (a.unrounded() - 1);
    case CoordinateMode::asymmetric: return x / a.scale;
    case CoordinateMode::tf_crop_and_resize:
      if (a.whole_out() <= 1) return (a.roi_begin + a.roi_end) / 2 * (in - 1);
      return (in - 1) * (a.roi_begin + x * (a.roi_end - a.roi_begin) / (a.unrounded() - 1));
    case CoordinateMode::tf_half_pixel_for_nn: return (x + 0.5) / a.scale;
  }
  return 0;
}

namespace {

double round_to_nearest(NearestMode mode, double x) {
  switch (mode) {
    case NearestMode::round_prefer_floor: return std::ceil(x - 0.5);
    case NearestMode::round_prefer_ceil: return std::floor(x + 0.5);
    case NearestMode::floor: return std::floor(x);
    case NearestMode::ceil: return std::ceil(x);
  }
  return x;
}

// The interpolating function at distance t: a hat, or Keys' cubic.
double hat(double t) {
  return std::max(1 - std::fabs(t), 0.0);
}
double cubic(double a, double t) {
  t = std::fabs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

double support(const Resize& op) {
  return op.mode == ResizeMode::linear ? 1 : 2;
}

// Elements that the function is stretched over: more than its own support when downsampling is to
// be antialiased.
double stretch(const Resize& op, double scale) {
  return op.antialias ? std::max(1 / scale, 1.0) : 1;
}

// The element of the part that a tap of the whole falls on.
std::int64_t clamped(double index, const ResizeAxis& axis) {
  const double whole = std::clamp(index, 0.0, static_cast<double>(axis.whole_in() - 1));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(whole) - axis.before_in, 0,
                                  axis.in - 1);
}

// Taps by index; those outside of the input fall on its edge, and those of weight 0 fall away (so
// that they do not turn an infinity into NaN).
class TapList {
 public:
  explicit TapList(std::span<ResizeTap> taps) : taps_(taps) {}

  void add(std::int64_t index, double weight) {
    sum_ += weight;
    if (weight == 0) return;
    if (count_ > 0 && taps_[count_ - 1].index == index) {
      taps_[count_ - 1].weight += weight;
    } else if (count_ < taps_.size()) {
      taps_[count_++] = {index, weight};
    }
  }
  void normalise() {
    if (sum_ == 0) return;
    for (ResizeTap& t : taps_.first(count_)) t.weight /= sum_;
  }
  std::size_t size() const { return count_; }

 private:
  std::span<ResizeTap> taps_;
  std::size_t count_ = 0;
  double sum_ = 0;
};

std::size_t interpolating_taps(const Resize& op, const ResizeAxis& axis, double x, StopCheck& check,
                               std::span<ResizeTap> taps) {
  const double wide = stretch(op, axis.scale);
  TapList list(taps);
  // Farther out, all taps are clamped to the same edge; a double could not count them.
  const double reach = support(op) * wide + 1;
  x = std::clamp(x, -reach, static_cast<double>(axis.whole_in()) + reach);
  const double last = std::floor(x + support(op) * wide);
  // NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): whole numbers; none if x is NaN
  for (double i = std::ceil(x - support(op) * wide); i <= last && !check.spend(8); ++i) {
    const bool outside = i < 0 || i > static_cast<double>(axis.whole_in() - 1);
    if (outside && op.exclude_outside) continue;
    const double t = (i - x) / wide;
    list.add(clamped(i, axis), op.mode == ResizeMode::linear ? hat(t) : cubic(op.cubic_coeff_a, t));
  }
  if (op.antialias || op.exclude_outside) list.normalise();
  if (list.size() == 0) list.add(clamped(x, axis), 1);
  return list.size();
}

}  // namespace

std::size_t max_resize_taps(const Resize& op, std::int64_t in, std::int64_t out) {
  if (op.mode == ResizeMode::nearest || in == 0 || out == 0) return 1;
  // The scale is at least (out - 0.5) / in, whichever way it was rounded. A part tells nothing of
  // it, but has no more taps than elements.
  const double scale = op.part.empty() ? (static_cast<double>(out) - 0.5) / static_cast<double>(in)
                                       : 1.0 / static_cast<double>(in);
  const double most = 2 * support(op) * stretch(op, scale) + 2;
  return static_cast<std::size_t>(std::min(most, static_cast<double>(in)));
}

std::size_t resize_taps(const Resize& op, const ResizeAxis& axis, std::int64_t x, StopCheck& check,
                        std::span<ResizeTap> taps) {
  const double at = resize_coordinate(op.coordinates, axis, axis.before_out + x);
  // A coordinate that is an integer, a half or the edge to float precision is meant to be exactly
  // that, since a scale such as 1/3 is not exact. Rounded only where the result is discontinuous.
  const auto rounded = static_cast<double>(static_cast<float>(at));
  if (op.coordinates == CoordinateMode::tf_crop_and_resize &&
      !(rounded >= 0 && rounded <= static_cast<double>(axis.whole_in() - 1)))
    return 0;
  if (op.mode != ResizeMode::nearest) return interpolating_taps(op, axis, at, check, taps);
  taps[0] = {clamped(round_to_nearest(op.nearest, rounded), axis), 1};
  return 1;
}

bool can_list_taps(const Resize& op, const ResizeAxis& axis) {
  constexpr std::size_t most = std::size_t{1} << 20;
  const std::size_t taps = max_resize_taps(op, axis.in, axis.out);
  return static_cast<std::size_t>(axis.out) <= most / std::max(taps, std::size_t{1});
}

}  // namespace quern
