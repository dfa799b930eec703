// SPDX-License-Identifier: Apache-2.0
#include "tools/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "tools/compare.h"
#include "tools/console.h"

namespace quern::tools {
namespace {

// f(double) for every element of a type that has numbers.
template <class F>
void for_each_number(const TensorView& tensor, F&& f) {
  visit_dtype(tensor.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, StringRef>) {
      const T* v = tensor.as<T>();
      for (std::int64_t i = 0; i < tensor.type.shape.elements(); ++i) f(static_cast<double>(v[i]));
    }
  });
}

}  // namespace

Statistics statistics(const TensorView& tensor) {
  Statistics s;
  double sum = 0;
  for_each_number(tensor, [&](double v) {
    if (std::isnan(v)) {
      ++s.not_a_number;
    } else if (std::isinf(v)) {
      ++s.infinite;
    } else {
      s.min = s.finite ? std::min(s.min, v) : v;
      s.max = s.finite ? std::max(s.max, v) : v;
      sum += v;
      ++s.finite;
    }
  });
  if (s.finite) s.mean = sum / static_cast<double>(s.finite);
  return s;
}

std::string summary_text(const TensorView& tensor) {
  const Statistics s = statistics(tensor);
  std::string text;
  if (s.finite > 1)
    text = cat("min ", number_text(s.min), ", mean ", number_text(s.mean), ", max ",
               number_text(s.max));
  if (s.not_a_number) text += cat(text.empty() ? "" : ", ", s.not_a_number, " NaN");
  if (s.infinite) text += cat(text.empty() ? "" : ", ", s.infinite, " infinite");
  return cat(text, text.empty() ? "" : "  ", elements_text(tensor, 6));
}

std::string map_text(const TensorView& keys, const TensorView& values) {
  constexpr std::int64_t most = 6;
  const std::int64_t count = keys.type.shape.elements();
  const auto element = [](const TensorView& list, std::int64_t i) {
    const std::size_t at = static_cast<std::size_t>(i) * size_of(list.type.dtype);
    const std::string s = elements_text({{list.type.dtype, {}}, list.data + at}, 1);
    return s.substr(1, s.size() - 2);  // without its braces
  };
  std::string text = "{";
  for (std::int64_t i = 0; i < std::min(count, most); ++i)
    text += cat(i ? ", " : "", element(keys, i), ": ", element(values, i));
  return text + (count > most ? ", ...}" : "}");
}

Json summary_json(const TensorView& tensor) {
  const Statistics s = statistics(tensor);
  Json j;
  j["type"] = tensor.type.text();
  j["min"] = s.min;
  j["mean"] = s.mean;
  j["max"] = s.max;
  j["nan"] = s.not_a_number;
  j["infinite"] = s.infinite;
  j["first"] = elements_text(tensor, 6);
  return j;
}

std::optional<std::int64_t> score_rows(const TensorView& tensor) {
  const Shape& shape = tensor.type.shape;
  if (tensor.type.dtype == DType::string || tensor.type.dtype == DType::boolean ||
      shape.rank() == 0)
    return std::nullopt;
  const std::size_t first = shape.rank() > 1 ? 1 : 0;
  const auto wide =
      std::count_if(shape.begin() + first, shape.end(), [](std::int64_t d) { return d != 1; });
  const std::int64_t rows = first ? shape[0] : 1;
  if (wide != 1 || shape.elements(first) < 2 || rows < 1) return std::nullopt;
  return rows;
}

Ranking rank_classes(const TensorView& scores, std::int64_t row, std::int64_t rows, int count) {
  std::vector<double> all;
  for_each_number(scores, [&](double v) { all.push_back(v); });
  const auto size = static_cast<std::ptrdiff_t>(all.size()) / rows;
  std::vector<double> p(all.begin() + row * size, all.begin() + (row + 1) * size);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  const double least = *std::ranges::min_element(p);
  Ranking ranking;
  ranking.softmax_applied = !(least >= -1e-6 && std::abs(sum - 1) < 0.02);
  if (ranking.softmax_applied) {
    const double top = *std::ranges::max_element(p);
    double total = 0;
    for (double& v : p) total += v = std::exp(v - top);
    for (double& v : p) v /= total;
  }
  std::vector<std::int64_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return p[static_cast<std::size_t>(a)] > p[static_cast<std::size_t>(b)];
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  for (std::int64_t i : order) ranking.classes.push_back({i, p[static_cast<std::size_t>(i)]});
  return ranking;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace quern::tools
