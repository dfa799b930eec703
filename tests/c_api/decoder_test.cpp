// SPDX-License-Identifier: Apache-2.0
// Decoders of the C API, over a model as exporters write them.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <quern/c/quern.h>

#include "tests/expect.h"
#include "tests/onnx-parser/onnx_writer.h"

namespace quern {
namespace {

using namespace onnx_test;

constexpr std::int64_t width = 8;  // also the number of tokens

// Row t of the table: of token t.
double element(std::int64_t token, std::int64_t d) {
  return static_cast<double>((token * 5 + d * 3) % 11) / 8 - 0.6;
}

// logits = GroupQueryAttention(x, x, x) of the rows x of the tokens.
std::string small_decoder() {
  std::string table;
  for (std::int64_t t = 0; t < width; ++t)
    for (std::int64_t d = 0; d < width; ++d) {
      const auto v = static_cast<float>(element(t, d));
      table.append(reinterpret_cast<const char*>(&v), sizeof v);
    }
  GraphParts g;
  g.inputs = {value("input_ids", i64, {1, "new"}), value("attention_mask", i64, {1, "total"}),
              value("past_key_values.0.key", f32, {1, 1, "past", 8}),
              value("past_key_values.0.value", f32, {1, 1, "past", 8})};
  g.initializers = {raw_tensor("table", f32, {width, width}, table), ints("one", {1}, {1})};
  g.nodes = {
      node("Gather", {"table", "input_ids"}, {"x"}),
      node("ReduceSum", {"attention_mask", "one"}, {"count"}, {integer("keepdims", 0)}),
      node("Sub", {"count", "one"}, {"last"}),
      node("Cast", {"last"}, {"lengths"}, {integer("to", 6)}),
      node("Shape", {"attention_mask"}, {"shape"}),
      node("Gather", {"shape", "one"}, {"columns"}),
      node("Cast", {"columns"}, {"total"}, {integer("to", 6)}),
      node("GroupQueryAttention",
           {"x", "x", "x", "past_key_values.0.key", "past_key_values.0.value", "lengths", "total"},
           {"logits", "present.0.key", "present.0.value"},
           {integer("num_heads", 1), integer("kv_num_heads", 1)}, {.domain = "com.microsoft"})};
  g.outputs = {value("logits", f32, {1, "new", 8}),
               value("present.0.key", f32, {1, 1, "present", 8}),
               value("present.0.value", f32, {1, 1, "present", 8})};
  return make_model(make_graph(g), {.opsets = {opset("", 21), opset("com.microsoft", 1)}});
}

// By its definition.
std::vector<double> wanted(const std::vector<std::int64_t>& tokens) {
  std::vector<double> weights, y(width, 0.0);
  double sum = 0;
  for (std::int64_t t : tokens) {
    double dot = 0;
    for (std::int64_t d = 0; d < width; ++d) dot += element(tokens.back(), d) * element(t, d);
    weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(width))));
    sum += weights.back();
  }
  for (std::size_t i = 0; i < tokens.size(); ++i)
    for (std::int64_t d = 0; d < width; ++d)
      y[static_cast<std::size_t>(d)] += weights[i] / sum * element(tokens[i], d);
  return y;
}

class CDecoder : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string bytes = small_decoder();
    ASSERT_EQ(quern_model_load_bytes(bytes.data(), bytes.size(), nullptr, &model), QUERN_OK)
        << quern_last_error();
    options.capacity = 6;
    ASSERT_EQ(quern_decoder_open(model, nullptr, &options, &decoder), QUERN_OK)
        << quern_last_error();
  }
  ~CDecoder() override {
    quern_decoder_destroy(decoder);
    quern_decoder_destroy(other);
    quern_executable_destroy(executable);
    quern_model_destroy(model);
  }

  static void append(quern_decoder* d, const std::vector<std::int64_t>& tokens) {
    ASSERT_EQ(quern_decoder_append(d, tokens.data(), tokens.size(), 0), QUERN_OK)
        << quern_last_error();
  }
  static void expect_logits(const quern_decoder* d, const std::vector<std::int64_t>& tokens) {
    const float* logits = nullptr;
    std::size_t count = 0;
    ASSERT_EQ(quern_decoder_logits(d, &logits, &count), QUERN_OK) << quern_last_error();
    ASSERT_EQ(count, static_cast<std::size_t>(width));
    const auto all = wanted(tokens);
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_NEAR(static_cast<double>(logits[i]), all[i], 1e-5) << i;
  }
  static quern_decoder_info info_of(const quern_decoder* d) {
    quern_decoder_info info = QUERN_DECODER_INFO_INIT;
    EXPECT_EQ(quern_decoder_get_info(d, &info), QUERN_OK);
    return info;
  }

  quern_model* model = nullptr;
  quern_executable* executable = nullptr;
  quern_decoder *decoder = nullptr, *other = nullptr;
  quern_decoder_options options = QUERN_DECODER_OPTIONS_INIT;
};

TEST_F(CDecoder, TokensGoInAndLogitsComeOut) {
  append(decoder, {3, 1, 4});
  expect_logits(decoder, {3, 1, 4});
  append(decoder, {5});
  expect_logits(decoder, {3, 1, 4, 5});
  ASSERT_EQ(quern_decoder_rewind(decoder, 2), QUERN_OK);
  append(decoder, {2});
  expect_logits(decoder, {3, 1, 2});
  const quern_decoder_info info = info_of(decoder);
  EXPECT_EQ(info.length, 3);
  EXPECT_EQ(info.capacity, 6);
  EXPECT_EQ(info.in_place, 1);
  EXPECT_EQ(info.row_bytes, 2U * 8 * 4);
  EXPECT_EQ(info.cache_bytes, 6 * info.row_bytes);
}

TEST_F(CDecoder, ForksAndDecodersOfOneExecutable) {
  append(decoder, {7, 0});
  ASSERT_EQ(quern_decoder_fork(decoder, &other), QUERN_OK) << quern_last_error();
  append(other, {6});
  append(decoder, {1});
  expect_logits(other, {7, 0, 6});
  expect_logits(decoder, {7, 0, 1});
  quern_decoder_destroy(other);
  other = nullptr;
  ASSERT_EQ(quern_executable_compile(model, nullptr, &executable), QUERN_OK);
  ASSERT_EQ(quern_decoder_create(executable, &options, &other), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_decoder_prepare(other, 2), QUERN_OK);
  append(other, {4, 4});
  expect_logits(other, {4, 4});
}

TEST_F(CDecoder, ErrorsHaveWords) {
  const std::vector<std::int64_t> many(7, 1);
  const auto code = [&](std::size_t count) {
    return quern_decoder_append(decoder, many.data(), count, 0);
  };
  EXPECT_EQ(code(7), QUERN_INVALID_ARGUMENT);
  EXPECT_CONTAINS(std::string(quern_last_error()), "7 tokens behind 0");
  EXPECT_EQ(code(0), QUERN_INVALID_ARGUMENT);
  EXPECT_EQ(quern_decoder_append(decoder, nullptr, 1, 0), QUERN_INVALID_ARGUMENT);
  const float* logits = nullptr;
  std::size_t count = 0;
  EXPECT_EQ(quern_decoder_logits(decoder, &logits, &count), QUERN_NOT_FOUND);
  EXPECT_EQ(quern_decoder_rewind(decoder, 1), QUERN_INVALID_ARGUMENT);
  quern_decoder_cancel(decoder);
  EXPECT_EQ(code(1), QUERN_BUSY);
  quern_decoder_clear_cancel(decoder);
  EXPECT_EQ(code(1), QUERN_OK) << quern_last_error();
  options.past_key = "cache.%";
  EXPECT_EQ(quern_decoder_open(model, nullptr, &options, &other), QUERN_NOT_FOUND);
  EXPECT_CONTAINS(std::string(quern_last_error()), "no input 'cache.0'");
  quern_tensor t = QUERN_TENSOR_INIT;
  EXPECT_EQ(quern_decoder_set_input(decoder, "states", &t), QUERN_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace quern
