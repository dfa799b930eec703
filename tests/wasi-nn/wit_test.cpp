// SPDX-License-Identifier: Apache-2.0
// The lowered imports of wasi:nn: handles, results, errors, room that is made in a memory that
// moves.
#include "frontends/wasi-nn/wit.h"

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
  invalid_argument,
  invalid_encoding,
  timeout,
  runtime_error,
  unsupported_operation,
  too_large,
  not_found,
  security,
  unknown
};
enum : std::uint32_t { fp16, fp32, fp64, bf16, u8, i32, i64 };
constexpr std::uint32_t untouched = 0xDEADDEAD;

// The helpers of this class call the functions as a component would.
class Wit : public ::testing::Test {
 protected:
  Wit() { guest_.table = wit_imports(); }
  // Another guest, within limits.
  void restart(const Limits& limits, std::size_t bytes = 1 << 16) {
    guest_ = FakeGuest(Instance::create(tenant_, limits), bytes);
    guest_.table = wit_imports();
  }

  struct Answer {
    bool is_error;
    std::uint32_t word;
  };
  struct Named {
    std::string name;
    std::uint32_t tensor;
  };

  Answer answer(std::uint32_t ret) { return {guest_.word(ret) % 256 != 0, guest_.word(ret + 4)}; }
  // A call whose last argument is the place for a result of a handle.
  Answer result_of(std::string_view name, std::vector<std::uint32_t> arguments) {
    const std::uint32_t ret = guest_.put_words({untouched, untouched, untouched});
    arguments.push_back(ret);
    guest_.call(*std::ranges::find(guest_.table, name, &Import::name), arguments.data());
    return answer(ret);
  }
  std::uint32_t handle_of(std::string_view name, const std::vector<std::uint32_t>& arguments) {
    const Answer a = result_of(name, arguments);
    EXPECT_FALSE(a.is_error) << guest_.instance().last_error();
    return a.word;
  }
  std::vector<std::uint32_t> builder(const std::string& model) {
    return {guest_.put_words({guest_.put(as_bytes(model)), std::uint32_t(model.size())}), 1, 1, 0};
  }
  std::uint32_t load(const std::string& model) { return handle_of("load", builder(model)); }
  std::uint32_t init(std::uint32_t graph) {
    return handle_of("[method]graph.init-execution-context", {graph});
  }
  std::uint32_t tensor(std::initializer_list<std::uint32_t> dims, std::uint32_t type, Bytes data) {
    return guest_.call("[constructor]tensor",
                       {guest_.put_words(dims), static_cast<std::uint32_t>(dims.size()), type,
                        guest_.put(data), static_cast<std::uint32_t>(data.size())});
  }
  std::uint32_t tensor(std::initializer_list<std::uint32_t> dims,
                       const std::vector<float>& values) {
    return tensor(dims, fp32, as_bytes(values));
  }
  std::uint32_t put_inputs(const std::vector<Named>& inputs) {
    std::vector<std::uint32_t> words;
    for (const auto& [name, handle] : inputs)
      words.insert(words.end(), {guest_.put(as_bytes(name)), std::uint32_t(name.size()), handle});
    return guest_.put(as_bytes(words));
  }
  Answer compute(std::uint32_t context, const std::vector<Named>& inputs) {
    const std::uint32_t list = put_inputs(inputs);
    ret_ = guest_.put_words({untouched, untouched, untouched});
    guest_.call("[method]graph-execution-context.compute",
                {context, list, static_cast<std::uint32_t>(inputs.size()), ret_});
    return answer(ret_);
  }
  std::vector<Named> outputs() {
    std::vector<Named> named;
    for (std::uint32_t i = 0; i < guest_.word(ret_ + 8); ++i) {
      const std::uint32_t at = guest_.word(ret_ + 4) + 12 * i;
      named.push_back({text(guest_.word(at), guest_.word(at + 4)), guest_.word(at + 8)});
    }
    return named;
  }
  std::string text(std::uint32_t at, std::uint32_t size) {
    return {reinterpret_cast<const char*>(guest_.memory()) + at, size};
  }
  // The place of a list that a getter made.
  std::uint32_t list_of(std::string_view getter, std::uint32_t self) {
    const std::uint32_t ret = guest_.put_words({untouched, untouched});
    guest_.call(getter, {self, ret});
    return ret;
  }
  std::vector<float> floats(std::uint32_t self) {
    const std::uint32_t ret = list_of("[method]tensor.data", self);
    return guest_.floats(guest_.word(ret), guest_.word(ret + 4) / 4);
  }
  // This reads the code and the text of an error, and then drops the error.
  std::pair<std::uint32_t, std::string> error(Answer a) {
    EXPECT_TRUE(a.is_error);
    const std::uint32_t ret = list_of("[method]error.data", a.word);
    const auto code = guest_.call("[method]error.code", {a.word});
    const std::string data = text(guest_.word(ret), guest_.word(ret + 4));
    guest_.call("[resource-drop]error", {a.word});
    return {code, data};
  }
  std::uint32_t code(Answer a) { return error(a).first; }

  std::shared_ptr<Tenant> tenant_ = Tenant::create();
  FakeGuest guest_{Instance::create(tenant_)};
  std::uint32_t ret_ = 0;
};

TEST_F(Wit, HasTheImportsOfTheCanonicalAbi) {
  std::vector<std::string> rows;
  for (const Import& row : wit_imports())
    rows.push_back(std::string(row.module).substr(8) + " " + row.name + " " +
                   std::to_string(row.parameters) + ":" + std::to_string(row.results));
  const std::string v = "@0.2.0-rc-2024-10-28 ";
  EXPECT_THAT(
      rows,
      ElementsAre(
          "graph" + v + "load 5:0", "graph" + v + "load-by-name 3:0",
          "graph" + v + "[method]graph.init-execution-context 2:0",
          "graph" + v + "[resource-drop]graph 1:0", "tensor" + v + "[constructor]tensor 5:1",
          "tensor" + v + "[method]tensor.dimensions 2:0", "tensor" + v + "[method]tensor.ty 1:1",
          "tensor" + v + "[method]tensor.data 2:0", "tensor" + v + "[resource-drop]tensor 1:0",
          "inference" + v + "[method]graph-execution-context.compute 4:0",
          "inference" + v + "[resource-drop]graph-execution-context 1:0",
          "errors" + v + "[method]error.code 1:1", "errors" + v + "[method]error.data 2:0",
          "errors" + v + "[resource-drop]error 1:0"));
}

TEST_F(Wit, ComputesTensorsByName) {
  const std::uint32_t context = init(load(add_model()));
  for (int round = 0; round < 3; ++round) {
    const std::uint32_t a = tensor({1, 4}, {1, 2, 3, 4}), b = tensor({4}, {10, 20, 30, 5});
    ASSERT_FALSE(compute(context, {{"b", b}, {"a", a}}).is_error);
    const auto made = outputs();
    ASSERT_EQ(made.size(), 2u);
    EXPECT_EQ(made[0].name, "sum");
    EXPECT_THAT(floats(made[0].tensor), ElementsAre(11, 22, 33, 9));
    EXPECT_EQ(made[1].name, "arg");
    EXPECT_EQ(guest_.call("[method]tensor.ty", {made[1].tensor}), i64);
    for (const Named& output : made) guest_.call("[resource-drop]tensor", {output.tensor});
    EXPECT_EQ(guest_.instance().usage().tensor_bytes, 0u);
  }
}

TEST_F(Wit, LoadsAModelInTwoBuilders) {
  const std::string model = add_model();
  const auto cut = static_cast<std::uint32_t>(model.size() / 2);
  const std::uint32_t at = guest_.put(as_bytes(model));
  const auto rest = static_cast<std::uint32_t>(model.size()) - cut;
  const std::uint32_t list = guest_.put_words({at, cut, at + cut, rest});
  const std::uint32_t context = init(handle_of("load", {list, 2, 1, 0}));
  const std::uint32_t a = tensor({1, 4}, {1, 2, 3, 4}), b = tensor({4}, {10, 20, 30, 5});
  EXPECT_FALSE(compute(context, {{"a", a}, {"b", b}}).is_error);
  const std::uint32_t swapped = guest_.put_words({at + cut, rest, at, cut});
  EXPECT_TRUE(result_of("load", {swapped, 2, 1, 0}).is_error);
}

TEST_F(Wit, TensorsSayWhatTheyAre) {
  const std::uint32_t t = tensor({2, 0x10, 1}, bf16, as_bytes(std::string(64, 'x')));
  EXPECT_EQ(guest_.call("[method]tensor.ty", {t}), bf16);
  const std::uint32_t dims = list_of("[method]tensor.dimensions", t);
  EXPECT_EQ(guest_.word(dims + 4), 3u);
  EXPECT_EQ(guest_.word(dims) % 4, 0u);
  EXPECT_EQ(guest_.word(guest_.word(dims) + 4), 0x10u);
  const std::uint32_t data = list_of("[method]tensor.data", t);
  EXPECT_EQ(text(guest_.word(data), guest_.word(data + 4)), std::string(64, 'x'));
  EXPECT_EQ(guest_.instance().usage().tensor_bytes, 64u);
  guest_.call("[resource-drop]tensor", {t});
  EXPECT_EQ(guest_.instance().usage(), Counts());
}

TEST_F(Wit, GivesEmptyListsWithoutAskingForRoom) {
  guest_.reallocate = [](std::uint32_t, std::uint32_t) { return std::nullopt; };
  const std::uint32_t t = tensor({0}, u8, {});
  const std::uint32_t data = list_of("[method]tensor.data", t);
  EXPECT_NE(guest_.word(data), 0u);
  EXPECT_EQ(guest_.word(data + 4), 0u);
}

TEST_F(Wit, ErrorsHaveCodesAndSentences) {
  const std::uint32_t graph = load(add_model());
  const std::uint32_t name = guest_.put(as_bytes("nobody"));
  const auto unknown_name = error(result_of("load-by-name", {name, 6}));
  EXPECT_EQ(unknown_name.first, not_found);
  EXPECT_CONTAINS(unknown_name.second, "'nobody'");
  EXPECT_EQ(code(result_of("load-by-name", {0xfffffff0, 64})), invalid_argument);

  auto arguments = builder(add_model());
  const auto with = [&](std::size_t index, std::uint32_t value) {
    auto changed = arguments;
    changed[index] = value;
    return code(result_of("load", changed));
  };
  EXPECT_EQ(with(0, 0xfffffff0), invalid_argument);
  EXPECT_EQ(with(1, 0), invalid_argument);
  EXPECT_EQ(with(1, 0x20000001), invalid_argument);
  EXPECT_EQ(with(2, 0), invalid_encoding);
  EXPECT_EQ(with(2, 5), invalid_encoding);  // ggml
  EXPECT_EQ(with(2, 7), invalid_encoding);
  EXPECT_EQ(with(3, 2), unsupported_operation);
  EXPECT_EQ(with(3, 3), invalid_argument);
  arguments[2] = 6;  // autodetect
  EXPECT_FALSE(result_of("load", arguments).is_error);
  const auto rubbish = builder("no model at all");
  EXPECT_EQ(code(result_of("load", rubbish)), invalid_encoding);

  EXPECT_EQ(code(result_of("[method]graph.init-execution-context", {graph + 99})),
            invalid_argument);
}

TEST_F(Wit, ComputeRejectsWhatTheModelDoesNotTakeAndOwnsItAllTheSame) {
  const std::uint32_t context = init(load(add_model()));
  const auto a = [&] { return tensor({1, 4}, {1, 2, 3, 4}); };
  const auto b = [&] { return tensor({4}, {1, 2, 3, 4}); };
  EXPECT_EQ(code(compute(context, {{"a", a()}})), invalid_argument);
  const auto stranger = error(compute(context, {{"a", a()}, {"stranger", b()}}));
  EXPECT_EQ(stranger.first, not_found);
  EXPECT_CONTAINS(stranger.second, "'stra");
  const auto twice = error(compute(context, {{"a", a()}, {"b", b()}, {"a", a()}}));
  EXPECT_EQ(twice.first, invalid_argument);
  EXPECT_CONTAINS(twice.second, "'a' is there twice");
  EXPECT_EQ(code(compute(context, {{"a", b()}, {"b", b()}})), invalid_argument);
  EXPECT_EQ(code(compute(context, {{"a", a()}, {"b", 777}})), invalid_argument);
  const std::uint32_t once = a();
  EXPECT_EQ(code(compute(context, {{"a", once}, {"b", once}})), invalid_argument);
  EXPECT_EQ(code(compute(context, {})), invalid_argument);
  EXPECT_EQ(code(compute(context + 99, {{"a", a()}, {"b", b()}})), invalid_argument);
  EXPECT_EQ(guest_.instance().usage().tensor_bytes, 0u);
  EXPECT_FALSE(compute(context, {{"a", a()}, {"b", b()}}).is_error);
}

TEST_F(Wit, ATensorThatCannotBeMadeSaysSoInCompute) {
  const std::uint32_t context = init(load(identity_model()));
  const std::vector<float> two = {1, 2};
  EXPECT_EQ(code(compute(context, {{"x", tensor({3}, two)}})), invalid_argument);
  EXPECT_EQ(code(compute(context, {{"x", tensor({2}, 7, as_bytes(two))}})), invalid_argument);
  EXPECT_EQ(
      code(compute(context,
                   {{"x", tensor({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}, two)}})),
      invalid_argument);
  const std::uint32_t dims = guest_.put_words({2});
  const auto refused = guest_.call("[constructor]tensor", {dims, 1, fp32, 0xfffffff0, 8});
  EXPECT_EQ(guest_.call("[method]tensor.ty", {refused}), 0u);
  const std::uint32_t data = list_of("[method]tensor.data", refused);
  EXPECT_EQ(guest_.word(data + 4), 0u);
  const auto why = error(compute(context, {{"x", refused}}));
  EXPECT_EQ(why.first, invalid_argument);
  EXPECT_CONTAINS(why.second, "memory");
  EXPECT_EQ(guest_.call("[constructor]tensor", {0xfffffff0, 1, fp32, 64, 8}) > 0, true);
}

TEST_F(Wit, QuotasHoldForTensors) {
  Limits limits;
  limits.most.tensor_bytes = 12;
  restart(limits);
  const std::uint32_t context = init(load(identity_model()));
  const std::uint32_t held = tensor({3}, {1, 2, 3});
  EXPECT_EQ(code(compute(context, {{"x", tensor({1}, {1})}})), too_large);
  EXPECT_EQ(code(compute(context, {{"x", held}})), too_large);  // the output has no room beside it
  EXPECT_EQ(guest_.instance().usage().tensor_bytes, 0u);
  EXPECT_FALSE(compute(context, {{"x", tensor({1}, {1})}}).is_error);
}

TEST_F(Wit, DoesNothingWhereNoAnswerCanBeGiven) {
  const std::uint32_t beyond = guest_.size() - 7;
  const auto arguments = builder(add_model());
  const Counts before = guest_.instance().usage();
  guest_.call("load", {arguments[0], 1, 1, 0, beyond});
  EXPECT_CONTAINS(guest_.instance().last_error(), "place for a result");
  guest_.call("[method]tensor.dimensions", {99, beyond});
  guest_.call("[method]error.data", {99, beyond});
  EXPECT_EQ(guest_.call("[method]error.code", {99}), unknown);
  EXPECT_EQ(guest_.call("[method]tensor.ty", {99}), 0u);
  for (const char* drop : {"[resource-drop]tensor", "[resource-drop]error", "[resource-drop]graph",
                           "[resource-drop]graph-execution-context"})
    guest_.call(drop, {99});
  EXPECT_EQ(guest_.instance().usage(), before);
}

TEST_F(Wit, AGuestWithoutRoomGetsAnErrorAndNoHandles) {
  const std::uint32_t context = init(load(identity_model()));
  guest_.reallocate = [](std::uint32_t, std::uint32_t) { return std::nullopt; };
  Answer a = compute(context, {{"x", tensor({1}, {1})}});
  guest_.reallocate = nullptr;
  EXPECT_EQ(code(a), runtime_error);
  guest_.reallocate = [&](std::uint32_t, std::uint32_t) { return guest_.size() - 1; };
  a = compute(context, {{"x", tensor({1}, {1})}});
  guest_.reallocate = nullptr;
  EXPECT_EQ(code(a), invalid_argument);
  EXPECT_EQ(guest_.instance().usage().tensor_bytes, 0u);
}

TEST_F(Wit, AGuestMayCallInWhileItMakesRoom) {
  const std::uint32_t graph = load(identity_model()), context = init(graph);
  int calls = 0;
  guest_.reallocate = [&](std::uint32_t alignment, std::uint32_t bytes) {
    if (calls++ == 0) {
      guest_.call("[resource-drop]graph", {graph});
      guest_.call("[resource-drop]graph-execution-context", {context});
    }
    return guest_.grow(alignment, bytes);
  };
  ASSERT_FALSE(compute(context, {{"x", tensor({2}, {3, 4})}}).is_error);
  EXPECT_GT(calls, 0);
  EXPECT_THAT(floats(outputs()[0].tensor), ElementsAre(3, 4));
  EXPECT_EQ(guest_.instance().usage().contexts, 0u);
  EXPECT_EQ(guest_.instance().usage().graphs, 0u);
}

TEST_F(Wit, ContextsOutliveTheirGraphsHandle) {
  const std::uint32_t graph = load(identity_model()), context = init(graph);
  guest_.call("[resource-drop]graph", {graph});
  EXPECT_EQ(guest_.instance().usage().graphs, 0u);
  EXPECT_EQ(code(result_of("[method]graph.init-execution-context", {graph})), invalid_argument);
  ASSERT_FALSE(compute(context, {{"x", tensor({1}, {5})}}).is_error);
  EXPECT_THAT(floats(outputs()[0].tensor), ElementsAre(5));
}

TEST_F(Wit, SaysTimeoutAndBusy) {
  Limits limits;
  limits.deadline = std::chrono::milliseconds(2);
  restart(limits, 4 << 20);
  const std::uint32_t context = init(load(slow_model()));
  EXPECT_EQ(code(compute(context, {{"x", tensor({512, 512}, std::vector<float>(512 * 512))}})),
            timeout);
  ContextUse use;
  ASSERT_TRUE(guest_.instance().use(context, &use).ok());
  std::thread([&] { EXPECT_EQ(code(compute(context, {})), runtime_error); }).join();
}

TEST_F(Wit, HoldsNoMoreErrorsThanItNeeds) {
  for (int i = 0; i < 1024; ++i)
    EXPECT_NE(result_of("[method]graph.init-execution-context", {99}).word, 0u);
  const Answer nameless = result_of("[method]graph.init-execution-context", {99});
  EXPECT_TRUE(nameless.is_error);
  EXPECT_EQ(nameless.word, 0u);
  EXPECT_EQ(error(nameless), (std::pair<std::uint32_t, std::string>(unknown, "")));
}

TEST_F(Wit, KeepsNamesOfOtherBytesReadable) {
  onnx::GraphParts g;
  g.inputs = {onnx::value("x", onnx::f32, {"N"})};
  g.nodes = {onnx::node("Identity", {"x"}, {"\xc3\xa4\xff\xed\xa0\x80"})};
  g.outputs = {onnx::value("\xc3\xa4\xff\xed\xa0\x80", onnx::f32, {"N"})};
  const std::uint32_t context = init(load(onnx::make_model(g)));
  ASSERT_FALSE(compute(context, {{"x", tensor({1}, {5})}}).is_error);
  EXPECT_EQ(outputs()[0].name, "\xc3\xa4????");
}

TEST_F(Wit, CarriesTruthValuesAsBytes) {
  onnx::GraphParts g;
  g.inputs = {onnx::value("x", onnx::f32, {"N"})};
  g.nodes = {onnx::node("Greater", {"x", "x"}, {"y"})};
  g.outputs = {onnx::value("y", onnx::boolean, {"N"})};
  const std::uint32_t context = init(load(onnx::make_model(g)));
  ASSERT_FALSE(compute(context, {{"x", tensor({2}, {5, 6})}}).is_error);
  EXPECT_EQ(guest_.call("[method]tensor.ty", {outputs()[0].tensor}), u8);
}

}  // namespace
}  // namespace quern::wasi_nn_test
