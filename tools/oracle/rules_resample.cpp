// SPDX-License-Identifier: Apache-2.0
// Interpolation, grids, regions, and values that a formula makes of nothing but its parameters.
//
// A position that is off by d pixels moves a sample by at most d times the difference of two
// elements; positions are computed in f32 or f64, wherever a run likes.
#include <bit>
#include <cmath>

#include "graph/ops/deform_conv.h"
#include "graph/ops/pool.h"
#include "graph/ops/random.h"
#include "graph/ops/resampling.h"
#include "tools/oracle/rules.h"

namespace quern::tools::rules {
namespace {

// Roundings allowed for a position, at the magnitude of the axis' number of pixels.
constexpr double position_roundings = 8;

// The maxima of a plane of `size` elements.
struct Plane {
  double greatest = 0;  // |x| + error
  double error = 0;
};
std::vector<Plane> planes(const Traced& x, std::size_t size) {
  const Numbers v = as_numbers(x.value);
  std::vector<Plane> out(size == 0 ? 0 : v.size() / size);
  for (std::size_t i = 0; i < out.size() * size; ++i) {
    Plane& p = out[i / size];
    p.greatest = std::max(p.greatest, std::fabs(v[i]) + x.error(i));
    p.error = std::max(p.error, x.error(i));
    if (std::isnan(v[i])) p.greatest = infinity;
  }
  return out;
}

double spatial_extent(const Shape& s) {
  double all = 0;
  for (std::size_t i = s.rank() > 2 ? 2 : 0; i < s.rank(); ++i) all += static_cast<double>(s[i]);
  return all;
}

double elements_behind(const Shape& s, std::size_t axis) {
  return s.rank() > axis ? static_cast<double>(s.elements(axis)) : 1;
}

// Which pixel is nearest goes one way or the other within the error of a position. Each dimension
// decides for itself, so the corners of what a position may be meet every pixel that it may take,
// as long as no dimension has three to choose from.
Status nearest_samples(Evaluated& e) {
  e.storing = Storing::moved;
  const Traced& grid = *e.in[1];
  const Rounding r(grid.type, e.arithmetic);
  const double extent = spatial_extent(e.in[0]->value.shape());
  const auto dims = static_cast<std::size_t>(grid.value.shape().back());
  const auto off = [&](std::size_t i) {
    const Ball g = grid.at(i);
    return g.e + position_roundings * r.unit() * (1 + g.size());
  };
  const auto sampled = [&](const Result<Tensor>& x, unsigned corner) -> Result<Numbers> {
    if (!x) return x.error().copy();
    QUERN_ASSIGN(const Tensor moved, tensor_from(grid, [&](std::size_t i) {
                   return grid.at(i).v + (corner >> i % dims & 1 ? off(i) : -off(i));
                 }));
    return through(e, e.op, {*x, moved});
  };
  Numbers& bound = e.bound();
  const Numbers y = as_numbers(e.out[0].value);
  for (unsigned corner = 0; corner < 1u << dims; ++corner) {
    QUERN_ASSIGN(const Numbers other, sampled(e.values[0], corner));
    QUERN_ASSIGN(const Numbers error, sampled(bound_tensor(*e.in[0]), corner));
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const double apart = other[i] == y[i] || (std::isnan(y[i]) && std::isnan(other[i]))
                               ? 0
                               : std::fabs(other[i] - y[i]);
      bound[i] = std::max(bound[i], or_infinite(apart + error[i]));
    }
  }
  const auto channels = static_cast<std::size_t>(e.in[0]->value.shape()[1]);
  const std::size_t positions = static_cast<std::size_t>(grid.elements()) / dims;
  const std::size_t images = static_cast<std::size_t>(e.in[0]->value.shape()[0]);
  for (std::size_t p = 0; p < positions; ++p)
    for (std::size_t d = 0; d < dims; ++d)
      if (!(off(p * dims + d) * extent < 0.5))
        for (std::size_t c = 0; c < channels; ++c) {
          const std::size_t each = positions / images;
          bound[(p / each * channels + c) * each + p % each] = infinity;
        }
  return {};
}

}  // namespace

Status bound(const Resize& op, Evaluated& e) {
  if (op.mode == ResizeMode::nearest) return move(e, {0});
  const Traced& x = *e.in[0];
  const Shape& in = x.value.shape();
  if (e.out[0].elements() == 0) return {};
  const Rounding r = e.rounding();
  double extent = 0;
  double weights = 1;  // the sum of their absolute values
  for (std::size_t i = 0; i < in.rank(); ++i) {
    if (in[i] == e.out[0].value.shape()[i]) continue;
    extent += static_cast<double>(std::max(in[i], e.out[0].value.shape()[i]));
    if (op.mode == ResizeMode::cubic)
      weights *= 1 + 4 * std::fabs(static_cast<double>(op.cubic_coeff_a));
  }
  const bool is_split =
      in.rank() > 2 && in[0] == e.out[0].value.shape()[0] && in[1] == e.out[0].value.shape()[1];
  const std::size_t first = is_split ? 2 : 0;
  const auto all = planes(x, static_cast<std::size_t>(elements_behind(in, first)));
  const auto size = static_cast<std::size_t>(elements_behind(e.out[0].value.shape(), first));
  const double outside = std::fabs(static_cast<double>(op.extrapolation_value));
  Numbers& bound = e.bound();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const Plane& p = all[i / size];
    const double greatest = std::max(p.greatest, outside);
    bound[i] = weights * (p.error + 2 * position_roundings * extent * r.unit() * greatest +
                          r.gamma(8 * static_cast<double>(in.rank()) + extent) * greatest) +
               r.tiny();
    if (!e.out[0].is_float()) bound[i] = 1 + std::ceil(bound[i]);
    if (!std::isfinite(p.greatest)) bound[i] = infinity;
  }
  return {};
}

Status bound(const GridSample& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Traced& grid = *e.in[1];
  const Shape& in = x.value.shape();
  if (op.mode == ResizeMode::nearest) return nearest_samples(e);
  if (!e.out[0].is_float()) return e.undetermined(0), Status();
  const Rounding r = e.rounding();
  const double extent = spatial_extent(in);
  const double weights =
      op.mode == ResizeMode::cubic ? std::pow(4.0, static_cast<double>(in.rank() - 2)) : 1;
  const auto all = planes(x, static_cast<std::size_t>(in.elements(2)));
  const auto size = static_cast<std::size_t>(e.out[0].value.shape().elements(2));
  const auto channels = static_cast<std::size_t>(in[1]);
  const auto dims = static_cast<std::size_t>(grid.value.shape().back());
  Numbers& bound = e.bound();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const Plane& p = all[i / size];
    const std::size_t at = (i / size / channels * size + i % size) * dims;
    double off = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      const Ball g = grid.at(at + d);
      off += extent * (g.e + position_roundings * r.unit() * (1 + g.size()));
      // Far outside, reflections of a position would have to be counted.
      if (op.padding == GridPadding::reflection && !(g.size() < 16)) off = infinity;
    }
    bound[i] = weights * (p.error + (2 * off + r.gamma(32)) * p.greatest) + r.tiny();
    if (!std::isfinite(p.greatest)) bound[i] = infinity;
  }
  return {};
}

namespace {

// One deformed sum: sample c, k is within the largest element of its plane, wherever it is read,
// and moves by at most its distance to a neighbour for each pixel that its position is off.
class DeformedSum {
 public:
  DeformedSum(const DeformConv& op, const Evaluated& e)
      : op_(op),
        e_(e),
        x_(e.in[0]->value.shape()),
        w_(e.in[1]->value.shape()),
        out_(e.out[0].value.shape()),
        taps_(static_cast<std::size_t>(w_.elements(2))),
        positions_(static_cast<std::size_t>(out_.elements(2))),
        planes_(planes(*e.in[0], static_cast<std::size_t>(x_.elements(2)))) {}

  // The bound of image n, output channel m, position o.
  double bound(std::size_t n, std::size_t m, std::size_t o, const Rounding& r) const {
    const auto channels = static_cast<std::size_t>(w_[1]);
    const std::size_t per_group = static_cast<std::size_t>(out_[1] / op_.group);
    double error = 0;
    double size = 0;
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t k = 0; k < taps_; ++k) {
        const std::size_t channel = m / per_group * channels + c;
        const Plane& p = planes_[n * static_cast<std::size_t>(x_[1]) + channel];
        const Ball weight = e_.in[1]->at((m * channels + c) * taps_ + k);
        const std::size_t tap = tap_of(n, channel, k);
        const Ball mask = e_.has(4) ? e_.in[4]->at(tap * positions_ + o) : Ball{1, 0};
        const double factor = weight.size() * mask.size();
        error += factor * (p.error + 4 * off(tap, o, r) * p.greatest) +
                 Rounding::product_error(weight, mask) * p.greatest;
        size += factor * p.greatest;
      }
    const Ball bias = e_.has(3) ? e_.in[3]->at(m) : Ball{};
    const double terms = static_cast<double>(channels * taps_);
    return error + bias.e + r.gamma(terms + 32) * (size + bias.size()) + (terms + 1) * r.tiny();
  }

 private:
  std::size_t tap_of(std::size_t n, std::size_t channel, std::size_t k) const {
    const std::size_t group = channel / static_cast<std::size_t>(x_[1] / op_.offset_group);
    return (n * static_cast<std::size_t>(op_.offset_group) + group) * taps_ + k;
  }
  // In pixels, of all dimensions together.
  double off(std::size_t tap, std::size_t o, const Rounding& r) const {
    const std::size_t dims = x_.rank() - 2;
    double sum = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      const Ball at = e_.in[2]->at((tap * dims + d) * positions_ + o);
      sum += at.e + position_roundings * r.unit() * (spatial_extent(x_) + at.size());
    }
    return sum;
  }

  const DeformConv& op_;
  const Evaluated& e_;
  const Shape& x_;
  const Shape& w_;
  const Shape& out_;
  std::size_t taps_;
  std::size_t positions_;
  std::vector<Plane> planes_;
};

}  // namespace

Status bound(const DeformConv& op, Evaluated& e) {
  const DeformedSum sums(op, e);
  const Rounding r = e.rounding();
  const Shape& out = e.out[0].value.shape();
  const auto channels = static_cast<std::size_t>(out[1]);
  const auto positions = static_cast<std::size_t>(out.elements(2));
  Numbers& bound = e.bound();
  for (std::size_t i = 0; i < bound.size(); ++i)
    bound[i] = or_infinite(
        sums.bound(i / positions / channels, i / positions % channels, i % positions, r));
  return {};
}

// theta times coordinates within [-1, 1] and 1.
Status bound(const AffineGrid&, Evaluated& e) {
  const Traced& theta = *e.in[0];
  const Shape& s = theta.value.shape();
  const Rounding r = e.rounding();
  const auto rank = static_cast<std::size_t>(s[1]);
  const auto images = static_cast<std::size_t>(s[0]);
  Numbers& bound = e.bound();
  if (bound.empty()) return {};
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const std::size_t row = (i / (bound.size() / images)) * rank + i % rank;
    double error = 0;
    double size = 0;
    for (std::size_t k = 0; k <= rank; ++k) {
      const Ball b = theta.at(row * (rank + 1) + k);
      error += b.e, size += b.size();
    }
    bound[i] = error + r.gamma(static_cast<double>(rank) + 8) * size + r.tiny();
  }
  return {};
}

// True if rounding leaves a position on its side of where an element begins.
bool is_clear(double position) {
  return std::fabs(position - std::round(position)) > 1e-3;
}

// True if rounding can tell which elements are in the bins of a side of a region.
bool has_clear_bins(double low, double high, std::int64_t bins) {
  if (!is_clear(low + 0.5) || !is_clear(high + 0.5)) return false;
  const double length = std::max(std::round(high) - std::round(low) + 1, 1.0);
  // Sizes that floats hold exactly put every edge where it belongs.
  const bool is_exact = std::has_single_bit(static_cast<std::uint64_t>(bins)) ||
                        std::fmod(length, static_cast<double>(bins)) == 0;
  for (std::int64_t b = 1; b < bins && !is_exact; ++b)
    if (!is_clear(static_cast<double>(b) * length / static_cast<double>(bins))) return false;
  return length < 1 << 20;
}

// Maxima over bins of whole elements: off by no more than the elements are.
Status bound_max(const RoiPool& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Shape& in = x.value.shape();
  const auto all = planes(x, static_cast<std::size_t>(in.elements(2)));
  const auto size = static_cast<std::size_t>(op.height * op.width);
  const auto channels = static_cast<std::size_t>(in[1]);
  const Numbers rois = as_numbers(e.in[1]->value);  // each with the number of its image in front
  Numbers& bound = e.bound();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const double* roi = &rois[i / size / channels * 5];
    const auto side = [&](std::size_t k) {
      return roi[1 + k] * static_cast<double>(op.spatial_scale);
    };
    const Plane& p = all[static_cast<std::size_t>(roi[0]) * channels + i / size % channels];
    const bool is_clear = has_clear_bins(side(0), side(2), op.width) &&
                          has_clear_bins(side(1), side(3), op.height) && std::isfinite(p.greatest);
    bound[i] = is_clear ? p.error : infinity;
  }
  return {};
}

// Averages of interpolated samples. Maxima of those, and the number of samples, hang on positions
// that are rounded: they are not judged.
Status bound(const RoiPool& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  if (op.kind == RoiKind::max && e.in[1]->exact()) return bound_max(op, e);
  if (op.kind != RoiKind::align_average || !e.in[1]->exact() || !e.in[2]->exact() ||
      op.sampling_ratio <= 0)
    return e.undetermined(0), Status();
  const Rounding r = e.rounding();
  const Shape& in = x.value.shape();
  const auto all = planes(x, static_cast<std::size_t>(in.elements(2)));
  const auto size = static_cast<std::size_t>(op.height * op.width);
  const auto channels = static_cast<std::size_t>(in[1]);
  const Numbers images = as_numbers(e.in[2]->value);
  const Numbers rois = as_numbers(e.in[1]->value);
  const double samples = static_cast<double>(op.sampling_ratio * op.sampling_ratio);
  Numbers& bound = e.bound();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const std::size_t roi = i / size / channels;
    const Plane& p = all[static_cast<std::size_t>(images[roi]) * channels + i / size % channels];
    double reach = spatial_extent(in);
    for (std::size_t k = 0; k < 4; ++k)
      reach += std::fabs(rois[roi * 4 + k] * static_cast<double>(op.spatial_scale));
    // Beyond a pixel outside a sample is 0 at once.
    bound[i] = p.error +
               (2 * position_roundings * reach * r.unit() + r.gamma(samples + 16)) * p.greatest +
               r.tiny();
    for (std::size_t k = 0; k < 4; ++k) {
      const double at = rois[roi * 4 + k] * static_cast<double>(op.spatial_scale);
      if (at < 0 || at > static_cast<double>(in[k % 2 == 0 ? 3 : 2]) - 1) bound[i] = infinity;
    }
    if (!std::isfinite(p.greatest)) bound[i] = infinity;
  }
  return {};
}

// The same counters give the same bits; what makes numbers of them rounds.
Status bound(const Random& op, Evaluated& e) {
  const Rounding r = e.rounding();
  const double size = std::fabs(static_cast<double>(op.low_or_mean)) +
                      8 * std::fabs(static_cast<double>(op.high_or_scale));
  for (double& b : e.bound()) b = 16 * r.unit() * size + r.stored({size, 0});
  return {};
}

Status bound(const MelWeightMatrix&, Evaluated& e) {
  if (!e.out[0].is_float()) return exact_or_undetermined(e);
  const Rounding r = e.rounding();
  for (double& b : e.bound()) b = 16 * r.unit();
  return {};
}

}  // namespace quern::tools::rules
