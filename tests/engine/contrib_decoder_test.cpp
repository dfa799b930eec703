// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that exports of language models consist of, against plain loops over
// their definitions.
#include <cmath>

#include "tests/engine/one_operator.h"

namespace quern::onnx_test {
namespace {

using quern::testing::expect_values;
using quern::testing::Fed;
using quern::testing::Imports;
using quern::testing::must;
using quern::testing::pattern;
using quern::testing::refusal_of;
using quern::testing::tensor;

// Without a word on the opset of com.microsoft.
void expect_decoder(std::string_view op, const std::vector<Fed>& fed, const Messages& attributes,
                    const std::vector<std::vector<float>>& wanted) {
  expect_values({.op = op,
                 .fed = fed,
                 .attributes = attributes,
                 .outputs = wanted.size(),
                 .imports = Imports::unnamed},
                wanted);
}

float at(const Tensor& t, std::int64_t i) {
  return t.span<float>()[static_cast<std::size_t>(i)];
}

// ---- GroupQueryAttention

constexpr std::int64_t sequences = 2, new_rows = 3, query_heads = 4, key_heads = 2, head = 4,
                       buffer = 6;

struct GroupQuery {
  Tensor q = pattern({sequences, new_rows, query_heads* head}, 1);
  Tensor k = pattern({sequences, new_rows, key_heads* head}, 2);
  Tensor v = pattern({sequences, new_rows, key_heads* head}, 3);
  Tensor past_k = pattern({sequences, key_heads, buffer, head}, 4);
  Tensor past_v = pattern({sequences, key_heads, buffer, head}, 5);
  std::int64_t half = head / 2;  // pairs of elements that are turned; those behind them stay
  Tensor cos = pattern({9, half}, 6), sin = pattern({9, half}, 7);
  std::int64_t keys[sequences] = {6, 4};  // of each sequence, new ones among them
  std::int64_t total = 6;
  std::int64_t window = -1;
  bool rotates = true;

  std::int64_t before(std::int64_t b) const { return keys[b] - new_rows; }
  std::int64_t room() const { return std::max(total, buffer); }

  // Head h of row i of q or k, turned to its position.
  double turned(const Tensor& x, std::int64_t heads, std::int64_t b, std::int64_t i, std::int64_t h,
                std::int64_t d) const {
    const auto element = [&](std::int64_t e) {
      return static_cast<double>(at(x, ((b * new_rows + i) * heads + h) * head + e));
    };
    if (!rotates || d >= 2 * half) return element(d);
    const std::int64_t pair = d % half;
    const double c = at(cos, (before(b) + i) * half + pair);
    const double s = at(sin, (before(b) + i) * half + pair);
    const double first = element(pair), second = element(pair + half);
    return d < half ? c * first - s * second : s * first + c * second;
  }
  double key(std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) const {
    if (j < before(b)) return at(past_k, ((b * key_heads + h) * buffer + j) * head + d);
    return j < keys[b] ? turned(k, key_heads, b, j - before(b), h, d) : 0;
  }
  double value_at(std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t d) const {
    if (j < before(b)) return at(past_v, ((b * key_heads + h) * buffer + j) * head + d);
    if (j >= keys[b]) return 0;
    return at(v, ((b * new_rows + j - before(b)) * key_heads + h) * head + d);
  }

  std::vector<float> result() const {
    std::vector<float> y;
    for (std::int64_t b = 0; b < sequences; ++b)
      for (std::int64_t i = 0; i < new_rows; ++i)
        for (std::int64_t h = 0; h < query_heads; ++h) {
          const std::int64_t last = before(b) + i;
          const std::int64_t first = window < 0 ? 0 : std::max<std::int64_t>(last - window + 1, 0);
          const std::int64_t of = h / (query_heads / key_heads);
          std::vector<double> p;
          double sum = 0;
          for (std::int64_t j = first; j <= last; ++j) {
            double dot = 0;
            for (std::int64_t d = 0; d < head; ++d)
              dot += turned(q, query_heads, b, i, h, d) * key(b, of, j, d);
            p.push_back(std::exp(dot / std::sqrt(static_cast<double>(head))));
            sum += p.back();
          }
          for (std::int64_t d = 0; d < head; ++d) {
            double mean = 0;
            for (std::int64_t j = first; j <= last; ++j)
              mean += p[static_cast<std::size_t>(j - first)] / sum * value_at(b, of, j, d);
            y.push_back(static_cast<float>(mean));
          }
        }
    return y;
  }
  template <class F>
  std::vector<float> present(F of) const {
    std::vector<float> all;
    for (std::int64_t b = 0; b < sequences; ++b)
      for (std::int64_t h = 0; h < key_heads; ++h)
        for (std::int64_t j = 0; j < room(); ++j)
          for (std::int64_t d = 0; d < head; ++d) all.push_back(static_cast<float>(of(b, h, j, d)));
    return all;
  }

  void check() const {
    const Tensor lengths = tensor<std::int32_t>(
        {2}, {static_cast<std::int32_t>(keys[0] - 1), static_cast<std::int32_t>(keys[1] - 1)});
    const Tensor all = tensor<std::int32_t>({}, {static_cast<std::int32_t>(total)});
    Messages attributes = {integer("num_heads", query_heads), integer("kv_num_heads", key_heads)};
    if (rotates) attributes.push_back(integer("do_rotary", 1));
    if (window >= 0) attributes.push_back(integer("local_window_size", window));
    std::vector<Fed> fed = {{q}, {k}, {v}, {past_k}, {past_v}, {lengths, 6}, {all, 6}};
    if (rotates) fed.insert(fed.end(), {{cos}, {sin}});
    expect_decoder("GroupQueryAttention", fed, attributes,
                   {result(), present([&](auto... i) { return key(i...); }),
                    present([&](auto... i) { return value_at(i...); })});
  }
};

TEST(ContribDecoder, CacheInABufferOfItsOwnLength) {
  GroupQuery{}.check();
  GroupQuery{.window = 1}.check();
  GroupQuery{.window = 2}.check();
  GroupQuery{.rotates = false}.check();
}

TEST(ContribDecoder, TurnsTheFirstElementsOfAHeadWhereThereAreFewerAngles) {
  GroupQuery{.half = 1}.check();
}

TEST(ContribDecoder, CacheThatGrows) {
  GroupQuery g;
  g.keys[0] = g.total = buffer + new_rows;
  g.check();  // and the other sequence has less of a past than it has room for
}

// A prompt of which one sequence is shorter than its rows: the past counts for nothing.
TEST(ContribDecoder, Prompt) {
  GroupQuery g;
  g.keys[0] = g.keys[1] = g.total = new_rows;
  g.check();
}

// ---- RotaryEmbedding

TEST(ContribDecoder, RotaryPositions) {
  const Tensor x = pattern({1, 2, 3, 4}, 1);  // [batch, heads, rows, width]
  const Tensor cos = pattern({8, 2}, 2), sin = pattern({8, 2}, 3);
  const Tensor from = tensor<std::int64_t>({1}, {4});
  const Tensor each = tensor<std::int64_t>({1, 3}, {7, 0, 2});
  for (const bool is_offset : {true, false})
    for (const bool neighbours : {true, false}) {
      std::vector<float> wanted;
      for (std::int64_t h = 0; h < 2; ++h)
        for (std::int64_t i = 0; i < 3; ++i)
          for (std::int64_t d = 0; d < 4; ++d) {
            const std::int64_t row =
                is_offset ? 4 + i : each.span<std::int64_t>()[static_cast<std::size_t>(i)];
            const std::int64_t pair = neighbours ? d / 2 : d % 2;
            const bool is_first = neighbours ? d % 2 == 0 : d < 2;
            const std::int64_t base = (h * 3 + i) * 4;
            const float first = at(x, base + (neighbours ? 2 * pair : pair));
            const float second = at(x, base + (neighbours ? 2 * pair + 1 : pair + 2));
            const float c = at(cos, row * 2 + pair), s = at(sin, row * 2 + pair);
            wanted.push_back(is_first ? c * first - s * second : s * first + c * second);
          }
      expect_decoder("RotaryEmbedding", {{x}, {is_offset ? from : each, i64}, {cos}, {sin}},
                     {integer("interleaved", neighbours ? 1 : 0)}, {wanted});
    }
}

// ---- weights in few bits

// Number c of row r, of `bits` each; rows begin a byte.
std::int64_t number_at(const Tensor& packed, std::int64_t row_bytes, std::int64_t bits,
                       std::int64_t r, std::int64_t c) {
  const std::int64_t bit = c * bits;
  const auto byte = packed.span<std::uint8_t>()[static_cast<std::size_t>(r * row_bytes + bit / 8)];
  return (byte >> (bit % 8)) & ((1 << bits) - 1);
}

Tensor some_bytes(const Shape& shape, int step) {
  Tensor t = must(Tensor::zeros({DType::u8, shape}));
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    reinterpret_cast<std::uint8_t*>(t.mutable_data())[i] = static_cast<std::uint8_t>(i * step + 11);
  return t;
}

// A depth that fills no block, and as many blocks a row as leave half a byte of zero points over.
TEST(ContribDecoder, ProductsOfFewBits) {
  constexpr std::int64_t depth = 37, columns = 5, size = 16, blocks = 3;
  const Tensor x = pattern({2, depth}, 1), scales = pattern({columns * blocks}, 2),
               bias = pattern({columns}, 3), float_zeros = pattern({columns, blocks}, 4);
  for (const std::int64_t bits : {2, 4, 8})
    for (const int zeros_kind : {0, 1, 2}) {
      const Tensor w = some_bytes({columns, blocks, size * bits / 8}, 37);
      const std::int64_t zero_bytes = (blocks * bits + 7) / 8;
      const Tensor zeros = some_bytes({columns * zero_bytes}, 59);
      const auto zero_at = [&](std::int64_t n, std::int64_t block) -> double {
        if (zeros_kind == 0) return 1 << (bits - 1);
        if (zeros_kind == 2) return at(float_zeros, n * blocks + block);
        return static_cast<double>(number_at(zeros, zero_bytes, bits, n, block));
      };
      std::vector<float> wanted;
      for (std::int64_t i = 0; i < 2; ++i)
        for (std::int64_t n = 0; n < columns; ++n) {
          double sum = at(bias, n);
          for (std::int64_t k = 0; k < depth; ++k)
            sum += at(x, i * depth + k) * at(scales, n * blocks + k / size) *
                   (static_cast<double>(number_at(w, blocks * size * bits / 8, bits, n, k)) -
                    zero_at(n, k / size));
          wanted.push_back(static_cast<float>(sum / 64));
        }
      Tensor small = must(Tensor::zeros({DType::f32, {2, depth}}));
      for (std::int64_t i = 0; i < 2 * depth; ++i)
        reinterpret_cast<float*>(small.mutable_data())[i] = at(x, i) / 64;
      Tensor small_bias = must(Tensor::zeros({DType::f32, {columns}}));
      for (std::int64_t i = 0; i < columns; ++i)
        reinterpret_cast<float*>(small_bias.mutable_data())[i] = at(bias, i) / 64;
      SCOPED_TRACE(std::to_string(bits) + " bits, zeros " + std::to_string(zeros_kind));
      const Fed none{};
      for (const bool is_constant : {true, false})
        expect_decoder("MatMulNBits",
                       {{small},
                        {w, 2, is_constant},
                        {scales, f32, is_constant},
                        zeros_kind == 0   ? none
                        : zeros_kind == 1 ? Fed{zeros, 2, is_constant}
                                          : Fed{float_zeros, f32, is_constant},
                        none,
                        {small_bias}},
                       {integer("K", depth), integer("N", columns), integer("bits", bits),
                        integer("block_size", size)},
                       {wanted});
    }
}

TEST(ContribDecoder, RowsOfFewBits) {
  constexpr std::int64_t rows = 4, size = 16, blocks = 2, width = size * blocks;
  const Tensor scales = pattern({rows, blocks}, 2);
  const Tensor which = tensor<std::int64_t>({3}, {3, 0, -2});
  for (const std::int64_t bits : {4, 8}) {
    const Tensor table = some_bytes({rows, width * bits / 8}, 41);
    std::vector<float> wanted;
    for (const std::int64_t r : {3, 0, 2})
      for (std::int64_t c = 0; c < width; ++c)
        wanted.push_back(
            static_cast<float>(number_at(table, width * bits / 8, bits, r, c) - (1 << (bits - 1))) *
            at(scales, r * blocks + c / size));
    expect_decoder("GatherBlockQuantized", {{table, 2, true}, {which, i64}, {scales, f32, true}},
                   {integer("bits", bits), integer("block_size", size)}, {wanted});
  }
}

TEST(ContribDecoder, WeightsThatAreNoneAreRefusedInWords) {
  const auto refusal = [](std::int64_t depth, std::int64_t size, std::int64_t bits, bool constant) {
    GraphParts g;
    g.inputs = {value("x", f32, {1, depth})};
    const Message w = raw_tensor("w", 2, {2, 1, 8}, std::string(16, 'w'));
    if (constant)
      g.initializers.push_back(w);
    else
      g.inputs.push_back(value("w", 2, {2, 1, 8}));
    g.initializers.push_back(floats("s", {2}, {1, 1}));
    g.nodes = {node(
        "MatMulNBits", {"x", "w", "s"}, {"y"},
        {integer("K", depth), integer("N", 2), integer("bits", bits), integer("block_size", size)},
        {.name = "n", .domain = "com.microsoft"})};
    g.outputs = {Message().text(1, "y")};
    return refusal_of(g);
  };
  using ::testing::HasSubstr;
  EXPECT_EQ(refusal(16, 16, 4, true), "none");
  EXPECT_EQ(refusal(16, 16, 4, false), "none");
  EXPECT_THAT(refusal(32, 16, 4, false), HasSubstr("cannot reshape"));
  EXPECT_THAT(refusal(32, 16, 4, true), HasSubstr("input 1 is u8[2,1,8], wants u8 of 32 elements"));
  EXPECT_THAT(refusal(16, 16, 3, true), HasSubstr("3 bits in blocks of 16 is no form of weights"));
  EXPECT_THAT(refusal(16, 24, 4, true), HasSubstr("blocks of 24"));
  EXPECT_THAT(refusal(std::int64_t{1} << 62, 16, 4, true), HasSubstr("is no form of weights"));
  EXPECT_THAT(refusal(-1, 16, 4, true), HasSubstr("K = -1"));
}

// The bytes of a file are the weights of the graph, 256 KiB that would be a table of 1 MiB.
TEST(ContribDecoder, WeightsStayInTheirBits) {
  constexpr std::int64_t rows = 256, blocks = 256, size = 16, depth = blocks * size;
  GraphParts g;
  g.inputs = {value("x", f32, {1, depth})};
  g.initializers = {raw_tensor("w", 2, {rows, blocks, 4}, std::string(rows * blocks * 4, 'w')),
                    raw_tensor("s", f32, {rows * blocks}, std::string(rows * blocks * 4, '\0'))};
  g.nodes = {node(
      "MatMulNBits", {"x", "w", "s"}, {"y"},
      {integer("K", depth), integer("N", rows), integer("bits", 2), integer("block_size", size)},
      {.name = "n", .domain = "com.microsoft"})};
  g.outputs = {Message().text(1, "y")};
  const std::string model = make_model(make_graph(g), {.opsets = {opset("", 21)}});
  Model parsed =
      must(parse_onnx(std::as_bytes(std::span(model)), nullptr, {}, {.max_bytes = 900 << 10}));
  const auto executable = must(Executable::compile(std::move(parsed)));
  const auto need = executable->memory_need();
  ASSERT_TRUE(need);
  EXPECT_LE(need->weights, std::size_t{600} << 10);
  EXPECT_GE(need->weights, std::size_t{512} << 10);
}

// Each k has the scale and zero point of the block that a list names.
TEST(ContribDecoder, BlocksByAList) {
  constexpr std::int64_t depth = 40, columns = 3, size = 16, blocks = 3;
  const Tensor x = pattern({2, depth}, 1), scales = pattern({columns * blocks}, 2);
  const Tensor w = some_bytes({columns, blocks, size / 2}, 37);
  const Tensor zeros = some_bytes({columns * 2}, 59);
  Tensor group = must(Tensor::zeros({DType::i32, {depth}}));
  for (std::int64_t k = 0; k < depth; ++k)
    reinterpret_cast<std::int32_t*>(group.mutable_data())[k] =
        static_cast<std::int32_t>(k * 7 % blocks);
  for (const bool has_zeros : {false, true}) {
    std::vector<float> wanted;
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t n = 0; n < columns; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          const std::int64_t block = k * 7 % blocks;
          const double zero =
              has_zeros ? static_cast<double>(number_at(zeros, 2, 4, n, block)) : 8.0;
          sum += at(x, i * depth + k) * at(scales, n * blocks + block) *
                 (static_cast<double>(number_at(w, blocks * size / 2, 4, n, k)) - zero);
        }
        wanted.push_back(static_cast<float>(sum / 64));
      }
    Tensor small = must(Tensor::zeros({DType::f32, {2, depth}}));
    for (std::int64_t i = 0; i < 2 * depth; ++i)
      reinterpret_cast<float*>(small.mutable_data())[i] = at(x, i) / 64;
    expect_decoder("MatMulNBits",
                   {{small},
                    {w, 2, true},
                    {scales, f32, true},
                    has_zeros ? Fed{zeros, 2, true} : Fed{},
                    {group, i32, true}},
                   {integer("K", depth), integer("N", columns), integer("bits", 4),
                    integer("block_size", size)},
                   {wanted});
  }
}

TEST(ContribDecoder, ATableOfOtherBlocksIsRefused) {
  GraphParts g;
  g.inputs = {value("i", i64, {1})};
  g.initializers = {raw_tensor("table", 2, {2, 16}, std::string(32, 'w')),
                    floats("scales", {2, 1}, {1, 1})};
  g.nodes = {node("GatherBlockQuantized", {"table", "i", "scales"}, {"y"},
                  {integer("bits", 4), integer("block_size", 16)},
                  {.name = "n", .domain = "com.microsoft"})};
  g.outputs = {Message().text(1, "y")};
  EXPECT_THAT(refusal_of(g), ::testing::HasSubstr("wants 1 blocks of 16"));
}

TEST(ContribDecoder, ATableAndItsZeroPointsHaveOneType) {
  GraphParts g;
  g.inputs = {value("i", i64, {1})};
  g.initializers = {raw_tensor("table", 2, {2, 16}, std::string(32, 'w')),
                    floats("scales", {2, 1}, {1, 1}), floats("zeros", {2, 1}, {1, 1})};
  g.nodes = {node("GatherBlockQuantized", {"table", "i", "scales", "zeros"}, {"y"},
                  {integer("bits", 8), integer("block_size", 16)},
                  {.name = "n", .domain = "com.microsoft"})};
  g.outputs = {Message().text(1, "y")};
  EXPECT_THAT(refusal_of(g), ::testing::HasSubstr("zero points of f32 for a table of u8"));
}

TEST(ContribDecoder, AWindowOfNothingIsRefused) {
  for (const std::int64_t window : {std::int64_t{0}, std::int64_t{-2}}) {
    GraphParts g;
    g.inputs = {value("x", f32, {1, 1, 24}), value("k", f32, {1, 1, 8}), value("v", f32, {1, 1, 8}),
                value("lengths", i32, {1}), value("total", i32, {1})};
    g.nodes = {node(
        "GroupQueryAttention", {"x", "k", "v", "", "", "lengths", "total"}, {"y"},
        {integer("num_heads", 3), integer("kv_num_heads", 1), integer("local_window_size", window)},
        {.name = "n", .domain = "com.microsoft"})};
    g.outputs = {Message().text(1, "y")};
    EXPECT_THAT(refusal_of(g), ::testing::HasSubstr("local_window_size = "));
  }
}

// ---- SparseAttention

constexpr std::int64_t block = 16, blocks = 3, layouts = 2, wide = 4;

struct SparseCase {
  std::int64_t rows;     // new ones of each sequence
  std::int64_t keys[2];  // of each sequence, new ones among them
  std::int64_t total;
  bool packed = false;
  // The first layout leaves out one block of the past, the second sees everything.
  bool seen[layouts][blocks][blocks] = {{{true}, {true, true}, {true, false, true}},
                                        {{true}, {true, true}, {true, true, true}}};
  std::int64_t room = 48;
  Tensor q = pattern({2, rows, 4 * wide}, 1), k = pattern({2, rows, 2 * wide}, 2),
         v = pattern({2, rows, 2 * wide}, 3);
  Tensor past_k = pattern({2, 2, room, wide}, 4), past_v = pattern({2, 2, room, wide}, 5);

  std::int64_t before(std::int64_t b) const { return rows == total ? 0 : keys[b] - rows; }
  float row(const Tensor& past, const Tensor& fresh, std::int64_t b, std::int64_t h, std::int64_t j,
            std::int64_t d) const {
    if (j < before(b)) return at(past, ((b * 2 + h) * room + j) * wide + d);
    return at(fresh, ((b * rows + j - before(b)) * 2 + h) * wide + d);
  }

  std::vector<float> result() const {
    std::vector<float> y;
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t h = 0; h < 4; ++h) {
          const std::int64_t last = before(b) + i;
          std::vector<double> p(static_cast<std::size_t>(last + 1), 0);
          double sum = 0;
          for (std::int64_t j = 0; j <= last; ++j) {
            if (!seen[h % layouts][last / block][j / block]) continue;
            double dot = 0;
            for (std::int64_t d = 0; d < wide; ++d)
              dot += static_cast<double>(at(q, ((b * rows + i) * 4 + h) * wide + d)) *
                     row(past_k, k, b, h / 2, j, d);
            sum += p[static_cast<std::size_t>(j)] = std::exp(dot / 2);
          }
          for (std::int64_t d = 0; d < wide; ++d) {
            double mean = 0;
            for (std::int64_t j = 0; j <= last; ++j)
              mean += p[static_cast<std::size_t>(j)] / sum * row(past_v, v, b, h / 2, j, d);
            y.push_back(static_cast<float>(mean));
          }
        }
    return y;
  }

  quern::testing::OneOperator model() const {
    const auto narrow = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
    quern::testing::OneOperator op{
        .op = "SparseAttention",
        .attributes = {integer("num_heads", 4), integer("kv_num_heads", 2),
                       integer("sparse_block_size", block)},
        .outputs = 3};
    op.fed = {{q},
              {k},
              {v},
              {past_k},
              {past_v},
              {tensor<std::int32_t>({2, 4}, {0, 1, 3, 5, 0, 1, 3, 6}), i32},
              {tensor<std::int32_t>({2, 6}, {0, 0, 1, 0, 2, -1, 0, 0, 1, 0, 1, 2}), i32},
              {tensor<std::int32_t>({1}, {narrow(total)}), i32},
              {tensor<std::int32_t>({2}, {narrow(keys[0]), narrow(keys[1])}), i32}};
    if (!packed) return op;
    op.fed[1] = op.fed[2] = {};
    std::vector<float> all;
    for (std::int64_t r = 0; r < 2 * rows; ++r)
      for (const Tensor* part : {&q, &k, &v})
        for (std::int64_t d = 0; d < part->shape()[2]; ++d)
          all.push_back(at(*part, r * part->shape()[2] + d));
    op.fed[0].tensor = Tensor::from_values<float>(DType::f32, Shape{2, rows, 8 * wide}, all);
    return op;
  }
};

TEST(ContribDecoder, BlocksOfKeysThatALayoutLeavesOutAreNotSeen) {
  const SparseCase cases[] = {{.rows = 40, .keys = {40, 40}, .total = 40},
                              {.rows = 1, .keys = {41, 18}, .total = 41},
                              {.rows = 1, .keys = {33, 48}, .total = 48, .packed = true},
                              {.rows = 5, .keys = {36, 20}, .total = 36}};
  for (const SparseCase& c : cases)
    for (const auto& way : quern::testing::ways()) {
      const auto op = c.model();
      const auto found = must(quern::testing::run_onnx(quern::testing::model_of(op),
                                                       quern::testing::inputs_of(op), way));
      EXPECT_THAT(found[0].span<float>(),
                  ::testing::Pointwise(::testing::FloatNear(2e-5F), c.result()));
      for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t h = 0; h < 2; ++h)
          for (std::int64_t j = 0; j < c.before(b) + c.rows; ++j)
            EXPECT_EQ(at(found[1], ((b * 2 + h) * c.room + j) * wide),
                      c.row(c.past_k, c.k, b, h, j, 0));
    }
}

// Half a turn changes the signs of new queries and keys; keys of the past were turned before.
TEST(ContribDecoder, SparseAttentionTurnsItsHeads) {
  const SparseCase c{.rows = 5, .keys = {36, 20}, .total = 36};
  auto op = c.model();
  op.attributes.push_back(integer("do_rotary", 1));
  const auto error = [&] {
    return quern::testing::answer(quern::testing::model_of(op), quern::testing::inputs_of(op), {});
  };
  EXPECT_THAT(error(), ::testing::HasSubstr("do_rotary wants cos_cache and sin_cache"));
  const auto angles = [](float value) {
    return Tensor::from_values<float>(DType::f32, Shape{48, 2}, std::vector<float>(96, value));
  };
  op.fed.resize(11);
  op.fed[9] = {angles(1)};
  op.fed[10] = {angles(0)};
  const auto found = must(
      quern::testing::run_onnx(quern::testing::model_of(op), quern::testing::inputs_of(op), {}));
  EXPECT_THAT(found[0].span<float>(),
              ::testing::Pointwise(::testing::FloatNear(2e-5F), c.result()));
  op.fed[9] = {angles(-1)};
  SparseCase turned = c;
  for (Tensor* x : {&turned.q, &turned.k}) {
    std::vector<float> other;
    for (float v : x->span<float>()) other.push_back(-v);
    *x = Tensor::from_values<float>(DType::f32, x->shape(), other);
  }
  const auto half = must(
      quern::testing::run_onnx(quern::testing::model_of(op), quern::testing::inputs_of(op), {}));
  EXPECT_THAT(half[0].span<float>(),
              ::testing::Pointwise(::testing::FloatNear(2e-5F), turned.result()));
}

TEST(ContribDecoder, BlocksThatAreNoneAreErrorsInWords) {
  const SparseCase c{.rows = 1, .keys = {41, 18}, .total = 41};
  const auto error = [&](std::size_t input, const Tensor& t) {
    auto op = c.model();
    op.fed[input].tensor = t;
    return quern::testing::answer(quern::testing::model_of(op), quern::testing::inputs_of(op), {});
  };
  const Tensor three = tensor<std::int32_t>(
      {3, 4}, std::initializer_list<std::int32_t>{0, 1, 3, 5, 0, 1, 3, 6, 0, 1, 3, 6});
  EXPECT_THAT(error(5, three), ::testing::HasSubstr("rows of 3 layouts and columns of 2"));
  EXPECT_THAT(error(5, tensor<std::int32_t>({4}, {0, 1, 3, 5})),
              ::testing::HasSubstr("rows and columns of blocks want rank 2"));
  const Tensor far = tensor<std::int32_t>({2, 6}, {0, 0, 1, 0, 7, -1, 0, 0, 1, 0, 1, 2});
  EXPECT_THAT(error(6, far), ::testing::HasSubstr("a column of a block is 7, wants 0 to 2"));
  EXPECT_THAT(error(8, tensor<std::int32_t>({2}, {1000000000, 3})),
              ::testing::HasSubstr("error: "));
  EXPECT_THAT(error(4, Tensor()), ::testing::HasSubstr("input 4 is left out"));
  auto op = c.model();
  op.attributes.back() = integer("sparse_block_size", 8);
  EXPECT_THAT(
      quern::testing::answer(quern::testing::model_of(op), quern::testing::inputs_of(op), {}),
      ::testing::HasSubstr("'sparse_block_size' is 8, wants 16, 32, 64 or 128"));
}

}  // namespace
}  // namespace quern::onnx_test
