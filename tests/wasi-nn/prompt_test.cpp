// SPDX-License-Identifier: Apache-2.0
// Guests with prompts: each call, and each errno that it has.
#include <array>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/wasi-nn/prompt_options.h"
#include "tests/expect.h"
#include "tests/wasi-nn/guest.h"
#include "tests/wasi-nn/scripted_prompts.h"

namespace quern::wasi_nn_test {
namespace {

using namespace quern::wasi_nn;  // NOLINT
using std::string_view;

enum : std::uint32_t {
  ok = 0,
  bad_argument = 1,
  bad_encoding = 2,
  failed = 5,
  unsupported = 6,
  large = 7,
  unknown = 8,
  end_of_sequence = 100,
  context_full = 101,
  prompt_too_long = 102
};
enum : std::uint8_t { type_f32 = 1, type_u8 = 3 };

// A guest of a tenant that has the script under the name `chat`, and tensors under `add`.
class PromptGuest {
 public:
  explicit PromptGuest(Script script = {}, TenantOptions options = {}) {
    options.log = [this](std::string_view text) { log_ += std::string(text) + "\n"; };
    tenant_ = Tenant::create(options);
    const std::string decoder = add_model();
    EXPECT_TRUE(add_script(*tenant_, "chat", as_bytes(decoder), std::move(script)).ok());
    EXPECT_TRUE(tenant_->add_bytes("add", as_bytes(decoder)).ok());
    guest_ = std::make_unique<FakeGuest>(Instance::create(tenant_), 1 << 16);
    out_ = guest_->put_words({0xDEAD});
    buffer_ = guest_->put(as_bytes(std::string(256, ' ')));
    first_text_ = buffer_ + 256;
  }

  std::uint32_t put(string_view text) { return guest_->put(as_bytes(text)); }
  std::uint32_t load(string_view name, string_view config, std::uint32_t* graph) {
    const std::uint32_t answer = guest_->call(
        "load_by_name_with_config",
        {put(name), std::uint32_t(name.size()), put(config), std::uint32_t(config.size()), out_});
    *graph = guest_->word(out_);
    return answer;
  }
  std::uint32_t begin(string_view config = "{}", string_view name = "chat") {
    EXPECT_EQ(load(name, config, &graph_), ok) << last_error();
    EXPECT_EQ(guest_->call("init_execution_context", {graph_, out_}), ok) << last_error();
    return context_ = guest_->word(out_);
  }
  std::uint32_t set(std::uint32_t index, string_view text, std::uint8_t type = type_u8) {
    const std::uint32_t tensor =
        guest_->put_tensor({std::uint32_t(text.size())}, type, as_bytes(text));
    return guest_->call("set_input", {context_, index, tensor});
  }
  std::uint32_t call(string_view name) { return guest_->call(name, {context_}); }
  std::uint32_t read(string_view name, std::uint32_t index, std::string* text,
                     std::uint32_t room = 256) {
    const std::uint32_t answer = guest_->call(name, {context_, index, buffer_, room, out_});
    *text = answer == ok
                ? std::string(reinterpret_cast<const char*>(guest_->memory()) + buffer_, word())
                : "";
    return answer;
  }
  std::string text(string_view name = "get_output", std::uint32_t index = 0) {
    std::string text;
    EXPECT_EQ(read(name, index, &text), ok) << last_error();
    return text;
  }
  // The answer token by token, and how it ended.
  std::string streamed(std::uint32_t* end) {
    std::string all;
    while ((*end = call("compute_single")) == ok) all += text("get_output_single");
    return all;
  }

  std::uint32_t word() const { return guest_->word(out_); }
  std::uint32_t graph() const { return graph_; }
  std::string last_error() const { return guest_->instance().last_error(); }
  FakeGuest& guest() { return *guest_; }
  // Makes room in the guest's memory.
  void forget_texts() { guest_->forget_to(first_text_); }
  Tenant& tenant() { return *tenant_; }
  const std::string& log() const { return log_; }

 private:
  std::string log_;
  std::shared_ptr<Tenant> tenant_;
  std::unique_ptr<FakeGuest> guest_;
  std::uint32_t out_ = 0, buffer_ = 0, first_text_ = 0, graph_ = 0, context_ = 0;
};

// ---- loading -----------------------------------------------------------------------------------

TEST(Prompt, LoadsByNameWithOptionsOrWithout) {
  PromptGuest guest;
  std::uint32_t graph = 0;
  EXPECT_EQ(guest.load("chat", "{\"temp\": \"hot\"}", &graph), bad_argument);
  EXPECT_CONTAINS(guest.last_error(), "'temp'");
  EXPECT_EQ(guest.load("chat", "{\"temp\":", &graph), bad_encoding);
  EXPECT_EQ(guest.load("chat", "[1]", &graph), bad_argument);
  EXPECT_EQ(guest.load("none", "{}", &graph), unknown);
  EXPECT_EQ(guest.load("chat", "{\"nobody-knows\": [[]], \"enable-log\": true}", &graph), ok);
}

TEST(Prompt, TheFirstLoadOfANameHasTheOptions) {
  PromptGuest guest;
  guest.begin("{\"n-predict\": 3}");
  std::uint32_t again = 0;
  EXPECT_EQ(guest.load("chat", "{\"n-predict\": 5}", &again), ok);
  EXPECT_EQ(again, guest.graph());
  EXPECT_EQ(guest.set(0, "say"), ok);
  EXPECT_EQ(guest.call("compute"), ok);
  EXPECT_EQ(guest.text(), "one");
  EXPECT_EQ(guest.guest().call("unload", {guest.graph()}), ok);
  EXPECT_EQ(guest.call("compute"), bad_argument);
  EXPECT_EQ(guest.text(), "one");
  guest.begin("{\"n-predict\": 5}");
  EXPECT_NE(guest.graph(), again);
  EXPECT_EQ(guest.set(0, "say"), ok);
  EXPECT_EQ(guest.call("compute"), ok);
  EXPECT_EQ(guest.text(), "one t");
}

TEST(Prompt, FoldersNeedAHostThatReadsThem) {
  const auto tenant = Tenant::create();
  const Error error = tenant->add_file("chat", "/");
  EXPECT_EQ(error.code, Errno::invalid_argument);
  EXPECT_CONTAINS(error.text, "is a folder");
}

// ---- whole answers -----------------------------------------------------------------------------

TEST(Prompt, AnswersAsAWhole) {
  PromptGuest guest;
  guest.begin();
  EXPECT_EQ(guest.call("compute"), bad_argument);  // no prompt
  EXPECT_EQ(guest.text(), "");
  EXPECT_EQ(guest.set(0, "question"), ok);
  EXPECT_EQ(guest.text("get_output", 1),
            "{\"input_tokens\": 8, \"output_tokens\": 0, \"llama_build_number\": 0, "
            "\"llama_commit\": \"quern " QUERN_VERSION "\"}");
  EXPECT_EQ(guest.call("compute"), ok) << guest.last_error();
  EXPECT_EQ(guest.text(), "one two");
  EXPECT_CONTAINS(guest.text("get_output", 1), "\"output_tokens\": 8,");
  EXPECT_EQ(guest.call("compute"), ok);  // the same again
  EXPECT_EQ(guest.text(), "one two");
}

TEST(Prompt, SaysHowMuchRoomAnOutputNeeds) {
  PromptGuest guest;
  guest.begin();
  std::string text;
  EXPECT_EQ(guest.set(0, "question"), ok);
  EXPECT_EQ(guest.call("compute"), ok);
  for (const string_view name : {"get_output", "get_output_single"}) {
    EXPECT_EQ(guest.read(name, 1, &text, 20), large);
    EXPECT_GT(guest.word(), 80u);
    EXPECT_EQ(guest.read(name, 2, &text), bad_argument);
  }
  EXPECT_EQ(guest.read("get_output", 0, &text, 6), large);
  EXPECT_EQ(guest.word(), 7u);
  EXPECT_EQ(guest.read("get_output", 0, &text, 7), ok);
}

TEST(Prompt, EndsWhereTheOptionsSay) {
  PromptGuest guest;
  guest.begin("{\"n-predict\": 100}");
  EXPECT_EQ(guest.set(1, "{\"n-predict\": 2}"), ok);
  EXPECT_EQ(guest.set(0, "q"), ok);
  EXPECT_EQ(guest.call("compute"), ok);
  EXPECT_EQ(guest.text(), "on");
  EXPECT_EQ(guest.set(1, "{\"n-predict\": -1, \"reverse-prompt\": \"t\"}"), ok);
  EXPECT_EQ(guest.call("compute"), ok);
  EXPECT_EQ(guest.text(), "one ");
  EXPECT_EQ(guest.set(1, "{\"n-predict\": 0}"), ok);
  EXPECT_EQ(guest.call("compute"), ok);
  EXPECT_EQ(guest.text(), "");
  EXPECT_EQ(guest.set(1, "{\"n-predict\": 1.5}"), bad_argument);
  EXPECT_EQ(guest.set(1, "\xff"), bad_encoding);
}

TEST(Prompt, TheTextStaysWhereTheContextIsFull) {
  PromptGuest guest({.answer = "abc", .ends = false});
  guest.begin("{\"ctx-size\": 12}");
  EXPECT_EQ(guest.set(0, "12345678"), ok);
  EXPECT_EQ(guest.call("compute"), context_full);
  EXPECT_EQ(guest.text(), "abca");
  EXPECT_CONTAINS(guest.text("get_output", 1), "\"output_tokens\": 4,");
  EXPECT_EQ(guest.set(0, "123456789"), ok);
  EXPECT_EQ(guest.call("compute"), prompt_too_long);
  EXPECT_EQ(guest.text(), "");
  EXPECT_EQ(guest.set(1, "{\"ctx-size\": 13}"), ok);  // another cache
  EXPECT_EQ(guest.call("compute"), context_full);
  EXPECT_EQ(guest.set(1, "{\"ctx-size\": 1000000000000}"), ok);  // at most the model's
  EXPECT_EQ(guest.call("compute"), context_full);
  EXPECT_EQ(guest.text().size(), 64u - 9);
  EXPECT_EQ(guest.set(1, "{\"ctx-size\": 1}"), ok);
  EXPECT_EQ(guest.call("compute"), prompt_too_long);
}

// ---- token by token ----------------------------------------------------------------------------

TEST(Prompt, AnswersTokenByToken) {
  PromptGuest guest;
  guest.begin("{\"n-predict\": 2, \"reverse-prompt\": \"t\"}");  // of whole answers
  std::uint32_t end = 0;
  EXPECT_EQ(guest.call("compute_single"), bad_argument);
  EXPECT_EQ(guest.set(0, "question"), ok);
  EXPECT_EQ(guest.call("compute_single"), ok);
  EXPECT_EQ(guest.text("get_output_single"), "o");
  EXPECT_EQ(guest.streamed(&end), "ne two");
  EXPECT_EQ(end, end_of_sequence);
  EXPECT_EQ(guest.text("get_output_single"), "");
  EXPECT_CONTAINS(guest.text("get_output_single", 1), "\"output_tokens\": 8,");
  EXPECT_EQ(guest.text(), "one two");
  EXPECT_EQ(guest.call("compute_single"), end_of_sequence);  // for good
  EXPECT_CONTAINS(guest.text("get_output", 1), "\"output_tokens\": 8,");
  EXPECT_EQ(guest.call("fini_single"), ok);
  EXPECT_EQ(guest.text(), "");
  EXPECT_EQ(guest.streamed(&end), "one two");  // from the beginning
}

TEST(Prompt, APromptLeavesTheSingleMode) {
  PromptGuest guest({.answer = "abc", .ends = false});
  std::uint32_t end = 0;
  guest.begin("{\"ctx-size\": 9}");
  EXPECT_EQ(guest.call("fini_single"), ok);  // nothing to end
  EXPECT_EQ(guest.set(0, "12345"), ok);
  EXPECT_EQ(guest.call("compute_single"), ok);
  EXPECT_EQ(guest.set(0, "1234"), ok);
  EXPECT_EQ(guest.streamed(&end), "abcab");
  EXPECT_EQ(end, context_full);
  EXPECT_EQ(guest.call("compute_single"), context_full);
  EXPECT_EQ(guest.set(0, "123456"), ok);
  EXPECT_EQ(guest.call("compute_single"), prompt_too_long);
  EXPECT_EQ(guest.call("compute_single"), prompt_too_long);
  EXPECT_EQ(guest.set(0, ""), ok);
  EXPECT_EQ(guest.call("compute_single"), bad_argument);
}

TEST(Prompt, AFailureLeavesWhatCame) {
  PromptGuest guest({.failing_step = 3, .failure = Code::internal});
  guest.begin();
  EXPECT_EQ(guest.set(0, "question"), ok);
  EXPECT_EQ(guest.call("compute"), failed);
  EXPECT_EQ(guest.text(), "one");
  EXPECT_CONTAINS(guest.log(), "script");
}

// ---- tensors, texts and limits -----------------------------------------------------------------

TEST(Prompt, TextIsBytesOfAnyDimensions) {
  PromptGuest guest;
  const std::uint32_t context = guest.begin();
  EXPECT_EQ(guest.set(0, "abcd", type_f32), bad_argument);
  EXPECT_EQ(guest.set(2, "abcd"), bad_argument);
  const std::uint32_t data = guest.put("abcd");
  for (const std::uint32_t rank : {0u, 1u, 77u, 0xffffffffu}) {
    const std::uint32_t tensor = guest.guest().put_words({0xfffffff0, rank, type_u8, data, 4});
    EXPECT_EQ(guest.guest().call("set_input", {context, 0, tensor}), ok) << rank;
  }
  const std::uint32_t beyond = guest.guest().put_words({0, 0, type_u8, data, 1 << 20});
  EXPECT_EQ(guest.guest().call("set_input", {context, 0, beyond}), bad_argument);
  EXPECT_EQ(guest.call("compute"), ok);
}

TEST(Prompt, OtherModelsHaveNoTokens) {
  PromptGuest guest;
  guest.begin("{}", "add");
  std::string text;
  for (const string_view name : {"compute_single", "fini_single"})
    EXPECT_EQ(guest.call(name), unsupported) << name;
  EXPECT_EQ(guest.read("get_output_single", 0, &text), unsupported);
}

TEST(Prompt, LanguageModelsHaveNoTensors) {
  PromptGuest guest;
  const std::uint32_t context = guest.begin();
  Instance& instance = guest.guest().instance();
  ContextUse use;
  ASSERT_TRUE(instance.use(context, &use).ok());
  std::byte* place = nullptr;
  std::vector<NamedOutput> outputs;
  EXPECT_EQ(use.place_input(0, {DType::u8, Shape{4}}, &place).code, Errno::unsupported_operation);
  EXPECT_EQ(use.compute({}, &outputs).code, Errno::unsupported_operation);
  EXPECT_EQ(use.adopt_input("a", nullptr).code, Errno::unsupported_operation);
  EXPECT_EQ(instance.compute(guest.graph(), {}, &outputs).code, Errno::unsupported_operation);
}

TEST(Prompt, IsChargedForPromptAndCache) {
  TenantOptions options;
  options.limits.most.resident_bytes = 200'000;
  options.limits.most.tensor_bytes = 5000;
  PromptGuest guest({.context = 100'000}, options);
  const Counts before = guest.tenant().usage();
  const std::uint32_t context = guest.begin("{\"ctx-size\": 100}");
  EXPECT_EQ(guest.set(0, std::string(5001, 'x')), large);
  EXPECT_EQ(guest.call("compute"), bad_argument);  // no prompt is left
  EXPECT_EQ(guest.set(0, "question"), ok);
  EXPECT_EQ(guest.tenant().usage().tensor_bytes, 8u);
  EXPECT_EQ(guest.call("compute"), ok) << guest.last_error();
  const KindBytes held = guest.tenant().figures().resident;
  EXPECT_EQ(held[Kind::arenas], 1000u);
  EXPECT_EQ(held[Kind::tensors], 100u * 100 + 4 * 8 + 4096);
  EXPECT_EQ(held[Kind::weights], 10u);
  EXPECT_EQ(guest.set(1, "{\"ctx-size\": 50000}"), ok);
  EXPECT_EQ(guest.call("compute"), large);
  EXPECT_LT(guest.tenant().figures().resident[Kind::tensors], 5000u);
  EXPECT_EQ(guest.set(1, "{\"ctx-size\": 100}"), ok);
  EXPECT_EQ(guest.call("compute"), ok);
  EXPECT_EQ(guest.guest().call("finalize_execution_context", {context}), ok);
  EXPECT_EQ(guest.guest().call("unload", {guest.graph()}), ok);
  Counts after = guest.tenant().usage();
  after.resident_bytes -= 10;  // weights are the model's
  EXPECT_EQ(after, before);
}

TEST(Prompt, HasADeadlineACompute) {
  TenantOptions options;
  options.limits.deadline = std::chrono::milliseconds(20);
  PromptGuest guest({.answer = "abc", .ends = false, .context = std::int64_t{1} << 40}, options);
  guest.begin("{\"ctx-size\": 1000000000000}");
  EXPECT_EQ(guest.set(0, "question"), ok);
  EXPECT_EQ(guest.call("compute"), failed);
  EXPECT_EQ(guest.call("compute_single"), ok);  // each has one of its own
  EXPECT_EQ(guest.tenant().figures().activity.computes.timed_out, 1u);
  EXPECT_EQ(guest.tenant().figures().activity.computes.ok, 1u);
}

TEST(Prompt, IsSharedByTenants) {
  PromptGuest owner;
  std::shared_ptr<ChargedGraph> graph;
  ASSERT_TRUE(owner.tenant().find("chat", &graph).ok());
  const auto other = Tenant::create();
  ASSERT_TRUE(other->add("ours", graph->shared(), graph->prompts()).ok());
  Handle handle = 0, context = 0;
  const auto instance = Instance::create(other);
  ASSERT_TRUE(instance->load_by_name("ours", "{}", &handle).ok());
  ASSERT_TRUE(instance->init_execution_context(handle, std::nullopt, &context).ok());
  ContextUse use;
  ASSERT_TRUE(instance->use(context, &use).ok());
  ASSERT_TRUE(use.set_input(0, {DType::u8, {}}, as_bytes("q")).ok());
  EXPECT_TRUE(use.compute().ok());
  EXPECT_EQ(owner.tenant().figures().activity.computes.ok, 0u);
}

// Any order of calls, with arguments that mostly make sense, on one context after another.
TEST(Prompt, AnyOrderOfCallsHasAnAnswer) {
  PromptGuest guest({.answer = "abcd"});
  const Counts before = guest.tenant().usage();
  std::mt19937 random(static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed()));
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  const std::array<string_view, 6> calls = {"compute",        "compute_single", "compute_single",
                                            "compute_single", "fini_single",    "unload"};
  const std::array<string_view, 6> prompts = {
      "", "p", "prompt", "\xff\xfe\xed\xa0\x80", "1234567890", string_view("\0\0", 2)};
  const std::array<string_view, 6> options = {"{\"ctx-size\": 9}",  "{\"ctx-size\": 0}",  "{",
                                              "{\"ctx-size\": {}}", "{\"n-predict\": 2}", "[[[["};
  std::map<std::uint32_t, int> answers;
  std::uint32_t context = guest.begin(), graph = guest.graph();
  for (int i = 0; i < 6000; ++i) {
    if (i % 40 == 0) {
      (void)guest.guest().call("finalize_execution_context", {context});
      (void)guest.guest().call("unload", {graph});
      guest.forget_texts();
      context = guest.begin();
      graph = guest.graph();
    }
    const std::uint32_t which = below(10);
    std::string text;
    const string_view call = calls[below(calls.size() - (below(8) ? 1 : 0))];
    const std::uint32_t times = which < 5 ? 1 + below(call == "compute_single" ? 7 : 1) : 0;
    for (std::uint32_t k = 0; k < times; ++k) ++answers[guest.call(call)];
    if (which == 5 || which == 6) ++answers[guest.set(0, prompts[below(prompts.size())])];
    if (which == 7) ++answers[guest.set(1, options[below(options.size())])];
    const string_view output = below(2) ? "get_output" : "get_output_single";
    if (which > 7) ++answers[guest.read(output, below(3), &text, below(256))];
  }
  for (const std::uint32_t code :
       {ok, bad_argument, bad_encoding, large, end_of_sequence, context_full, prompt_too_long})
    EXPECT_GT(answers[code], 10) << code;
  EXPECT_EQ(answers.size(), 7u);
  (void)guest.guest().call("finalize_execution_context", {context});
  (void)guest.guest().call("unload", {graph});
  Counts after = guest.tenant().usage();
  after.resident_bytes -= 10;  // weights are the model's
  EXPECT_EQ(after, before);
}

// ---- options -----------------------------------------------------------------------------------

PromptOptions read(string_view json, std::string* log = nullptr) {
  PromptOptions options;
  const Error error = read_prompt_options(
      json, [&](string_view text) { log ? log->append(text) : std::string(); }, &options);
  EXPECT_TRUE(error.ok()) << error.text;
  return options;
}

TEST(PromptOptions, AreReadWithinTheirBounds) {
  const PromptOptions o = read(
      R"({"ctx-size": 128, "n-predict": 7, "batch-size": 0, "temp": 1, "top-p": 3, "min-p": -2,
          "top-k": -1, "repeat-penalty": 0, "presence-penalty": -1, "frequency-penalty": 0.5,
          "seed": 18446744073709551615, "reverse-prompt": "x"})");
  EXPECT_EQ(o.context_size, 128);
  EXPECT_EQ(o.most_tokens, 7);
  EXPECT_EQ(o.batch_size, 1u);
  EXPECT_EQ(o.temperature, 1.0);
  EXPECT_EQ(o.top_p, 1.0);
  EXPECT_EQ(o.min_p, 0.0);
  EXPECT_EQ(o.top_k, 0);
  EXPECT_EQ(o.repeat_penalty, 1e-3);
  EXPECT_EQ(o.presence_penalty, 0.0);
  EXPECT_EQ(o.frequency_penalty, 0.5);
  EXPECT_EQ(o.seed, std::uint64_t{INT64_MAX});
  EXPECT_EQ(o.reverse_prompt, "x");
  EXPECT_FALSE(read(R"({"seed": -1})").seed);
  EXPECT_FALSE(read(R"({"seed": 4294967295})").seed);
  EXPECT_FALSE(read(R"({"ctx-size": 0})").context_size);
}

TEST(PromptOptions, AreRefusedByTheirKinds) {
  for (const string_view key :
       {"ctx-size", "n-predict", "batch-size", "temp", "top-p", "min-p", "top-k", "repeat-penalty",
        "presence-penalty", "frequency-penalty", "seed", "reverse-prompt"}) {
    for (const string_view value : {"null", "true", "{}", "[1]"}) {
      PromptOptions options;
      const Error error = read_prompt_options(
          "{\"" + std::string(key) + "\": " + std::string(value) + "}", {}, &options);
      EXPECT_EQ(error.code, Errno::invalid_argument) << key << value;
      EXPECT_CONTAINS(error.text, std::string(key));
    }
  }
}

TEST(PromptOptions, TellOfFeaturesThatAreMissing) {
  std::string log;
  (void)read(R"({"embedding": false, "grammar": "", "tts": true})", &log);
  EXPECT_EQ(log, "the option 'tts' has no effect here");
}

TEST(PromptOptions, AreNoBombs) {
  PromptOptions options;
  const auto code = [&](const std::string& json) {
    return read_prompt_options(json, {}, &options).code;
  };
  EXPECT_EQ(code("{\"a\": " + std::string(30'000, '[')), Errno::invalid_encoding);
  EXPECT_EQ(code("{\"a\": " + std::string(30'000, '[') + std::string(30'000, ']') + "}"),
            Errno::invalid_encoding);
  EXPECT_EQ(code(std::string(70'000, ' ') + "{}"), Errno::too_large);
  EXPECT_EQ(code(""), Errno::invalid_encoding);
  EXPECT_EQ(code("{\"temp\": 1e999999}"), Errno::invalid_encoding);
  EXPECT_EQ(code(std::string("{\0}", 3)), Errno::invalid_encoding);
}

}  // namespace
}  // namespace quern::wasi_nn_test
