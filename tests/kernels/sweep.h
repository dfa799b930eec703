// SPDX-License-Identifier: Apache-2.0
// Points of products of many choices, and the bound that sums of products are held to: derived from
// the operation, not guessed. sweep_post_ops.h has the bounds of post-ops.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "tests/kernels/kernel_test.h"
#include "tests/sanitized.h"

namespace quern::testing {

// One point of a product of lists, drawn by its number: the same on every machine.
class Point {
 public:
  explicit Point(std::uint64_t number) : state_(number * 0x9e3779b97f4a7c15ULL) {}
  template <class T>
  T of(const std::vector<T>& list) {
    return list[next() % list.size()];
  }

 private:
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

// QUERN_SWEEP=N takes N times as many points as usual.
inline std::uint64_t sweep_factor() {
  const char* asked = std::getenv("QUERN_SWEEP");
  return asked ? std::max<std::uint64_t>(std::strtoull(asked, nullptr, 10), 1) : 1;
}

// body(Point) for `usual` points, or as many times that as is asked for; under a sanitizer, where
// the references are slow, for a twentieth.
template <class F>
void sweep(std::uint64_t usual, const F& body) {
  const std::uint64_t points = sanitized ? usual / 20 + 1 : usual;
  for (std::uint64_t i = 0; i < points * sweep_factor(); ++i) {
    Point point(i * 7919 + usual);
    body(point);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Who computed how much of a sweep, for its last words.
class Tally {
 public:
  explicit Tally(const char* what) : what_(what) {}
  ~Tally() {
    if (!std::getenv("QUERN_SWEEP")) return;
    for (const auto& [name, count] : by_implementation_)
      std::printf("%s: %s %lld, with post-ops %lld\n", what_, name.c_str(), count[0], count[1]);
  }
  void add(const SelectedRun& run) {
    ++by_implementation_[run.implementation][run.post_ops_taken > 0 ? 1 : 0];
    taken_ += run.implementation.empty() ? 0 : 1;
  }
  // Problems that the implementation that was asked has taken.
  int taken() const { return taken_; }

 private:
  const char* what_;
  int taken_ = 0;
  std::map<std::string, std::array<long long, 2>> by_implementation_;
};

// ---- bounds

// An element and how far from it a float computation may end up.
struct Bounded {
  double value, error;
};

inline constexpr double float_step = 1.2e-7;

// Operands of the reference, as magnitudes: its result is then the sum of |products|.
inline std::vector<Tensor> magnitudes(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> all;
  for (const Tensor& t : inputs) {
    all.push_back(t.valid() ? Tensor::zeros(t.type()).value() : Tensor());
    if (!t.valid()) continue;
    const auto from = t.span<float>();
    auto* to = reinterpret_cast<float*>(all.back().mutable_data());
    std::transform(from.begin(), from.end(), to, [](float v) { return std::fabs(v); });
  }
  return all;
}

// Sums of `length` products each, in any order.
inline std::vector<Bounded> bounded_sums(const Op& op, const std::vector<Tensor>& inputs,
                                         std::int64_t length, double growth) {
  const Tensor sums = run_reference(op, inputs).value()[0];
  const Tensor sizes = run_reference(op, magnitudes(inputs)).value()[0];
  std::vector<Bounded> all;
  const double factor = growth * float_step * static_cast<double>(length + 4);
  for (std::int64_t i = 0; i < sums.shape().elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    all.push_back({sums.span<float>()[at], factor * std::fabs(sizes.span<float>()[at]) + 1e-37});
  }
  return all;
}

}  // namespace quern::testing
