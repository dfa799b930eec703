// SPDX-License-Identifier: Apache-2.0
// The attention of com.microsoft against plain loops over its definition: all forms of masks, a
// past, causal or not, packed operands, and the embeddings in front of it.
#include <cmath>
#include <functional>
#include <limits>

#include "tests/engine/one_operator.h"

namespace quern::onnx_test {
namespace {

using quern::testing::Declared;
using quern::testing::Fed;
using quern::testing::must;
using quern::testing::OneOperator;
using quern::testing::pattern;
using quern::testing::run_onnx;
using quern::testing::tensor;
using quern::testing::Tensors;
using quern::testing::ways;

constexpr std::int64_t batch = 2, rows = 5, heads = 4, width = 3, past = 2;
constexpr std::int64_t hidden = heads * width;

// Heads [batch, heads, n, width] as a function of their indices.
using HeadsAt =
    std::function<double(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d)>;
using AddedAt =
    std::function<double(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j)>;

struct Attended {
  HeadsAt q, k, v;
  std::int64_t keys;
  AddedAt added = [](auto...) { return 0.0; };
};

// [batch, rows, heads * width]
std::vector<float> attended(const Attended& a) {
  std::vector<float> y;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t h = 0; h < heads; ++h) {
        std::vector<double> p;
        double sum = 0;
        for (std::int64_t j = 0; j < a.keys; ++j) {
          double dot = 0;
          for (std::int64_t d = 0; d < width; ++d) dot += a.q(b, h, i, d) * a.k(b, h, j, d);
          p.push_back(dot / std::sqrt(static_cast<double>(width)) + a.added(b, h, i, j));
        }
        const double most = *std::ranges::max_element(p);
        for (double& x : p) sum += x = std::exp(x - most);
        for (std::int64_t d = 0; d < width; ++d) {
          double mean = 0;
          for (std::int64_t j = 0; j < a.keys; ++j)
            mean += p[static_cast<std::size_t>(j)] / sum * a.v(b, h, j, d);
          y.push_back(static_cast<float>(mean));
        }
      }
  return y;
}

// Part `part` of x [batch, n, D] times weights [D, 3 D] plus bias [3 D], as heads.
HeadsAt projected(const Tensor& x, const Tensor& weights, const Tensor& bias, std::int64_t part) {
  return [=](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) {
    const std::int64_t column = part * hidden + h * width + d;
    const std::int64_t n = x.shape()[1];
    double sum = bias.span<float>()[static_cast<std::size_t>(column)];
    for (std::int64_t k = 0; k < hidden; ++k)
      sum +=
          static_cast<double>(x.span<float>()[static_cast<std::size_t>((b * n + i) * hidden + k)]) *
          weights.span<float>()[static_cast<std::size_t>(k * 3 * hidden + column)];
    return sum;
  };
}

// [batch, n, D] as heads.
HeadsAt split(const Tensor& x) {
  return [=](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) {
    const std::int64_t at = (b * x.shape()[1] + i) * hidden + h * width + d;
    return static_cast<double>(x.span<float>()[static_cast<std::size_t>(at)]);
  };
}

// A mask [batch, 1, square_side, square_side], of which queries and keys use a part.
constexpr std::int64_t square_side = 9;
const Tensor& square_mask() {
  static const Tensor mask = [] {
    Tensor t = must(Tensor::zeros({DType::i32, {batch, 1, square_side, square_side}}));
    auto* m = reinterpret_cast<std::int32_t*>(t.mutable_data());
    for (std::int64_t i = 0; i < t.shape().elements(); ++i) m[i] = i % 4 == 1 ? 0 : 1;
    return t;
  }();
  return mask;
}
bool square_keeps(std::int64_t b, std::int64_t row, std::int64_t column) {
  const std::int64_t at = (b * square_side + row) * square_side + column;
  return square_mask().span<std::int32_t>()[static_cast<std::size_t>(at)] > 0;
}

// The heads [batch, heads, past, width] of a past, then `fresh`.
HeadsAt after(const Tensor& before, std::int64_t offset, const HeadsAt& fresh) {
  return [=](std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) {
    if (j >= past) return fresh(b, h, j - past, d);
    const std::int64_t at = offset + ((b * heads + h) * past + j) * width + d;
    return static_cast<double>(before.span<float>()[static_cast<std::size_t>(at)]);
  };
}

// A model whose inputs are free in all dimensions but the last.
OneOperator attention_of(std::string_view op, const std::vector<Fed>& fed,
                         const Messages& attributes, std::size_t outputs = 1) {
  return {
      .op = op, .fed = fed, .attributes = attributes, .outputs = outputs, .dims = Declared::last};
}

// Scores of some -10000 have no more than three digits after the point: rows of which a mask hides
// all are rounded so.
constexpr float hidden_rounding = 1e-3F;

void expect_attention(std::string_view op, const std::vector<Fed>& fed, const Messages& attributes,
                      const std::vector<std::vector<float>>& wanted, float rounding = 2e-5F) {
  expect_values(attention_of(op, fed, attributes, wanted.size()), wanted, rounding);
}

const Tensor& contrib_x() {
  static const Tensor x = pattern({batch, rows, hidden}, 1);
  return x;
}
const Tensor& contrib_weights() {
  static const Tensor w = pattern({hidden, 3 * hidden}, 2);
  return w;
}
const Tensor& contrib_bias() {
  static const Tensor b = pattern({3 * hidden}, 3);
  return b;
}

Attended of_projection() {
  const Tensor &x = contrib_x(), &w = contrib_weights(), &b = contrib_bias();
  return {projected(x, w, b, 0), projected(x, w, b, 1), projected(x, w, b, 2), rows};
}

constexpr double hidden_key = -10000;

TEST(ContribAttention, MasksOfAllForms) {
  const Tensor ends = tensor<std::int32_t>({2}, {3, 5});
  const Tensor both = tensor<std::int32_t>({4}, {5, 4, 2, 1});
  const Tensor raw = tensor<std::int32_t>({2, 5}, {1, 1, 0, 1, 0, 0, 0, 0, 0, 0});
  const Tensor of_rows = [] {
    Tensor t = must(Tensor::zeros({DType::i32, {batch, rows, rows}}));
    auto* m = reinterpret_cast<std::int32_t*>(t.mutable_data());
    for (int i = 0; i < 50; ++i) m[i] = i % 3 == 0 ? 0 : 1;
    return t;
  }();
  const auto at = [](const Tensor& t, std::int64_t i) {
    return t.span<std::int32_t>()[static_cast<std::size_t>(i)];
  };
  struct Row {
    const Tensor* mask;
    std::function<bool(std::int64_t b, std::int64_t i, std::int64_t j)> keeps;
  };
  const Row masks[] = {
      {nullptr, [](auto...) { return true; }},
      {&ends, [&](auto b, auto, auto j) { return j < at(ends, b); }},
      {&both, [&](auto b, auto, auto j) { return j < at(both, b) && j >= at(both, b + 2); }},
      {&raw, [&](auto b, auto, auto j) { return at(raw, b * rows + j) > 0; }},
      {&of_rows,
       [&](auto b, auto i, auto j) { return at(of_rows, (b * rows + i) * rows + j) > 0; }},
      {&square_mask(), square_keeps},
  };
  for (const Row& row : masks)
    for (const bool causal : {false, true}) {
      Attended a = of_projection();
      a.added = [&](std::int64_t b, std::int64_t, std::int64_t i, std::int64_t j) {
        if (causal && j > i) return -1e300;
        return row.keeps(b, i, j) ? 0.0 : hidden_key;
      };
      bool hides_a_row = false;
      for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t i = 0; i < rows; ++i) {
          bool any = false;
          for (std::int64_t j = 0; j < rows; ++j) any |= a.added(b, 0, i, j) == 0;
          hides_a_row |= !any;
        }
      SCOPED_TRACE(row.mask ? row.mask->type().text() : "no mask");
      expect_attention("Attention",
                       {{contrib_x()},
                        {contrib_weights()},
                        {contrib_bias()},
                        {row.mask ? *row.mask : Tensor(), 6}},
                       {integer("num_heads", heads), integer("unidirectional", causal ? 1 : 0)},
                       {attended(a)}, hides_a_row ? hidden_rounding : 2e-5F);
    }
}

TEST(ContribAttention, APastAndAPresent) {
  const Tensor before = pattern({2, batch, heads, past, width}, 4);
  const std::int64_t values = batch * heads * past * width;
  for (const bool causal : {false, true}) {
    Attended a = of_projection();
    a.k = after(before, 0, a.k);
    a.v = after(before, values, a.v);
    a.keys = past + rows;
    if (causal)
      a.added = [](auto, auto, std::int64_t i, std::int64_t j) {
        return j > past + i ? -1e300 : 0.0;
      };
    std::vector<float> present;
    for (const HeadsAt& part : {a.k, a.v})
      for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t h = 0; h < heads; ++h)
          for (std::int64_t j = 0; j < a.keys; ++j)
            for (std::int64_t d = 0; d < width; ++d)
              present.push_back(static_cast<float>(part(b, h, j, d)));
    expect_attention("Attention",
                     {{contrib_x()}, {contrib_weights()}, {contrib_bias()}, {}, {before}},
                     {integer("num_heads", heads), integer("unidirectional", causal ? 1 : 0)},
                     {attended(a), present});
  }
}

// The rows of the queries stand behind those of the past, in the mask as in the keys.
TEST(ContribAttention, APastAndASquareMask) {
  const Tensor before = pattern({2, batch, heads, past, width}, 4);
  Attended a = of_projection();
  a.k = after(before, 0, a.k);
  a.v = after(before, batch * heads * past * width, a.v);
  a.keys = past + rows;
  a.added = [](std::int64_t b, auto, std::int64_t i, std::int64_t j) {
    return square_keeps(b, past + i, j) ? 0.0 : hidden_key;
  };
  expect_attention(
      "Attention",
      {{contrib_x()}, {contrib_weights()}, {contrib_bias()}, {square_mask(), 6}, {before}},
      {integer("num_heads", heads)}, {attended(a)});
}

TEST(ContribAttention, MultiHeadWithBiasMaskAndScores) {
  const Tensor q = pattern({batch, rows, hidden}, 5), k = pattern({batch, rows, hidden}, 6),
               v = pattern({batch, rows, hidden}, 7), scores = pattern({1, heads, rows, rows}, 8);
  const Tensor ends = tensor<std::int32_t>({2}, {4, 2});
  const Tensor& bias = contrib_bias();
  const auto biased = [&](const HeadsAt& x, std::int64_t part) {
    return HeadsAt([=, &bias](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) {
      const std::int64_t at = part * hidden + h * width + d;
      return x(b, h, i, d) + bias.span<float>()[static_cast<std::size_t>(at)];
    });
  };
  Attended a{biased(split(q), 0), biased(split(k), 1), biased(split(v), 2), rows};
  a.added = [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    const auto at = static_cast<std::size_t>((h * rows + i) * rows + j);
    return scores.span<float>()[at] + (j < (b == 0 ? 4 : 2) ? 0.0 : hidden_key);
  };
  expect_attention("MultiHeadAttention", {{q}, {k}, {v}, {bias}, {ends, 6}, {scores}},
                   {integer("num_heads", heads)}, {attended(a)});
}

// Query, key and value side by side: [batch, rows, heads, 3, width].
TEST(ContribAttention, MultiHeadOfOnePackedTensor) {
  const Tensor packed = pattern({batch, rows, heads, 3, width}, 9);
  const auto part = [&](std::int64_t p) {
    return HeadsAt([=, &packed](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) {
      const std::int64_t at = (((b * rows + i) * heads + h) * 3 + p) * width + d;
      return static_cast<double>(packed.span<float>()[static_cast<std::size_t>(at)]);
    });
  };
  expect_attention("MultiHeadAttention", {{packed}}, {integer("num_heads", heads)},
                   {attended({part(0), part(1), part(2), rows})});
}

// Past and new rows in buffers of `room` rows, of which `past` count.
constexpr std::int64_t room = 9;

// Row j of head h is that of beam from(b, j).
using BeamOf = std::function<std::int64_t(std::int64_t b, std::int64_t j)>;

HeadsAt in_buffer(const Tensor& buffer, const HeadsAt& fresh, const BeamOf& from) {
  return [=](std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) {
    if (j >= past) return fresh(b, h, j - past, d);
    const std::int64_t at = ((from(b, j) * heads + h) * room + j) * width + d;
    return static_cast<double>(buffer.span<float>()[static_cast<std::size_t>(at)]);
  };
}

// The rows of the buffer that count, the new ones behind them, then zeros.
std::vector<float> present_of(const Tensor& buffer, const HeadsAt& fresh) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < buffer.shape().elements(); ++i) {
    const std::int64_t d = i % width, j = i / width % room, h = i / (width * room) % heads;
    const std::int64_t b = i / (width * room * heads);
    const float kept = buffer.span<float>()[static_cast<std::size_t>(i)];
    all.push_back(j < past          ? kept
                  : j < past + rows ? static_cast<float>(fresh(b, h, j - past, d))
                                    : 0.0F);
  }
  return all;
}

TEST(ContribAttention, MultiHeadWithAPastInABuffer) {
  const Tensor q = pattern({batch, rows, hidden}, 1), k = pattern({batch, rows, hidden}, 2),
               v = pattern({batch, rows, hidden}, 3);
  const Tensor keys = pattern({batch, heads, room, width}, 4),
               values = pattern({batch, heads, room, width}, 5);
  const Tensor counted = tensor<std::int32_t>({1}, {past});
  const BeamOf own = [](std::int64_t b, std::int64_t) { return b; };
  const std::vector<std::vector<float>> presents = {present_of(keys, split(k)),
                                                    present_of(values, split(v))};
  const Attended plain = {split(q), in_buffer(keys, split(k), own),
                          in_buffer(values, split(v), own), past + rows};
  const std::vector<Fed> fed = {{q}, {k}, {v}, {}, {}, {}, {keys}, {values}, {counted, 6}};
  expect_attention("MultiHeadAttention", fed, {integer("num_heads", heads)},
                   {attended(plain), presents[0], presents[1]});
  Attended causal = plain;
  causal.added = [](std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) {
    return j <= past + i ? 0.0 : -std::numeric_limits<double>::infinity();
  };
  expect_attention("MultiHeadAttention", fed,
                   {integer("num_heads", heads), integer("unidirectional", 1)},
                   {attended(causal), presents[0], presents[1]});
}

// Two beams of one sentence: the past of each has a row of the other.
TEST(ContribAttention, MultiHeadOfBeamsThatShareTheirPast) {
  const Tensor q = pattern({batch, rows, hidden}, 1), k = pattern({batch, rows, hidden}, 2),
               v = pattern({batch, rows, hidden}, 3);
  const Tensor keys = pattern({batch, heads, room, width}, 4),
               values = pattern({batch, heads, room, width}, 5);
  const Tensor counted = tensor<std::int32_t>({1}, {past});
  const Tensor beams = tensor<std::int32_t>(
      {1, 2, room}, {1, 0, 9, 9, 9, 9, 9, 9, 9, /**/ 0, 0, 7, 7, 7, 7, 7, 7, 7});
  const BeamOf from = [](std::int64_t b, std::int64_t j) { return b == 0 && j == 0 ? 1 : 0; };
  const Attended a = {split(q), in_buffer(keys, split(k), from), in_buffer(values, split(v), from),
                      past + rows};
  expect_attention("MultiHeadAttention",
                   {{q}, {k}, {v}, {}, {}, {}, {keys}, {values}, {counted, 6}, {beams, 6}},
                   {integer("num_heads", heads)},
                   {attended(a), present_of(keys, split(k)), present_of(values, split(v))});
}

// [batch, n, 3 D] of three [batch, n, D].
Tensor side_by_side(const Tensor& q, const Tensor& k, const Tensor& v) {
  Tensor all = must(Tensor::zeros({DType::f32, {batch, q.shape()[1], 3 * hidden}}));
  float* to = reinterpret_cast<float*>(all.mutable_data());
  for (std::int64_t row = 0; row < batch * q.shape()[1]; ++row)
    for (const Tensor* t : {&q, &k, &v})
      to = std::ranges::copy(t->span<float>().subspan(static_cast<std::size_t>(row * hidden),
                                                      static_cast<std::size_t>(hidden)),
                             to)
               .out;
  return all;
}

// The same past for the operator of decoders, whose inputs lie in another order. It allows one new
// row; more of them are those of MultiHeadAttention.
TEST(ContribAttention, MaskedDecoderWithAPastInABuffer) {
  const Tensor q = pattern({batch, rows, hidden}, 1), k = pattern({batch, rows, hidden}, 2),
               v = pattern({batch, rows, hidden}, 3);
  const Tensor keys = pattern({batch, heads, room, width}, 4),
               values = pattern({batch, heads, room, width}, 5);
  const Tensor counted = tensor<std::int32_t>({1}, {past}), two = tensor<std::int32_t>({1}, {2});
  const Tensor beams = tensor<std::int32_t>(
      {1, 2, room}, {1, 0, 9, 9, 9, 9, 9, 9, 9, /**/ 0, 0, 7, 7, 7, 7, 7, 7, 7});
  const Tensor mask = tensor<std::int32_t>({batch, past + rows}, {1, 0, 1, 1, 1, 0, 1,  //
                                                                  0, 1, 1, 1, 1, 1, 1});
  const Tensor bias = pattern({3 * hidden}, 6);
  const auto at = [](const Tensor& t, std::int64_t i) {
    return static_cast<double>(t.span<float>()[static_cast<std::size_t>(i)]);
  };
  const auto biased = [&](const Tensor& x, std::int64_t part) -> HeadsAt {
    return [=](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) {
      return split(x)(b, h, i, d) + at(bias, part * hidden + h * width + d);
    };
  };
  const auto masked = [&](std::int64_t b, std::int64_t, std::int64_t, std::int64_t j) {
    const std::int64_t i = b * (past + rows) + j;
    return mask.span<std::int32_t>()[static_cast<std::size_t>(i)] > 0 ? 0.0 : -5.0;
  };
  const Messages attributes = {integer("num_heads", heads), integer("past_present_share_buffer", 1),
                               number("mask_filter_value", -5.0F)};
  for (const bool has_beams : {false, true}) {
    const BeamOf from = [&](std::int64_t b, std::int64_t j) {
      return !has_beams ? b : b == 0 && j == 0 ? 1 : 0;
    };
    const Attended a = {biased(q, 0), in_buffer(keys, biased(k, 1), from),
                        in_buffer(values, biased(v, 2), from), past + rows, masked};
    const auto fed_with = [&](const std::vector<Fed>& first) {
      std::vector<Fed> fed = first;
      fed.insert(fed.end(), {{mask, 6}, {}, {keys}, {values}, {counted, 6}});
      fed.push_back(has_beams ? Fed{two, 6} : Fed{});
      fed.push_back(has_beams ? Fed{beams, 6} : Fed{});
      fed.push_back({bias});
      return fed;
    };
    const std::vector<std::vector<float>> wanted = {attended(a), present_of(keys, biased(k, 1)),
                                                    present_of(values, biased(v, 2))};
    expect_attention("DecoderMaskedMultiHeadAttention", fed_with({{q}, {k}, {v}}), attributes,
                     wanted);
    expect_attention("DecoderMaskedMultiHeadAttention", fed_with({{side_by_side(q, k, v)}, {}, {}}),
                     attributes, wanted);
  }
}

// Keys of an encoder are no past: what is said of one has no effect.
TEST(ContribAttention, MultiHeadOverAnEncoderPassesOverThePast) {
  const Tensor q = pattern({batch, rows, hidden}, 1);
  const Tensor keys = pattern({batch, heads, room, width}, 4),
               values = pattern({batch, heads, room, width}, 5);
  const auto of = [](const Tensor& t) {
    return HeadsAt([&t](std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) {
      const std::int64_t at = ((b * heads + h) * room + j) * width + d;
      return static_cast<double>(t.span<float>()[static_cast<std::size_t>(at)]);
    });
  };
  const Tensor counted = tensor<std::int32_t>({1}, {past});
  const Tensor beams = must(Tensor::zeros({DType::i32, {1, 2, room}}));
  expect_attention(
      "MultiHeadAttention", {{q}, {keys}, {values}, {}, {}, {}, {}, {}, {counted, 6}, {beams, 6}},
      {integer("num_heads", heads)}, {attended({split(q), of(keys), of(values), room})});
}

TEST(ContribAttention, MaskedDecoderOverAnEncoderAndAPastThatGrows) {
  const Tensor q = pattern({batch, rows, hidden}, 1), k = pattern({batch, rows, hidden}, 2);
  const Tensor keys = pattern({batch, heads, past, width}, 4),
               values = pattern({batch, heads, past, width}, 5);
  const auto of = [](const Tensor& t) { return after(t, 0, {}); };
  const Messages attributes = {integer("num_heads", heads)};
  expect_attention("DecoderMaskedMultiHeadAttention", {{q}, {keys}, {values}}, attributes,
                   {attended({split(q), of(keys), of(values), past})});
  expect_attention(
      "DecoderMaskedMultiHeadAttention", {{q}, {k}, {k}, {}, {}, {keys}, {values}}, attributes,
      {attended({split(q), after(keys, 0, split(k)), after(values, 0, split(k)), past + rows})});
}

// ---- rotary positions

// One head of `wide` elements whose queries, keys and values are its input.
struct Turning {
  std::int64_t turned, wide = 4, new_rows = 3, old_rows = 0;

  double x(std::int64_t i, std::int64_t d) const {
    return pattern({1, new_rows, wide}, 5).span<float>()[static_cast<std::size_t>(i * wide + d)];
  }
  double old(std::int64_t part, std::int64_t i, std::int64_t d) const {
    const Tensor t = pattern({2, 1, 1, old_rows, wide}, 6);
    return t.span<float>()[static_cast<std::size_t>((part * old_rows + i) * wide + d)];
  }
  double at(std::int64_t i, std::int64_t d) const {
    if (d >= turned) return x(i, d);
    const std::int64_t half = turned / 2, pair = d % half;
    const double angle =
        static_cast<double>(old_rows + i) /
        std::pow(10000.0, 2.0 * static_cast<double>(pair) / static_cast<double>(turned));
    const double first = x(i, pair), second = x(i, pair + half);
    return d < half ? std::cos(angle) * first - std::sin(angle) * second
                    : std::sin(angle) * first + std::cos(angle) * second;
  }

  std::vector<float> result() const {
    std::vector<float> y;
    for (std::int64_t i = 0; i < new_rows; ++i) {
      std::vector<double> p;
      double sum = 0;
      for (std::int64_t j = 0; j < old_rows + new_rows; ++j) {
        double dot = 0;
        for (std::int64_t d = 0; d < wide; ++d)
          dot += at(i, d) * (j < old_rows ? old(0, j, d) : at(j - old_rows, d));
        p.push_back(std::exp(dot / std::sqrt(static_cast<double>(wide))));
        sum += p.back();
      }
      for (std::int64_t d = 0; d < wide; ++d) {
        double mean = 0;
        for (std::int64_t j = 0; j < old_rows + new_rows; ++j)
          mean += p[static_cast<std::size_t>(j)] / sum *
                  (j < old_rows ? old(1, j, d) : x(j - old_rows, d));
        y.push_back(static_cast<float>(mean));
      }
    }
    return y;
  }

  OneOperator model(std::int64_t attribute) const {
    std::vector<float> w(static_cast<std::size_t>(3 * wide * wide), 0);
    for (std::int64_t i = 0; i < 3 * wide; ++i)
      w[static_cast<std::size_t>(i % wide * 3 * wide + i)] = 1;
    OneOperator op{.op = "Attention",
                   .fed = {{pattern({1, new_rows, wide}, 5)},
                           {Tensor::from_values<float>(DType::f32, Shape{wide, 3 * wide}, w)}},
                   .attributes = {integer("num_heads", 1), integer("do_rotary", 1)}};
    if (attribute > 0) op.attributes.push_back(integer("rotary_embedding_dim", attribute));
    op.fed.resize(5);
    if (old_rows > 0) op.fed[4] = {pattern({2, 1, 1, old_rows, wide}, 6)};
    return op;
  }
};

TEST(ContribAttention, TurnsNewQueriesAndKeysByTheirPlaces) {
  quern::testing::expect_values(Turning{.turned = 4}.model(0), {Turning{.turned = 4}.result()});
  const Turning part{.turned = 2, .old_rows = 2};
  quern::testing::expect_values(part.model(2), {part.result()});
  const Turning all{.turned = 4, .old_rows = 1};
  quern::testing::expect_values(all.model(4), {all.result()});
  for (const std::int64_t width_of_turn : {3, 6}) {
    const OneOperator op = part.model(width_of_turn);
    EXPECT_THAT(quern::testing::answer(model_of(op), quern::testing::inputs_of(op), {}),
                ::testing::HasSubstr("'rotary_embedding_dim' is " + std::to_string(width_of_turn)));
  }
}

TEST(ContribAttention, GemmaTurnsBySinesAndCosines) {
  const Tensor angles = pattern({1, 2, 2}, 1), q = pattern({1, 2, 2, 2}, 2),
               q_turned = pattern({1, 2, 2, 2}, 3), k = pattern({1, 2, 2, 2}, 4),
               k_turned = pattern({1, 2, 2, 2}, 5);
  std::vector<std::vector<float>> wanted(2);
  for (std::size_t i = 0; i < 8; ++i) {
    const float angle = angles.span<float>()[i % 4];
    const auto turned = [&](const Tensor& x, const Tensor& other) {
      return x.span<float>()[i] * std::cos(angle) + other.span<float>()[i] * std::sin(angle);
    };
    wanted[0].push_back(turned(q, q_turned));
    wanted[1].push_back(turned(k, k_turned));
  }
  quern::testing::expect_values({.op = "GemmaRotaryEmbedding",
                                 .fed = {{angles}, {q}, {q_turned}, {k}, {k_turned}},
                                 .outputs = 2},
                                wanted);
}

TEST(ContribAttention, PositionsAreGatedByTheirQueries) {
  constexpr std::int64_t columns = 4;
  const Tensor x = pattern({batch, rows, hidden}, 1), bias = pattern({hidden}, 2),
               places = pattern({1, heads, rows, rows}, 3), w = pattern({width, columns}, 4),
               b = pattern({columns}, 5), factors = pattern({1, heads, 1, 1}, 6);
  const auto at = [](const Tensor& t, std::int64_t i) {
    return static_cast<double>(t.span<float>()[static_cast<std::size_t>(i)]);
  };
  std::vector<float> wanted;
  for (std::int64_t s = 0; s < batch; ++s)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < rows; ++i) {
        double gates[2] = {0, 0};
        for (std::int64_t c = 0; c < columns; ++c) {
          double z = at(b, c);
          for (std::int64_t d = 0; d < width; ++d)
            z += (at(x, (s * rows + i) * hidden + h * width + d) + at(bias, h * width + d)) *
                 at(w, d * columns + c);
          gates[c / (columns / 2)] += z;
        }
        const double u = 1 / (1 + std::exp(-gates[0])), r = 1 / (1 + std::exp(-gates[1]));
        const double gate = u * (r * at(factors, h) - 1) + 2;
        for (std::int64_t j = 0; j < rows; ++j)
          wanted.push_back(static_cast<float>(gate * at(places, (h * rows + i) * rows + j)));
      }
  OneOperator op{.op = "GatedRelativePositionBias",
                 .fed = {{x}, {bias}, {places}, {w}, {b}, {factors}},
                 .attributes = {integer("num_heads", heads)}};
  quern::testing::expect_values(op, {wanted});
  op.fed.push_back({tensor<std::int32_t>({1, 1}, {0}), i32});
  EXPECT_THAT(quern::testing::answer(model_of(op), quern::testing::inputs_of(op), {}),
              ::testing::HasSubstr("queries without padding (input 6)"));
}

TEST(ContribAttention, WhatItDoesNotTakeIsRefusedInWords) {
  const auto refusal = [](std::string_view op, const std::vector<Fed>& fed,
                          const Messages& attributes) {
    const std::string model = model_of(attention_of(op, fed, attributes));
    const auto parsed = parse_onnx(std::as_bytes(std::span(model)), nullptr);
    return parsed ? std::string("none") : std::string(parsed.error().message());
  };
  const Tensor &x = contrib_x(), &w = contrib_weights();
  const Tensor large = pattern({1, 1, 1, 4, 4}, 1);
  EXPECT_THAT(refusal("Attention", {{x}, {w}}, {integer("num_heads", 0)}),
              ::testing::HasSubstr("'num_heads' must be positive"));
  EXPECT_THAT(refusal("Attention", {{x}, {w}, {}, {large, 6}}, {integer("num_heads", heads)}),
              ::testing::HasSubstr("a mask of rank 5"));
  EXPECT_THAT(refusal("Attention", {{x}, {w}},
                      {integer("num_heads", heads), integers("qkv_hidden_sizes", {1, 2})}),
              ::testing::HasSubstr("has 2 numbers, wants 3"));
  EXPECT_THAT(refusal("MultiHeadAttention", {{x}, {x}}, {integer("num_heads", heads)}),
              ::testing::HasSubstr("a query of rank 3 with a key of rank 3 and no value"));
  const Tensor cache = pattern({batch, heads, room, width}, 1);
  EXPECT_THAT(refusal("DecoderMaskedMultiHeadAttention", {{x}, {x}, {x}, {}, {}, {cache}, {cache}},
                      {integer("num_heads", heads), integer("past_present_share_buffer", 1)}),
              ::testing::HasSubstr("wants its number of rows"));
  EXPECT_THAT(refusal("DecoderMaskedMultiHeadAttention", {{x}, {x}, {x}, {}, {}, {cache}},
                      {integer("num_heads", heads)}),
              ::testing::HasSubstr("must come together"));
}

// The sum of three rows of tables, normalised, and how many words each sentence has.
TEST(ContribAttention, Embeddings) {
  const Tensor ids = tensor<std::int32_t>({1, 3}, {2, 0, 1});
  const Tensor segments = tensor<std::int32_t>({1, 3}, {0, 1, 1});
  const Tensor words = pattern({3, 4}, 1), positions = pattern({5, 4}, 2),
               kinds = pattern({2, 4}, 3), gamma = pattern({4}, 4), beta = pattern({4}, 5);
  const Tensor mask = tensor<std::int32_t>({1, 3}, {1, 1, 0});
  std::vector<float> sum, normal;
  for (std::size_t i = 0; i < 3; ++i) {
    double mean = 0, squares = 0;
    const auto row = [&](std::size_t d) {
      return static_cast<double>(words.span<float>()[ids.span<std::int32_t>()[i] * 4U + d]) +
             positions.span<float>()[i * 4 + d] +
             kinds.span<float>()[segments.span<std::int32_t>()[i] * 4U + d];
    };
    for (std::size_t d = 0; d < 4; ++d) mean += row(d) / 4;
    for (std::size_t d = 0; d < 4; ++d) squares += (row(d) - mean) * (row(d) - mean) / 4;
    for (std::size_t d = 0; d < 4; ++d) {
      sum.push_back(static_cast<float>(row(d)));
      normal.push_back(
          static_cast<float>((row(d) - mean) / std::sqrt(squares + 1e-3) * gamma.span<float>()[d] +
                             beta.span<float>()[d]));
    }
  }
  const std::vector<Fed> fed = {{ids, 6}, {segments, 6}, {words}, {positions},
                                {kinds},  {gamma},       {beta},  {mask, 6}};
  Tensors inputs;
  for (const Fed& f : fed) inputs.push_back(f.tensor);
  const std::string model =
      model_of(attention_of("EmbedLayerNormalization", fed, {number("epsilon", 1e-3F)}, 3));
  for (const auto& way : ways()) {
    const Tensors y = must(run_onnx(model, inputs, way));
    const auto near = ::testing::Pointwise(::testing::FloatNear(1e-5F), normal);
    EXPECT_THAT(y[0].span<float>(), near);
    EXPECT_EQ(y[1].span<std::int32_t>()[0], 2);
    EXPECT_THAT(y[2].span<float>(), ::testing::Pointwise(::testing::FloatNear(1e-6F), sum));
  }
}

// Weights and activations in bytes: the same attention of what they stand for.
TEST(ContribAttention, Quantised) {
  Tensor x = must(Tensor::zeros({DType::u8, {batch, rows, hidden}}));
  Tensor w = must(Tensor::zeros({DType::i8, {hidden, 3 * hidden}}));
  Tensor fx = must(Tensor::zeros({DType::f32, x.shape()}));
  Tensor fw = must(Tensor::zeros({DType::f32, w.shape()}));
  for (std::int64_t i = 0; i < x.shape().elements(); ++i) {
    const auto v = static_cast<std::uint8_t>(i * 37 % 251);
    reinterpret_cast<std::uint8_t*>(x.mutable_data())[i] = v;
    reinterpret_cast<float*>(fx.mutable_data())[i] = 0.01F * static_cast<float>(v - 128);
  }
  for (std::int64_t i = 0; i < w.shape().elements(); ++i) {
    const auto v = static_cast<std::int8_t>(i * 53 % 255 - 127);
    reinterpret_cast<std::int8_t*>(w.mutable_data())[i] = v;
    reinterpret_cast<float*>(fw.mutable_data())[i] = 0.005F * static_cast<float>(v);
  }
  const Tensor x_scale = tensor<float>({}, {0.01F}), w_scale = tensor<float>({}, {0.005F});
  const Tensor x_zero = tensor<std::uint8_t>({}, {128}), w_zero = tensor<std::int8_t>({}, {0});
  const Tensor& b = contrib_bias();
  expect_attention("QAttention",
                   {{x, 2}, {w, 3}, {b}, {x_scale}, {w_scale}, {}, {x_zero, 2}, {w_zero, 3}},
                   {integer("num_heads", heads)},
                   {attended({projected(fx, fw, b, 0), projected(fx, fw, b, 1),
                              projected(fx, fw, b, 2), rows})});
}

// Operators of before opset 7.
TEST(LegacyOperators, AreWhatTheyWere) {
  const auto answer_of = [](std::string_view op, const Tensor& x, const Messages& attributes) {
    GraphParts g;
    Dimensions dims(x.shape().begin(), x.shape().end());
    g.inputs = {value("x", f32, dims)};
    g.nodes = {node(op, {"x"}, {"y"}, attributes)};
    g.outputs = {Message().text(1, "y")};
    const Tensors y =
        must(run_onnx(make_model(make_graph(g), {.opsets = {opset("", 9)}}), {x}, ways()[0]));
    return std::vector<float>(y[0].span<float>().begin(), y[0].span<float>().end());
  };
  const auto near = [](std::vector<float> wanted) {
    return ::testing::Pointwise(::testing::FloatNear(1e-6F), std::move(wanted));
  };
  const Tensor two = tensor<float>({2}, {1, -2});
  EXPECT_THAT(answer_of("Affine", two, {number("alpha", 3), number("beta", 0.5F)}),
              near({3.5F, -5.5F}));
  EXPECT_THAT(answer_of("ScaledTanh", two, {number("alpha", 2), number("beta", 0.5F)}),
              near({2 * std::tanh(0.5F), 2 * std::tanh(-1.0F)}));
  EXPECT_THAT(answer_of("ParametricSoftplus", two, {number("alpha", 2), number("beta", 0.5F)}),
              near({2 * std::log(std::exp(0.5F) + 1), 2 * std::log(std::exp(-1.0F) + 1)}));
  const Tensor image = tensor<float>({1, 2, 1, 2}, {1, 2, 3, 4});
  EXPECT_THAT(answer_of("ImageScaler", image, {number("scale", 2), numbers("bias", {1, -1})}),
              near({3, 5, 5, 7}));
  const Tensor square = tensor<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_THAT(answer_of("Crop", square, {integers("border", {1, 0, 0, 1})}), near({2, 3, 5, 6}));
  EXPECT_THAT(
      answer_of("Crop", square, {integers("border", {0, 1, 0, 0}), integers("scale", {2, 1})}),
      near({4, 7}));
}

}  // namespace
}  // namespace quern::onnx_test
