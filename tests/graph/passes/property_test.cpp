// SPDX-License-Identifier: Apache-2.0
// Random graphs give the same results before and after all rewrites, with shapes that are numbers,
// symbols or unknown; every graph in between is valid, and a second run finds nothing to do.
#include <numeric>
#include <random>

#include "graph/text.h"
#include "graph/text_util.h"
#include "kernels/kernel.h"
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

// Grows a graph of continuous functions: a step would turn rounding into a difference.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed), g_(builtin_ops()) {
    input({1, 4, 6, 6});
    input({2, 3, 8});
    input({8});
    input({2, 3, 4, 8});
  }

  Graph grow(int steps) {
    for (int i = 0; i < steps; ++i) step();
    for (int i = 0; i < 3; ++i) {
      const ValueId v =
          floats_[floats_.size() - 1 - below(std::min<std::size_t>(5, floats_.size()))];
      g_.add_output(v, cat("y", i));
    }
    g_.erase_dead();
    return std::move(g_);
  }

 private:
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  bool maybe() { return below(2) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }

  void input(const Shape& shape) {
    floats_.push_back(
        g_.add_input(cat("x", floats_.size()), ValueType(TensorType{DType::f32, shape})));
  }
  // Newer values more often.
  ValueId pick() {
    const std::size_t n = floats_.size();
    return maybe() ? floats_[n - 1 - below(std::min<std::size_t>(n, 4))] : floats_[below(n)];
  }
  Shape shape(ValueId v) const { return *g_.type(v).shape(); }
  ValueId number(float v) { return g_.add_constant(Tensor::scalar(DType::f32, v)); }
  ValueId list(const Ints& values) {
    return g_.add_constant(Tensor::from_values<std::int64_t>(
        DType::i64, {static_cast<std::int64_t>(values.size())}, values));
  }
  ValueId weights(const Shape& s) {
    Tensor t = random_tensor({DType::f32, s}, random_());
    auto* p = reinterpret_cast<float*>(t.mutable_data());
    for (std::int64_t i = 0; i < s.elements(); ++i) p[i] *= 0.25f;
    return g_.add_constant(std::move(t));
  }
  ValueId positive(const Shape& s) {
    Tensor t = random_tensor({DType::f32, s}, random_());
    auto* p = reinterpret_cast<float*>(t.mutable_data());
    for (std::int64_t i = 0; i < s.elements(); ++i) p[i] = 0.5f + p[i] * p[i];
    return g_.add_constant(std::move(t));
  }

  // What does not fit is left out; what grows too large is forgotten.
  std::optional<ValueId> put(Op op, std::vector<ValueId> inputs) {
    auto v = g_.add(std::move(op), std::move(inputs));
    if (!v || !g_.type(*v).fully_known() || shape(*v).elements() > 2000 ||
        shape(*v).elements() == 0)
      return std::nullopt;
    if (g_.type(*v).dtype == DType::f32) floats_.push_back(*v);
    return *v;
  }

  void step() {
    switch (below(16)) {
      case 0:
      case 1: unary(); break;
      case 2:
      case 3: binary(); break;
      case 4: with_number(); break;
      case 5: transpose(); break;
      case 6: reshape(); break;
      case 7: reduce(); break;
      case 8: put(Softmax{.axis = static_cast<std::int64_t>(below(3)) - 2}, {pick()}); break;
      case 9: product(); break;
      case 10:
      case 11: convolution(); break;
      case 12: movement(); break;
      case 13: activation(); break;
      case 14: norm(); break;
      default: attention(); break;
    }
  }

  void unary() {
    using enum UnaryKind;
    const Unary op = one_of<Unary>({{abs},
                                    {neg},
                                    {relu},
                                    {tanh},
                                    {sigmoid},
                                    {erf},
                                    {softplus},
                                    {clip, -1, 1},
                                    {clip, 0, 6},
                                    {leaky_relu, 0.1},
                                    {gelu},
                                    {hard_sigmoid, 0.2, 0.5},
                                    {swish, 1}});
    put(op, {pick()});
  }
  void binary() {
    using enum BinaryKind;
    put(Binary{one_of({BinaryKind::add, sub, mul, min, max})}, {pick(), pick()});
  }
  void with_number() {
    using enum BinaryKind;
    const ValueId x = pick();
    ValueId c = number(one_of({0.0f, 1.0f, 2.0f, 0.5f, -1.0f, 3.0f, 6.0f}));
    if (maybe() && shape(x).rank() > 1) c = weights({shape(x)[1]});
    if (maybe() && shape(x).rank() == 4) c = weights({shape(x)[1], 1, 1});
    const BinaryKind kind = one_of({BinaryKind::add, sub, mul, max, min});
    maybe() ? put(Binary{kind}, {x, c}) : put(Binary{kind}, {c, x});
    if (maybe()) put(Binary{div}, {pick(), number(one_of({2.0f, 6.0f, 3.0f}))});
    if (maybe()) put(Binary{pow}, {pick(), number(one_of({1.0f, 2.0f}))});
  }
  void transpose() {
    const ValueId x = pick();
    Ints perm(shape(x).rank());
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random_);
    const auto y = put(Transpose{perm}, {x});
    if (!y || maybe()) return;
    const auto z = put(Unary{UnaryKind::tanh}, {*y});
    Ints back(perm.size());
    for (std::size_t i = 0; i < perm.size(); ++i)
      back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
    if (z) put(Transpose{back}, {*z});
  }
  void reshape() {
    const ValueId x = pick();
    switch (below(5)) {
      case 0: put(Reshape{}, {x, list({-1, shape(x).back()})}); break;
      case 1: put(Flatten{static_cast<std::int64_t>(below(shape(x).rank() + 1))}, {x}); break;
      case 2: put(Unsqueeze{}, {x, list({0})}); break;
      case 3: put(Squeeze{}, {x, list({0})}); break;
      default: put(Reshape{}, {x, list({0, -1})}); break;
    }
  }
  void reduce() {
    using enum ReduceKind;
    const ValueId x = pick();
    const auto axis = static_cast<std::int64_t>(below(std::max<std::size_t>(shape(x).rank(), 1)));
    put(Reduce{.kind = one_of({sum, mean, max, min, sum_square, l1}), .keepdims = maybe()},
        {x, list({axis})});
  }
  void product() {
    const ValueId x = pick();
    if (shape(x).empty()) return;
    const std::int64_t k = shape(x).back();
    const bool turned = maybe();
    const ValueId w = weights(turned ? Shape{5, k} : Shape{k, 5});
    const auto y = put(MatMul{.transpose_b = turned}, {x, w});
    if (y && maybe()) put(Binary{BinaryKind::add}, {*y, weights({5})});
    if (maybe()) put(MatMul{.transpose_b = true}, {x, pick()});
  }
  void convolution() {
    ValueId x = pick();
    if (shape(x).rank() != 4) x = floats_[0];
    const std::int64_t c = shape(x)[1];
    if (maybe()) {
      const Ints pads = {0, 0, 1, 1, 0, 0, 1, 1};
      if (const auto p = put(Pad{}, {x, list(pads)})) x = *p;
    }
    Conv op;
    op.window.pads = maybe() ? Ints{1, 0, 1, 0} : Ints{};
    std::vector<ValueId> inputs = {x, weights({4, c, 1, 1})};
    if (maybe()) inputs.push_back(weights({4}));
    auto y = put(op, std::move(inputs));
    if (y && maybe())
      y = put(BatchNorm{}, {*y, weights({4}), weights({4}), weights({4}), positive({4})});
    if (y && maybe())
      put(Pool{.kind = maybe() ? PoolKind::max : PoolKind::average, .window = {.kernel = {2, 2}}},
          {*y});
  }
  void movement() {
    const ValueId x = pick();
    switch (below(7)) {
      case 0: put(Identity{}, {x}); break;
      case 1: put(Concat{}, {x, pick()}); break;
      case 2: put(Slice{}, {x, list({0}), list({2})}); break;
      case 3: put(Slice{}, {x, list({-1}), list({-100}), list({0}), list({-1})}); break;
      case 4: put(Expand{}, {x, list(Ints(shape(x).begin(), shape(x).end()))}); break;
      case 5: put(Gather{}, {x, list({0, 0})}); break;
      default: put(Reshape{}, {x, *g_.add(ShapeOf{}, {x})}); break;
    }
  }
  void activation() {
    const ValueId x = pick();
    const auto chain = [&](std::optional<ValueId> v, auto&&... steps) {
      ((v = v ? steps(*v) : v), ...);
    };
    const auto with = [&](BinaryKind k, float c) {
      return [this, k, c](ValueId v) { return put(Binary{k}, {v, number(c)}); };
    };
    const auto times_x = [&](ValueId v) { return put(Binary{BinaryKind::mul}, {v, x}); };
    const auto f = [&](UnaryKind k) { return [this, k](ValueId v) { return put(Unary{k}, {v}); }; };
    using enum BinaryKind;
    switch (below(4)) {
      case 0:
        chain(x, with(div, 1.4142135f), f(UnaryKind::erf), with(BinaryKind::add, 1), times_x,
              with(mul, 0.5f));
        break;
      case 1: chain(x, f(UnaryKind::sigmoid), times_x); break;
      case 2:
        chain(x, with(BinaryKind::add, 3), with(max, 0), with(min, 6), times_x, with(div, 6));
        break;
      default: chain(x, f(UnaryKind::softplus), f(UnaryKind::tanh), times_x); break;
    }
  }
  void norm() {
    const ValueId x = pick();
    if (shape(x).empty()) return;
    const ValueId axes = list({-1});
    const auto mean = put(Reduce{.kind = ReduceKind::mean}, {x, axes});
    if (!mean) return;
    const auto d = put(Binary{BinaryKind::sub}, {x, *mean});
    const auto square = put(Binary{BinaryKind::mul}, {*d, *d});
    const auto variance = put(Reduce{.kind = ReduceKind::mean}, {*square, axes});
    const auto shifted = put(Binary{BinaryKind::add}, {*variance, number(0.125f)});
    const auto root = put(Unary{UnaryKind::sqrt}, {*shifted});
    const auto y = put(Binary{BinaryKind::div}, {*d, *root});
    if (y && maybe()) put(Binary{BinaryKind::mul}, {*y, weights({shape(x).back()})});
  }
  void attention() {
    const ValueId q = pick();
    const std::size_t rank = shape(q).rank();
    if (rank < 3) return;
    const auto scores = put(MatMul{.transpose_b = true}, {q, q});
    if (!scores) return;
    const auto scaled = put(Binary{BinaryKind::mul}, {*scores, number(0.25f)});
    const auto weight = put(Softmax{}, {*scaled});
    if (weight) put(MatMul{}, {*weight, q});
  }

  std::mt19937_64 random_;
  Graph g_;
  std::vector<ValueId> floats_;
};

// The graph with less known of its inputs.
enum class Blur { none, symbols, dims, rank };
Graph blurred(const Graph& from, Blur blur) {
  Graph to(from.ops());
  std::vector<ValueId> values(from.value_count(), no_value);
  const auto map = [&](ValueId v) {
    if (v != no_value && from.value(v).is_constant() && values[index(v)] == no_value)
      values[index(v)] = to.add_constant(from.value(v).constant);
    return v == no_value ? no_value : values[index(v)];
  };
  for (ValueId v : from.inputs()) {
    ValueType type = from.type(v);
    for (std::size_t i = 0; blur != Blur::none && i < type.dims->size(); ++i)
      (*type.dims)[i] =
          blur == Blur::symbols ? to.symbol(cat("d", (*type.dims)[i].value())) : Dim();
    if (blur == Blur::rank) type.dims.reset();
    values[index(v)] = to.add_input(from.value(v).name, type);
  }
  for (NodeId id : from.order()) {
    const Node& n = from.node(id);
    std::vector<ValueId> inputs;
    for (ValueId v : n.inputs) inputs.push_back(map(v));
    const NodeId made = to.add_node(n.op, inputs, n.name, n.outputs.size()).value();
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      values[index(n.outputs[i])] = to.node(made).outputs[i];
  }
  for (std::size_t i = 0; i < from.outputs().size(); ++i)
    to.add_output(map(from.outputs()[i]), from.output_names()[i]);
  return to;
}

void expect_equivalent(const Graph& original, Graph optimised, std::uint64_t seed) {
  const std::vector<Tensor> inputs = random_inputs(original, seed);
  const auto expected = interpret(original, inputs);
  ASSERT_TRUE(expected) << expected.error().message();
  apply(optimised);
  const auto actual = interpret(optimised, inputs);
  ASSERT_TRUE(actual) << actual.error().message() << "\nin\n" << plain_text(optimised);
  for (std::size_t i = 0; i < expected->size(); ++i)
    expect_close((*expected)[i], (*actual)[i], 2e-4);
  for (const PassCount& c : apply(optimised)) EXPECT_EQ(c.fired, 0U) << "again: " << c.pass;
}

class RandomGraph : public ::testing::TestWithParam<int> {};

TEST_P(RandomGraph, KeepsItsResults) {
  for (int i = 0; i < 25; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * 1000 + i);
    const Graph g = Generator(seed).grow(6 + i);
    for (Blur blur : {Blur::none, Blur::symbols, Blur::dims, Blur::rank})
      expect_equivalent(g, blurred(g, blur), seed);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed << "\n" << plain_text(g);
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraph, ::testing::Range(0, 12));

// The generator reaches what it is meant to reach.
TEST(RandomGraphs, ExerciseMostRules) {
  std::vector<PassCount> all;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Graph g = Generator(seed).grow(25);
    const auto counts = apply(g);
    if (all.empty())
      all = counts;
    else
      for (std::size_t i = 0; i < counts.size(); ++i) all[i].fired += counts[i].fired;
  }
  std::size_t reached = 0;
  for (const PassCount& c : all) reached += c.fired > 0;
  EXPECT_GE(reached, 35U);
}

}  // namespace
}  // namespace quern::testing
