// SPDX-License-Identifier: Apache-2.0
// Softmax and the normalisations, as the sums, roots and quotients that they are made of.
#include <cmath>

#include "graph/ops/batch_norm.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/lp_norm.h"
#include "graph/ops/softmax.h"
#include "tools/oracle/rules.h"

namespace quern::tools::rules {
namespace {

double exp_roundings(Arithmetic arithmetic, double x) {
  return arithmetic == Arithmetic::vulkan ? 8 + 4 * std::min(std::fabs(x), 128.0) : 8;
}

Ball scalar(double v) {
  return {v, 0};
}

Ball parameter(const Evaluated& e, std::size_t input, std::size_t i, double otherwise) {
  return e.has(input) ? e.in[input]->at(i) : scalar(otherwise);
}

// ---- softmax -----------------------------------------------------------------------------------

struct Exponentials {
  double greatest = -infinity;  // of x
  Numbers parts;                // exp(x - greatest) / sum
  Numbers relative;             // how far each exponential may be off
  double sum_relative = 0;      // ... their sum
  double log_sum = 0;
};

// exp(x + d) = exp(x) e^d: an error of the argument is a relative one of the result.
Exponentials exponentials(const Traced& x, std::size_t start, std::size_t step, std::size_t n,
                          const Rounding& r) {
  Exponentials all;
  for (std::size_t i = 0; i < n; ++i)
    all.greatest = std::max(all.greatest, x.at(start + i * step).v);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Ball b = x.at(start + i * step);
    const double argument = std::isinf(b.v) ? 0 : b.v - all.greatest;
    all.parts.push_back(std::exp(b.v - all.greatest));
    sum += all.parts.back();
    const double moved =
        b.e + r.unit() * (2 * std::fabs(argument) + exp_roundings(r.arithmetic(), argument));
    all.relative.push_back(growth(moved));
  }
  for (std::size_t i = 0; i < n; ++i) {
    all.parts[i] /= sum;
    if (all.parts[i] > 0) all.sum_relative += all.parts[i] * all.relative[i];
  }
  all.sum_relative += r.gamma(static_cast<double>(n) + 8);
  all.log_sum = std::log(sum);
  return all;
}

void softmax_row(SoftmaxKind kind, Evaluated& e, std::size_t start, std::size_t step,
                 std::size_t n) {
  const Traced& x = *e.in[0];
  const Rounding r = e.rounding();
  const Exponentials all = exponentials(x, start, step, n, r);
  const bool is_open = !(all.sum_relative < 0.5) || !std::isfinite(all.greatest);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = start + i * step;
    const double y = e.out[0].value.span<double>()[at];
    if (std::isnan(y) && all.greatest != -infinity) {
      e.bound()[at] = x.exact() ? 0 : infinity;
    } else if (is_open) {  // a row of nothing but -inf: NaN, or zeros as Attention has it
      e.bound()[at] = infinity;
    } else if (kind == SoftmaxKind::softmax) {
      const double relative = (1 + all.relative[i]) / (1 - all.sum_relative) - 1;
      e.bound()[at] = or_infinite(all.parts[i] * relative) + 4 * r.tiny();
      if (all.parts[i] == 0) e.bound()[at] = 4 * r.tiny();
    } else if (std::isinf(y)) {
      e.bound()[at] = x.error(at) == 0 ? 0 : infinity;
    } else {
      const double size = std::fabs(x.at(at).v - all.greatest) + std::fabs(all.log_sum);
      e.bound()[at] =
          x.error(at) - std::log1p(-all.sum_relative) + r.unit() * (4 * size + 16 + std::fabs(y));
    }
  }
}

// ---- mean and variance -------------------------------------------------------------------------

struct Moments {
  Ball mean;
  Ball variance;
  Ball inverse;  // 1 / sqrt(variance + epsilon)
};

// The centre of the second moment.
enum class Around : std::uint8_t { zero, mean };

// The moments of the elements that `at` returns.
template <class At>
Moments moments(const Rounding& r, std::size_t n, double epsilon, Around around, At&& at) {
  const bool center = around == Around::mean;
  Moments m;
  const double count = static_cast<double>(n);
  if (center) {
    Sum sum;
    for (std::size_t i = 0; i < n; ++i) sum.add(at(i));
    m.mean = r.div(sum.total(r), scalar(count));
  }
  Sum squares;
  for (std::size_t i = 0; i < n; ++i) {
    const Ball d = center ? r.sub(at(i), m.mean) : at(i);
    squares.add_product(d, d);
  }
  m.variance = r.div(squares.total(r), scalar(count));
  m.inverse = r.div(scalar(1), r.square_root(r.add(m.variance, {epsilon, r.unit() * epsilon})));
  return m;
}

// (x - mean) * inverse * scale + shift, in any order of the products.
Ball normalised(const Rounding& r, Ball x, const Moments& m, Ball scale, Ball shift) {
  const Ball d = r.mul(r.mul(r.sub(x, m.mean), m.inverse), scale);
  const Ball y = r.add(d, shift);
  // x * s + (shift - mean * s) rounds as often, next to larger numbers.
  const double larger = (x.size() + m.mean.size()) * m.inverse.size() * scale.size() + shift.size();
  return {y.v, or_infinite(y.e + 4 * r.unit() * larger)};
}

}  // namespace

Status bound(const Softmax& op, Evaluated& e) {
  const Shape& shape = e.in[0]->value.shape();
  if (shape.elements() == 0) return {};
  Rows rows = rows_along(shape, op.axis);
  if (op.flatten) rows = {rows.outer, rows.length * rows.inner, 1};
  if (op.kind != SoftmaxKind::hardmax) {
    e.bound();
    rows.each([&](std::size_t start, std::size_t step) {
      softmax_row(op.kind, e, start, step, static_cast<std::size_t>(rows.length));
    });
    return {};
  }
  e.storing = Storing::moved;
  if (e.exact()) return {};
  const Numbers y = as_numbers(e.out[0].value);
  Numbers& bound = e.bound();
  rows.each([&](std::size_t start, std::size_t step) {
    std::size_t best = start;
    const auto n = static_cast<std::size_t>(rows.length);
    for (std::size_t i = 0; i < n; ++i)
      if (y[start + i * step] != 0) best = start + i * step;
    bool is_certain = true;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = start + i * step;
      const double reach = e.in[0]->error(at) + e.in[0]->error(best);
      is_certain &= at == best || reach == 0 || e.in[0]->at(best).v - e.in[0]->at(at).v > reach;
    }
    for (std::size_t i = 0; i < n; ++i) bound[start + i * step] = is_certain ? 0 : infinity;
  });
  return {};
}

// x * s + t with s = scale / sqrt(variance + epsilon), t = bias - mean * s.
Status bound(const BatchNorm& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Shape& shape = x.value.shape();
  const Rounding r = e.rounding();
  Traced& out = e.out[0];
  const auto channels = static_cast<std::size_t>(shape.rank() > 1 ? shape[1] : 1);
  const auto image = static_cast<std::size_t>(shape.rank() > 2 ? shape.elements(2) : 1);
  const auto batch = static_cast<std::size_t>(shape.rank() > 0 ? shape[0] : 1);
  out.magnitude.resize(e.bound().size());
  if (op.training)
    for (std::size_t i = 1; i < e.out.size(); ++i) e.bound(i);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto at = [&](std::size_t i) { return (i / image * channels + c) * image + i % image; };
    Moments m{e.in[3]->at(c), e.in[4]->at(c), {}};
    const double epsilon = static_cast<double>(op.epsilon);
    if (op.training) {
      const Ball old[] = {m.mean, m.variance};
      m = moments(r, batch * image, epsilon, Around::mean,
                  [&](std::size_t i) { return x.at(at(i)); });
      const Ball now[] = {m.mean, m.variance};
      for (std::size_t k = 1; k < e.out.size() && k < 3; ++k)
        e.bound(k)[c] = 2 * r.add(r.mul(old[k - 1], scalar(static_cast<double>(op.momentum))),
                                  r.mul(now[k - 1], scalar(1 - static_cast<double>(op.momentum))))
                                .e;
    } else {
      m.inverse = r.div(scalar(1), r.square_root(r.add(m.variance, {epsilon, r.unit() * epsilon})));
    }
    const Ball scale = e.in[1]->at(c);
    const Ball shift = e.in[2]->at(c);
    for (std::size_t i = 0; i < batch * image; ++i) {
      const std::size_t k = at(i);
      const double larger =
          (x.size(k) + m.mean.size()) * m.inverse.size() * scale.size() + shift.size();
      out.bound[k] = normalised(r, x.at(k), m, scale, shift).e +
                     r.gamma(x.roundings + folded_roundings) * larger;
      out.magnitude[k] = larger;
    }
  }
  out.roundings = x.roundings;
  return {};
}

Status bound(const LayerNorm& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Shape& shape = x.value.shape();
  const Rounding r = e.rounding();
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const auto axis = static_cast<std::size_t>(op.axis < 0 ? op.axis + rank : op.axis);
  const auto n = static_cast<std::size_t>(shape.elements(axis));
  const auto rows = static_cast<std::size_t>(shape.elements(0, axis));
  for (std::size_t i = 0; i < e.out.size(); ++i) e.bound(i);
  // Scale and bias may differ from row to row.
  const auto scales = e.has(1) ? broadcast_indices(e.in[1]->value.shape(), shape)
                               : std::vector<std::size_t>(rows * n);
  const auto shifts = e.has(2) ? broadcast_indices(e.in[2]->value.shape(), shape)
                               : std::vector<std::size_t>(rows * n);
  for (std::size_t row = 0; row < rows; ++row) {
    const Moments m =
        moments(r, n, static_cast<double>(op.epsilon), op.center ? Around::mean : Around::zero,
                [&](std::size_t i) { return x.at(row * n + i); });
    for (std::size_t i = row * n; i < (row + 1) * n; ++i)
      e.bound()[i] =
          normalised(r, x.at(i), m, parameter(e, 1, scales[i], 1), parameter(e, 2, shifts[i], 0)).e;
    // The reference stores these as f32.
    if (e.out.size() > 1) e.bound(1)[row] = m.mean.e + 0x1p-23 * m.mean.size();
    if (e.out.size() > 2) e.bound(2)[row] = m.inverse.e + 0x1p-23 * m.inverse.size();
  }
  return {};
}

Status bound(const GroupNorm& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Shape& shape = x.value.shape();
  if (shape.elements() == 0) return {};
  const Rounding r = e.rounding();
  const auto image = static_cast<std::size_t>(shape.elements(2));
  const auto groups = static_cast<std::size_t>(op.groups ? op.groups : shape[1]);
  const std::size_t channels = static_cast<std::size_t>(shape[1]) / groups;
  const std::size_t n = channels * image;
  for (std::size_t g = 0; g < static_cast<std::size_t>(shape[0]) * groups; ++g) {
    const Moments m = moments(r, n, static_cast<double>(op.epsilon), Around::mean,
                              [&](std::size_t i) { return x.at(g * n + i); });
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t c = g % groups * channels + i / image;
      e.bound()[g * n + i] =
          normalised(r, x.at(g * n + i), m, parameter(e, 1, c, 1), parameter(e, 2, c, 0)).e;
    }
  }
  return {};
}

Status bound(const Lrn& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Rounding r = e.rounding();
  const Rows rows = rows_along(x.value.shape(), 1);
  const Ball factor = r.rounded(static_cast<double>(op.alpha) / static_cast<double>(op.size), 0);
  Numbers& bound = e.bound();
  rows.each([&](std::size_t start, std::size_t step) {
    for (std::int64_t c = 0; c < rows.length; ++c) {
      Sum squares;
      const std::int64_t first = std::max<std::int64_t>(0, c - (op.size - 1) / 2);
      const std::int64_t last = std::min(rows.length - 1, c + op.size / 2);
      for (std::int64_t i = first; i <= last; ++i) {
        const Ball b = x.at(start + static_cast<std::size_t>(i) * step);
        squares.add_product(b, b);
      }
      const Ball base =
          r.add(scalar(static_cast<double>(op.bias)), r.mul(factor, squares.total(r)));
      const std::size_t at = start + static_cast<std::size_t>(c) * step;
      const Ball root = r.power(base, scalar(static_cast<double>(op.beta)));
      const Ball y = r.div(x.at(at), root);
      bound[at] = y.e + 16 * r.unit() * y.size();
    }
  });
  return {};
}

Status bound(const LpNorm& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Rounding r = e.rounding();
  const Rows rows = rows_along(x.value.shape(), op.axis);
  Numbers& bound = e.bound();
  rows.each([&](std::size_t start, std::size_t step) {
    const auto n = static_cast<std::size_t>(rows.length);
    Sum sum;
    bool is_zero = true;
    for (std::size_t i = 0; i < n; ++i) {
      const Ball b = x.at(start + i * step);
      is_zero &= b.v == 0 && b.exact();
      if (op.p == 1) sum.add({std::fabs(b.v), b.e});
      if (op.p == 2) sum.add_product(b, b);
    }
    Ball norm = sum.total(r, 2);
    if (op.p == 2) norm = r.square_root(norm);
    const double least = static_cast<double>(op.epsilon);
    if (norm.v < least) norm = {least, std::max(0.0, norm.high() - least) + r.unit() * least};
    for (std::size_t i = 0; i < n; ++i)
      bound[start + i * step] = is_zero ? 0 : r.div(x.at(start + i * step), norm).e;
  });
  return {};
}

}  // namespace quern::tools::rules
