// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/compare_answers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

namespace quern::fuzz {
namespace {

using Element = Answer::Element;

// Roundings that may add up in a kernel, or lie in an approximation of a function.
constexpr double roundings = 100;
// How much further than a small change of the inputs a difference may move what follows from it.
constexpr double follow = 64;

template <class T>
double load(const std::byte* at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return static_cast<double>(v);
}

double half_at(const std::byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}
double brain_at(const std::byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  return load<float>(reinterpret_cast<const std::byte*>(&wide));
}

// Nothing: no float, to be compared as it is. (Those of 8 bits are numbers of a table.)
std::optional<double> float_at(const Element& e, std::size_t i) {
  switch (e.type.dtype) {
    case DType::f32: return load<float>(e.bytes.data() + i * 4);
    case DType::f64: return load<double>(e.bytes.data() + i * 8);
    case DType::f16: return half_at(e.bytes.data() + i * 2);
    case DType::bf16: return brain_at(e.bytes.data() + i * 2);
    default: return std::nullopt;
  }
}

double largest(const Element& e) {
  double most = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(e.type.shape.elements()); ++i)
    if (const double v = std::fabs(*float_at(e, i)); std::isfinite(v)) most = std::max(most, v);
  return most;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

std::string compare_floats(const Element& wanted, const Element& given, const Element* moved,
                           double rounding) {
  const double scale = std::max(largest(wanted), moved ? largest(*moved) : 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.type.shape.elements()); ++i) {
    const double w = *float_at(wanted, i);
    const double g = *float_at(given, i);
    if (same(w, g)) continue;
    const double m = moved ? *float_at(*moved, i) : w;
    if (!std::isfinite(w) || !std::isfinite(g) || !std::isfinite(m)) {
      if (std::isfinite(w) == std::isfinite(m) && same(w, m))
        return "element " + std::to_string(i) + " is " + std::to_string(g) + ", not " +
               std::to_string(w);
      continue;
    }
    if (std::fabs(w - g) > rounding * roundings * scale + follow * std::fabs(w - m))
      return "element " + std::to_string(i) + " is " + std::to_string(g) + ", not " +
             std::to_string(w);
  }
  return {};
}

std::string compare_elements(const Element& wanted, const Element& given, const Element* moved,
                             double rounding) {
  if (moved && moved->type != wanted.type) return {};
  if (wanted.type != given.type) return "is " + given.type.text() + ", not " + wanted.type.text();
  const bool is_empty = wanted.type.shape.elements() == 0;
  if (!is_empty && float_at(wanted, 0)) return compare_floats(wanted, given, moved, rounding);
  if (wanted.bytes == given.bytes && wanted.texts == given.texts) return {};
  if (moved && (wanted.bytes != moved->bytes || wanted.texts != moved->texts)) return {};
  return "other elements of " + wanted.type.text();
}

}  // namespace

double coarsest_rounding(const Model& model) {
  const std::string text = model.text(0);
  if (text.find("f8e") != text.npos) return 0x1p-4;
  if (text.find("bf16") != text.npos) return 0x1p-8;
  if (text.find("f16") != text.npos) return 0x1p-11;
  return 0x1p-23;
}

std::string difference(const Answer& wanted, const Answer& given, const Answer* moved,
                       double rounding) {
  if (moved && moved->code != Code::ok) return {};  // it depends on the numbers whether it runs
  for (std::size_t i = 0; i < wanted.outputs.size(); ++i) {
    const auto& all = wanted.outputs[i];
    if (moved && moved->outputs[i].size() != all.size()) continue;
    std::string what;
    if (all.size() != given.outputs[i].size())
      what = "holds " + std::to_string(given.outputs[i].size()) + " tensors, not " +
             std::to_string(all.size());
    for (std::size_t k = 0; k < all.size() && what.empty(); ++k)
      what = compare_elements(all[k], given.outputs[i][k], moved ? &moved->outputs[i][k] : nullptr,
                              rounding);
    if (!what.empty()) return "output " + std::to_string(i) + " of " + tested_device() + " " + what;
  }
  return {};
}

bool is_same(const Answer& wanted, const Answer& given) {
  const auto same_element = [](const Element& a, const Element& b) {
    return a.type == b.type && a.bytes == b.bytes && a.texts == b.texts;
  };
  const auto same_output = [&](const auto& a, const auto& b) {
    return std::ranges::equal(a, b, same_element);
  };
  return std::ranges::equal(wanted.outputs, given.outputs, same_output);
}

std::optional<std::string> outside_of_bounds(const Model& model, int round, const Answer& given) {
  using Kind = tools::BoundedValue::Kind;
  const auto inputs = make_inputs(model.inputs(), round, Inputs::plain);
  if (!inputs) return std::nullopt;
  const auto wanted = tools::evaluate_with_bounds(
      model.graph(), *inputs, {.arithmetic = tools::arithmetic_of(tested_device())});
  if (!wanted) return std::nullopt;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const tools::BoundedValue& value = (*wanted)[i];
    if (value.kind == Kind::undetermined) continue;
    const std::string output = "output " + std::to_string(i) + " of " + tested_device() + ": ";
    const auto& got = given.outputs[i];
    if (got.size() != value.tensors.size())
      return output + std::to_string(got.size()) + " tensors, not " +
             std::to_string(value.tensors.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      std::vector<StringRef> refs;
      for (const std::string& s : got[k].texts) refs.push_back({s.data(), s.size()});
      const auto* data =
          refs.empty() ? got[k].bytes.data() : reinterpret_cast<const std::byte*>(refs.data());
      if (const auto d = tools::compare(value.tensors[k], {got[k].type, data}))
        return output + d->text;
    }
  }
  return "";
}

}  // namespace quern::fuzz
