// SPDX-License-Identifier: Apache-2.0
#include "tools/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "tools/console.h"

namespace quern::tools {
namespace {

template <class T>
constexpr bool is_string = std::is_same_v<T, StringRef>;
template <class T>
constexpr bool is_exact = std::is_integral_v<T> || is_few_bits<T> || is_string<T>;

template <class T>
std::string value_text(const T& v) {
  if constexpr (is_string<T>) {
    return cat("\"", printable(v.view(), 40), "\"");
  } else if constexpr (std::is_same_v<T, bool>) {
    return v ? "true" : "false";
  } else if constexpr (std::is_same_v<T, double>) {
    return shortest(v);
  } else if constexpr (is_exact<T>) {
    return std::to_string(v);
  } else {
    return shortest(static_cast<float>(v));
  }
}

// The results of one pass over the elements.
struct Differences {
  std::int64_t outside = 0;
  std::int64_t worst = -1;
  double worst_excess = -1;  // difference / tolerance; infinity where one of them is not finite
  double sum = 0;
  double max_abs = 0;
};

void add(Differences& d, std::int64_t at, double difference, double tolerance) {
  const bool inside = difference <= tolerance;  // false for NaN
  d.outside += !inside;
  if (std::isfinite(difference)) {
    d.sum += difference;
    d.max_abs = std::max(d.max_abs, difference);
  } else {
    d.sum = d.max_abs = INFINITY;
  }
  const double excess = inside || tolerance == 0 || !std::isfinite(difference)
                            ? (inside                      ? 0
                               : std::isfinite(difference) ? difference * 1e30
                                                           : INFINITY)
                            : difference / tolerance;
  if (excess <= d.worst_excess || inside) return;
  d.worst = at;
  d.worst_excess = excess;
}

template <class T>
double difference(const T& a, const T& b) {
  if constexpr (is_string<T>) {
    return a.view() == b.view() ? 0 : 1;
  } else if constexpr (is_exact<T>) {
    if (a == b) return 0;  // before any rounding
    return std::max(std::abs(static_cast<double>(a) - static_cast<double>(b)), 1.0);
  } else {
    const auto x = static_cast<double>(a);
    const auto y = static_cast<double>(b);
    if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
    return std::isfinite(x) && std::isfinite(y) ? std::abs(x - y) : INFINITY;
  }
}

template <class T>
double tolerance(const T& wanted, const Criterion& c) {
  if constexpr (is_exact<T>) {
    return 0;
  } else {
    const double magnitude = std::abs(static_cast<double>(wanted));
    return c.atol + c.rtol * (std::isfinite(magnitude) ? magnitude : 0);
  }
}

// The largest magnitude of the elements that are finite.
template <class T>
double largest_of(const T* elements, std::int64_t count) {
  double largest = 0;
  if constexpr (!is_exact<T>) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double magnitude = std::abs(static_cast<double>(elements[i]));
      if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
    }
  }
  return largest;
}

template <class T>
Comparison judge(const TensorView& got, const TensorView& wanted, const Criterion& criterion) {
  const T* a = got.as<T>();
  const T* b = wanted.as<T>();
  const std::int64_t n = wanted.type.shape.elements();
  Criterion c = criterion;
  c.atol += c.of_largest * largest_of(b, c.of_largest > 0 ? n : 0);
  Differences d;
  for (std::int64_t i = 0; i < n; ++i) add(d, i, difference(a[i], b[i]), tolerance(b[i], c));
  const double count = static_cast<double>(std::max<std::int64_t>(n, 1));
  Comparison result{true, "", d.outside, d.max_abs, d.sum / count};
  const bool statistical = criterion.kind == Criterion::Kind::statistical;
  const double outside = static_cast<double>(d.outside) / count;
  const bool mean_ok = !statistical || is_exact<T> || result.mean_abs <= criterion.mean_abs;
  result.ok = mean_ok && outside <= (statistical ? criterion.max_outside : 0);
  if (result.ok) return result;
  if (d.worst >= 0)
    result.reason = cat("at ", position_text(wanted.type.shape, d.worst), " got ",
                        value_text(a[d.worst]), ", wanted ", value_text(b[d.worst]), "; ");
  result.reason +=
      cat(d.outside, " of ", n, " elements differ, by at most ", number_text(d.max_abs), ", by ",
          number_text(result.mean_abs), " on average");
  if (!mean_ok) result.reason += cat(" (", number_text(criterion.mean_abs), " is allowed)");
  if (statistical && outside > criterion.max_outside)
    result.reason += cat(" (", percent_text(criterion.max_outside, 2), " may)");
  return result;
}

}  // namespace

Comparison compare(const TensorView& got, const TensorView& wanted, const Criterion& criterion) {
  if (got.type != wanted.type)
    return {false, cat("got ", got.type.text(), ", wanted ", wanted.type.text())};
  return visit_dtype(got.type.dtype, [&](auto tag) {
    return judge<typename decltype(tag)::type>(got, wanted, criterion);
  });
}

bool identical(const TensorView& a, const TensorView& b) {
  if (a.type != b.type) return false;
  if (a.type.dtype == DType::string) return compare(a, b, {}).ok;
  return a.type.bytes() == 0 || std::memcmp(a.data, b.data, a.type.bytes()) == 0;
}

double largest_magnitude(const TensorView& tensor) {
  return visit_dtype(tensor.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return largest_of(tensor.as<T>(), tensor.type.shape.elements());
  });
}

std::string position_text(const Shape& shape, std::int64_t element) {
  Shape at = shape;
  for (std::size_t d = shape.rank(); d-- > 0;) {
    at[d] = element % shape[d];
    element /= shape[d];
  }
  return at.text();
}

std::string element_text(const TensorView& tensor, std::int64_t element) {
  return visit_dtype(tensor.type.dtype, [&](auto tag) {
    return value_text(tensor.as<typename decltype(tag)::type>()[element]);
  });
}

std::string elements_text(const TensorView& tensor, std::int64_t max) {
  const std::int64_t n = tensor.type.shape.elements();
  std::string s = "{";
  visit_dtype(tensor.type.dtype, [&](auto tag) {
    const auto* v = tensor.as<typename decltype(tag)::type>();
    for (std::int64_t i = 0; i < std::min(n, max); ++i) s += cat(i ? ", " : "", value_text(v[i]));
  });
  return s + (n > max ? ", ...}" : "}");
}

// ---- index.json --------------------------------------------------------------------------------

namespace {

double number_at(const Json& object, std::string_view key, double otherwise) {
  const Json* v = object.find(key);
  return v ? v->number(otherwise) : otherwise;
}

const Json* element(const Json* array, std::size_t i) {
  return array && i < array->items().size() ? &array->items()[i] : nullptr;
}

}  // namespace

const Json* find_model(const Json& index, std::string_view name) {
  const Json* models = index.find("models");
  if (!models) return nullptr;
  for (const Json& m : models->items())
    if (const Json* n = m.find("name"); n && n->text() == name) return &m;
  return nullptr;
}

Criterion criterion_of(const Json& model, std::size_t set, std::size_t output) {
  Criterion c;
  const Json* s = element(model.find("sets"), set);
  const Json* o = s ? element(s->find("outputs"), output) : nullptr;
  if (!o) return c;
  c.rtol = number_at(*o, "rtol", c.rtol);
  const Json* kind = model.find("criterion");
  if (kind && kind->text() == "statistical") {
    c.kind = Criterion::Kind::statistical;
    c.atol = number_at(*o, "floor_abs", 0);
    c.mean_abs = number_at(*o, "tol_meanabs", 0);
    c.max_outside = number_at(*o, "max_frac_outside", 0);
  } else {
    c.atol = number_at(*o, "tol_abs", c.atol);
  }
  return c;
}

}  // namespace quern::tools
