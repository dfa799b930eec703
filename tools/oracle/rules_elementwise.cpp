// SPDX-License-Identifier: Apache-2.0
// Operators that work element by element: interval rules, and the rounding of one result.
#include <cmath>

#include "graph/numeric.h"
#include "graph/ops/binary.h"
#include "graph/ops/cast.h"
#include "graph/ops/unary.h"
#include "graph/ops/where.h"
#include "tools/oracle/rules.h"

namespace quern::tools::rules {
namespace {

// The range of an integer type.
Ball range_of(DType t) {
  double low = 0;
  double high = 1;
  visit_number(t, [&]<class T>(TypeTag<T>) {
    low = static_cast<double>(std::numeric_limits<T>::lowest());
    high = static_cast<double>(std::numeric_limits<T>::max());
  });
  if (bits_of(t) < 8) {
    const double count = std::exp2(static_cast<double>(bits_of(t)));
    low = is_unsigned(t) ? 0 : -count / 2;
    high = low + count - 1;
  }
  return {(low + high) / 2, (high - low) / 2};
}

bool holds(DType t, Ball b) {
  const Ball range = range_of(t);
  return b.low() >= range.low() && b.high() <= range.high();
}

// ---- integers whose operands are not exact -----------------------------------------------------

double integer_error(const Unary& op, Ball x) {
  switch (op.kind) {
    case UnaryKind::abs:
    case UnaryKind::neg:
    case UnaryKind::relu:
    case UnaryKind::clip: return x.e;
    case UnaryKind::sign: return x.low() > 0 || x.high() < 0 ? 0 : infinity;
    default: return infinity;
  }
}

double integer_error(BinaryKind kind, Ball a, Ball b) {
  switch (kind) {
    case BinaryKind::add:
    case BinaryKind::sub: return a.e + b.e;
    case BinaryKind::mul: return Rounding::product_error(a, b);
    case BinaryKind::min:
    case BinaryKind::max: return std::max(a.e, b.e);
    default: return infinity;
  }
}

// ---- comparisons -------------------------------------------------------------------------------

// If the intervals overlap, both answers are right.
double comparison_error(Ball a, Ball b) {
  if (a.exact() && b.exact()) return 0;
  const double reach = a.e + b.e;
  if (std::isnan(a.v) || std::isnan(b.v)) return std::isfinite(reach) ? 0 : infinity;
  return std::fabs(a.v - b.v) > reach ? 0 : infinity;
}

double logical_error(BinaryKind kind, Ball a, Ball b) {
  if (a.exact() && b.exact()) return 0;
  const bool decided = (a.exact() && (a.v != 0) == (kind == BinaryKind::logical_or)) ||
                       (b.exact() && (b.v != 0) == (kind == BinaryKind::logical_or));
  return decided && kind != BinaryKind::logical_xor ? 0 : infinity;
}

// ---- floats ------------------------------------------------------------------------------------

// a - q b with the q of exact numbers, as long as that is nobody's neighbour.
Ball remainder(BinaryKind kind, Ball a, Ball b, double y, const Rounding& r) {
  const bool is_vulkan = r.arithmetic() == Arithmetic::vulkan;
  if (!is_vulkan && a.exact() && b.exact() && std::isfinite(y)) {
    // fmod is exact; mod may add b.
    return kind == BinaryKind::fmod ? Ball{y, 0} : r.rounded(y, 0);
  }
  const double quotient = a.v / b.v;
  const double e = r.div(a, b).e;
  const double q = kind == BinaryKind::fmod ? std::trunc(quotient) : std::floor(quotient);
  const auto whole = [&](double v) {
    return kind == BinaryKind::fmod ? std::trunc(v) : std::floor(v);
  };
  if (!std::isfinite(e) || whole(quotient - e) != q || whole(quotient + e) != q)
    return {y, infinity};
  // Vulkan's is derived from x - y * trunc(x / y).
  const double own = is_vulkan ? r.gamma(2) * (a.size() + std::fabs(q) * b.size()) : 0;
  return r.rounded(y, a.e + std::fabs(q) * b.e + own, 4);
}

Ball float_result(BinaryKind kind, Ball a, Ball b, double y, const Rounding& r) {
  switch (kind) {
    case BinaryKind::mul: return r.mul(a, b);
    case BinaryKind::div: return r.div(a, b);
    case BinaryKind::pow: return r.power(a, b);
    case BinaryKind::mod:
    case BinaryKind::fmod: return remainder(kind, a, b, y, r);
    case BinaryKind::min:
    case BinaryKind::max:
      return {y, std::isnan(y) && a.exact() && b.exact() ? 0 : std::max(a.e, b.e)};
    case BinaryKind::prelu: {
      if (a.low() >= 0) return {y, a.e};
      const double slope = std::max(1.0, b.size());
      const double e = a.high() < 0 ? Rounding::product_error(a, b) : slope * a.e + a.size() * b.e;
      return r.rounded(y, e);
    }
    default: return {y, infinity};
  }
}

// Accounts for the passes' rewrites of x + c and x * c next to a sum of products: `magnitude` is
// kept, and each addition may round as often as the sum does (fold_bias, expand_batch_norm: the
// constant becomes the initial value of the sum).
void sum_of(const Traced& a, const Traced& b, Evaluated& e, std::size_t i, std::size_t ia,
            std::size_t ib) {
  const Rounding r = e.rounding();
  const double k = std::max(a.roundings, b.roundings);
  const double y = e.out[0].value.span<double>()[i];
  const double reach = a.error(ia) + b.error(ib);
  const double size = a.size(ia) + b.size(ib);
  const double own =
      k == 0 ? r.unit() * (std::fabs(y) + reach) : r.gamma(k + folded_roundings) * size;
  const bool is_special = !std::isfinite(y) && std::isfinite(reach);
  const bool is_exact = k == 0 && reach == 0 && r.represents(y);
  e.out[0].bound[i] = is_special || is_exact ? 0 : reach + own + r.tiny();
  if (!e.out[0].magnitude.empty()) e.out[0].magnitude[i] = size;
}

bool keeps_magnitude(BinaryKind kind, const Traced& a, const Traced& b) {
  const bool has_one = !a.magnitude.empty() || !b.magnitude.empty();
  if (kind == BinaryKind::add || kind == BinaryKind::sub) return has_one || a.exact() || b.exact();
  return has_one && (kind == BinaryKind::mul || kind == BinaryKind::div);
}

Status float_binary(const Binary& op, Evaluated& e, std::span<const std::size_t> ia,
                    std::span<const std::size_t> ib) {
  const Traced& a = *e.in[0];
  const Traced& b = *e.in[1];
  const Rounding r = e.rounding();
  Traced& out = e.out[0];
  const std::size_t n = e.bound().size();
  const bool is_sum = op.kind == BinaryKind::add || op.kind == BinaryKind::sub;
  const bool is_affine = is_sum || op.kind == BinaryKind::mul || op.kind == BinaryKind::div;
  if (is_affine) out.roundings = std::max(a.roundings, b.roundings);
  if (keeps_magnitude(op.kind, a, b)) out.magnitude.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (is_sum) {
      sum_of(a, b, e, i, ia[i], ib[i]);
      continue;
    }
    const double y = out.value.span<double>()[i];
    const Ball x = a.at(ia[i]);
    const Ball z = b.at(ib[i]);
    const Ball result = float_result(op.kind, x, z, y, r);
    const bool is_special = !std::isfinite(y) && std::isfinite(x.e) && std::isfinite(z.e) &&
                            op.kind == BinaryKind::mul &&
                            (std::isinf(x.v) || std::isinf(z.v) || std::isnan(y));
    out.bound[i] = is_special && x.exact() && z.exact() ? 0 : result.e;
    if (!out.magnitude.empty())
      out.magnitude[i] = op.kind == BinaryKind::mul ? a.size(ia[i]) * b.size(ib[i])
                                                    : a.size(ia[i]) / std::fabs(z.v);
  }
  return {};
}

// ---- Cast --------------------------------------------------------------------------------------

// The largest step of floats of a byte or less around a number.
double spacing_of(DType t, double v) {
  const double size = std::fabs(v);
  if (t == DType::f8e8m0) return size + 0x1p-127;
  return t == DType::f4e2m1 ? size / 2 + 0.5 : size / 4 + 0x1p-9;
}

// Float to integer truncates and saturates, or rounds to few bits: what the ends of the interval
// give.
double integer_cast_error(DType to, Ball x, double y) {
  if (std::isinf(x.e)) return infinity;
  if (to == DType::boolean) return x.low() > 0 || x.high() < 0 ? 0 : infinity;
  if (x.exact()) return 0;
  if (std::isnan(x.v)) return infinity;
  const Ball range = range_of(to);
  const auto cast = [&](double v) { return std::clamp(std::trunc(v), range.low(), range.high()); };
  if (bits_of(to) < 8) return holds(to, x) ? std::floor(x.e) + 1 : infinity;
  return std::max(std::fabs(cast(x.low()) - y), std::fabs(cast(x.high()) - y));
}

}  // namespace

Status bound(const Unary& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  const bool is_test = e.out[0].type == DType::boolean;
  if (!x.is_float() && x.exact()) return {};
  const Numbers values = as_numbers(x.value);
  const Numbers results = as_numbers(e.out[0].value);
  const Rounding r = e.rounding();
  Numbers& bound = e.bound();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Ball b{values[i], x.error(i)};
    if (is_test) {
      bound[i] = std::isfinite(b.e) ? 0 : infinity;
    } else if (x.is_float()) {
      const Ball y = r.unary(op, b);
      // The rule's own definition of the function must agree with the reference's.
      const double apart = std::isnan(y.v)     ? (std::isnan(results[i]) ? 0 : infinity)
                           : y.v == results[i] ? 0
                                               : std::fabs(y.v - results[i]);
      if (apart > 0x1p-40 * (1 + std::fabs(y.v)))
        return {Code::internal, "the oracle and the reference define a function differently"};
      bound[i] = y.e;
    } else {
      const double error = integer_error(op, b);
      bound[i] = holds(x.type, {results[i], error}) ? error : infinity;
    }
  }
  if (op.kind == UnaryKind::neg) {
    e.out[0].magnitude = x.magnitude;
    e.out[0].roundings = x.roundings;
  }
  if (op.kind == UnaryKind::affine) e.out[0].roundings = x.roundings;
  return {};
}

Status bound(const Binary& op, Evaluated& e) {
  const Traced& a = *e.in[0];
  const Traced& b = *e.in[1];
  const Shape& shape = e.out[0].value.shape();
  if (!e.out[0].is_float() && e.exact()) return {};
  const std::vector<std::size_t> ia = broadcast_indices(a.value.shape(), shape);
  const std::vector<std::size_t> ib = broadcast_indices(b.value.shape(), shape);
  if (e.out[0].is_float() && b.is_float()) return float_binary(op, e, ia, ib);
  const Numbers va = as_numbers(a.value);
  const Numbers vb = as_numbers(b.value);
  const Numbers results = as_numbers(e.out[0].value);
  Numbers& bound = e.bound();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const Ball x{va[ia[i]], a.error(ia[i])};
    const Ball z{vb[ib[i]], b.error(ib[i])};
    if (e.out[0].is_float()) {  // pow with an integer exponent
      bound[i] = e.rounding().power(x, z).e;
    } else if (op.kind >= BinaryKind::equal) {
      bound[i] = comparison_error(x, z);
    } else if (is_logical(op.kind)) {
      bound[i] = logical_error(op.kind, x, z);
    } else {
      const double error = x.exact() && z.exact() ? 0 : integer_error(op.kind, x, z);
      bound[i] = error == 0 || holds(e.out[0].type, {results[i], error}) ? error : infinity;
    }
  }
  return {};
}

Status bound(const Where&, Evaluated& e) {
  if (e.in[0]->exact()) return move(e, {1, 2});
  e.storing = Storing::moved;
  const Shape& shape = e.out[0].value.shape();
  const auto ic = broadcast_indices(e.in[0]->value.shape(), shape);
  const auto ix = broadcast_indices(e.in[1]->value.shape(), shape);
  const auto iy = broadcast_indices(e.in[2]->value.shape(), shape);
  const Numbers x = as_numbers(e.in[1]->value);
  const Numbers y = as_numbers(e.in[2]->value);
  const Numbers c = as_numbers(e.in[0]->value);
  Numbers& bound = e.bound();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const double ex = e.in[1]->error(ix[i]);
    const double ey = e.in[2]->error(iy[i]);
    if (e.in[0]->error(ic[i]) == 0) {
      bound[i] = c[ic[i]] != 0 ? ex : ey;
    } else {  // either may have been chosen
      const bool are_same = x[ix[i]] == y[iy[i]];
      bound[i] = std::max(ex, ey) + (are_same ? 0 : std::fabs(x[ix[i]] - y[iy[i]]));
    }
  }
  return {};
}

Status bound(const Cast& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  Traced& out = e.out[0];
  if (x.value.dtype() == DType::string || out.value.dtype() == DType::string) {
    if (x.value.dtype() == DType::string && out.is_float())
      for (std::size_t i = 0; i < e.bound().size(); ++i) {
        const double y = out.value.span<double>()[i];
        e.bound()[i] = std::isfinite(y) ? e.rounding().unit() * std::fabs(y) : 0;
      }
    return out.is_float() ? Status() : exact_or_undetermined(e);
  }
  const Numbers from = as_numbers(x.value);
  const Numbers to = as_numbers(out.value);
  const bool is_small_float = !out.is_float() && is_float(op.to);
  Numbers& bound = e.bound();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const Ball b{from[i], x.error(i)};
    if (out.is_float()) {
      const bool fits = b.exact() && (out.type == DType::f64 ||
                                      static_cast<double>(static_cast<float>(b.v)) == b.v);
      bound[i] = fits && out.type != DType::f16 && out.type != DType::bf16
                     ? 0
                     : e.rounding().rounded(b.v, b.e).e;
      if (!std::isfinite(b.v) && b.exact()) bound[i] = 0;
    } else if (is_small_float) {
      bound[i] = b.exact() ? 0 : b.e + 2 * spacing_of(op.to, b.size());
    } else if (x.is_float()) {
      bound[i] = integer_cast_error(out.type, b, to[i]);
    } else if (op.to == DType::boolean) {
      bound[i] = b.exact() ? 0 : integer_cast_error(op.to, b, to[i]);
    } else {
      bound[i] = b.exact() ? 0 : to[i] == b.v && holds(op.to, b) ? b.e : infinity;
    }
  }
  return {};
}

}  // namespace quern::tools::rules
