// SPDX-License-Identifier: Apache-2.0
// Sums of products: |got - W x| <= |W| E_x + E_w (|x| + E_x) + gamma_k |W| |x|, for any order of
// the k terms (Higham, Accuracy and Stability of Numerical Algorithms, section 3.5).
#include <cmath>
#include <set>

#include "graph/ops/conv.h"
#include "graph/ops/deform_conv.h"
#include "graph/ops/einsum.h"
#include "graph/ops/inverse.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pool.h"
#include "graph/ops/random.h"
#include "tools/oracle/rules.h"

namespace quern::tools::rules {
namespace {

// The parts of a bound, by element of the result.
struct Parts {
  Numbers operands;   // of the operands' errors
  Numbers magnitude;  // what the roundings count for
};

// `op` has no negative factor of its own; inputs `data` of the node enter each term as factors, and
// `added`, if it is there, is added.
Result<Parts> parts_of(Evaluated& e, const Op& op, std::span<const std::size_t> data,
                       std::size_t added) {
  const auto n = static_cast<std::size_t>(e.out[0].elements());
  Parts parts{Numbers(n, 0.0), {}};
  const auto with = [&](std::size_t inexact) -> Result<std::vector<Tensor>> {
    std::vector<Tensor> operands = e.values;
    bool is_behind = false;
    for (std::size_t i : data) {
      // (a + x)(b + y) - ab = x b + (a + x) y: sizes before the inexact one, values behind it.
      QUERN_ASSIGN(operands[i], i == inexact ? bound_tensor(*e.in[i])
                                : is_behind  ? absolute_tensor(*e.in[i])
                                             : size_tensor(*e.in[i]));
      is_behind |= i == inexact;
    }
    if (e.has(added)) {
      QUERN_ASSIGN(operands[added], tensor_from(*e.in[added], [&](std::size_t k) {
                     return inexact == data[0] ? e.in[added]->error(k) : 0.0;
                   }));
    }
    return operands;
  };
  for (std::size_t i : data) {
    const bool is_first = i == data[0];
    const bool is_exact = e.in[i]->exact() && (!is_first || !e.has(added) || e.in[added]->exact());
    if (is_exact) continue;
    QUERN_ASSIGN(const std::vector<Tensor> operands, with(i));
    QUERN_ASSIGN(const Numbers share, through(e, op, operands));
    for (std::size_t k = 0; k < n; ++k) parts.operands[k] += share[k];
  }
  std::vector<Tensor> operands = e.values;
  for (std::size_t i : data) {
    QUERN_ASSIGN(operands[i], magnitude_tensor(*e.in[i]));
  }
  if (e.has(added)) {
    QUERN_ASSIGN(operands[added], magnitude_tensor(*e.in[added]));
  }
  QUERN_ASSIGN(parts.magnitude, through(e, op, operands));
  return parts;
}

// k: the terms of a sum.
void set_bound(Evaluated& e, const Parts& parts, double k) {
  const Rounding r = e.rounding();
  const Numbers values = as_numbers(e.out[0].value);
  const bool is_float = e.out[0].is_float();
  Numbers& bound = e.bound();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const double own = is_float ? r.gamma(k) * parts.magnitude[i] + k * r.tiny() : 0;
    // An infinity or NaN that exact operands hold comes out as it is.
    const bool is_special = !std::isfinite(values[i]) && std::isfinite(parts.operands[i]);
    bound[i] = is_special ? 0 : parts.operands[i] + own;
  }
  if (is_float) e.out[0].roundings = k;
}

constexpr std::size_t none = static_cast<std::size_t>(-1);

Status linear(Evaluated& e, const Op& op, std::initializer_list<std::size_t> data,
              std::size_t added, double k) {
  if (!e.out[0].is_float() && e.exact()) return {};
  QUERN_ASSIGN(const Parts parts, parts_of(e, op, {data.begin(), data.size()}, added));
  set_bound(e, parts, k);
  return {};
}

// ---- Winograd ----------------------------------------------------------------------------------

// Convolutions of 3x3 are computed in tiles of 4x4, by interpolation at 0, +-5/8, +-3/2 and
// infinity (ours, and oneDNN 2.x's). With |A|, |G|, |B| the absolute values of its three matrices,
// an output is off by at most gamma |A| ((|G| |w| |G|') . (|B| |x| |B|')) |A|' (Barabasz et al.,
// Error Analysis and Improving the Accuracy of Winograd Convolution, theorem 2); the largest row of
// |A| (|G| 1 . |B| 1) sums up to 23.7 here, in two dimensions to 562.
constexpr double winograd_growth = 562;
// Roundings on the way: two transforms of x of 5 terms, of w of 3, of the result of 6; constants.
constexpr double winograd_roundings = 32;

// By rule, large maps of many channels are computed so (kernels/cpu/conv_winograd.cpp); others
// where the implementation is asked for. Dimensions in which the window has one tap count as batch.
bool may_be_winograd(const Conv& op, const Shape& w, const Shape& y, Arithmetic arithmetic) {
  const auto all_one = [](const Ints& v) {
    return std::ranges::all_of(v, [](std::int64_t i) { return i == 1; });
  };
  const bool is_any = arithmetic == Arithmetic::cpu_winograd;
  const std::int64_t least_pixels = is_any ? 1 : 13;
  std::size_t threes = 0;
  for (std::size_t d = 2; d < w.rank(); ++d) {
    if (w[d] == 1) continue;
    if (w[d] != 3 || y[d] < least_pixels) return false;
    ++threes;
  }
  return threes == 2 && op.group == 1 && all_one(op.window.strides) &&
         all_one(op.window.dilations) && (is_any || (w[0] >= 16 && w[1] >= 12));
}

// The greatest of each block of `length` elements.
Numbers block_maxima(const Traced& t, std::size_t length) {
  Numbers out(static_cast<std::size_t>(t.elements()) / length, 0.0);
  for (std::size_t i = 0; i < out.size() * length; ++i)
    out[i / length] = std::max(out[i / length], t.size(i));
  return out;
}

void allow_winograd(Evaluated& e) {
  const Shape& x = e.in[0]->value.shape();
  const Shape& y = e.out[0].value.shape();
  const auto channels = static_cast<std::size_t>(x[1]);
  const Numbers of_x = block_maxima(*e.in[0], static_cast<std::size_t>(x.elements(2)));
  const Numbers of_w = block_maxima(*e.in[1], 9);
  const auto image = static_cast<std::size_t>(y.elements(2));
  const double gamma = e.rounding().gamma(static_cast<double>(channels) + winograd_roundings);
  for (std::size_t row = 0; row < e.bound().size() / image; ++row) {
    const std::size_t batch = row / static_cast<std::size_t>(y[1]);
    const std::size_t m = row % static_cast<std::size_t>(y[1]);
    double sum = 0;
    for (std::size_t c = 0; c < channels; ++c)
      sum += of_x[batch * channels + c] * of_w[m * channels + c];
    for (std::size_t i = 0; i < image; ++i)
      e.bound()[row * image + i] += gamma * winograd_growth * sum;
  }
}

// A bias that becomes a whole number of the integers' steps (graph/passes/quantized.cpp) moves by
// half of one.
void allow_whole_bias(Evaluated& e) {
  const double step = e.in[0]->step * e.in[1]->step;
  if (step == 0 || !e.has(2)) return;
  for (double& b : e.bound()) b += step * 0.5001;
}

// A kernel may multiply the zeros of the padding or skip them, which differs if a weight is an
// infinity or NaN.
void allow_padding(Evaluated& e) {
  const Numbers weights = as_numbers(e.in[1]->value);
  const auto channels = static_cast<std::size_t>(e.in[1]->value.shape()[0]);
  if (channels == 0 || std::ranges::all_of(weights, [](double w) { return std::isfinite(w); }))
    return;
  const std::size_t taps = weights.size() / channels;
  const Shape& y = e.out[0].value.shape();
  const auto image =
      static_cast<std::size_t>(y.elements() / std::max<std::int64_t>(1, y[0] * y[1]));
  for (std::size_t i = 0; i < e.bound().size(); ++i) {
    const std::size_t m = i / image % channels;
    const auto own = std::span(weights).subspan(m * taps, taps);
    if (std::ranges::any_of(own, [](double w) { return !std::isfinite(w); }))
      e.bound()[i] = infinity;
  }
}

double terms_of_weights(const Shape& w) {
  return static_cast<double>(w.elements()) / static_cast<double>(std::max<std::int64_t>(1, w[0]));
}

}  // namespace

Status bound(const Conv& op, Evaluated& e) {
  const Shape& w = e.in[1]->value.shape();
  QUERN_TRY(linear(e, op, {0, 1}, 2, terms_of_weights(w) + 1 + folded_roundings));
  if (may_be_winograd(op, w, e.out[0].value.shape(), e.arithmetic)) allow_winograd(e);
  const Ints& pads = op.window.pads;
  if (op.window.auto_pad != AutoPad::notset || std::ranges::count(pads, 0) != std::ssize(pads))
    allow_padding(e);
  allow_whole_bias(e);
  return {};
}

Status bound(const ConvTranspose& op, Evaluated& e) {
  const Shape& w = e.in[1]->value.shape();
  const double k = terms_of_weights(w) / static_cast<double>(std::max<std::int64_t>(1, w[1])) *
                   static_cast<double>(w[0]) / static_cast<double>(op.group);
  return linear(e, op, {0, 1}, 2, k + 1 + folded_roundings);
}

Status bound(const MatMul& op, Evaluated& e) {
  MatMul magnitudes = op;
  magnitudes.alpha = std::fabs(op.alpha);
  const Shape& a = e.in[0]->value.shape();
  const bool is_column = op.transpose_a && a.rank() > 1;
  const double k = a.empty() ? 1 : static_cast<double>(a[a.rank() - (is_column ? 2 : 1)]);
  return linear(e, magnitudes, {0, 1}, none, k + folded_roundings);
}

Status bound(const Einsum& op, Evaluated& e) {
  std::vector<std::size_t> data(e.in.size());
  double product = 1;
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = i;
    product *= std::max(1.0, static_cast<double>(e.in[i]->elements()));
  }
  if (!e.out[0].is_float() && e.exact()) return {};
  QUERN_ASSIGN(const Parts parts, parts_of(e, op, data, none));
  // The number of terms of a sum: its value if all data are ones.
  std::vector<Tensor> ones = e.values;
  for (std::size_t i : data) {
    QUERN_ASSIGN(ones[i], tensor_from(*e.in[i], [](std::size_t) { return 1.0; }));
  }
  QUERN_ASSIGN(const Numbers terms, through(e, op, ones));
  const double k = terms.empty() ? 0 : std::ranges::max(terms);
  set_bound(e, parts, std::min(k, product) + static_cast<double>(data.size()) + folded_roundings);
  return {};
}

Status bound(const Col2Im& op, Evaluated& e) {
  const double most = static_cast<double>(e.in[0]->value.shape()[1]);
  return linear(e, op, {0}, none, most);
}

// ---- determinant -------------------------------------------------------------------------------

namespace {

// The sum over all permutations of products of `a`'s elements, by rows from `row` on.
double permanent(const Numbers& a, std::size_t n, std::size_t row, unsigned used) {
  if (row == n) return 1;
  double sum = 0;
  for (std::size_t c = 0; c < n; ++c)
    if (!(used >> c & 1)) sum += a[row * n + c] * permanent(a, n, row + 1, used | 1u << c);
  return sum;
}

}  // namespace

// Elimination with pivots is exact for a matrix within gamma_3n 2^(n-1) max |A| of A (Higham,
// theorem 9.4 and Wilkinson's growth factor); det moves by at most per(|A| + E) - per(|A|).
Status bound(const Det&, Evaluated& e) {
  const Traced& x = *e.in[0];
  const auto n = static_cast<std::size_t>(x.value.shape().back());
  if (n > 6) return e.undetermined(0), Status();
  const Rounding r = e.rounding();
  for (std::size_t m = 0; m < e.bound().size(); ++m) {
    Numbers plain(n * n);
    double most = 0;
    for (std::size_t i = 0; i < n * n; ++i) {
      plain[i] = std::fabs(x.at(m * n * n + i).v);
      most = std::max(most, x.at(m * n * n + i).size());
    }
    const double own = r.gamma(3 * static_cast<double>(n)) * std::ldexp(most, static_cast<int>(n));
    Numbers wide = plain;
    for (std::size_t i = 0; i < n * n; ++i) wide[i] += x.error(m * n * n + i) + own;
    const double all = permanent(wide, n, 0, 0);
    e.bound()[m] = all - permanent(plain, n, 0, 0) + r.gamma(static_cast<double>(n) + 1) * all;
  }
  return {};
}

// ---- inverse -----------------------------------------------------------------------------------

namespace {

// Bounds on what comes out for a matrix within `off` of one whose inverse is `y`, all n x n. With
// P = |Y| off, a column of the result moves by at most (P + P^2 + ...) |y| of its own.
Numbers moved_inverse(std::span<const double> y, const Numbers& off, std::size_t n) {
  Numbers growth(n * n, 0.0), bound(n * n, 0.0);
  double most = 0;  // the greatest sum of a row of P
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k)
        growth[i * n + j] += std::fabs(y[i * n + k]) * off[k * n + j];
      sum += growth[i * n + j];
    }
    most = std::isnan(sum) ? infinity : std::max(most, sum);
  }
  if (most > 0.25) return Numbers(n * n, infinity);
  for (std::size_t j = 0; j < n; ++j) {
    double column = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k)
        bound[i * n + j] += growth[i * n + k] * std::fabs(y[k * n + j]);
      column = std::max(column, bound[i * n + j]);
    }
    // Twice what follows the first term: the inverse that multiplies it has moved as well.
    for (std::size_t i = 0; i < n; ++i) bound[i * n + j] += 2 * most / (1 - 2 * most) * column;
  }
  return bound;
}

}  // namespace

// Elimination and substitution are exact for a matrix that is as near as with Det, one for each
// column of the result; a division may round as five products do (Vulkan).
Status bound(const Inverse&, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Numbers y = as_numbers(e.out[0].value);
  const auto n = static_cast<std::size_t>(x.value.shape().back());
  const std::size_t area = n * n;
  const Rounding r = e.rounding();
  for (std::size_t at = 0; at < e.bound().size(); at += area) {
    double most = 0;
    for (std::size_t i = 0; i < area; ++i) most = std::max(most, x.at(at + i).size());
    const double own = r.gamma(8 * static_cast<double>(n)) * std::ldexp(most, static_cast<int>(n));
    Numbers off(area);
    for (std::size_t i = 0; i < area; ++i) off[i] = x.error(at + i) + own + r.tiny();
    const Numbers moved = moved_inverse(std::span(y).subspan(at, area), off, n);
    for (std::size_t i = 0; i < area; ++i)
      e.bound()[at + i] = moved[i] + r.unit() * (std::fabs(y[at + i]) + moved[i]) + r.tiny();
  }
  return {};
}

// ---- pooling -----------------------------------------------------------------------------------

Status bound(const Pool& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  double k = 1;
  for (std::int64_t d : op.window.kernel) k *= static_cast<double>(d);
  if (op.global)
    k = static_cast<double>(x.elements()) /
        static_cast<double>(std::max<std::int64_t>(1, e.out[0].elements()));
  if (op.kind == PoolKind::average) return linear(e, op, {0}, none, k + 2);
  if (e.out.size() > 1 && !x.exact()) e.undetermined(1);
  if (op.kind == PoolKind::max) e.storing = Storing::moved;
  if (op.kind == PoolKind::max && x.exact()) return {};
  // A maximum moves no further than the most that an element does, a norm no further than the norm
  // of the errors. Windows of nothing but padding have none.
  QUERN_ASSIGN(const Tensor errors, bound_tensor(x));
  QUERN_ASSIGN(e.out[0].bound, through(e, op, {errors}));
  const Rounding r = e.rounding();
  for (std::size_t i = 0; i < e.bound().size(); ++i) {
    e.bound()[i] = std::max(0.0, e.bound()[i]);
    if (op.kind == PoolKind::lp)
      e.bound()[i] += (r.gamma(k + 16) + 16 * r.unit()) *
                          (std::fabs(e.out[0].value.span<double>()[i]) + e.bound()[i]) +
                      std::sqrt((k + 1) * r.tiny());
  }
  return {};
}

// ---- Fourier -----------------------------------------------------------------------------------

namespace {

// Every sum runs over all of the row, with factors of absolute value 1. A transform by way of a
// convolution (Bluestein) has 2n to 4n terms.
Ball row_total(const Traced& x, std::size_t start, std::size_t step, std::size_t length,
               std::size_t width) {
  Ball all;
  for (std::size_t i = 0; i < length; ++i)
    for (std::size_t c = 0; c < width; ++c) {
      const Ball b = x.at((start + i * step) * width + c);
      all.v += b.size(), all.e += b.e;
    }
  return all;
}

}  // namespace

Status bound(const Dft& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Rounding r = e.rounding();
  const Shape& in = x.value.shape();
  const Shape& out = e.out[0].value.shape();
  std::int64_t axis = -2;
  if (e.has(2)) axis = static_cast<std::int64_t>(as_numbers(e.in[2]->value)[0]);
  if (axis < 0) axis += static_cast<std::int64_t>(in.rank());
  const auto at = static_cast<std::size_t>(axis);
  const auto width_in = static_cast<std::size_t>(in.back());
  const auto width_out = static_cast<std::size_t>(out.back());
  const Rows from{in.elements(0, at), in[at], in.elements(at + 1) / in.back()};
  const Rows to{out.elements(0, at), out[at], out.elements(at + 1) / out.back()};
  double length = static_cast<double>(from.length);
  if (e.has(1)) length = as_numbers(e.in[1]->value)[0];
  std::vector<Ball> totals;
  from.each([&](std::size_t start, std::size_t step) {
    totals.push_back(row_total(x, start, step, static_cast<std::size_t>(from.length), width_in));
  });
  const double divided = op.inverse ? length : 1;
  const double doubled = op.inverse && op.onesided ? 2 : 1;  // each bin stands for two
  std::size_t row = 0;
  Numbers& bound = e.bound();
  to.each([&](std::size_t start, std::size_t step) {
    const Ball& all = totals[row++];
    const double b =
        doubled * (all.e + r.gamma(4 * length + 64) * all.v) / divided + r.tiny() * length;
    for (std::size_t i = 0; i < static_cast<std::size_t>(to.length); ++i)
      for (std::size_t c = 0; c < width_out; ++c) bound[(start + i * step) * width_out + c] = b;
  });
  return {};
}

Status bound(const Stft&, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Shape& out = e.out[0].value.shape();
  const auto step = static_cast<std::size_t>(as_numbers(e.in[1]->value)[0]);
  const auto width =
      static_cast<std::size_t>(x.value.shape().rank() == 3 ? x.value.shape().back() : 1);
  const auto samples = static_cast<std::size_t>(x.value.shape()[1]);
  double most = 1;
  double most_error = 0;
  std::size_t length = samples;  // of a frame, without a window and without a length
  if (e.has(2)) {
    length = static_cast<std::size_t>(e.in[2]->elements());
    most = 0;
    for (std::size_t i = 0; i < length; ++i) {
      most = std::max(most, e.in[2]->at(i).size());
      most_error = std::max(most_error, e.in[2]->error(i));
    }
  }
  if (e.has(3)) length = static_cast<std::size_t>(as_numbers(e.in[3]->value)[0]);
  const Rounding r = e.rounding();
  const std::size_t frames = static_cast<std::size_t>(out[1]);
  const auto bins = static_cast<std::size_t>(out[2]) * 2;
  for (std::size_t f = 0; f < e.bound().size() / std::max<std::size_t>(1, bins); ++f) {
    Ball all;
    for (std::size_t i = 0; i < length * width; ++i) {
      const Ball b = x.at((f / frames * samples + f % frames * step) * width + i);
      all.v += b.size(), all.e += b.e;
    }
    const double bound = most * all.e + most_error * all.v +
                         r.gamma(4 * static_cast<double>(length) + 64) * most * all.v + 1e-36;
    for (std::size_t i = 0; i < bins; ++i) e.bound()[f * bins + i] = bound;
  }
  return {};
}

}  // namespace quern::tools::rules
