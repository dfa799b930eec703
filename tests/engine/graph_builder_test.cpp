// SPDX-License-Identifier: Apache-2.0
// Graphs made by hand, compiled and run on both CPU devices.
#include <algorithm>
#include <cmath>

#include <quern/graph_builder.h>

#include "graph/op_def.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/inverse.h"
#include "graph/ops/rearrange.h"
#include "tests/engine/engine_test.h"
#include "tests/expect.h"

namespace quern {
namespace {

using quern::testing::must;
using quern::testing::pattern;
using quern::testing::tensor;
using quern::testing::values;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// A number is no option: it would be taken for one if that were a bool.
template <class Builder>
concept TakesNumbers = requires(Builder& g, Operand x, std::int64_t n) {
  g.argmax(x, 1, n);
};
static_assert(!TakesNumbers<GraphBuilder>);

struct Ran {
  std::unique_ptr<Session> session;

  TensorView operator[](std::size_t i) const { return must(session->output(i), "output"); }
  Shape shape(std::size_t i) const { return (*this)[i].type.shape; }
  template <class T = float>
  std::vector<T> values(std::size_t i) const {
    return testing::values<T>((*this)[i]);
  }
};

class GraphBuilderTest : public ::testing::TestWithParam<const char*> {
 protected:
  Ran run(GraphBuilder& g, const std::vector<Tensor>& inputs = {}) {
    auto session = testing::session_of(testing::compile(must(g.build(), "build"), GetParam()));
    for (std::size_t i = 0; i < inputs.size(); ++i) must(session->set_input(i, inputs[i].view()));
    must(session->run(), "run");
    return {std::move(session)};
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, GraphBuilderTest, ::testing::Values("cpu", "reference"));

// ---- whole models ------------------------------------------------------------------------------

TEST_P(GraphBuilderTest, ConvolutionalNetwork) {
  GraphBuilder g("cnn");
  const Operand x = g.input("image", DType::f32, {"N", 1, 4, 4});
  // A kernel of ones sums 3 x 3 windows.
  const Operand w = g.constant(tensor<float>({1, 1, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1}));
  const Operand b = g.constant(tensor<float>({1}, {-50}));
  const Operand sums = g.named("sums", g.conv(x, w, b, {.pads = {1, 1, 1, 1}}));
  const Operand pooled = g.max_pool(g.relu(sums), {2, 2}, {.strides = {2, 2}});
  const Operand flat = g.reshape(pooled, {0, -1});
  const Operand weights = g.constant(tensor<float>({4, 2}, {1, 0, 1, 0, 0, 1, 0, 1}));
  g.output("scores", g.matmul(flat, weights));
  g.output("pooled", pooled);

  std::vector<float> image(16);
  std::iota(image.begin(), image.end(), 0.0F);
  const Ran r = run(g, {Tensor::from_values<float>(DType::f32, {1, 1, 4, 4}, image)});
  // Sums: inner windows 45 54 81 90, edges less; after -50 and relu the largest of each quarter.
  EXPECT_EQ(r.shape(1), Shape({1, 1, 2, 2}));
  EXPECT_THAT(r.values(1), ElementsAre(0, 4, 31, 40));
  EXPECT_EQ(r.shape(0), Shape({1, 2}));
  EXPECT_THAT(r.values(0), ElementsAre(4, 71));
}

// Attention over 2 heads of width 2 with an identity projection, against the formula by hand.
TEST_P(GraphBuilderTest, AttentionBlock) {
  GraphBuilder g("attention");
  const Operand x = g.input("x", DType::f32, {"T", 4});
  const auto heads = [&](Operand v) { return g.transpose(g.reshape(v, {-1, 2, 2}), {1, 0, 2}); };
  const Operand q = heads(x);
  const Operand k = g.transpose(heads(x), {0, 2, 1});
  const Operand scores = g.mul(g.matmul(q, k), g.scalar(1 / std::sqrt(2.0)));
  const Operand mixed = g.matmul(g.softmax(scores), heads(x));
  const Operand joined = g.reshape(g.transpose(mixed, {1, 0, 2}), {-1, 4});
  g.output("y", g.layer_norm(g.add(x, joined)));
  g.output("joined", joined);

  const std::vector<float> in = {1, 0, 2, -1, 0, 1, 0.5F, 1, -1, 2, 0, 3};
  const Ran r = run(g, {Tensor::from_values<float>(DType::f32, {3, 4}, in)});
  std::vector<float> expected(12);
  for (std::size_t h = 0; h < 4; h += 2)
    for (std::size_t i = 0; i < 3; ++i) {
      double e[3];
      double sum = 0;
      for (std::size_t j = 0; j < 3; ++j)
        sum += e[j] =
            std::exp((in[i * 4 + h] * in[j * 4 + h] + in[i * 4 + h + 1] * in[j * 4 + h + 1]) /
                     std::sqrt(2.0));
      for (std::size_t c = h; c < h + 2; ++c)
        for (std::size_t j = 0; j < 3; ++j)
          expected[i * 4 + c] += static_cast<float>(e[j] / sum) * in[j * 4 + c];
    }
  EXPECT_THAT(r.values(1), Pointwise(FloatNear(1e-5F), expected));
  const std::vector<float> y = r.values(0);
  for (std::size_t i = 0; i < 3; ++i) {
    float mean = 0;
    float square = 0;
    for (std::size_t c = 0; c < 4; ++c) mean += y[i * 4 + c] / 4;
    for (std::size_t c = 0; c < 4; ++c) square += y[i * 4 + c] * y[i * 4 + c] / 4;
    EXPECT_NEAR(mean, 0, 1e-5);
    EXPECT_NEAR(square, 1, 1e-3);
  }
}

TEST_P(GraphBuilderTest, Lstm) {
  GraphBuilder g("lstm");
  const Operand x = g.input("x", DType::f32, {-1, 1, 1});
  // All gates of weight 0: i = o = f = 1/2, the candidate is 0: c halves in each step.
  const Operand w = g.constant(must(Tensor::zeros({DType::f32, {1, 4, 1}})));
  const Operand h0 = g.constant(tensor<float>({1, 1, 1}, {0}));
  const Operand c0 = g.constant(tensor<float>({1, 1, 1}, {8}));
  const auto [y, h, c] = g.lstm(x, w, w, 1, {.initial_h = h0, .initial_c = c0});
  g.output("y", y);
  g.output("h", h);
  g.output("c", c);
  const Ran r = run(g, {pattern({3, 1, 1})});
  EXPECT_EQ(r.shape(0), Shape({3, 1, 1, 1}));
  EXPECT_THAT(r.values(2), ElementsAre(FloatNear(1, 1e-5F)));
  EXPECT_THAT(r.values(1), ElementsAre(FloatNear(std::tanh(1.0F) / 2, 1e-5F)));
}

// ---- control flow ------------------------------------------------------------------------------

TEST_P(GraphBuilderTest, IfTakesOneBranch) {
  for (const bool taken : {true, false}) {
    GraphBuilder g("if");
    const Operand c = g.input("c", DType::boolean, {});
    const Operand x = g.input("x", DType::f32, {"N"});
    const auto y = g.if_(
        c,
        [](GraphBuilder& b, std::span<const Operand> in) -> Operands {
          return {b.mul(in[0], b.scalar(2))};
        },
        [](GraphBuilder& b, std::span<const Operand> in) -> Operands {
          return {b.concat({in[0], in[0]}, 0)};
        },
        {x});
    ASSERT_EQ(y.size(), 1U) << g.status().message();
    g.output("y", y[0]);
    const Ran r = run(g, {tensor<bool>({}, {taken}), tensor<float>({2}, {1, 2})});
    EXPECT_EQ(r.values(0), taken ? std::vector<float>({2, 4}) : std::vector<float>({1, 2, 1, 2}));
  }
}

TEST_P(GraphBuilderTest, LoopCarriesCollectsAndStops) {
  GraphBuilder g("loop");
  const Operand limit = g.input("limit", DType::f32, {});
  const Operand one = g.constant(tensor<float>({1}, {1}));
  const auto body = [](GraphBuilder& b, std::span<const Operand> in) -> Operands {
    const Operand doubled = b.add(in[2], in[2]);
    return {b.less(b.reshape(doubled, Integers(IntList{})), in[3]), doubled, in[2]};
  };
  const auto y = g.loop(g.scalar(100, DType::i64), {}, {one}, body, {limit});
  ASSERT_EQ(y.size(), 2U) << g.status().message();
  g.output("last", y[0]);
  g.output("all", y[1]);
  const Ran r = run(g, {tensor<float>({}, {10})});
  EXPECT_THAT(r.values(0), ElementsAre(16));
  EXPECT_EQ(r.shape(1), Shape({4, 1}));
  EXPECT_THAT(r.values(1), ElementsAre(1, 2, 4, 8));
}

// A loop's body may return the values that it was given.
TEST_P(GraphBuilderTest, LoopSwapsWhatItCarries) {
  GraphBuilder g("swap");
  const Operand a = g.input("a", DType::f32, {2});
  const Operand b = g.input("b", DType::f32, {2});
  const auto y = g.loop(g.scalar(3, DType::i64), {}, {a, b},
                        [](GraphBuilder&, std::span<const Operand> in) -> Operands {
                          return {in[1], in[3], in[2], in[2]};
                        });
  ASSERT_EQ(y.size(), 3U) << g.status().message();
  for (std::size_t i = 0; i < 3; ++i) g.output(std::to_string(i), y[i]);
  const Ran r = run(g, {tensor<float>({2}, {1, 2}), tensor<float>({2}, {3, 4})});
  EXPECT_THAT(r.values(0), ElementsAre(3, 4));
  EXPECT_THAT(r.values(1), ElementsAre(1, 2));
  EXPECT_THAT(r.values(2), ElementsAre(1, 2, 3, 4, 1, 2));
}

// The body is told no more of a carried value than what holds in every iteration.
TEST_P(GraphBuilderTest, LoopMayChangeTheShapeOfWhatItCarries) {
  GraphBuilder g("growing");
  const Operand x = g.input("x", DType::f32, {1, 2});
  const auto y = g.loop(g.scalar(3, DType::i64), {}, {x},
                        [](GraphBuilder& b, std::span<const Operand> in) -> Operands {
                          return {in[1], b.concat({in[2], in[2]}, 0)};
                        });
  ASSERT_EQ(y.size(), 1U) << g.status().message();
  g.output("y", y[0]);
  const Ran r = run(g, {tensor<float>({1, 2}, {3, 4})});
  EXPECT_EQ(r.shape(0), Shape({8, 2}));
}

// The rank and the dimensions of a carried value stay known unless an iteration changes them.
TEST(GraphBuilderLoop, KeepsWhatIsKnownOfACarriedShape) {
  GraphBuilder g("growing");
  const Operand x = g.input("x", DType::f32, {1, 2});
  const Operand deeper = g.input("deeper", DType::f32, {3});
  const auto y = g.loop(g.scalar(3, DType::i64), {}, {x, deeper},
                        [](GraphBuilder& b, std::span<const Operand> in) -> Operands {
                          return {in[1], b.concat({in[2], in[2]}, 0), b.unsqueeze(in[3], {0})};
                        });
  ASSERT_EQ(y.size(), 2U) << g.status().message();
  g.output("grown", y[0]);
  g.output("deeper", y[1]);
  const Model model = must(g.build());
  EXPECT_THAT(model.outputs()[0].dims, ElementsAre(-1, 2));
  EXPECT_FALSE(model.outputs()[1].has_rank);
}

TEST_P(GraphBuilderTest, ScanSumsRows) {
  GraphBuilder g("scan");
  const Operand x = g.input("x", DType::f32, {"N", 2});
  const Operand zero = g.constant(tensor<float>({2}, {0, 0}));
  const auto y = g.scan({zero}, {x}, [](GraphBuilder& b, std::span<const Operand> in) -> Operands {
    const Operand sum = b.add(in[0], in[1]);
    return {sum, sum};
  });
  ASSERT_EQ(y.size(), 2U) << g.status().message();
  g.output("sum", y[0]);
  g.output("sums", y[1]);
  const Ran r = run(g, {tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(r.values(0), ElementsAre(9, 12));
  EXPECT_THAT(r.values(1), ElementsAre(1, 2, 4, 6, 9, 12));
}

TEST_P(GraphBuilderTest, SequencesAndTheirMap) {
  GraphBuilder g("sequences");
  const Operand x = g.input("x", DType::f32, {"N"});
  const Operand s = g.sequence({x, g.neg(x)});
  const auto mapped =
      g.sequence_map({s}, [](GraphBuilder& b, std::span<const Operand> in) -> Operands {
        return {b.add(in[0], b.scalar(1))};
      });
  ASSERT_EQ(mapped.size(), 1U) << g.status().message();
  g.output("joined", g.concat_from_sequence(mapped[0], 0));
  g.output("length", g.sequence_length(s));
  const Ran r = run(g, {tensor<float>({2}, {1, 2})});
  EXPECT_THAT(r.values(0), ElementsAre(2, 3, 0, -1));
  EXPECT_THAT(r.values<std::int64_t>(1), ElementsAre(2));
}

// The passes take Identity away; without them it hands on what is no tensor, too.
TEST_P(GraphBuilderTest, IdentityOfASequenceWithoutPasses) {
  GraphBuilder g("sequences");
  const Operand x = g.input("x", DType::f32, {2});
  const Operand s = g.identity(g.sequence({x, g.neg(x)}));
  g.output("joined", g.concat_from_sequence(s, 0));
  const auto session = testing::session_of(
      testing::compile(must(g.build(), "build"), GetParam(), {.optimize = false}));
  const Tensor given = tensor<float>({2}, {1, 2});
  must(session->set_input(0, given.view()));
  must(session->run(), "run");
  EXPECT_THAT(values<float>(must(session->output(0), "output")), ElementsAre(1, 2, -1, -2));
}

// ---- operators ---------------------------------------------------------------------------------

TEST_P(GraphBuilderTest, ElementwiseAndComparison) {
  GraphBuilder g("elementwise");
  const Operand x = g.input("x", DType::f32, {4});
  g.output("leaky", g.leaky_relu(x, 0.5));
  g.output("clipped", g.clip(x, -1, 1));
  g.output("chosen", g.where(g.greater(x, g.scalar(0)), g.sqrt(x), g.abs(x)));
  g.output("cast", g.cast(g.mul(x, g.scalar(10)), DType::i32));
  const Ran r = run(g, {tensor<float>({4}, {-4, -0.5, 0.25, 9})});
  EXPECT_THAT(r.values(0), ElementsAre(-2, -0.25, 0.25, 9));
  EXPECT_THAT(r.values(1), ElementsAre(-1, -0.5, 0.25, 1));
  EXPECT_THAT(r.values(2), ElementsAre(4, 0.5, 0.5, 3));
  EXPECT_THAT(r.values<std::int32_t>(3), ElementsAre(-40, -5, 2, 90));
}

TEST_P(GraphBuilderTest, MovementAndReduction) {
  GraphBuilder g("movement");
  const Operand x = g.input("x", DType::f32, {2, 3});
  g.output("sum", g.reduce("sum", x, {1}, {.keepdims = false}));
  g.output("max", g.reduce("max", x));
  g.output("best", g.argmax(x, 1, {.keepdims = false}));
  g.output("column", g.slice(x, {1}, {2}, {.axes = {1}}));
  g.output("padded", g.pad(x, {0, 1, 0, 0}));
  g.output("turned", g.transpose(x));
  g.output("second", g.gather(x, g.integers({1}), 0));
  g.output("tail", g.split(x, {1, 2}, 1)[1]);
  g.output("filled", g.fill(g.shape_of(x), 7));
  g.output("top", g.top_k(x, {2})[0]);
  const Ran r = run(g, {tensor<float>({2, 3}, {1, 5, 3, 9, 2, 4})});
  EXPECT_THAT(r.values(0), ElementsAre(9, 15));
  EXPECT_EQ(r.shape(1), Shape({1, 1}));
  EXPECT_THAT(r.values<std::int64_t>(2), ElementsAre(1, 0));
  EXPECT_THAT(r.values(3), ElementsAre(5, 2));
  EXPECT_THAT(r.values(4), ElementsAre(0, 1, 5, 3, 0, 9, 2, 4));
  EXPECT_THAT(r.values(5), ElementsAre(1, 9, 5, 2, 3, 4));
  EXPECT_THAT(r.values(6), ElementsAre(9, 2, 4));
  EXPECT_THAT(r.values(7), ElementsAre(5, 3, 2, 4));
  EXPECT_THAT(r.values(8), ElementsAre(7, 7, 7, 7, 7, 7));
  EXPECT_THAT(r.values(9), ElementsAre(5, 3, 9, 4));
}

TEST_P(GraphBuilderTest, ImagesAndNorms) {
  GraphBuilder g("images");
  const Operand x = g.input("x", DType::f32, {1, 2, 2, 2});
  const Operand ones = g.constant(tensor<float>({2}, {1, 1}));
  const Operand zeros = g.constant(tensor<float>({2}, {0, 0}));
  g.output("mean", g.global_average_pool(x));
  g.output("large", g.resize(x, {.sizes = {1, 2, 4, 4}}));
  g.output("batch", g.batch_norm(x, ones, zeros, zeros, ones, 0));
  g.output("instance", g.instance_norm(x, ones, zeros));
  g.output("deep", g.space_to_depth(x, 2));
  const Ran r = run(g, {tensor<float>({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_THAT(r.values(0), ElementsAre(2.5, 6.5));
  EXPECT_EQ(r.shape(1), Shape({1, 2, 4, 4}));
  EXPECT_THAT(r.values(2), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_NEAR(r.values(3)[0], -1.3416F, 1e-3);
  EXPECT_EQ(r.shape(4), Shape({1, 8, 1, 1}));
}

TEST_P(GraphBuilderTest, QuantisedRoundTrip) {
  GraphBuilder g("quantised");
  const Operand x = g.input("x", DType::f32, {3});
  const Operand scale = g.scalar(0.5);
  const Operand zero = g.scalar(10, DType::u8);
  const Operand q = g.quantize(x, scale, zero);
  g.output("q", q);
  g.output("x", g.dequantize(q, scale, zero));
  const Ran r = run(g, {tensor<float>({3}, {-1, 0, 2.5})});
  EXPECT_THAT(r.values<std::uint8_t>(0), ElementsAre(8, 10, 15));
  EXPECT_THAT(r.values(1), ElementsAre(-1, 0, 2.5));
}

// ---- every method once: operands in the right order, attributes that are accepted
// ----------------

struct Wanted {
  std::string name;
  Shape shape;
};

// Adds an output per operand and checks their shapes after a run.
class Collector {
 public:
  explicit Collector(GraphBuilder& g) : g_(g) {}
  void add(const char* name, Operand value, const Shape& shape) {
    EXPECT_TRUE(g_.status().ok()) << name << ": " << g_.status().message();
    g_.output(name, value);
    wanted_.push_back({name, shape});
  }
  void expect_shapes(const Ran& r) const {
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      EXPECT_EQ(r.shape(i), wanted_[i].shape) << wanted_[i].name;
  }

 private:
  GraphBuilder& g_;
  std::vector<Wanted> wanted_;
};

TEST_P(GraphBuilderTest, ConvolutionAndPoolingMethods) {
  GraphBuilder g("windows");
  Collector c(g);
  const Operand x = g.input("x", DType::f32, {1, 2, 4, 4});
  const Operand w = g.constant(pattern({2, 2, 2, 2}));
  const Operand rois = g.constant(tensor<float>({1, 4}, {0, 0, 3, 3}));
  const Operand batched = g.constant(tensor<float>({1, 5}, {0, 0, 0, 3, 3}));
  const auto pooled = g.max_pool_indices(x, {2, 2}, {.strides = {2, 2}});
  c.add("conv_transpose", g.conv_transpose(x, w, {}, {.strides = {2, 2}}), {1, 2, 8, 8});
  c.add("conv_same", g.conv(x, w, {}, {.auto_pad = "same_upper"}), {1, 2, 4, 4});
  c.add("deform_conv", g.deform_conv(x, w, g.fill({1, 8, 3, 3}, 0)), {1, 2, 3, 3});
  c.add("col2im", g.col2im(g.fill({1, 4, 4}, 1), {4, 4}, {2, 2}, {.strides = {2, 2}}),
        {1, 1, 4, 4});
  c.add("indices", pooled[1], {1, 2, 2, 2});
  c.add("max_unpool", g.max_unpool(pooled[0], pooled[1], {2, 2}, {.strides = {2, 2}}),
        {1, 2, 4, 4});
  c.add("average_pool", g.average_pool(x, {3, 3}, {.ceil_mode = true}), {1, 2, 2, 2});
  c.add("lp_pool", g.lp_pool(x, {2, 2}, 1), {1, 2, 3, 3});
  c.add("global_max", g.global_max_pool(x), {1, 2, 1, 1});
  c.add("roi_align", g.roi_align(x, rois, g.integers({0}), {.height = 2, .width = 3}),
        {1, 2, 2, 3});
  c.add("max_roi_pool", g.max_roi_pool(x, batched, 2, 2), {1, 2, 2, 2});
  c.add("lrn", g.lrn(x, 3), {1, 2, 4, 4});
  c.expect_shapes(run(g, {pattern({1, 2, 4, 4})}));
}

TEST_P(GraphBuilderTest, NormAndMathMethods) {
  GraphBuilder g("math");
  Collector c(g);
  const Operand x = g.input("x", DType::f32, {2, 4, 4});
  const Operand four = g.fill({4}, 1);
  c.add("rms_norm", g.rms_norm(x, four), {2, 4, 4});
  c.add("group_norm", g.group_norm(x, four, four, 2), {2, 4, 4});
  c.add("lp_norm", g.lp_norm(x), {2, 4, 4});
  c.add("log_softmax", g.log_softmax(x), {2, 4, 4});
  c.add("hardmax", g.hardmax(x), {2, 4, 4});
  c.add("einsum", g.einsum("bij,bkj->bik", {x, x}), {2, 4, 4});
  c.add("det", g.det(x), {2});
  c.add("attention", g.attention(x, x, x, {.scale = 0.5F}), {2, 4, 4});
  c.add("matmul_t", g.matmul(x, x, {.transpose_b = true}), {2, 4, 4});
  c.add("argmin", g.argmin(x, 1), {2, 1, 4});
  c.add("cumsum", g.cumsum(x, 1), {2, 4, 4});
  c.add("cumprod", g.cumprod(x, -1, {.exclusive = true, .reverse = true}), {2, 4, 4});
  c.add("bit_cast", g.bit_cast(x, DType::i32), {2, 4, 4});
  c.add("selu", g.selu(g.shrink(g.hard_sigmoid(x))), {2, 4, 4});
  c.add("is_inf", g.is_inf(g.celu(g.elu(g.swish(g.thresholded_relu(x))))), {2, 4, 4});
  c.add("prelu", g.prelu(x, four), {2, 4, 4});
  c.expect_shapes(run(g, {pattern({2, 4, 4})}));
}

TEST_P(GraphBuilderTest, QuantisedMethods) {
  GraphBuilder g("integers");
  Collector c(g);
  const Operand x = g.input("x", DType::f32, {1, 1, 3, 3});
  const auto [q, scale, zero] = g.dynamic_quantize(x);
  const Operand w = g.fill({1, 1, 2, 2}, 3, DType::u8);
  const Operand matrix = g.reshape(q, {3, 3});
  c.add("conv_integer", g.conv_integer(q, w, zero), {1, 1, 2, 2});
  c.add("matmul_integer", g.matmul_integer(matrix, matrix, zero, zero), {3, 3});
  c.add("qlinear_conv", g.qlinear_conv({q, scale, zero, w, scale, zero, scale, zero}),
        {1, 1, 2, 2});
  c.add("qlinear_matmul", g.qlinear_matmul({matrix, scale, zero, matrix, scale, zero, scale, zero}),
        {3, 3});
  c.expect_shapes(run(g, {pattern({1, 1, 3, 3})}));
}

TEST_P(GraphBuilderTest, MovementMethods) {
  GraphBuilder g("shapes");
  Collector c(g);
  const Operand x = g.input("x", DType::f32, {2, 3});
  const Operand i = g.constant(tensor<std::int64_t>({1, 2}, {1, 0}));
  const Operand updates = g.fill({1, 2}, 9);
  c.add("squeeze", g.squeeze(g.unsqueeze(x, {0, 3}), {0}), {2, 3, 1});
  c.add("size_of", g.size_of(x), {});
  c.add("range", g.range(g.scalar(0), g.scalar(5), g.scalar(2)), {3});
  c.add("split_equal", g.split_equal(x, 3, 1)[2], {2, 1});
  c.add("expand", g.expand(x, {4, 2, 3}), {4, 2, 3});
  c.add("tile", g.tile(x, {2, 1}), {4, 3});
  c.add("reflected", g.pad(x, {1, 1}, {.mode = "reflect", .axes = {1}}), {2, 5});
  c.add("gather_elements", g.gather_elements(x, i, 1), {1, 2});
  c.add("gather_nd", g.gather_nd(x, i), {1});
  c.add("scatter_elements", g.scatter_elements(x, i, updates, 1, "add"), {2, 3});
  c.add("scatter_nd", g.scatter_nd(x, i, g.fill({1}, 9)), {2, 3});
  c.add("depth_to_space", g.depth_to_space(g.fill({1, 4, 2, 2}, 1), 2, {.column_row_depth = true}),
        {1, 1, 4, 4});
  c.add("eye_like", g.eye_like(x, 1), {2, 3});
  c.add("one_hot", g.one_hot(i, g.scalar(4, DType::i64), g.constant(tensor<float>({2}, {0, 1}))),
        {1, 2, 4});
  c.add("triu", g.triu(g.tril(x), 1), {2, 3});
  c.add("reverse_sequence", g.reverse_sequence(x, g.integers({1, 2, 2})), {2, 3});
  c.add("resize_scales",
        g.resize(g.fill({1, 1, 2, 2}, 1),
                 {.scales = g.constant(tensor<float>({4}, {1, 1, 2, 2})), .mode = "linear"}),
        {1, 1, 4, 4});
  const Operand grid = g.affine_grid(g.fill({1, 2, 3}, 0.5), {1, 1, 3, 2});
  c.add("grid_sample", g.grid_sample(g.fill({1, 1, 4, 4}, 1), grid, {.padding = "border"}),
        {1, 1, 3, 2});
  c.expect_shapes(run(g, {pattern({2, 3})}));
}

TEST_P(GraphBuilderTest, RecurrentSearchAndSpectralMethods) {
  GraphBuilder g("rest");
  Collector c(g);
  const Operand x = g.input("x", DType::f32, {3, 1, 2});
  const auto w = [&](std::int64_t directions, std::int64_t gates, std::int64_t in) {
    return g.constant(pattern({directions, gates * 4, in}));
  };
  c.add("rnn", g.rnn(x, w(2, 1, 2), w(2, 1, 4), 4, {.direction = "bidirectional"})[0],
        {3, 2, 1, 4});
  c.add("gru", g.gru(x, w(1, 3, 2), w(1, 3, 4), 4, {.linear_before_reset = true})[1], {1, 1, 4});
  const Operand flat = g.reshape(x, {-1});
  c.add("unique", g.unique(g.fill({5}, 2))[3], {1});
  c.add("compress", g.compress(x, g.constant(tensor<bool>({3}, {true, false, true})), 0),
        {2, 1, 2});
  const Operand boxes = g.constant(tensor<float>({1, 2, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9F}));
  c.add("non_max_suppression",
        g.non_max_suppression(
            boxes, g.constant(tensor<float>({1, 1, 2}, {0.9F, 0.8F})),
            {.max_output_boxes = g.scalar(5, DType::i64), .iou_threshold = g.scalar(0.5)}),
        {1, 3});
  c.add("random_uniform", g.random_uniform({2, 5}, -1, 1, 7), {2, 5});
  c.add("random_normal", g.random_normal({3}), {3});
  c.add("multinomial", g.multinomial(g.fill({2, 4}, 0), 3), {2, 3});
  c.add("dft", g.dft(g.fill({1, 8, 1}, 1), {8}, 1, {.onesided = true}), {1, 5, 2});
  c.add("stft", g.stft(g.fill({1, 16, 1}, 1), g.scalar(4, DType::i64), {}, g.scalar(8, DType::i64)),
        {1, 3, 5, 2});
  c.add("mel_weight_matrix",
        g.mel_weight_matrix(g.scalar(4, DType::i64), g.scalar(16, DType::i64),
                            g.scalar(8000, DType::i64), g.scalar(0), g.scalar(4000)),
        {9, 4});
  c.add("optional", g.optional_get_element(g.optional(flat)), {6});
  const Operand parts = g.split_to_sequence(flat, g.scalar(2, DType::i64));
  const Operand more = g.sequence_insert(g.sequence_erase(parts), flat, g.scalar(0, DType::i64));
  c.add("sequence_at", g.sequence_at(more, g.scalar(0, DType::i64)), {6});
  c.add("joined",
        g.concat_from_sequence(g.sequence_insert(g.sequence_empty(), flat), 0, {.new_axis = true}),
        {1, 6});
  c.expect_shapes(run(g, {pattern({3, 1, 2})}));
}

TEST_P(GraphBuilderTest, GenericDoor) {
  GraphBuilder g("generic");
  const Operand x = g.input("x", DType::f32, {1, 1, 2, 4});
  g.output("y", g.op("Pool", {x}, "kind=average kernel=[2,2] strides=[2,2]"));
  const Ran r = run(g, {tensor<float>({1, 1, 2, 4}, {1, 3, 5, 7, 1, 3, 5, 7})});
  EXPECT_THAT(r.values(0), ElementsAre(2, 6));
}

TEST_P(GraphBuilderTest, ShapesThatDependOnData) {
  GraphBuilder g("data");
  const Operand x = g.input("x", DType::f32, {-1});
  g.output("where", g.non_zero(x));
  g.output("kept", g.compress(x, g.greater(x, g.scalar(1))));
  const Ran r = run(g, {tensor<float>({4}, {0, 2, 0, 1})});
  EXPECT_THAT(r.values<std::int64_t>(0), ElementsAre(1, 3));
  EXPECT_THAT(r.values(1), ElementsAre(2));
}

// ---- what a model says of itself ---------------------------------------------------------------

TEST(GraphBuilder, InputsAndOutputsAsDeclared) {
  GraphBuilder g("declared");
  const Operand a = g.input("a", DType::f32, {"N", -1, 3});
  const Operand b = g.input_of_any_rank("b", DType::i64);
  g.output("sum", g.add(a, a));
  g.output("same", g.identity(b));
  const Model model = must(g.build());
  const auto inputs = model.inputs();
  ASSERT_EQ(inputs.size(), 2U);
  EXPECT_EQ(inputs[0].name, "a");
  EXPECT_THAT(inputs[0].dims, ElementsAre(-1, -1, 3));
  EXPECT_THAT(inputs[0].symbols, ElementsAre("N", "", ""));
  EXPECT_FALSE(inputs[1].has_rank);
  EXPECT_EQ(model.outputs()[0].symbols[0], "N");
  EXPECT_EQ(model.metadata().graph_name, "declared");
}

// Every family is known to the generic door: an unknown one says so.
TEST(GraphBuilder, EveryFamilyIsReachable) {
  for (const OpDef* def : all_ops()) {
    GraphBuilder g;
    g.op(def->name, {});
    EXPECT_THAT(std::string(g.status().message()), ::testing::Not(HasSubstr("no operator")))
        << def->name;
  }
}

TEST_P(GraphBuilderTest, TakesTheStructOfAnOperator) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {2, 2});
  g.output("inverse", g.op(Inverse{}, {x}));
  g.output("lower", g.op(Trilu{.upper = false}, {x}));
  const Operands top = g.ops(TopK{.axis = 0, .largest = false}, {x, g.integers({1})}, 2);
  g.output("least", top[0]);
  g.output("where", top[1]);
  const Ran r = run(g, {tensor<float>({2, 2}, {1, 2, 3, 4})});
  EXPECT_THAT(r.values(0), ElementsAre(-2, 1, 1.5F, -0.5F));
  EXPECT_THAT(r.values(1), ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(r.values(2), ElementsAre(1, 2));
  EXPECT_THAT(r.values<std::int64_t>(3), ElementsAre(0, 0));
}

// ---- errors ------------------------------------------------------------------------------------

std::string build_error(GraphBuilder& g, Code code = Code::invalid_argument) {
  auto model = g.build();
  if (model) return "built";
  EXPECT_EQ(model.error().code(), code);
  return std::string(model.error().message());
}

TEST(GraphBuilderErrors, OperandOfAnotherBuilder) {
  GraphBuilder a("a");
  GraphBuilder b("b");
  const Operand x = a.input("x", DType::f32, {2});
  const Operand y = b.input("y", DType::f32, {2});
  b.output("z", b.add(y, x));
  EXPECT_EQ(build_error(b), "operation 'add_0': takes an operand of another builder");
  a.output("x", x);
  EXPECT_TRUE(a.build());
}

TEST(GraphBuilderErrors, OperandFromBeforeBuild) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {2});
  g.output("x", x);
  ASSERT_TRUE(g.build());
  g.output("y", g.relu(x));
  EXPECT_CONTAINS(build_error(g), "another builder");
}

TEST(GraphBuilderErrors, BodyReadsAroundItsCaptures) {
  GraphBuilder g;
  const Operand c = g.input("c", DType::boolean, {});
  const Operand x = g.input("x", DType::f32, {2});
  const auto body = [x](GraphBuilder& b, std::span<const Operand>) -> Operands {
    return {b.relu(x)};
  };
  EXPECT_TRUE(g.if_(c, body, body).empty());
  EXPECT_CONTAINS(build_error(g), "body of 'if, then': operation 'relu_0'");
}

TEST(GraphBuilderErrors, TheFirstOneSticksAndNamesTheOperation) {
  GraphBuilder g;
  const Operand a = g.input("a", DType::f32, {2, 3});
  const Operand b = g.input("b", DType::f32, {4, 5});
  const Operand bad = g.matmul(a, b);
  EXPECT_FALSE(g.status().ok());
  EXPECT_FALSE(bad.present());
  g.output("y", g.relu(bad));
  g.reduce("median", a);
  EXPECT_CONTAINS(build_error(g, Code::invalid_model), "'matmul_0' (MatMul)");
}

TEST(GraphBuilderErrors, NamesThatDoNotExist) {
  GraphBuilder g;
  g.reduce("median", g.input("x", DType::f32, {2}));
  EXPECT_CONTAINS(build_error(g), "no 'median'; there is: sum, mean");
  g.op("Convolve", {});
  EXPECT_CONTAINS(build_error(g), "'Convolve': there is no operator of this name");
  const Operand y = g.input("y", DType::f32, {1, 1, 2, 2});
  g.op("Pool", {y}, "kernal=[2,2]");
  EXPECT_CONTAINS(build_error(g), "no attribute 'kernal'");
}

TEST(GraphBuilderErrors, NamesTwice) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {2});
  g.input("x", DType::f32, {2});
  EXPECT_CONTAINS(build_error(g), "'x': is the name of another input");
  const Operand y = g.input("y", DType::f32, {2});
  g.output("y", y);
  g.output("y", y);
  EXPECT_CONTAINS(build_error(g), "'y': is the name of another output");
  EXPECT_FALSE(x == y);
}

// A branch that cannot be built ends the model with its error, whichever of the two it is.
TEST(GraphBuilderErrors, ABranchThatFails) {
  for (const bool fails_when : {true, false}) {
    GraphBuilder g("if");
    const Operand x = g.input("x", DType::f32, {2});
    const auto branch = [&](bool fails) -> GraphBuilder::Body {
      return [fails](GraphBuilder& b, std::span<const Operand> in) -> Operands {
        return {fails ? b.reshape(in[0], {3}) : in[0]};
      };
    };
    EXPECT_TRUE(
        g.if_(g.input("c", DType::boolean, {}), branch(fails_when), branch(!fails_when), {x})
            .empty());
    EXPECT_CONTAINS(build_error(g, Code::invalid_model), "cannot reshape");
  }
}

TEST(GraphBuilderErrors, NothingToBuild) {
  GraphBuilder g("empty");
  g.input("x", DType::f32, {2});
  EXPECT_EQ(build_error(g), "graph 'empty' has no output");
  g.output("y", Operand());
  EXPECT_CONTAINS(build_error(g), "an output must be a value");
  g.constant(Tensor());
  EXPECT_CONTAINS(build_error(g), "the tensor holds nothing");
  g.input("z", DType::f32, std::vector<Dimension>(17, 1));
  EXPECT_CONTAINS(build_error(g), "at most 16");
  g.input("z", DType::f32, {-2});
  EXPECT_CONTAINS(build_error(g), "dimension of -2");
}

TEST(GraphBuilderErrors, BodyWithTooFewResults) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {2});
  g.loop({}, {}, {x},
         [](GraphBuilder&, std::span<const Operand> in) -> Operands { return {in[1]}; });
  EXPECT_CONTAINS(build_error(g), "the body gives 1 results, wants at least 2");
  const Operand y = g.input("y", DType::f32, {2});
  g.loop({}, {}, {y}, nullptr);
  EXPECT_CONTAINS(build_error(g), "has no body");
}

}  // namespace
}  // namespace quern
