// SPDX-License-Identifier: Apache-2.0
// Pooling by our own loops against the reference: random windows in every layout, NaN and
// infinities among the elements, and the geometries at which the loops change their form.
#include "kernels/cpu/pool_rows.h"

#include <cmath>
#include <limits>

#include "graph/ops/pool.h"
#include "tests/kernels/sweep.h"
#include "tests/sanitized.h"

namespace quern::testing {
namespace {

constexpr float pool_infinity = std::numeric_limits<float>::infinity();

struct PoolCase {
  Pool op;
  Shape x;
};

std::string text_of(const PoolCase& c) {
  const Window& w = c.op.window;
  const auto ints = [](const Ints& list) { return Shape(list).text(); };
  return cat(c.op.kind == PoolKind::max ? "max " : "average ", c.x.text(), " kernel ",
             ints(w.kernel), " strides ", ints(w.strides), " dilations ", ints(w.dilations),
             " pads ", ints(w.pads), c.op.ceil_mode ? " ceil" : "",
             c.op.count_include_pad ? " with pads" : "");
}

// Channels last, with room for as many channels again behind those of each column.
Layout channels_with_gaps(const Shape& x) {
  Layout l = Layout::channels_last(x);
  for (std::size_t d = 0; d < x.rank(); ++d)
    if (d != 1) l.strides[d] *= 2;
  return l;
}

// Planes that lie apart.
Layout planes_with_gaps(const Shape& x) {
  Layout l = Layout::row_major(x);
  const std::int64_t plane = x.elements(2);
  l.strides[1] = plane + 3;
  l.strides[0] = x[1] * (plane + 3) + 5;
  return l;
}

std::vector<Layout> pool_layouts(const Shape& x) {
  return {Layout::row_major(x),          Layout::channels_last(x), Layout::channel_blocked(x, 16),
          Layout::channel_blocked(x, 8), channels_with_gaps(x),    planes_with_gaps(x)};
}

// Elements that differ: of a maximum in anything but the bits of a NaN and the sign of a zero, of
// an average by more than its sum may be off.
std::size_t count_different(const PoolCase& c, const Tensor& x, const Tensor& got) {
  const Tensor want = run(c.op, {x});
  const Tensor sizes = run(c.op, magnitudes({x}));
  const double taps =
      static_cast<double>(c.op.global ? c.x.elements(2) : Shape(c.op.window.kernel).elements());
  std::size_t different = 0;
  for (std::size_t i = 0; i < want.span<float>().size(); ++i) {
    const float a = got.span<float>()[i];
    const float b = want.span<float>()[i];
    const double bound = c.op.kind == PoolKind::max
                             ? 0
                             : (taps + 4) * 6e-8 * static_cast<double>(sizes.span<float>()[i]);
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= bound;
    different += same ? 0 : 1;
  }
  return different;
}

void expect_like_reference(const PoolCase& c, const Tensor& x, const Layout& layout, int threads) {
  const SelectedRun got = run_selected(c.op, {x}, {}, 1, threads, layout, select_pool_rows);
  ASSERT_EQ(got.outputs.size(), 1U);
  EXPECT_EQ(count_different(c, x, got.outputs[0]), 0U)
      << text_of(c) << " layout " << layout.text() << ", threads " << threads;
}

// Every 13th element NaN, every 7th -inf, every 29th inf.
Tensor with_specials(const Tensor& x) {
  Tensor t = Tensor::zeros(x.type()).value();
  auto* p = reinterpret_cast<float*>(t.mutable_data());
  const auto from = x.span<float>();
  for (std::size_t i = 0; i < from.size(); ++i)
    p[i] = i % 13 == 5 ? nan : i % 7 == 3 ? -pool_infinity : i % 29 == 2 ? pool_infinity : from[i];
  return t;
}

void expect_in_all_layouts(const PoolCase& c, RandomTensors& random) {
  const Tensor x = random.floats(c.x);
  const Tensor special = with_specials(x);
  for (const Layout& layout : pool_layouts(c.x))
    for (const int threads : {1, 2}) {
      if (sanitized && threads == 1) continue;  // the reference takes minutes there
      expect_like_reference(c, x, layout, threads);
      if (c.op.kind == PoolKind::max) expect_like_reference(c, special, layout, threads);
    }
}

PoolCase random_case(Point& point) {
  static const std::vector<std::size_t> ranks = {2, 1, 3};
  static const std::vector<PoolKind> kinds = {PoolKind::max, PoolKind::average};
  static const std::vector<std::int64_t> channels = {1, 2, 3, 8, 16, 17, 33};
  static const std::vector<std::int64_t> sizes = {1, 2, 5, 7, 12, 19};
  static const std::vector<std::int64_t> kernels = {1, 2, 3, 5};
  static const std::vector<std::int64_t> small = {1, 1, 2, 3};
  static const std::vector<std::int64_t> pads = {0, 0, 1, 2, 4};
  static const std::vector<bool> yes_no = {true, false};
  const std::size_t rank = point.of(ranks);
  PoolCase c{.op = {.kind = point.of(kinds)}, .x = {point.of(small), point.of(channels)}};
  c.op.window.pads.resize(2 * rank);
  for (std::size_t d = 0; d < rank; ++d) {
    c.x.push_back(point.of(sizes));
    c.op.window.kernel.push_back(point.of(kernels));
    c.op.window.strides.push_back(point.of(small));
    c.op.window.dilations.push_back(point.of(small));
    c.op.window.pads[d] = point.of(pads);
    c.op.window.pads[rank + d] = point.of(pads);
  }
  c.op.ceil_mode = point.of(yes_no);
  c.op.count_include_pad = point.of(yes_no);
  return c;
}

TEST(PoolRows, RandomWindowsAreAsTheReference) {
  static const std::vector<std::size_t> layouts = {0, 1, 2, 3, 4, 5};
  static const std::vector<int> threads = {1, 2};
  RandomTensors random(1);
  sweep(3000, [&](Point& point) {
    const PoolCase c = random_case(point);
    const Tensor x = random.floats(c.x);
    const auto types = infer(c.op, {x});
    if (!types || (*types)[0].shape()->elements() == 0) return;
    const Layout layout = pool_layouts(c.x)[point.of(layouts)];
    const bool is_max = c.op.kind == PoolKind::max;
    expect_like_reference(c, is_max ? with_specials(x) : x, layout, point.of(threads));
  });
}

Pool pool(PoolKind kind, Window window) {
  return {.kind = kind, .window = std::move(window)};
}

TEST(PoolRows, GeometriesOfModels) {
  RandomTensors random(2);
  for (const PoolKind kind : {PoolKind::max, PoolKind::average})
    for (const PoolCase& c : {
             PoolCase{pool(kind, {.kernel = {3, 3}, .strides = {2, 2}}), {1, 64, 55, 55}},
             {pool(kind, {.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}}),
              {2, 17, 56, 57}},
             {pool(kind, {.kernel = {3, 3}, .pads = {1, 1, 1, 1}}), {1, 96, 7, 7}},
             {pool(kind, {.kernel = {2, 2}, .strides = {2, 2}}), {1, 40, 28, 28}},
             {pool(kind, {.kernel = {5, 5}, .pads = {2, 2, 2, 2}}), {1, 130, 13, 13}},
             {pool(kind, {.kernel = {9, 9}, .pads = {4, 4, 4, 4}}), {1, 70, 20, 20}},
             {pool(kind, {.kernel = {3}, .strides = {2}, .pads = {1, 1}}), {1, 64, 300}},
             {pool(kind, {.kernel = {3, 3, 3}, .strides = {2, 2, 2}, .pads = {1, 1, 1, 1, 1, 1}}),
              {1, 16, 9, 14, 15}},
             {pool(kind, {.kernel = {3, 3}}), {1, 1290, 8, 8}},
         })
      expect_in_all_layouts(c, random);
}

// Where a form ends: lines and planes that do not fit, many rows or taps, one position.
TEST(PoolRows, LongLinesAndManyTaps) {
  RandomTensors random(3);
  for (const PoolKind kind : {PoolKind::max, PoolKind::average})
    for (const PoolCase& c : {
             PoolCase{pool(kind, {.kernel = {3, 3}, .strides = {1, 2}, .pads = {1, 1, 1, 1}}),
                      {1, 2, 9, 5000}},
             {pool(kind, {.kernel = {2, 5000}, .pads = {1, 30, 0, 0}}), {1, 2, 3, 5003}},
             {pool(kind, {.kernel = {2, 30}, .strides = {1, 7}, .dilations = {1, 150}}),
              {1, 1, 4, 5000}},
             {pool(kind, {.kernel = {70, 3}, .strides = {3, 2}}), {1, 18, 80, 12}},
             {pool(kind, {.kernel = {1, 70}, .strides = {1, 3}}), {1, 18, 3, 200}},
             // Rows of one window each, cut for two threads.
             {pool(kind, {.kernel = {1, 16}, .strides = {2, 1}}), {1, 3, 12000, 16}},
             {pool(kind, {.kernel = {1, 1, 16}, .strides = {1, 2, 1}}), {1, 1, 3, 16000, 16}},
             {pool(kind, {.kernel = {9, 9}, .strides = {2, 3}, .pads = {4, 4, 4, 4}}),
              {1, 3, 64, 70}},
             {pool(kind, {.kernel = {9}, .strides = {9}}), {3, 5, 4000}},
             {pool(kind, {.kernel = {4, 6}, .pads = {0, 1, 0, 1}}), {2, 33, 4, 4}},
             {{.kind = kind, .global = true}, {2, 33, 7, 7}},
             {{.kind = kind, .global = true}, {1, 300, 3, 4, 5}},
             {{.kind = kind, .global = true}, {1, 3, 100, 90}},
             {{.kind = kind, .global = true}, {3, 70, 1, 1}},
             {{.kind = kind, .global = true}, {2, 20, 1, 31}},
         })
      expect_in_all_layouts(c, random);
}

TEST(PoolRows, AWindowOverPaddingAlone) {
  RandomTensors random(4);
  for (const bool with_pads : {true, false})
    for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
      PoolCase c{pool(kind, {.kernel = {2, 1}, .strides = {3, 2}, .pads = {3, 1, 2, 4}}),
                 {2, 18, 3, 6}};
      c.op.count_include_pad = with_pads;
      expect_in_all_layouts(c, random);
    }
}

// A sum in f32 of so many equal elements would be off by a hundredth.
TEST(PoolRows, LongAveragesAreClose) {
  const Shape x = {1, 16, 300, 300};
  Tensor t = Tensor::zeros({DType::f32, x}).value();
  std::fill_n(reinterpret_cast<float*>(t.mutable_data()), x.elements(), 0.1F);
  const Pool op{.kind = PoolKind::average, .global = true};
  for (const Layout& layout : pool_layouts(x)) {
    const SelectedRun got = run_selected(op, {t}, {}, 1, 1, layout, select_pool_rows);
    for (const float v : got.outputs[0].span<float>()) EXPECT_NEAR(v, 0.1, 3e-6) << layout.text();
  }
}

TEST(PoolRows, TakesMaximaBeforeOthers) {
  const Tensor x = tensor<float>({1, 1, 4}, {nan, 1, -pool_infinity, -pool_infinity});
  const SelectedRun got = run_selected(pool(PoolKind::max, {.kernel = {2}}), {x});
  EXPECT_THAT(got.implementation, ::testing::StartsWith("rows"));
  EXPECT_TRUE(std::isnan(got.outputs[0].span<float>()[0]));
  EXPECT_EQ(got.outputs[0].span<float>()[1], 1);
  EXPECT_EQ(got.outputs[0].span<float>()[2], -pool_infinity);
}

TEST(PoolRows, LeavesIndicesAndNormsToOthers) {
  const Tensor x = tensor<float>({1, 1, 3}, {3, 1, 2});
  const Op max = pool(PoolKind::max, {.kernel = {2}});
  EXPECT_TRUE(
      run_selected(
          SelectedCase{.op = max, .inputs = {x}, .output_count = 2, .select = select_pool_rows})
          .implementation.empty());
  const Op norm = pool(PoolKind::lp, {.kernel = {2}});
  EXPECT_TRUE(run_selected(SelectedCase{.op = norm, .inputs = {x}, .select = select_pool_rows})
                  .implementation.empty());
}

}  // namespace
}  // namespace quern::testing
