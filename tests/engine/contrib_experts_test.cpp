// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts of com.microsoft, against plain loops over their definitions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "tests/engine/one_operator.h"

namespace quern::onnx_test::mixtures {
namespace {

using quern::testing::Declared;
using quern::testing::expect_values;
using quern::testing::Fed;
using quern::testing::must;
using quern::testing::pattern;
using quern::testing::refusal_of;
using quern::testing::tensor;

float element(const Tensor& t, std::int64_t i) {
  return t.span<float>()[static_cast<std::size_t>(i)];
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

constexpr std::int64_t experts = 4, width = 32, inner = 16;

struct Mixture {
  std::string activation = "relu";
  std::int64_t taken = 2;
  bool normalises = false;
  std::int64_t fusion = 0;
  bool has_third = false;
  double alpha = 1, beta = 0, limit = std::numeric_limits<double>::infinity();
  std::int64_t bits = 0, block = 0;
  bool has_zeros = false, has_bias = true, has_router_weights = false;
  Declared dims = Declared::all;
  std::int64_t rows = 3;

  Tensor x = pattern({rows, width}, 1);
  Tensor router = rows == 1 ? tensor<float>({1, experts}, {0.5F, -1, 2, 0.25F})
                            : tensor<float>({rows, experts}, {0.5F, -1, 2, 0.25F, 1, 3, -2, 2.5F,
                                                              -0.5F, 0.75F, 0.125F, -3});
  Tensor router_weights = tensor<float>(
      {3, experts}, {0.5F, 0.25F, 1, 0.75F, 0.125F, 0.5F, 2, 0.375F, 1, 0.25F, 0.5F, 3});

  bool is_fused() const { return activation == "swiglu" && fusion != 0; }

  // The matrix `which`, 0 to 2.
  std::int64_t depth(int which) const { return which == 1 ? inner : width; }
  std::int64_t columns(int which) const {
    return which == 1 ? width : which == 0 && is_fused() ? 2 * inner : inner;
  }
  std::int64_t blocks(int which) const { return block == 0 ? 1 : depth(which) / block; }
  Tensor floats_of(int which) const {
    return pattern({experts, columns(which), depth(which)}, 10 + which);
  }
  Tensor bias_of(int which) const { return pattern({experts, columns(which)}, 20 + which); }
  Tensor scales_of(int which) const {
    return block == 0 ? pattern({experts, columns(which)}, 30 + which)
                      : pattern({experts, columns(which), blocks(which)}, 30 + which);
  }
  // Bytes whose bits differ from one to the next.
  Tensor bytes_of(const Shape& shape, std::int64_t salt) const {
    Tensor t = must(Tensor::zeros({DType::u8, shape}));
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      reinterpret_cast<std::uint8_t*>(t.mutable_data())[i] =
          static_cast<std::uint8_t>((i * salt + i / 7) % 256);
    return t;
  }
  Tensor numbers_of(int which) const {
    return bytes_of({experts, columns(which), depth(which) * bits / 8}, 37 + 2 * which);
  }
  Tensor zeros_of(int which) const {
    return block == 0 ? bytes_of({experts, columns(which) * bits / 8}, 59)
                      : bytes_of({experts, columns(which), (blocks(which) * bits + 7) / 8}, 59);
  }
  std::int64_t number_in(const Tensor& t, std::int64_t row_bytes, std::int64_t row,
                         std::int64_t i) const {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(t.data()) + row * row_bytes;
    return bytes[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
  }

  // The numbers of all experts' matrices `which` [E, N, K], and their biases [E, N].
  struct Matrices {
    std::vector<double> weights, bias;
  };
  Matrices matrices(int which) const {
    Matrices m;
    const Tensor bias = bias_of(which), floats = bits == 0 ? floats_of(which) : Tensor();
    const Tensor numbers = bits == 0 ? Tensor() : numbers_of(which);
    const Tensor scales = bits == 0 ? Tensor() : scales_of(which);
    const Tensor zeros = bits == 0 ? Tensor() : zeros_of(which);
    for (std::int64_t row = 0; row < experts * columns(which); ++row) {
      m.bias.push_back(has_bias ? element(bias, row) : 0);
      for (std::int64_t k = 0; k < depth(which); ++k) {
        if (bits == 0) {
          m.weights.push_back(element(floats, row * depth(which) + k));
          continue;
        }
        const std::int64_t at = block == 0 ? 0 : k / block, n = row % columns(which);
        std::int64_t zero = std::int64_t{1} << (bits - 1);
        if (has_zeros && block == 0)
          zero = number_in(zeros, columns(which) * bits / 8, row / columns(which), n);
        else if (has_zeros)
          zero = number_in(zeros, (blocks(which) * bits + 7) / 8, row, at);
        const std::int64_t number = number_in(numbers, depth(which) * bits / 8, row, k) - zero;
        m.weights.push_back(static_cast<double>(number) *
                            element(scales, row * blocks(which) + at));
      }
    }
    return m;
  }
  std::vector<double> product(const Matrices& m, int which, std::int64_t e,
                              const std::vector<double>& in) const {
    std::vector<double> y;
    for (std::int64_t row = e * columns(which); row < (e + 1) * columns(which); ++row) {
      double sum = m.bias[static_cast<std::size_t>(row)];
      for (std::int64_t k = 0; k < depth(which); ++k)
        sum += in[static_cast<std::size_t>(k)] *
               m.weights[static_cast<std::size_t>(row * depth(which) + k)];
      y.push_back(sum);
    }
    return y;
  }
  double gated(double gate, double linear) const {
    gate = std::min(gate, limit);
    return gate * sigmoid(alpha * gate) * (std::clamp(linear, -limit, limit) + beta);
  }
  std::vector<double> activated(const std::vector<double>& f,
                                const std::vector<double>& third) const {
    std::vector<double> y;
    for (std::size_t i = 0; i < inner; ++i) {
      if (fusion == 1) {
        y.push_back(gated(f[2 * i], f[2 * i + 1]));
      } else if (fusion == 2) {
        y.push_back(gated(f[i], f[i + inner]));
      } else if (activation == "swiglu") {
        y.push_back(gated(f[i], third[i]));
      } else {
        const double v = f[i];
        const double cube = 0.7978845608 * (v + 0.044715 * v * v * v);
        const double a = activation == "relu"   ? std::max(v, 0.0)
                         : activation == "gelu" ? 0.5 * v * (1 + std::tanh(cube))
                         : activation == "silu" ? v * sigmoid(v)
                                                : v;
        y.push_back(has_third ? a * third[i] : a);
      }
    }
    return y;
  }
  std::vector<double> routed(std::int64_t r) const {
    std::vector<std::int64_t> order(experts);
    std::iota(order.begin(), order.end(), 0);
    const auto score = [&](std::int64_t e) { return double{element(router, r * experts + e)}; };
    std::ranges::sort(order, [&](auto a, auto b) { return score(a) > score(b); });
    double all = 0, chosen = 0;
    std::vector<double> weights(experts);
    for (std::int64_t e = 0; e < experts; ++e) all += std::exp(score(e));
    for (std::int64_t i = 0; i < taken; ++i) {
      const std::int64_t e = order[static_cast<std::size_t>(i)];
      double& w = weights[static_cast<std::size_t>(e)];
      w = has_router_weights ? element(router_weights, r * experts + e) : std::exp(score(e)) / all;
      chosen += w;
    }
    if (normalises)
      for (double& w : weights) w /= chosen;
    return weights;
  }
  std::vector<float> result() const {
    std::vector<float> y;
    const Matrices first = matrices(0), second = matrices(1), other = matrices(2);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::vector<double> weights = routed(r);
      std::vector<double> in, sum(width);
      for (std::int64_t k = 0; k < width; ++k) in.push_back(element(x, r * width + k));
      for (std::int64_t e = 0; e < experts; ++e) {
        const double w = weights[static_cast<std::size_t>(e)];
        if (w == 0) continue;
        const auto third = has_third ? product(other, 2, e, in) : std::vector<double>();
        const auto out = product(second, 1, e, activated(product(first, 0, e, in), third));
        for (std::size_t k = 0; k < width; ++k) sum[k] += w * out[k];
      }
      for (const double v : sum) y.push_back(static_cast<float>(v));
    }
    return y;
  }

  std::vector<Fed> operands() const {
    const auto matrices = [&](int which) -> std::vector<Fed> {
      const Fed bias = has_bias ? Fed{bias_of(which)} : Fed{};
      if (bits == 0) return {{floats_of(which), f32, true}, bias};
      return {{numbers_of(which), 2, true}, {scales_of(which), f32, true}, bias};
    };
    std::vector<Fed> fed = {{x}, {router}};
    for (const int which : {0, 1, 2})
      if (which < 2 || has_third)
        for (const Fed& f : matrices(which)) fed.push_back(f);
    if (!has_zeros && !has_router_weights) return fed;
    fed.resize(11);
    for (const int which : {0, 1}) fed.push_back(has_zeros ? Fed{zeros_of(which), 2, true} : Fed{});
    fed.push_back({});
    if (has_router_weights) fed.push_back({router_weights});
    return fed;
  }
  void check() const {
    SCOPED_TRACE(activation + ", fusion " + std::to_string(fusion) + ", bits " +
                 std::to_string(bits) + ", block " + std::to_string(block));
    Messages attributes = {integer("k", taken), word("activation_type", activation)};
    if (normalises) attributes.push_back(integer("normalize_routing_weights", 1));
    if (fusion != 0) attributes.push_back(integer("swiglu_fusion", fusion));
    if (alpha != 1) attributes.push_back(number("activation_alpha", static_cast<float>(alpha)));
    if (beta != 0) attributes.push_back(number("activation_beta", static_cast<float>(beta)));
    if (std::isfinite(limit))
      attributes.push_back(number("swiglu_limit", static_cast<float>(limit)));
    if (bits != 0) attributes.push_back(integer("expert_weight_bits", bits));
    if (block != 0) attributes.push_back(integer("block_size", block));
    const std::vector<float> wanted = result();
    float most = 1;
    for (const float v : wanted) most = std::max(most, std::abs(v));
    expect_values({.op = bits == 0 ? "MoE" : "QMoE",
                   .fed = operands(),
                   .attributes = attributes,
                   .dims = dims},
                  {wanted}, 2e-5F * most);
  }
};

TEST(ContribExperts, OfEachActivation) {
  for (const char* activation : {"relu", "gelu", "silu", "identity"}) {
    Mixture{.activation = activation}.check();
    Mixture{.activation = activation, .taken = 1, .has_third = true, .has_bias = false}.check();
    Mixture{.activation = activation, .taken = 4, .normalises = true}.check();
  }
}

// Rows that are few beside the experts gather their weights; more go through all experts.
TEST(ContribExperts, OfAnyNumberOfRows) {
  Mixture{.dims = Declared::last}.check();
  Mixture{.taken = 1, .normalises = true, .dims = Declared::last}.check();
  Mixture{.bits = 4, .dims = Declared::last}.check();
  for (const Declared dims : {Declared::all, Declared::last})
    for (const bool has_third : {false, true})
      Mixture{.activation = "silu",
              .taken = 1,
              .has_third = has_third,
              .has_bias = !has_third,
              .dims = dims,
              .rows = 1}
          .check();
}

TEST(ContribExperts, SwigluInItsForms) {
  for (const std::int64_t fusion : {0, 1, 2}) {
    Mixture m{.activation = "swiglu", .fusion = fusion, .has_third = fusion == 0};
    m.check();
    m.alpha = 1.702, m.beta = 1, m.limit = 1.5, m.normalises = true;
    m.check();
  }
}

TEST(ContribExperts, OfFewBits) {
  for (const std::int64_t bits : {4, 8})
    for (const std::int64_t block : {0, 16})
      for (const bool has_zeros : {false, true}) {
        Mixture m{.activation = "silu",
                  .normalises = true,
                  .bits = bits,
                  .block = block,
                  .has_zeros = has_zeros,
                  .has_bias = has_zeros};
        m.check();
        m.activation = "swiglu", m.fusion = 1, m.alpha = 1.702, m.beta = 1, m.limit = 7;
        m.check();
      }
}

TEST(ContribExperts, OneTensorChoosesAndAnotherWeighs) {
  Mixture{.bits = 4, .has_router_weights = true}.check();
  Mixture{.normalises = true, .bits = 8, .has_zeros = true, .has_router_weights = true}.check();
}

TEST(ContribExperts, RefusesWhatIsNoMixture) {
  const auto refusal = [](const std::vector<std::int64_t>& second, const Messages& attributes) {
    GraphParts g;
    g.inputs = {value("x", f32, {2, 4}), value("r", f32, {2, 3}), value("w", f32, {3, 5, 4}),
                value("v", f32, {second[0], second[1], second[2]})};
    g.nodes = {node("MoE", {"x", "r", "w", "", "v"}, {"y"}, attributes,
                    {.name = "n", .domain = "com.microsoft"})};
    g.outputs = {Message().text(1, "y")};
    return refusal_of(g);
  };
  using ::testing::HasSubstr;
  EXPECT_EQ(refusal({3, 4, 5}, {integer("k", 2)}), "none");
  EXPECT_THAT(refusal({3, 4, 5}, {integer("k", 0)}), HasSubstr("'k' is 0"));
  EXPECT_THAT(refusal({3, 4, 6}, {integer("k", 1)}), HasSubstr("have 20 weights, want 6 times 4"));
  EXPECT_THAT(refusal({3, 3, 5}, {integer("k", 1)}), HasSubstr("do not fit rows of 4"));
  EXPECT_THAT(refusal({2, 4, 5}, {integer("k", 1)}), HasSubstr("is of 3 experts, others of 2"));
  EXPECT_THAT(refusal({3, std::int64_t{1} << 40, 5}, {integer("k", 1)}), HasSubstr("weights"));
  EXPECT_THAT(refusal({std::int64_t{1} << 40, 4, 5}, {integer("k", 1)}), HasSubstr("1024"));
  EXPECT_THAT(refusal({3, 4, 5}, {integer("k", 2), integer("use_sparse_mixer", 1)}),
              HasSubstr("use_sparse_mixer"));
  EXPECT_THAT(refusal({3, 4, 5}, {word("activation_type", "swiglu")}),
              HasSubstr("wants a third matrix"));
  EXPECT_THAT(refusal({3, 4, 5}, {word("activation_type", "tanh")}), HasSubstr("tanh"));
}

}  // namespace
}  // namespace quern::onnx_test::mixtures
