// SPDX-License-Identifier: Apache-2.0
// Caches that grow in place on the device: what a token costs, that nothing but its rows is
// written, and that the logits are the CPU's.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <quern/artefact.h>
#include <quern/decoder.h>
#include <quern/device_tensor.h>
#include <quern/onnx.h>

#include "tests/engine/decoder_models.h"
#include "tests/engine/vulkan/vulkan_test.h"
#include "tests/expect.h"

namespace quern {
namespace {

using quern::testing::after;
using quern::testing::decoder_model;
using quern::testing::DecoderForm;
using quern::testing::device_name;
using quern::testing::Logits;
using quern::testing::must;
using quern::testing::story;
using quern::testing::Tokens;

constexpr auto buffer = DecoderForm::Cache::buffer;
constexpr auto joined = DecoderForm::Cache::joined;
constexpr auto counted = DecoderForm::Cache::counted;

class VulkanDecoderTest : public testing::VulkanTest {
 protected:
  static std::unique_ptr<Decoder> open(const DecoderForm& form, const std::string& device,
                                       std::int64_t capacity = 16) {
    return must(
        Decoder::open(decoder_model(form), {.capacity = capacity}, must(open_device(device))));
  }
  static void expect_near(const Logits& got, const Logits& wanted, float most) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], most) << i;
  }
};

TEST_F(VulkanDecoderTest, TheLogitsAreTheCpus) {
  for (const auto& [form, most] : {std::pair(DecoderForm{.cache = buffer}, 1e-5F),
                                   {DecoderForm{.cache = joined}, 1e-5F},
                                   {DecoderForm{.cache = counted}, 1e-5F},
                                   {DecoderForm{.cache = buffer, .dtype = DType::f16}, 2e-3F},
                                   {DecoderForm{.cache = joined, .dtype = DType::f16}, 2e-3F}}) {
    const auto on_cpu = open(form, "cpu");
    const auto on_device = open(form, device_name() + ",strict");
    EXPECT_EQ(on_device->growth(), on_cpu->growth());
    for (const std::size_t prompt : {4, 1}) {
      on_cpu->reset();
      on_device->reset();
      const auto first = std::span(story).first(prompt);
      expect_near(after(*on_device, first), after(*on_cpu, first), most);
      for (const std::int64_t& token : std::span(story).subspan(prompt))
        expect_near(after(*on_device, {&token, 1}), after(*on_cpu, {&token, 1}), most);
    }
  }
}

TEST_F(VulkanDecoderTest, GoesBackAndForks) {
  for (const auto cache : {buffer, joined}) {
    const auto on_cpu = open({.cache = cache}, "cpu");
    const auto d = open({.cache = cache}, device_name());
    (void)after(*d, Tokens{3, 1, 12, 7, 9, 9});
    must(d->rewind(4));
    const auto fork = must(d->fork());
    expect_near(after(*d, Tokens{5}), after(*on_cpu, Tokens{3, 1, 12, 7, 5}), 1e-5F);
    must(on_cpu->rewind(4));
    expect_near(after(*fork, Tokens{0, 2}), after(*on_cpu, Tokens{0, 2}), 1e-5F);
    must(on_cpu->rewind(4));
    expect_near(after(*d, Tokens{8}), after(*on_cpu, Tokens{5, 8}), 1e-5F);
  }
}

// A token: one submission, no plan, no memory, no commands that are new; up goes what names it, and
// down come its logits, however long the sequence is.
TEST_F(VulkanDecoderTest, ATokenIsOneSubmissionAndMakesNothing) {
  for (const auto cache : {buffer, joined}) {
    const auto d = open({.cache = cache}, device_name() + ",strict", 64);
    ASSERT_EQ(d->growth(), Decoder::Growth::in_place);
    (void)after(*d, Tokens{3, 1, 12});
    (void)after(*d, Tokens{7});
    const Device& device = d->executable().device();
    const std::size_t plans = work_of(d->executable()).graphs;
    DeviceCounters last = device.counters();
    const std::uint64_t held = last.held_bytes;
    for (int i = 0; i < 40; ++i) {
      (void)after(*d, Tokens{i % 13});
      const DeviceCounters now = device.counters();
      EXPECT_EQ(now.submissions - last.submissions, 1U);
      EXPECT_EQ(now.allocations - last.allocations, 0U);
      EXPECT_EQ(now.recordings - last.recordings, 0U);
      EXPECT_EQ(now.pipelines - last.pipelines, 0U);
      // A token, its position, the mask and what counts; of the cache nothing.
      EXPECT_LE(now.bytes_up - last.bytes_up, 64U * 8 + 4 * 8);
      EXPECT_EQ(now.bytes_down - last.bytes_down, 4U * testing::decoder_vocabulary);
      last = now;
    }
    EXPECT_EQ(work_of(d->executable()).graphs, plans);
    EXPECT_EQ(last.held_bytes, held);
  }
}

// The language models of a folder, a subfolder each: QUERN_TEST_LLM. What has no logits of tokens
// is no decoder and is left out. Products of names with "acc4" are rounded to bytes on the CPU
// alone.
TEST_F(VulkanDecoderTest, LanguageModelsDecodeAsOnTheCpu) {
  const char* folder = std::getenv("QUERN_TEST_LLM");
  if (!folder) GTEST_SKIP() << "QUERN_TEST_LLM names no folder of language models";
  std::size_t counted_models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = (entry.path() / "model.onnx").string();
    if (!std::filesystem::exists(file)) continue;
    SCOPED_TRACE(file);
    const auto open_on = [&](const std::string& device) {
      return Decoder::open(must(load_onnx(file)), {.capacity = 40}, must(open_device(device)));
    };
    const auto on_cpu = open_on("cpu");
    if (!on_cpu) continue;
    const auto d = must(open_on(device_name()));
    EXPECT_EQ(d->growth(), (*on_cpu)->growth());
    const auto expect_same = [&](std::span<const std::int64_t> tokens) {
      const Logits found = after(*d, tokens), wanted = after(**on_cpu, tokens);
      float largest = 0;
      for (float x : wanted) largest = std::max(largest, std::abs(x));
      expect_near(found, wanted, (file.find("acc4") == file.npos ? 1e-3F : 1e-1F) * largest);
    };
    expect_same(Tokens{5, 17, 100, 3, 42});
    expect_same(Tokens{7});
    const Device& device = d->executable().device();
    const DeviceCounters was = device.counters();
    for (const std::int64_t token : {8, 9, 10}) expect_same({&token, 1});
    const DeviceCounters now = device.counters();
    if (d->growth() != Decoder::Growth::in_place || !d->session().plan_info().fallbacks.empty())
      continue;
    EXPECT_EQ(now.submissions - was.submissions, 3U);
    EXPECT_EQ(now.allocations - was.allocations, 0U);
    EXPECT_EQ(now.recordings - was.recordings, 0U);
    ++counted_models;
  }
  EXPECT_GT(counted_models, 0U);
}

// ---- sessions

struct Appended {
  std::shared_ptr<Device> device = must(open_device(device_name()));
  std::unique_ptr<Session> session;
  std::shared_ptr<DeviceTensor> cache;
  Tensor row = testing::tensor<float>({1, 2, 1, 2}, {8, 9, 10, 11});
  Tensor before = testing::tensor<std::int64_t>({1}, {1});

  explicit Appended(bool is_read) {
    GraphBuilder g;
    const Operand past = g.input("past", DType::f32, {1, 2, 3, 2});
    const Operand rows = g.input("rows", DType::f32, {1, 2, 1, 2});
    const Operand at = g.input("before", DType::i64, {1});
    const Operand present = g.op(CacheAppend{}, {past, rows, at, g.integers({3})});
    g.output("present", present);
    if (is_read) g.output("copy", g.neg(past));
    g.output("sum", g.reduce("sum", present, {3}, {.keepdims = false}));
    session = testing::session_of(must(Executable::compile(must(g.build()), device)));
    cache = must(DeviceTensor::create(device, {DType::f32, {1, 2, 3, 2}}));
    must(cache->write(
        testing::tensor<float>({1, 2, 3, 2}, {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6}).view()));
    must(session->set_input(0, cache));
    must(session->set_input(1, row.view()));
    must(session->set_input(2, before.view()));
  }
  std::vector<float> rows() { return testing::values<float>(must(cache->read())); }
};

TEST_F(VulkanDecoderTest, ATensorIsItsOwnPast) {
  Appended a(false);
  must(a.session->bind_output(0, a.cache));
  must(a.session->run());
  // Rows behind the new ones stay, where a copy has zeros; who reads the result sees the tensor.
  EXPECT_EQ(a.rows(), (std::vector<float>{1, 2, 8, 9, 5, 6, -1, -2, 10, 11, -5, -6}));
  EXPECT_EQ(testing::values<float>(must(a.session->output(1))),
            (std::vector<float>{3, 17, 11, -3, 21, -11}));
  const DeviceCounters was = a.device->counters();
  a.before = testing::tensor<std::int64_t>({1}, {2});
  must(a.session->set_input(2, a.before.view()));
  must(a.session->submit());
  must(a.session->wait());
  const DeviceCounters now = a.device->counters();
  EXPECT_EQ(now.dispatches - was.dispatches, 2U);  // the new rows and the sum
  EXPECT_EQ(now.bytes_up - was.bytes_up, 4U * 4 + 8);
  EXPECT_EQ(now.bytes_down - was.bytes_down, 6U * 4);
  EXPECT_EQ(a.rows(), (std::vector<float>{1, 2, 8, 9, 8, 9, -1, -2, 10, 11, 10, 11}));
  // Another tensor gets a copy.
  const auto other = must(DeviceTensor::create(a.device, {DType::f32, {1, 2, 3, 2}}));
  must(a.session->bind_output(0, other));
  a.before = testing::tensor<std::int64_t>({1}, {0});
  must(a.session->set_input(2, a.before.view()));
  must(a.session->run());
  EXPECT_EQ(testing::values<float>(must(other->read())),
            (std::vector<float>{8, 9, 0, 0, 0, 0, 10, 11, 0, 0, 0, 0}));
  EXPECT_EQ(a.rows(), (std::vector<float>{1, 2, 8, 9, 8, 9, -1, -2, 10, 11, 10, 11}));
}

TEST_F(VulkanDecoderTest, ATensorThatOthersReadIsNotWrittenInPlace) {
  Appended a(true);
  must(a.session->bind_output(0, a.cache));
  const Status status = a.session->run();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_CONTAINS(status.message(), "bound to the tensor of input 0");
  EXPECT_EQ(a.rows(), (std::vector<float>{1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6}));
  must(a.session->bind_output(0, std::shared_ptr<DeviceTensor>()));
  must(a.session->run());
  EXPECT_EQ(testing::values<float>(must(a.session->output(0))),
            (std::vector<float>{1, 2, 8, 9, 0, 0, -1, -2, 10, 11, 0, 0}));
}

// What the CPU refuses is moved to the end; no row is written beyond the cache.
TEST_F(VulkanDecoderTest, RowsWithoutRoomAreLeftOut) {
  for (const std::int64_t before : {std::int64_t{3}, std::int64_t{1} << 30, std::int64_t{-5}}) {
    Appended a(false);
    a.before = testing::tensor<std::int64_t>({1}, {before});
    must(a.session->set_input(2, a.before.view()));
    must(a.session->bind_output(0, a.cache));
    must(a.session->run());
    EXPECT_EQ(a.rows(), before < 0
                            ? (std::vector<float>{8, 9, 3, 4, 5, 6, 10, 11, -3, -4, -5, -6})
                            : (std::vector<float>{1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6}));
  }
}

}  // namespace
}  // namespace quern
