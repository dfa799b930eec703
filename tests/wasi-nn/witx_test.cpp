// SPDX-License-Identifier: Apache-2.0
// The table of wasi_ephemeral_nn: numbers, records, every errno.
#include "frontends/wasi-nn/witx.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"
#include "tests/wasi-nn/guest.h"

namespace quern::wasi_nn_test {
namespace {

using namespace quern::wasi_nn;  // NOLINT
using ::testing::ElementsAre;

enum : std::uint32_t {
  success,
  invalid_argument,
  invalid_encoding,
  missing_memory,
  busy,
  runtime_error,
  unsupported_operation,
  too_large,
  not_found
};
enum : std::uint8_t { f16, f32, f64, u8, i32, i64 };
constexpr std::uint32_t untouched = 0xDEAD;

// A guest with a loaded model a + b, and one place for answers.
class Witx : public ::testing::Test {
 protected:
  Witx() {
    model_ = add_model();
    builder_ = guest_.put_words({guest_.put(as_bytes(model_)), std::uint32_t(model_.size())});
    out_ = guest_.put_words({untouched});
    graph_ = handle("load", {builder_, 1, 1, 0, out_});
    context_ = handle("init_execution_context", {graph_, out_});
    reset();
  }

  std::uint32_t handle(std::string_view name, std::initializer_list<std::uint32_t> arguments) {
    EXPECT_EQ(guest_.call(name, arguments), success) << guest_.instance().last_error();
    return guest_.word(out_);
  }
  void reset() { std::memcpy(guest_.memory() + out_, &untouched, 4); }
  std::uint32_t beyond() const { return guest_.size() - 3; }
  std::uint32_t input(std::uint32_t index, std::initializer_list<std::uint32_t> dims,
                      const std::vector<float>& values, std::uint8_t type = f32) {
    return guest_.call("set_input",
                       {context_, index, guest_.put_tensor(dims, type, as_bytes(values))});
  }
  void run() {
    EXPECT_EQ(input(0, {1, 4}, {1, 2, 3, 4}), success);
    EXPECT_EQ(input(1, {4}, {10, 20, 30, 5}), success);
    EXPECT_EQ(guest_.call("compute", {context_}), success) << guest_.instance().last_error();
  }

  std::shared_ptr<Tenant> tenant_ = Tenant::create();
  FakeGuest guest_{Instance::create(tenant_)};
  std::string model_;
  std::uint32_t builder_ = 0, out_ = 0, graph_ = 0, context_ = 0;
};

TEST_F(Witx, HasARowForEachFunction) {
  std::vector<std::pair<std::string, unsigned>> rows;
  for (const Import& row : witx_imports()) {
    EXPECT_STREQ(row.module, "wasi_ephemeral_nn");
    rows.emplace_back(row.name, row.parameters);
  }
  using ::testing::Pair;
  EXPECT_THAT(
      rows,
      ElementsAre(Pair("load", 5), Pair("load_by_name", 3), Pair("load_by_name_with_config", 5),
                  Pair("init_execution_context", 2), Pair("set_input", 3), Pair("compute", 1),
                  Pair("get_output", 5), Pair("unload", 1), Pair("finalize_execution_context", 1),
                  Pair("compute_single", 1), Pair("get_output_single", 5), Pair("fini_single", 1)));
}

TEST_F(Witx, Computes) {
  run();
  EXPECT_EQ(guest_.call("get_output", {context_, 0, 4096 + 1, 100, out_}), success);
  EXPECT_EQ(guest_.word(out_), 16u);
  EXPECT_THAT(guest_.floats(4096 + 1, 4), ElementsAre(11, 22, 33, 9));
  EXPECT_EQ(guest_.call("get_output", {context_, 1, 4096, 8, out_}), success);
  EXPECT_EQ(guest_.word(4096), 2u);
}

TEST_F(Witx, GivesEachHandleOnce) {
  EXPECT_EQ(graph_, 1u);
  EXPECT_EQ(context_, 2u);
  EXPECT_EQ(guest_.call("finalize_execution_context", {context_}), success);
  EXPECT_EQ(guest_.call("unload", {graph_}), success);
  EXPECT_EQ(handle("load", {builder_, 1, 1, 0, out_}), 3u);
}

TEST_F(Witx, LoadTakesUpTo64Parts) {
  std::vector<std::uint32_t> parts = {guest_.word(builder_), guest_.word(builder_ + 4)};
  parts.resize(2 * 65);  // the others are empty
  const std::uint32_t list = guest_.put(std::as_bytes(std::span(parts)));
  EXPECT_EQ(guest_.call("load", {list, 64, 1, 0, out_}), success);
  EXPECT_EQ(guest_.call("load", {list, 65, 1, 0, out_}), invalid_argument);
}

// Cut anywhere, also at the ends; the second part may lie before the first.
TEST_F(Witx, LoadsAModelInTwoBuilders) {
  const std::uint32_t begin = guest_.word(builder_);
  const auto size = static_cast<std::uint32_t>(model_.size());
  for (std::uint32_t cut = 0; cut <= size; cut += 1 + size / 37) {
    const std::uint32_t before = guest_.put(as_bytes(model_).subspan(cut));
    const std::uint32_t apart = guest_.put(as_bytes(model_).first(cut));
    for (const std::uint32_t list : {guest_.put_words({begin, cut, begin + cut, size - cut}),
                                     guest_.put_words({apart, cut, before, size - cut})}) {
      ASSERT_EQ(guest_.call("load", {list, 2, 1, 0, out_}), success) << cut;
      const std::uint32_t graph = guest_.word(out_);
      EXPECT_EQ(guest_.instance().usage().model_bytes, size + (graph_ > 0 ? size : 0));
      EXPECT_EQ(guest_.call("unload", {graph}), success);
    }
  }
}

TEST_F(Witx, ASecondBuilderIsNoFileOfWeightsAndNoOtherModel) {
  const std::uint32_t begin = guest_.word(builder_);
  const auto size = static_cast<std::uint32_t>(model_.size());
  const std::vector<float> weights(40, 0.25F);
  const std::uint32_t data = guest_.put(as_bytes(weights));
  const std::uint32_t with_weights = guest_.put_words({begin, size, data, 160});
  const std::uint32_t swapped = guest_.put_words({begin + 20, size - 20, begin, 20});
  const std::uint32_t twice = guest_.put_words({begin, size, begin, size});
  for (const std::uint32_t list : {with_weights, swapped, twice}) {
    EXPECT_EQ(guest_.call("load", {list, 2, 1, 0, out_}), invalid_encoding);
    EXPECT_CONTAINS(guest_.instance().last_error(), "the model is 2 parts, put together");
  }
  const std::uint32_t one = guest_.put_words({data, 160});
  EXPECT_EQ(guest_.call("load", {one, 1, 1, 0, out_}), invalid_encoding);
  EXPECT_EQ(guest_.instance().last_error().find("parts"), std::string::npos);
}

TEST_F(Witx, PartsAreTogetherNoLargerThanTheMemory) {
  const std::uint32_t half = guest_.size() / 2;
  const std::uint32_t list = guest_.put_words({0, half, 0, half, 0, 1});
  EXPECT_EQ(guest_.call("load", {list, 3, 1, 0, out_}), invalid_argument);
  EXPECT_CONTAINS(guest_.instance().last_error(), "overlap");
  EXPECT_EQ(guest_.call("load", {list, 2, 1, 0, out_}), invalid_encoding) << "no model, but read";
}

TEST_F(Witx, LoadAnswersWithTheRightNumber) {
  const std::uint32_t rubbish = guest_.put_words({guest_.put_words({1, 2, 3}), 12});
  const std::uint32_t empty = guest_.put_words({0, 0});
  const std::uint32_t far = guest_.put_words({guest_.size() - 2, 3});
  const std::uint32_t wraps = guest_.put_words({0xffffffff, 0xffffffff});
  const auto load = [&](std::uint32_t builders, std::uint32_t count, std::uint32_t encoding,
                        std::uint32_t target, std::uint32_t out) {
    return guest_.call("load", {builders, count, encoding, target, out});
  };
  EXPECT_EQ(load(builder_, 1, 1, 0, beyond()), invalid_argument);
  EXPECT_EQ(load(builder_, 1, 1, 0, 0xffffffff), invalid_argument);
  EXPECT_EQ(load(beyond(), 1, 1, 0, out_), invalid_argument);
  EXPECT_EQ(load(builder_, 0, 1, 0, out_), invalid_argument);
  EXPECT_EQ(load(builder_, 0x20000001, 1, 0, out_), invalid_argument);
  EXPECT_EQ(load(far, 1, 1, 0, out_), invalid_argument);
  EXPECT_EQ(load(wraps, 1, 1, 0, out_), invalid_argument);
  EXPECT_EQ(load(rubbish, 1, 1, 0, out_), invalid_encoding);
  EXPECT_EQ(load(empty, 1, 1, 0, out_), invalid_encoding);
  EXPECT_EQ(load(builder_, 1, 0, 0, out_), invalid_encoding);
  EXPECT_EQ(load(builder_, 1, 7, 0, out_), invalid_encoding);
  EXPECT_EQ(load(builder_, 1, 0x101, 0, out_), invalid_encoding);
  EXPECT_EQ(load(builder_, 1, 1, 2, out_), unsupported_operation);
  EXPECT_EQ(load(builder_, 1, 1, 3, out_), invalid_argument);
  EXPECT_EQ(load(builder_, 1, 1, 0x100, out_), invalid_argument);
  EXPECT_EQ(guest_.word(out_), untouched);
  EXPECT_EQ(load(builder_, 1, 5, 0, out_), success);
  EXPECT_EQ(load(builder_, 1, 6, 0, out_), success);
  EXPECT_EQ(guest_.instance().usage().graphs, 3u);
}

TEST_F(Witx, TakesAnyEncodingWhereTheHostAllowsIt) {
  TenantOptions options;
  options.any_encoding = true;
  FakeGuest guest(Instance::create(Tenant::create(options)));
  const std::uint32_t builder =
      guest.put_words({guest.put(as_bytes(model_)), std::uint32_t(model_.size())});
  for (std::uint32_t encoding : {0, 3, 4})
    EXPECT_EQ(guest.call("load", {builder, 1, encoding, 0, 0}), success);
  EXPECT_EQ(guest.call("load", {builder, 1, 9, 0, 0}), invalid_encoding);
}

TEST_F(Witx, KeepsNothingOfTheGuestsMemory) {
  std::memset(guest_.memory() + guest_.word(builder_), 0xEE, model_.size());
  run();
  std::memset(guest_.memory(), 0xEE, 4096);
  EXPECT_EQ(guest_.call("compute", {context_}), success);
  EXPECT_EQ(guest_.call("get_output", {context_, 0, 8192, 16, out_}), success);
  EXPECT_THAT(guest_.floats(8192, 4), ElementsAre(11, 22, 33, 9));
}

TEST_F(Witx, FindsOnlyWholeNames) {
  ASSERT_TRUE(tenant_->add_bytes("clf", as_bytes(model_)).ok());
  const std::string text("clf\0x/etc/passwd", 16);
  const std::uint32_t name = guest_.put(as_bytes(text));
  const auto find = [&](std::uint32_t at, std::uint32_t size) {
    return guest_.call("load_by_name", {at, size, out_});
  };
  EXPECT_EQ(find(name, 0), not_found);
  EXPECT_EQ(find(name, 2), not_found);
  EXPECT_EQ(find(name, 5), not_found);
  EXPECT_EQ(find(name + 5, 11), not_found);
  EXPECT_EQ(find(name, 5000), not_found);
  EXPECT_EQ(find(name, 0xffffffff), invalid_argument);
  EXPECT_EQ(guest_.word(out_), untouched);
  EXPECT_EQ(find(name, 3), success);
  EXPECT_EQ(guest_.call("load_by_name", {name, 3, beyond()}), invalid_argument);
  EXPECT_EQ(guest_.call("load_by_name_with_config", {name, 3, 0, 0, out_}), success);
  EXPECT_EQ(guest_.call("load_by_name_with_config", {name, 3, name, 2, out_}), success);
  EXPECT_EQ(guest_.call("load_by_name_with_config", {name, 3, beyond(), 9, out_}),
            invalid_argument);
}

TEST(WitxLog, TellsOfAConfigurationThatHasNoEffect) {
  std::vector<std::string> told;
  TenantOptions options;
  options.log = [&](std::string_view text) { told.emplace_back(text); };
  const auto tenant = Tenant::create(options);
  ASSERT_TRUE(tenant->add_bytes("add", as_bytes(add_model())).ok());
  FakeGuest guest(Instance::create(tenant));
  const std::string text = "add";
  const std::uint32_t name = guest.put(as_bytes(text));
  const std::uint32_t out = guest.put_words({0});
  EXPECT_EQ(guest.call("load_by_name_with_config", {name, 3, name, 0, out}), success);
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(guest.call("load_by_name_with_config", {name, 3, name, 2, out}), success);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_CONTAINS(told[0], "no effect");
}

TEST_F(Witx, KnowsGraphsFromContexts) {
  EXPECT_EQ(guest_.call("init_execution_context", {context_, out_}), invalid_argument);
  EXPECT_EQ(guest_.call("init_execution_context", {99, out_}), invalid_argument);
  EXPECT_EQ(guest_.call("init_execution_context", {graph_, beyond()}), invalid_argument);
  EXPECT_EQ(guest_.call("unload", {context_}), invalid_argument);
  EXPECT_EQ(guest_.call("finalize_execution_context", {graph_}), invalid_argument);
  EXPECT_EQ(guest_.call("compute", {graph_}), invalid_argument);
  EXPECT_EQ(guest_.call("compute", {0}), invalid_argument);
  EXPECT_EQ(guest_.word(out_), untouched);
}

TEST_F(Witx, RejectsInputsThatAreNotTheModels) {
  EXPECT_EQ(input(2, {1, 4}, {1, 2, 3, 4}), invalid_argument);
  EXPECT_EQ(input(0xffffffff, {1, 4}, {1, 2, 3, 4}), invalid_argument);
  EXPECT_EQ(input(0, {4}, {1, 2, 3, 4}), invalid_argument);
  EXPECT_EQ(input(0, {4, 1}, {1, 2, 3, 4}), invalid_argument);
  EXPECT_EQ(input(0, {1, 4}, {1, 2, 3}), invalid_argument);
  EXPECT_EQ(input(0, {1, 4}, {1, 2, 3, 4, 5}), invalid_argument);
  EXPECT_EQ(input(0, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4}, {1, 2, 3, 4}),
            invalid_argument);
  EXPECT_EQ(input(0, {0xffffffff, 0xffffffff}, {1, 2, 3, 4}), invalid_argument);
  EXPECT_EQ(input(0, {0x40000000, 4}, {}), invalid_argument);
  EXPECT_EQ(input(0, {1, 4}, {1, 2, 3, 4}, i32), invalid_argument);
  EXPECT_CONTAINS(guest_.instance().last_error(), "the model wants f32[?,4]");
  EXPECT_EQ(input(0, {1, 4}, {1, 2, 3, 4}, 6), invalid_argument);
  EXPECT_EQ(guest_.call("set_input", {context_, 0, beyond()}), invalid_argument);
  const std::vector<std::array<std::uint32_t, 5>> records = {
      {beyond(), 2, f32, 0, 16}, {0, 0x40000000, f32, 0, 16}, {0, 2, f32, beyond(), 16}};
  for (const auto& r : records)
    EXPECT_EQ(
        guest_.call("set_input", {context_, 0, guest_.put_words({r[0], r[1], r[2], r[3], r[4]})}),
        invalid_argument);
  const std::uint32_t dims = guest_.put_words({1, 4});
  EXPECT_EQ(guest_.call("set_input", {context_, 0, guest_.put_words({dims, 2, f32, beyond(), 16})}),
            invalid_argument);
  EXPECT_CONTAINS(guest_.instance().last_error(), "the tensor's data");
  EXPECT_EQ(guest_.call("compute", {context_}), invalid_argument);
  EXPECT_CONTAINS(guest_.instance().last_error(), "'a'");
  run();
}

// 2 was u8 and 3 i32 until August 2023; where a tensor has no elements nothing tells.
TEST_F(Witx, TakesOldNumbersOfTypesWhereTheBytesDecide) {
  struct Sent {
    onnx::OnnxType model;
    std::uint8_t number;
    std::uint32_t bytes;  // of 3 elements
    std::uint32_t answer;
  };
  const Sent all[] = {
      {onnx::u8, 2, 3, success},           {onnx::f64, 2, 24, success},
      {onnx::u8, 3, 3, success},           {onnx::i32, 3, 12, success},
      {onnx::i32, 4, 12, success},         {onnx::f64, 2, 3, invalid_argument},
      {onnx::u8, 2, 24, invalid_argument}, {onnx::u8, 3, 12, invalid_argument},
      {onnx::u8, 2, 12, invalid_argument}, {onnx::i32, 2, 12, invalid_argument},
  };
  for (const Sent& sent : all) {
    const std::string model = identity_model(sent.model);
    const std::uint32_t builder =
        guest_.put_words({guest_.put(as_bytes(model)), std::uint32_t(model.size())});
    const std::uint32_t graph = handle("load", {builder, 1, 1, 0, out_});
    const std::uint32_t context = handle("init_execution_context", {graph, out_});
    const std::vector<std::uint8_t> data(sent.bytes, 1);
    EXPECT_EQ(
        guest_.call("set_input", {context, 0, guest_.put_tensor({3}, sent.number, as_bytes(data))}),
        sent.answer)
        << int(sent.number) << " for a model of ONNX's type " << sent.model << ", " << sent.bytes
        << " bytes: " << guest_.instance().last_error();
  }
}

TEST_F(Witx, OutputsAreOfferedWithTheirSize) {
  EXPECT_EQ(guest_.call("get_output", {context_, 0, 4096, 16, out_}), runtime_error);
  run();
  EXPECT_EQ(guest_.call("get_output", {context_, 2, 4096, 16, out_}), invalid_argument);
  EXPECT_EQ(guest_.call("get_output", {context_, 0, beyond(), 16, out_}), invalid_argument);
  EXPECT_EQ(guest_.call("get_output", {context_, 0, 4096, 0xffffffff, out_}), invalid_argument);
  EXPECT_EQ(guest_.call("get_output", {context_, 0, 4096, 16, beyond()}), invalid_argument);
  EXPECT_EQ(guest_.word(out_), untouched);
  EXPECT_EQ(guest_.word(4096), 0u);
  EXPECT_EQ(guest_.call("get_output", {context_, 0, 4096, 15, out_}), too_large);
  EXPECT_EQ(guest_.word(out_), 16u);
  EXPECT_EQ(guest_.word(4096), 0u);
  reset();
  EXPECT_EQ(guest_.call("get_output", {context_, 0, 0, 0, out_}), too_large);
  EXPECT_EQ(guest_.word(out_), 16u);
  EXPECT_EQ(guest_.call("get_output", {context_, 0, guest_.size() - 16, 16, out_}), success);
}

TEST_F(Witx, DrainsAContextAfterUnload) {
  run();
  EXPECT_EQ(guest_.call("unload", {graph_}), success);
  EXPECT_EQ(guest_.call("unload", {graph_}), invalid_argument);
  EXPECT_EQ(guest_.call("init_execution_context", {graph_, out_}), invalid_argument);
  EXPECT_EQ(input(0, {1, 4}, {1, 2, 3, 4}), invalid_argument);
  EXPECT_EQ(guest_.call("compute", {context_}), invalid_argument);
  EXPECT_EQ(guest_.call("get_output", {context_, 0, 4096, 16, out_}), success);
  EXPECT_EQ(guest_.call("finalize_execution_context", {context_}), success);
  EXPECT_EQ(guest_.call("finalize_execution_context", {context_}), invalid_argument);
  EXPECT_EQ(guest_.call("get_output", {context_, 0, 4096, 16, out_}), invalid_argument);
  EXPECT_EQ(tenant_->usage(), Counts());
}

TEST_F(Witx, SaysBusyAndTimedOutAsWitxDoes) {
  ContextUse use;
  ASSERT_TRUE(guest_.instance().use(context_, &use).ok());
  std::uint32_t from_elsewhere = 0;
  std::thread([&] { from_elsewhere = guest_.call("compute", {context_}); }).join();
  EXPECT_EQ(from_elsewhere, busy);

  TenantOptions options;
  options.limits.deadline = std::chrono::milliseconds(2);
  FakeGuest late(Instance::create(Tenant::create(options)), 2 << 20);
  const std::string slow = slow_model();
  const std::uint32_t builder =
      late.put_words({late.put(as_bytes(slow)), std::uint32_t(slow.size())});
  ASSERT_EQ(late.call("load", {builder, 1, 1, 0, 0}), success);
  ASSERT_EQ(late.call("init_execution_context", {1, 0}), success);
  const std::vector<float> zeros(512 * 512);
  ASSERT_EQ(late.call("set_input", {2, 0, late.put_tensor({512, 512}, f32, as_bytes(zeros))}),
            success);
  EXPECT_EQ(late.call("compute", {2}), runtime_error);
}

TEST_F(Witx, MissesAMemoryThatIsNotExported) {
  const std::array<std::uint32_t, 8> arguments{};
  Guest nobody;
  for (const Import& row : witx_imports())
    EXPECT_EQ(row.call(guest_.instance(), nobody, arguments.data()), missing_memory) << row.name;
}

}  // namespace
}  // namespace quern::wasi_nn_test
