// SPDX-License-Identifier: Apache-2.0
// Chains of nodes in stripes of rows: the same results as of whole tensors, within a limit for the
// arena.
#include <string>
#include <vector>

#include <quern/model.h>

#include "graph/graph.h"
#include "graph/ops/block_quantized.h"
#include "graph/stripes/rewrite.h"
#include "graph/stripes/search.h"
#include "tests/engine/engine_models.h"
#include "tests/expect.h"

namespace quern::testing {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

// ---- every operator by rows --------------------------------------------------------------------

// A net from x [1, 8, height, 10] to y, of which the last operators are those to try.
struct NetCase {
  std::string name;
  std::int64_t height;
  Operand (*build)(GraphBuilder& g, Operand x);
};
void PrintTo(const NetCase& c, std::ostream* out) {
  *out << c.name;
}

Operand three_by_three(GraphBuilder& g, Operand x, std::int64_t in = 8, std::int64_t out = 8) {
  return g.conv(x, weights(g, {out, in, 3, 3}, 5), weights(g, {out}, 6), {.pads = {1, 1, 1, 1}});
}
Operand resized(GraphBuilder& g, Operand x, std::vector<float> scales, ResizeOptions options) {
  options.scales = g.constant(
      Tensor::from_values<float>(DType::f32, {static_cast<std::int64_t>(scales.size())}, scales));
  return three_by_three(g, g.resize(three_by_three(g, x), options));
}
Operand pooled(GraphBuilder& g, Operand x, std::string_view attributes) {
  return g.op("Pool", {three_by_three(g, x)}, attributes);
}

const NetCase nets[] = {
    {"Conv", 17,
     [](GraphBuilder& g, Operand x) { return three_by_three(g, three_by_three(g, x)); }},
    {"ConvWithStrides", 18,
     [](GraphBuilder& g, Operand x) {
       return g.conv(three_by_three(g, x), weights(g, {4, 8, 5, 3}, 1), {},
                     {.strides = {2, 1}, .pads = {2, 0, 1, 2}});
     }},
    {"ConvWithDilations", 19,
     [](GraphBuilder& g, Operand x) {
       return g.conv(three_by_three(g, x), weights(g, {8, 1, 3, 3}, 1), {},
                     {.pads = {3, 2, 3, 2}, .dilations = {3, 2}, .group = 8});
     }},
    {"ConvPadsItself", 15,
     [](GraphBuilder& g, Operand x) {
       return g.conv(three_by_three(g, x), weights(g, {4, 8, 4, 4}, 1), {},
                     {.strides = {3, 2}, .auto_pad = "same_lower"});
     }},
    {"MaxPool", 17,
     [](GraphBuilder& g, Operand x) {
       return pooled(g, x, "kind=max kernel=[3,3] strides=[2,2] pads=[1,1,1,1]");
     }},
    {"MaxPoolKeepsPartialWindows", 16,
     [](GraphBuilder& g, Operand x) {
       return pooled(g, x, "kind=max kernel=[3,3] strides=[2,2] ceil_mode=true");
     }},
    {"AveragePool", 17,
     [](GraphBuilder& g, Operand x) {
       return pooled(g, x, "kind=average kernel=[3,2] strides=[1,2] pads=[1,0,1,0]");
     }},
    {"AveragePoolCountsPads", 17,
     [](GraphBuilder& g, Operand x) {
       return pooled(g, x, "kind=average kernel=[4,2] pads=[2,1,1,0] count_include_pad=true");
     }},
    {"ConvTranspose", 9,
     [](GraphBuilder& g, Operand x) {
       return three_by_three(g, g.conv_transpose(three_by_three(g, x), weights(g, {8, 8, 4, 4}, 1),
                                                 {}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}}));
     }},
    {"ConvTransposeWithOutputPadding", 8,
     [](GraphBuilder& g, Operand x) {
       return three_by_three(
           g,
           g.conv_transpose(three_by_three(g, x), weights(g, {8, 8, 4, 3}, 1), {},
                            {.strides = {3, 2}, .pads = {0, 1, 1, 0}, .output_padding = {1, 1}}));
     }},
    {"ResizeNearest", 9,
     [](GraphBuilder& g, Operand x) {
       return resized(g, x, {1, 1, 2, 2}, {.coordinates = "asymmetric", .nearest = "floor"});
     }},
    {"ResizeNearestByAFraction", 14,
     [](GraphBuilder& g, Operand x) {
       return resized(g, x, {1, 1, 0.7F, 1}, {});
     }},
    {"ResizeLinear", 9,
     [](GraphBuilder& g, Operand x) {
       return resized(g, x, {1, 1, 2, 2}, {.mode = "linear"});
     }},
    {"ResizeLinearAlignsCorners", 9,
     [](GraphBuilder& g, Operand x) {
       return resized(g, x, {1, 1, 1.5F, 1.5F}, {.mode = "linear", .coordinates = "align_corners"});
     }},
    {"ResizeCubicWithAntialias", 21,
     [](GraphBuilder& g, Operand x) {
       return resized(g, x, {1, 1, 0.5F, 0.5F}, {.mode = "cubic", .antialias = true});
     }},
    {"DepthToSpace", 9,
     [](GraphBuilder& g, Operand x) {
       return three_by_three(g, g.depth_to_space(three_by_three(g, x), 2), 2, 3);
     }},
    {"SpaceToDepth", 18,
     [](GraphBuilder& g, Operand x) {
       return three_by_three(g, g.space_to_depth(three_by_three(g, x), 2), 32, 4);
     }},
    {"ShuffledChannels", 11,
     [](GraphBuilder& g, Operand x) {
       const Operand groups = g.reshape(three_by_three(g, x), {1, 2, 4, 11, 10});
       return three_by_three(g, g.reshape(g.transpose(groups, {0, 2, 1, 3, 4}), {1, 8, 11, 10}));
     }},
    {"EveryOtherRow", 17,
     [](GraphBuilder& g, Operand x) {
       const Operand y = three_by_three(g, x);
       const auto part = [&](std::int64_t first) {
         return g.slice(y, {first, first}, {17, 10}, {.axes = {2, 3}, .steps = {2, 2}});
       };
       return three_by_three(g, g.concat({g.slice(part(0), {0}, {8}, {.axes = {2}}), part(1)}, 1),
                             16, 4);
     }},
    {"BranchesOfSeveralHeights", 16,
     [](GraphBuilder& g, Operand x) {
       const Operand y = g.relu(three_by_three(g, x));
       const Operand down =
           g.conv(y, weights(g, {8, 8, 3, 3}, 2), {}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
       const Operand up =
           g.conv_transpose(down, weights(g, {8, 8, 2, 2}, 3), {}, {.strides = {2, 2}});
       return g.add(g.mul(y, g.sigmoid(up)), three_by_three(g, y));
     }},
    {"NormsAndSoftmax", 13,
     [](GraphBuilder& g, Operand x) {
       const Operand y = g.lrn(three_by_three(g, x), 3);
       return g.mul(g.softmax(y, 1), g.reduce("max", y, {1}));
     }},
    {"PartsByChannels", 12,
     [](GraphBuilder& g, Operand x) {
       const Operands parts = g.split(three_by_three(g, x), {3, 5}, 1);
       return g.concat({three_by_three(g, parts[1], 5, 4), g.tanh(parts[0])}, 1);
     }},
    {"RowsOfProducts", 16,
     [](GraphBuilder& g, Operand x) {
       const Operand rows = g.matmul(x, weights(g, {10, 12}, 4));
       return g.add(g.matmul(g.gelu(rows), weights(g, {12, 10}, 7)), x);
     }},
    {"RowsOfWeightsInBits", 16,
     [](GraphBuilder& g, Operand x) {
       Tensor bytes = must(Tensor::zeros({DType::u8, {10, 1, 8}}));
       for (std::size_t i = 0; i < bytes.bytes(); ++i)
         bytes.mutable_data()[i] = static_cast<std::byte>(i * 37 % 251);
       const BlockQuantizedMatMul op{.bits = 4, .block_size = 16, .quantize_x = true};
       return g.add(g.gelu(g.op(op, {x, g.constant(bytes), weights(g, {10, 1}, 4)})), x);
     }},
    {"QueriesOfAttention", 12,
     [](GraphBuilder& g, Operand x) {
       const Operand q = g.matmul(x, weights(g, {10, 6}, 1));
       const Operand k = g.fill({1, 2, 7, 6}, 0.25);
       const Operand v = weights(g, {1, 2, 7, 5}, 2);
       return g.gelu(g.attention(q, k, v, {.scale = 0.5F, .mask = weights(g, {12, 7}, 3)}));
     }},
    {"PadsOfColumns", 12,
     [](GraphBuilder& g, Operand x) {
       return three_by_three(
           g, g.pad(three_by_three(g, x), {0, 0, 0, 2, 0, 0, 0, 1}, {.mode = "reflect"}));
     }},
};

std::vector<float> on_reference(Model model) {
  const auto session = session_of(compile(std::move(model), "reference", {.threads = 1}));
  const ValueSpec spec = session->executable().inputs()[0];
  Shape shape;
  for (const std::int64_t d : spec.dims) shape.push_back(d);
  const Tensor x = pattern(shape);
  must(session->set_input(0, x.view()));
  must(session->run());
  return values(must(session->output(0)));
}

class Rows : public ::testing::TestWithParam<NetCase> {};
INSTANTIATE_TEST_SUITE_P(Nets, Rows, ::testing::ValuesIn(nets),
                         [](const auto& info) { return info.param.name; });

// By their plainest loops, bit by bit, in any number of stripes.
TEST_P(Rows, AreThoseOfTheWhole) {
  GraphBuilder g(GetParam().name);
  const Operand x = g.input("x", DType::f32, {1, 8, GetParam().height, 10});
  g.output("y", GetParam().build(g, x));
  Model model = must(g.build());
  const std::vector<float> wanted = on_reference(model.clone());
  const stripes::RowGraph rows(model.graph());
  const auto chain = stripes::ChainModel::make(rows, 0, rows.size());
  ASSERT_TRUE(chain) << "a node of the net has no rule";
  ASSERT_GT(chain->most_steps(), 4);
  for (std::int64_t steps = 1; steps <= chain->most_steps(); ++steps) {
    Graph striped =
        must(stripes::in_stripes(rows, std::vector{stripes::Chain{0, rows.size(), steps}}));
    EXPECT_EQ(on_reference(Model(std::make_unique<Graph>(std::move(striped)), {})), wanted)
        << steps;
  }
}

// ---- limits ------------------------------------------------------------------------------------

constexpr std::int64_t side = 128;

// Layers whose maps shrink: images of this side to ten numbers.
Model funnel(std::int64_t batch = 1) {
  GraphBuilder g("funnel");
  Operand y = g.input("x", DType::f32, {batch, 4, side, side});
  std::int64_t from = 4;
  for (const std::int64_t channels : {16, 16, 24, 24, 32}) {
    const bool halves = channels != from;
    y = g.relu(g.conv(y, weights(g, {channels, from, 3, 3}, static_cast<int>(channels)), {},
                      {.strides = {halves ? 2 : 1, halves ? 2 : 1}, .pads = {1, 1, 1, 1}}));
    if (!halves) y = g.add(y, g.conv(y, weights(g, {channels, channels, 1, 1}, 3)));
    from = channels;
  }
  g.output("y", g.softmax(g.matmul(g.flatten(g.global_average_pool(y)), weights(g, {32, 10}, 5))));
  return must(g.build());
}

struct Measured {
  std::size_t arena = 0;
  std::size_t weights = 0;
  std::size_t scratch = 0;
  std::size_t steps = 0;
  std::vector<float> result;
};

Measured measure(Model model, const CompileOptions& options) {
  const auto session = session_of(compile(std::move(model), "cpu", options), 1);
  const ValueSpec spec = session->executable().inputs()[0];
  const Tensor x = pattern({spec.dims[0], 4, side, side});
  must(session->set_input(0, x.view()));
  must(session->run());
  const PlanInfo info = session->plan_info();
  EXPECT_LE(session->resident_bytes(), info.arena_bytes + 64);
  return {info.arena_bytes, info.weight_bytes, info.memory.scratch, info.steps.size(),
          values(must(session->output(0)))};
}

// The number behind "has" in the error of a limit that nothing meets.
std::size_t smallest_arena() {
  const auto refused = Executable::compile(funnel(), nullptr, {.arena_limit = 1});
  EXPECT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::out_of_memory);
  const std::string text(refused.error().message());
  EXPECT_CONTAINS(text, "of arena, the limit is 1; the smallest arena, in stripes of rows, has ");
  return std::stoul(text.substr(text.rfind("has ") + 4));
}

TEST(Stripes, KeepAnArenaWithinItsLimit) {
  const Measured whole = measure(funnel(), {});
  const std::size_t smallest = smallest_arena();
  EXPECT_LT(3 * smallest, whole.arena);
  constexpr std::size_t budgets = 20;
  for (std::size_t i = 0; i <= budgets; ++i) {
    const std::size_t limit = smallest + (whole.arena - smallest) * i / budgets;
    const Measured m = measure(funnel(), {.arena_limit = limit});
    EXPECT_LE(m.arena, limit);
    EXPECT_THAT(m.result, Pointwise(FloatNear(1e-6F), whole.result)) << limit;
  }
  EXPECT_EQ(measure(funnel(), {.arena_limit = whole.arena}).steps, whole.steps);
}

// Weights and arena have one limit, too. Stripes may want weights in formats of their own.
TEST(Stripes, KeepWeightsAndArenaWithinTheirLimit) {
  const Measured whole = measure(funnel(), {});
  const std::size_t limit = whole.weights + whole.weights / 2 + whole.arena / 2;
  const Measured within = measure(funnel(), {.memory_limit = limit});
  EXPECT_LE(within.weights + within.arena, limit);
  EXPECT_LT(within.arena, whole.arena);
  EXPECT_THAT(within.result, Pointwise(FloatNear(1e-6F), whole.result));
}

// Scratch that is off stays off: channels last, some convolutions of oneDNN have no form without.
TEST(Stripes, TakeLessScratchWhereItIsOff) {
  const std::size_t limit = measure(funnel(), {.scratch = false}).arena / 2;
  const Measured on = measure(funnel(), {.arena_limit = limit});
  const Measured off = measure(funnel(), {.arena_limit = limit, .scratch = false});
  EXPECT_LE(off.arena, limit);
  if (on.scratch == 0) GTEST_SKIP() << "no kernel here wants scratch";
  EXPECT_LT(off.scratch, on.scratch);
}

// Several images in a batch: rows of all of them.
TEST(Stripes, AreCutThroughBatches) {
  const Measured whole = measure(funnel(3), {});
  const Measured m = measure(funnel(3), {.arena_limit = whole.arena / 2});
  EXPECT_LE(m.arena, whole.arena / 2);
  EXPECT_THAT(m.result, Pointwise(FloatNear(1e-6F), whole.result));
}

// A net without rows has the error that it had.
TEST(Stripes, AreNotInTheErrorOfWhatHasNone) {
  GraphBuilder g("plain");
  const Operand x = g.input("x", DType::f32, {1, 512});
  g.output("y", g.exp(g.matmul(x, weights(g, {512, 512}, 1))));
  const auto refused = Executable::compile(must(g.build()), nullptr, {.arena_limit = 100});
  ASSERT_FALSE(refused);
  const std::string text(refused.error().message());
  EXPECT_CONTAINS(text, " bytes of arena, the limit is 100");
  EXPECT_EQ(text.find("stripes"), text.npos);
}

// One row of each matrix of a batch, where it lies: oneDNN 3.7 took rows of the wrong matrix.
TEST(Stripes, ReadRowsOfEachMatrixOfABatch) {
  const auto product = [](std::string_view device) {
    GraphBuilder g("rows");
    const Operand x = g.input("x", DType::f32, {2, 1, 2, 8});
    const Operand y = g.input("y", DType::f32, {2, 1, 3, 8});
    const Operand row = g.slice(x, {1}, {2}, {.axes = {2}});
    g.output("z", g.matmul(row, y, {.transpose_b = true}));
    const auto session = session_of(compile(must(g.build()), device));
    const Tensor left = pattern({2, 1, 2, 8}, 1);
    const Tensor right = pattern({2, 1, 3, 8}, 2);
    must(session->set_input(0, left.view()));
    must(session->set_input(1, right.view()));
    must(session->run());
    return values(must(session->output(0)));
  };
  EXPECT_THAT(product("cpu"), Pointwise(FloatNear(1e-6F), product("reference")));
}

// ---- published networks, in int8 ---------------------------------------------------------------

// MobileNetV2 of width 0.35 with seeded weights.
class Int8Net {
 public:
  Int8Net(std::int64_t size, bool residuals) : size_(size), residuals_(residuals) {
    y_ = g_.input("x", DType::i8, {1, 3, size, size});
  }

  void conv(std::int64_t channels, std::int64_t kernel, std::int64_t stride, bool depthwise) {
    const std::int64_t group = depthwise ? channels_ : 1;
    Tensor w = must(Tensor::zeros({DType::i8, {channels, channels_ / group, kernel, kernel}}));
    for (std::size_t i = 0; i < w.bytes(); ++i)
      w.mutable_data()[i] =
          static_cast<std::byte>((i * 37 + static_cast<std::size_t>(channels)) % 97);
    const std::int64_t pad = kernel / 2;
    y_ = g_.qlinear_conv(
        {y_, scale_, zero_, g_.constant(w), scale_, zero_, g_.scalar(40), zero_},
        {.strides = {stride, stride}, .pads = {pad, pad, pad, pad}, .group = group});
    channels_ = channels;
  }
  // Expands the channels, goes over images, and brings them to `channels`.
  void block(std::int64_t channels, std::int64_t expansion, std::int64_t stride) {
    const Operand x = y_;
    const bool adds = residuals_ && stride == 1 && channels == channels_;
    conv(channels_ * expansion, 1, 1, false);
    conv(channels_, 3, stride, true);
    conv(channels, 1, 1, false);
    if (!adds) return;
    const auto number = [&](Operand v) { return g_.dequantize(v, scale_, zero_); };
    y_ = g_.quantize(g_.add(number(x), number(y_)), scale_, zero_);
  }

  // The least arena, and that of whole tensors.
  std::pair<std::size_t, std::size_t> arenas() {
    g_.output("y", y_);
    const Model model = must(g_.build());
    const std::size_t whole = compile(model.clone(), "cpu", {.threads = 1})->memory_need()->arena;
    const auto refused =
        Executable::compile(model.clone(), nullptr, {.threads = 1, .arena_limit = 1});
    EXPECT_FALSE(refused);
    const std::string text(refused.error().message());
    return {std::stoul(text.substr(text.rfind("has ") + 4)), whole};
  }

 private:
  GraphBuilder g_{"int8"};
  std::int64_t size_;
  bool residuals_;
  std::int64_t channels_ = 3;
  Operand scale_ = g_.scalar(0.05);
  Operand zero_ = g_.scalar(0, DType::i8);
  Operand y_;
};

// msf-CNN needs 25,803 bytes for this net, with 1.25 times the multiplications. The output is
// 448 x 5 x 5.
TEST(Stripes, HoldMsfCnnsNetInLess) {
  Int8Net net(144, false);
  net.conv(11, 3, 2, false);
  const std::int64_t rows[][3] = {{5, 1, 1},  {8, 6, 2},  {8, 6, 1},  {11, 6, 2}, {11, 6, 1},
                                  {11, 6, 1}, {22, 6, 2}, {22, 6, 1}, {22, 6, 1}, {22, 6, 1},
                                  {33, 6, 1}, {33, 6, 1}, {33, 6, 1}, {56, 6, 2}, {56, 6, 1},
                                  {56, 6, 1}, {112, 6, 1}};
  for (const auto& [channels, expansion, stride] : rows) net.block(channels, expansion, stride);
  net.conv(448, 1, 1, false);
  const auto [smallest, whole] = net.arenas();
  EXPECT_LE(smallest, 25803U + 448 * 5 * 5);
  EXPECT_GT(whole, 200000U);
}

// TiGrIS holds this net, which takes 752,640 bytes as a whole, in 301 KB with its last map, by
// spilling.
TEST(Stripes, HoldTigrisNetInHalf) {
  Int8Net net(224, true);
  net.conv(16, 3, 2, false);
  net.conv(16, 3, 1, true);
  net.conv(8, 1, 1, false);
  const std::int64_t stages[][3] = {{8, 2, 2},  {16, 3, 2}, {24, 4, 2},
                                    {32, 3, 1}, {56, 3, 2}, {112, 1, 1}};
  for (const auto& [channels, blocks, stride] : stages)
    for (std::int64_t i = 0; i < blocks; ++i) net.block(channels, 6, i == 0 ? stride : 1);
  net.conv(1280, 1, 1, false);
  const auto [smallest, whole] = net.arenas();
  EXPECT_LE(smallest, 150000U);
  EXPECT_GT(whole, 700000U);
}

// The search looks at no more than its share, however many nodes there are.
TEST(Stripes, AreFoundInABoundedTime) {
  if (sanitized) GTEST_SKIP() << "the whole share takes half a minute there";
  GraphBuilder g("long");
  Operand y = g.input("x", DType::f32, {1, 4, 128, 8});
  for (int k = 0; k < 2000; ++k) y = g.relu(g.add(y, g.neg(y)));
  g.output("y", y);
  const Model model = must(g.build());
  const auto start = std::chrono::steady_clock::now();
  const stripes::RowGraph rows(model.graph());
  const stripes::Search search(rows, {}, nullptr);
  EXPECT_LT(search.smallest().peak, 3U * 128 * 8 * 4 * sizeof(float));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// A long signal has as many rows as steps.
TEST(Stripes, AreNotTriedWithoutEnd) {
  if (sanitized) GTEST_SKIP() << "the whole share takes minutes there";
  GraphBuilder g("signal");
  Operand y = g.input("x", DType::f32, {1, 2, 1 << 17});
  for (int k = 0; k < 12; ++k)
    y = g.relu(g.conv(y, weights(g, {2, 2, 3}, k), {}, {.pads = {1, 1}}));
  g.output("y", g.reduce("max", y, {2}));
  const auto start = std::chrono::steady_clock::now();
  const auto refused = Executable::compile(must(g.build()), nullptr, {.arena_limit = 1});
  EXPECT_FALSE(refused);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(40));
}

}  // namespace
}  // namespace quern::testing
