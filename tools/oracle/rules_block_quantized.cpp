// SPDX-License-Identifier: Apache-2.0
// Products by block-quantised weights: the rule of sums of products, by weights that kernels need
// not round as dequantised ones: they may sum numbers less the middle of their range, and take the
// zero points off the sum. x that is rounded to bytes may be one step off, as what is quantised.
#include <cmath>

#include "graph/ops/block_quantized.h"
#include "tools/oracle/rules.h"

namespace quern::tools::rules {
namespace {

// Rows of x as they are multiplied.
struct Factors {
  Numbers value;
  Numbers error;
};

// Rounds x[begin, end), a block of it, as a run does.
void round_block(const Evaluated& e, std::size_t begin, std::size_t end, Factors& x) {
  const Rounding r(DType::f32, e.arithmetic);
  constexpr double least = 1e-30;
  Ball most;
  for (std::size_t i = begin; i < end; ++i)
    most = {std::max(most.v, std::fabs(x.value[i])), std::max(most.e, x.error[i])};
  const bool is_zero = most.high() < least;
  const bool is_open = !is_zero && !(most.low() > least * 1.001);
  const Ball scale = r.div(most, {127, 0});
  const Ball inverse = r.div({127, 0}, most);
  for (std::size_t i = begin; i < end; ++i) {
    const Ball q = is_zero ? Ball{} : r.mul({x.value[i], x.error[i]}, inverse);
    const double whole = std::nearbyint(q.v);
    const double step = std::max(std::fabs(std::nearbyint(q.low()) - whole),
                                 std::fabs(std::nearbyint(q.high()) - whole));
    const double rounded = is_zero ? 0 : whole * scale.v;
    double error = is_zero ? 0 : step * scale.size() + std::fabs(whole) * scale.e;
    // A device may multiply x as it is.
    if (e.arithmetic == Arithmetic::vulkan)
      error = std::max(error, std::fabs(x.value[i] - rounded) + x.error[i]);
    x.value[i] = rounded;
    x.error[i] = is_open || !std::isfinite(error) ? infinity : error;
  }
}

Factors factors_of(const BlockQuantizedMatMul& op, const Evaluated& e, std::size_t depth) {
  Factors x{as_numbers(e.in[0]->value), {}};
  for (std::size_t i = 0; i < x.value.size(); ++i) x.error.push_back(e.in[0]->error(i));
  if (!op.quantize_x) return x;
  const auto size = static_cast<std::size_t>(op.block_size);
  for (std::size_t row = 0; row < x.value.size(); row += depth)
    for (std::size_t k = 0; k < depth; k += size)
      round_block(e, row + k, row + std::min(depth, k + size), x);
  return x;
}

// Weights by the numbers that they are made of.
class Weights {
 public:
  Weights(const BlockQuantizedMatMul& op, const Evaluated& e)
      : op_(op), e_(e), blocks_(e.in[2]->value.shape()[1]) {}

  struct Weight {
    Ball value;
    double magnitude = 0;
  };
  Weight at(std::size_t n, std::size_t k) const {
    const auto column = static_cast<std::int64_t>(n);
    const std::int64_t block = static_cast<std::int64_t>(k) / op_.block_size;
    const Ball scale = e_.in[2]->at(static_cast<std::size_t>(column * blocks_ + block));
    const Ball zero = zero_at(column, block);
    const double middle = static_cast<double>(1 << (op_.bits - 1));
    const std::int64_t bytes = blocks_ * op_.block_size * op_.bits / 8;
    const double q =
        number_of_bits(bytes_of(1) + column * bytes, static_cast<std::int64_t>(k), op_.bits);
    const double error = std::fabs(q - zero.v) * scale.e + zero.e * scale.size();
    return {{(q - zero.v) * scale.v, error},
            (std::fabs(q - middle) + std::fabs(zero.v - middle) + zero.e) * scale.size()};
  }

 private:
  const std::uint8_t* bytes_of(std::size_t input) const {
    return reinterpret_cast<const std::uint8_t*>(e_.in[input]->value.data());
  }
  Ball zero_at(std::int64_t n, std::int64_t block) const {
    if (!e_.has(3)) return {static_cast<double>(1 << (op_.bits - 1)), 0};
    if (e_.in[3]->is_float()) return e_.in[3]->at(static_cast<std::size_t>(n * blocks_ + block));
    const std::int64_t bytes = e_.in[3]->value.shape()[1];
    return {static_cast<double>(number_of_bits(bytes_of(3) + n * bytes, block, op_.bits)), 0};
  }

  const BlockQuantizedMatMul& op_;
  const Evaluated& e_;
  std::int64_t blocks_;
};

}  // namespace

Status bound(const BlockQuantizedMatMul& op, Evaluated& e) {
  const auto depth = static_cast<std::size_t>(e.in[0]->value.shape().back());
  const auto columns = static_cast<std::size_t>(e.in[2]->value.shape()[0]);
  const auto blocks = static_cast<double>(e.in[2]->value.shape()[1]);
  const Factors x = factors_of(op, e, depth);
  const Weights weights(op, e);
  const Rounding r = e.rounding();
  const double roundings = static_cast<double>(depth) + 3 * blocks + 4;
  Numbers& bound = e.bound();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const std::size_t n = i % columns;
    const Ball bias = e.has(4) ? e.in[4]->at(n) : Ball{};
    double error = bias.e;
    double magnitude = bias.size();
    for (std::size_t k = 0; k < depth; ++k) {
      const std::size_t at = i / columns * depth + k;
      const Weights::Weight w = weights.at(n, k);
      const Ball factor{x.value[at], x.error[at]};
      error += Rounding::product_error(factor, w.value);
      magnitude += factor.size() * w.magnitude;
    }
    bound[i] = or_infinite(error + r.gamma(roundings) * magnitude + roundings * r.tiny());
  }
  e.out[0].roundings = roundings;
  return {};
}

}  // namespace quern::tools::rules
