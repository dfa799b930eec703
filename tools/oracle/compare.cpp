// SPDX-License-Identifier: Apache-2.0
// The judge: whether a result is within its bounds.
#include <cmath>
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "tools/oracle/rounding.h"
#include "tools/oracle/values.h"

namespace quern::tools {
namespace {

std::string number(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

Difference mismatch(std::string text) {
  Difference d;
  d.text = std::move(text);
  return d;
}

// The error of `got` as a multiple of the bound; 0 if it is right.
double excess_of(double got, double wanted, double bound) {
  if (bound == infinity) return 0;
  if (std::isnan(wanted) || std::isnan(got))
    return std::isnan(wanted) && std::isnan(got) ? 0 : infinity;
  if (got == wanted) return 0;
  const double off = std::fabs(got - wanted);
  if (off <= bound) return 0;
  return bound > 0 && std::isfinite(off) ? off / bound : infinity;
}

std::optional<Difference> compare_strings(const BoundedTensor& wanted, const TensorView& got) {
  const auto w = wanted.value.span<StringRef>();
  const auto g = got.span<StringRef>();
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (wanted.bound[i] == infinity || w[i].view() == g[i].view()) continue;
    Difference d =
        mismatch(cat("element ", i, " is '", g[i].view(), "', wanted is '", w[i].view(), "'"));
    d.element = static_cast<std::int64_t>(i);
    d.outside = 1;
    return d;
  }
  return std::nullopt;
}

}  // namespace

double Difference::excess() const {
  return bound > 0 ? std::fabs(got - wanted) / bound : infinity;
}

std::optional<Difference> compare(const BoundedTensor& wanted, const TensorView& got) {
  const TensorType type{wanted.type, wanted.value.shape()};
  if (got.type != type) return mismatch(cat("got ", got.type.text(), ", wanted ", type.text()));
  if (wanted.type == DType::string) return compare_strings(wanted, got);
  const auto bytes = Tensor(got.type, nullptr, got.data);
  const Numbers g = as_numbers(bytes);
  const Numbers w = as_numbers(wanted.value);
  // Integers of 64 bits are not all numbers of f64: those that must be equal are compared as they
  // are.
  const bool is_wide = wanted.type == DType::i64 || wanted.type == DType::u64;
  const auto differ = [&](std::size_t i) {
    return is_wide && std::memcmp(got.data + 8 * i, wanted.value.data() + 8 * i, 8) != 0;
  };
  Difference worst;
  double most = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double bound = wanted.bound[i];
    double excess = excess_of(g[i], w[i], bound);
    if (bound == 0 && differ(i)) excess = infinity;
    if (excess == 0) continue;
    ++worst.outside;
    if (excess <= most) continue;
    most = excess;
    worst.element = static_cast<std::int64_t>(i);
    worst.got = g[i], worst.wanted = w[i], worst.bound = bound;
  }
  if (worst.outside == 0) return std::nullopt;
  worst.text = cat("element ", worst.element, " of ", type.text(), " is ", number(worst.got),
                   ", wanted ", number(worst.wanted), " within ", number(worst.bound), "; ",
                   worst.outside, " of ", w.size(), " are outside of their bounds");
  return worst;
}

Share judged_share(const BoundedValue& value) {
  Share share;
  if (value.kind == BoundedValue::Kind::undetermined) return {1, 1};
  for (const BoundedTensor& t : value.tensors) {
    share.elements += static_cast<std::int64_t>(t.bound.size());
    share.undetermined += std::ranges::count(t.bound, infinity);
  }
  return share;
}

}  // namespace quern::tools
