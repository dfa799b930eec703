// SPDX-License-Identifier: Apache-2.0
#include "tools/against/difference.h"

#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "tools/console.h"

namespace quern::tools {
namespace {

std::string type_of(const InputValue& v) {
  if (v.kind == InputValue::Kind::none) return "nothing";
  return v.text();
}

// The element as a number, for measuring; 0 for strings.
template <class T>
double number(const T& v) {
  if constexpr (std::is_same_v<T, StringRef>) {
    return 0;
  } else {
    return static_cast<double>(v);
  }
}

// Every element by itself: what is outside has a tensor of one element that compare() refuses.
template <class T>
void add_elements(const TensorView& got, const TensorView& wanted, const Criterion& criterion,
                  const std::string& prefix, Divergence& d) {
  const T* a = got.as<T>();
  const T* b = wanted.as<T>();
  Criterion alone = criterion;  // of one element: the largest of all is not among them
  alone.atol += criterion.of_largest * largest_magnitude(wanted);
  alone.of_largest = 0;
  for (std::int64_t i = 0; i < wanted.type.shape.elements(); ++i) {
    const TensorType one{wanted.type.dtype, {}};
    const Comparison c = compare({one, reinterpret_cast<const std::byte*>(a + i)},
                                 {one, reinterpret_cast<const std::byte*>(b + i)}, alone);
    if (c.outside == 0) continue;
    const double relative = c.max_abs / std::abs(number(b[i]));
    const auto take = [&](Spot& spot, double by) {
      if (!spot.at.empty() && !(by > spot.by)) return;
      spot = {prefix + position_text(wanted.type.shape, i), element_text(got, i),
              element_text(wanted, i), by};
    };
    take(d.largest, c.max_abs);
    if (!std::isnan(relative) && number(b[i]) != 0) take(d.relative, relative);
  }
}

void add_tensor(const TensorView& got, const TensorView& wanted, const Criterion& criterion,
                const std::string& prefix, Divergence& d) {
  const Comparison c = compare(got, wanted, criterion);
  if (got.type != wanted.type) {
    d.parts = true;
    d.mismatch = prefix + c.reason;
    return;
  }
  d.elements += wanted.type.shape.elements();
  d.outside += c.outside;
  d.agreement = std::max(d.agreement, c.max_abs);
  if (c.ok) return;
  d.parts = true;
  visit_dtype(wanted.type.dtype, [&](auto tag) {
    add_elements<typename decltype(tag)::type>(got, wanted, criterion, prefix, d);
  });
}

}  // namespace

Divergence difference_of(const InputValue& got, const InputValue& wanted,
                         const Criterion& criterion) {
  Divergence d{.type = type_of(wanted)};
  if (got.kind != wanted.kind || got.tensors.size() != wanted.tensors.size()) {
    d.parts = true;
    d.mismatch = cat("got ", type_of(got), ", wanted ", d.type);
    return d;
  }
  for (std::size_t k = 0; k < wanted.tensors.size(); ++k) {
    const std::string prefix = wanted.kind == InputValue::Kind::sequence ? cat(k, ":") : "";
    add_tensor(got.tensors[k].view(), wanted.tensors[k].view(), criterion, prefix, d);
  }
  return d;
}

Json difference_json(const Divergence& d) {
  Json j;
  j["parts"] = d.parts;
  j["type"] = d.type;
  if (!d.mismatch.empty()) j["mismatch"] = d.mismatch;
  j["elements"] = d.elements;
  j["outside"] = d.outside;
  const auto spot = [](const Spot& s) {
    Json e;
    e["at"] = s.at;
    e["got"] = s.got;
    e["wanted"] = s.wanted;
    e["by"] = s.by;
    return e;
  };
  if (!d.largest.at.empty()) j["largest"] = spot(d.largest);
  if (!d.relative.at.empty()) j["largest_relative"] = spot(d.relative);
  j["max_difference"] = d.agreement;
  return j;
}

std::string criterion_text(const Criterion& c) {
  return cat(number_text(c.atol), " + ", number_text(c.rtol), " |wanted| + ",
             number_text(c.of_largest), " of the largest");
}

}  // namespace quern::tools
