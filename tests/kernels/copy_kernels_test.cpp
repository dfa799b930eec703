// SPDX-License-Identifier: Apache-2.0
// Concat, Pad, Cast and copies between layouts by the fast kernels, bit by bit as the references.
#include "graph/ops/cast.h"
#include "graph/ops/concat.h"
#include "graph/ops/gather.h"
#include "graph/ops/pad.h"
#include "graph/ops/scatter.h"
#include "kernels/contract/copy.h"
#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

using ::testing::StartsWith;

std::vector<std::optional<Layout>> layouts_of(const Shape& s) {
  std::vector<std::optional<Layout>> all = {std::nullopt};
  if (s.rank() < 3) return all;
  all.push_back(Layout::channels_last(s));
  for (std::uint8_t block : {4, 8})
    if (s[1] % block == 0) all.push_back(Layout::channel_blocked(s, block));
  return all;
}

TEST(ConcatKernel, IsTheReferenceInEveryLayout) {
  struct Case {
    std::vector<Shape> shapes;
    std::int64_t axis;
  };
  const Case cases[] = {
      {{{1, 8, 3, 5}, {1, 16, 3, 5}, {1, 8, 3, 5}}, 1},
      {{{2, 24, 4, 4}, {2, 3, 4, 4}}, 1},
      {{{1, 8, 3, 5}, {1, 8, 7, 5}}, 2},
      {{{3, 4, 6}, {1, 4, 6}}, 0},
      {{{5}, {0}, {7}}, 0},
      {{{40, 60}, {40, 1000}}, -1},
  };
  RandomTensors random(1);
  for (const Case& c : cases)
    for (const auto& layout : layouts_of(c.shapes[0])) {
      std::vector<Tensor> floats;
      std::vector<Tensor> bytes;
      for (const Shape& s : c.shapes) {
        floats.push_back(random.floats(s));
        bytes.push_back(random.bytes<std::uint8_t>(s));
      }
      for (const auto& inputs : {floats, bytes}) {
        const SelectedRun got = run_selected(Concat{c.axis}, inputs, {}, 1, 2, layout);
        EXPECT_EQ(got.implementation, "copy");
        EXPECT_TRUE(same_bytes(got.outputs[0], run(Concat{c.axis}, inputs)))
            << c.shapes[0].text() << " lying as " << (layout ? layout->text() : "row-major");
      }
    }
}

TEST(Bf16PartsKernel, IsTheReferenceInEveryLayout) {
  struct Case {
    Shape shape;
    std::int64_t axis;
  };
  RandomTensors random(11);
  for (const auto& [shape, axis] :
       {Case{{2, 24, 3, 5}, 1}, Case{{2, 24, 3, 5}, -1}, Case{{7, 3000}, -1}, Case{{7, 3000}, 0},
        Case{{1}, 0}, Case{{3, 0}, 0}})
    for (const auto& layout : layouts_of(shape))
      for (const Bf16Factor factor : {Bf16Factor::left, Bf16Factor::right}) {
        const std::vector<Tensor> x = {random.floats(shape)};
        const SelectedRun got = run_selected(Bf16Parts{axis, factor}, x, {}, 1, 2, layout);
        if (shape.elements() > 0) {
          EXPECT_THAT(got.implementation, StartsWith("rows"));
        }
        EXPECT_TRUE(same_bytes(got.outputs[0], run(Bf16Parts{axis, factor}, x)))
            << shape.text() << " lying as " << (layout ? layout->text() : "row-major");
      }
}

Tensor ints(const std::vector<std::int64_t>& values) {
  Tensor t = Tensor::zeros({DType::i64, {static_cast<std::int64_t>(values.size())}}).value();
  std::copy(values.begin(), values.end(), reinterpret_cast<std::int64_t*>(t.mutable_data()));
  return t;
}

TEST(PadKernel, IsTheReferenceInEveryLayout) {
  struct Case {
    Shape shape;
    std::vector<std::int64_t> pads;
  };
  const Case cases[] = {
      {{1, 8, 5, 4}, {0, 0, 1, 2, 0, 0, 3, 0}},   {{2, 3, 4}, {0, 1, -1, 0, 2, 5}},
      {{1, 8, 5, 4}, {0, 3, -2, 1, 0, 0, -1, 1}}, {{6}, {2, -3}},
      {{2, 3, 4}, {0, 0, -4, 0, 0, 2}},
  };
  RandomTensors random(1);
  for (const Case& c : cases)
    for (const auto& layout : layouts_of(c.shape))
      for (bool with_value : {true, false}) {
        std::vector<Tensor> inputs = {random.floats(c.shape), ints(c.pads)};
        if (with_value) inputs.push_back(tensor<float>({}, {2.5f}));
        const SelectedRun got = run_selected(Pad{}, inputs, {1}, 1, 2, layout);
        EXPECT_EQ(got.implementation, "copy");
        EXPECT_TRUE(same_bytes(got.outputs[0], run(Pad{}, inputs))) << c.shape.text();
      }
  const std::vector<Tensor> some = {random.bytes<std::uint8_t>({2, 3, 4}), ints({1, 2}),
                                    tensor<std::uint8_t>({}, {7}), ints({-1})};
  EXPECT_TRUE(same_bytes(run_selected(Pad{}, some, {1, 3}).outputs[0], run(Pad{}, some)));
  const std::vector<Tensor> reflected = {random.floats({5}), ints({1, 2})};
  EXPECT_EQ(run_selected(Pad{.mode = PadMode::reflect}, reflected, {1}).implementation, "indexed");
  EXPECT_EQ(run_selected(Pad{.mode = PadMode::reflect}, reflected).implementation, "reference");
}

TEST(GatherKernel, IsTheReferenceForRowsOfAnySize) {
  struct Case {
    Shape data;
    std::int64_t axis;
    std::vector<std::int64_t> indices;
  };
  const Case cases[] = {
      {{3, 5, 1}, 1, {4, -5, 0, 0, -1}}, {{3, 5, 2}, 1, {1, 2}},  {{5, 3}, 0, {4, 0, -2}},
      {{1, 2, 4, 1}, -2, {3}},           {{200, 300}, 1, {7, 9}}, {{2, 9000}, -1, {-1, 0, 8999}},
      {{40, 3, 5000}, 1, {2, 2, 1}},
  };
  RandomTensors random(1);
  for (const Case& c : cases)
    for (const Tensor& data :
         {random.floats(c.data), random.bytes<std::uint8_t>(c.data),
          random.bytes<std::int16_t>(c.data), random.integers<std::int64_t>(c.data, -9, 9)}) {
      const Gather op{.kind = GatherKind::axis, .axis = c.axis};
      const std::vector<Tensor> inputs = {data, ints(c.indices)};
      const Tensor wanted = run(op, inputs);
      for (const int threads : {1, 2})
        for (const std::vector<std::size_t>& constants : {std::vector<std::size_t>{}, {1}}) {
          const SelectedRun got = run_selected(op, inputs, constants, 1, threads);
          EXPECT_EQ(got.implementation, "copy");
          EXPECT_TRUE(same_bytes(got.outputs[0], wanted)) << c.data.text();
        }
    }
}

TEST(GatherKernel, LeavesEmptyCopiesAndOtherKindsToTheReference) {
  RandomTensors random(1);
  const Tensor data = random.floats({3, 4});
  const auto implementation = [](const Gather& op, const Tensor& x, const Tensor& at) {
    return run_selected(op, {x, at}).implementation;
  };
  const Gather axis{.kind = GatherKind::axis, .axis = 1};
  EXPECT_EQ(implementation(axis, data, ints({3})), "copy");
  EXPECT_EQ(implementation(axis, data, ints({})), "reference");
  EXPECT_EQ(implementation(axis, random.floats({0, 4}), ints({3})), "reference");
  EXPECT_EQ(implementation({.kind = GatherKind::nd}, data, ints({2})), "reference");
}

TEST(GatherKernel, RefusesAnIndexThatIsOutOfRange) {
  RandomTensors random(1);
  for (const std::int64_t bad : {4, -5}) {
    const Op op = Gather{.kind = GatherKind::axis, .axis = 1};
    const std::vector<Tensor> inputs = {random.floats({3, 4}), ints({0, bad, 1})};
    const SelectedRun got = run_selected({.op = op, .inputs = inputs, .may_fail = true});
    EXPECT_EQ(got.implementation, "copy");
    EXPECT_EQ(got.status.code(), Code::invalid_argument);
    EXPECT_CONTAINS(got.status.message(), "outside of a dimension of 4 elements");
  }
}

TEST(ScatterKernel, ConstantIndices) {
  RandomTensors random(1);
  const Tensor data = random.floats({4, 3, 5});
  const Tensor rows = tensor<std::int64_t>({4, 1}, {2, -1, 0, 2});
  const Tensor places = tensor<std::int64_t>({2, 2, 3}, {0, 0, 0, 0, 0, 1, 3, 2, -5, 1, 1, 1});
  const Scatter op{.kind = ScatterKind::nd};
  for (const std::vector<Tensor>& inputs :
       {std::vector<Tensor>{data, rows, random.floats({4, 3, 5})},
        std::vector<Tensor>{data, places, random.floats({2, 2})}}) {
    const SelectedRun got = run_selected(op, inputs, {1});
    EXPECT_EQ(got.implementation, "copy");
    EXPECT_TRUE(same_bytes(got.outputs[0], run(op, inputs)));
    EXPECT_EQ(run_selected(op, inputs).implementation, "reference") << "indices that may change";
  }
}

template <class From>
void check_casts(RandomTensors& random) {
  const Tensor x = random.integers<From>({3, 40, 700}, std::is_same_v<From, bool> ? 0 : -100, 100);
  for (DType to : {DType::f32, DType::i32, DType::i64, DType::u8, DType::f64, DType::boolean}) {
    const Cast op{.to = to};
    EXPECT_TRUE(same_bytes(run_selected(op, {x}).outputs[0], run(op, {x})))
        << name_of(x.dtype()) << " to " << name_of(to);
  }
}

TEST(CastKernel, IsTheReferenceToTheBit) {
  RandomTensors random(1);
  check_casts<bool>(random);
  check_casts<std::uint8_t>(random);
  check_casts<std::int8_t>(random);
  check_casts<std::uint16_t>(random);
  check_casts<std::int16_t>(random);
  check_casts<std::int32_t>(random);
  check_casts<std::int64_t>(random);
  const Tensor large = tensor<std::int64_t>({4}, {(1LL << 62) + 1, -(1LL << 40) - 1, 16777217, 3});
  const Tensor wide = tensor<std::int32_t>({3}, {2147483647, -2147483647, 16777219});
  for (const Tensor& x : {large, wide}) {
    const Cast op{.to = DType::f32};
    const SelectedRun got = run_selected(op, {x});
    EXPECT_THAT(got.implementation, StartsWith("rows"));
    EXPECT_TRUE(same_bytes(got.outputs[0], run(op, {x})));
  }
  const Tensor floats = random.floats({1000}, -70000, 70000);
  const Tensor halves = run(Cast{.to = DType::f16}, {floats});
  EXPECT_TRUE(same_bytes(run_selected(Cast{.to = DType::f16}, {floats}).outputs[0], halves));
  EXPECT_TRUE(same_bytes(run_selected(Cast{.to = DType::f32}, {halves}).outputs[0],
                         run(Cast{.to = DType::f32}, {halves})));
}

// Through blocks of every element size, whole and partial tiles.
TEST(ElementCopy, TurnsChannels) {
  RandomTensors random(1);
  for (const Shape& s :
       {Shape{1, 3, 5, 7}, Shape{2, 16, 4, 8}, Shape{1, 37, 19, 2}, Shape{1, 24, 48}})
    for (const Tensor& x : {random.bytes<std::uint8_t>(s), random.integers<std::int16_t>(s, -9, 9),
                            random.floats(s), random.integers<std::int64_t>(s, -9, 9)}) {
      const TensorDesc plain = TensorDesc::row_major(x.dtype(), s);
      const TensorDesc last{x.dtype(), s, Layout::channels_last(s)};
      GuardedBytes turned(x.bytes());
      copy_elements(plain, x.data(), last, turned.data());
      const std::int64_t inner = s.elements(2);
      const std::size_t size = size_of(x.dtype());
      for (std::int64_t n = 0; n < s[0]; ++n)
        for (std::int64_t c = 0; c < s[1]; ++c)
          for (std::int64_t i = 0; i < inner; ++i) {
            const auto from = static_cast<std::size_t>((n * s[1] + c) * inner + i) * size;
            const auto to = static_cast<std::size_t>((n * inner + i) * s[1] + c) * size;
            ASSERT_TRUE(std::equal(x.data() + from, x.data() + from + size, turned.data() + to));
          }
      Tensor back = Tensor::zeros(x.type()).value();
      copy_elements(last, turned.data(), plain, back.mutable_data());
      EXPECT_TRUE(same_bytes(back, x));
      EXPECT_TRUE(turned.is_intact());
    }
}

}  // namespace
}  // namespace quern::testing
