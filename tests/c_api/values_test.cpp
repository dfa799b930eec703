// SPDX-License-Identifier: Apache-2.0
// The C API over values that are no plain tensors, over models that never end, and beside the C++
// one.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <quern/c/quern.h>
#include <quern/executable.h>
#include <quern/onnx.h>
#include <quern/session.h>

#include "engine/c_api/handles.h"
#include "tests/expect.h"
#include "tests/onnx-parser/onnx_writer.h"

namespace quern {
namespace {

using namespace onnx_test;
using ::testing::ElementsAre;

class CApi : public ::testing::Test {
 protected:
  ~CApi() override {
    quern_session_destroy(session);
    quern_executable_destroy(executable);
    quern_model_destroy(model);
  }

  // A session over the model; the bytes are ours until then only.
  void open(const GraphParts& parts) {
    std::string bytes = make_model(parts);
    ASSERT_EQ(quern_model_load_bytes(bytes.data(), bytes.size(), nullptr, &model), QUERN_OK)
        << quern_last_error();
    std::ranges::fill(bytes, '\0');
    ASSERT_EQ(quern_executable_compile(model, nullptr, &executable), QUERN_OK)
        << quern_last_error();
    ASSERT_EQ(quern_session_create(executable, 0, &session), QUERN_OK) << quern_last_error();
  }

  static quern_tensor vector_of(const std::vector<float>& elements) {
    quern_tensor t = QUERN_TENSOR_INIT;
    t.rank = 1;
    t.dims[0] = static_cast<std::int64_t>(elements.size());
    t.data = elements.data();
    t.bytes = elements.size() * sizeof(float);
    return t;
  }

  std::vector<float> floats_of(std::size_t index, std::size_t element) const {
    quern_tensor t = QUERN_TENSOR_INIT;
    EXPECT_EQ(quern_session_output_element(session, index, element, &t), QUERN_OK)
        << quern_last_error();
    const auto* data = static_cast<const float*>(t.data);
    return {data, data + t.bytes / sizeof(float)};
  }

  quern_model* model = nullptr;
  quern_executable* executable = nullptr;
  quern_session* session = nullptr;
};

TEST_F(CApi, Sequences) {
  const Message s = sequence_of(tensor_type(f32, {""}));
  open({.nodes = {node("SequenceInsert", {"s", "x"}, {"y"})},
        .inputs = {value("s", s), value("x", f32, {""})},
        .outputs = {value("y", s)}});
  quern_value_info info = QUERN_VALUE_INFO_INIT;
  ASSERT_EQ(quern_executable_input_info(executable, 0, &info), QUERN_OK);
  EXPECT_EQ(info.kind, QUERN_SEQUENCE);
  const std::vector<float> a = {1, 2};
  const std::vector<float> b = {3};
  const std::vector<float> x = {4, 5, 6};
  const quern_tensor elements[] = {vector_of(a), vector_of(b)};
  const quern_tensor last = vector_of(x);
  EXPECT_EQ(quern_session_set_input(session, 0, &last, QUERN_COPY), QUERN_INVALID_ARGUMENT);
  EXPECT_CONTAINS(quern_last_error(), "is a sequence");
  ASSERT_EQ(quern_session_set_input_sequence(session, 0, elements, 2), QUERN_OK);
  ASSERT_EQ(quern_session_set_input(session, 1, &last, QUERN_COPY), QUERN_OK);
  ASSERT_EQ(quern_session_run(session), QUERN_OK) << quern_last_error();
  std::size_t length = 0;
  ASSERT_EQ(quern_session_output_length(session, 0, &length), QUERN_OK);
  EXPECT_EQ(length, 3U);
  EXPECT_THAT(floats_of(0, 0), ElementsAre(1, 2));
  EXPECT_THAT(floats_of(0, 2), ElementsAre(4, 5, 6));
  quern_tensor none = QUERN_TENSOR_INIT;
  EXPECT_EQ(quern_session_output_element(session, 0, 3, &none), QUERN_NOT_FOUND);

  EXPECT_EQ(quern_session_set_input_sequence(session, 0, nullptr, 2), QUERN_INVALID_ARGUMENT);
  EXPECT_STREQ(quern_last_error(), "tensors is null");
  ASSERT_EQ(quern_session_set_input_sequence(session, 0, nullptr, 0), QUERN_OK);
  ASSERT_EQ(quern_session_run(session), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_session_output_length(session, 0, &length), QUERN_OK);
  EXPECT_EQ(length, 1U);
}

TEST_F(CApi, Optionals) {
  open({.nodes = {node("OptionalHasElement", {"o"}, {"y"})},
        .inputs = {value("o", optional_of(tensor_type(f32, {""})))},
        .outputs = {value("y", boolean, {})}});
  const std::vector<float> x = {1};
  const quern_tensor full = vector_of(x);
  const auto has_element = [&] {
    quern_tensor t = QUERN_TENSOR_INIT;
    EXPECT_EQ(quern_session_run(session), QUERN_OK) << quern_last_error();
    EXPECT_EQ(quern_session_output(session, 0, &t), QUERN_OK) << quern_last_error();
    return *static_cast<const char*>(t.data) != 0;
  };
  ASSERT_EQ(quern_session_set_input(session, 0, &full, QUERN_BORROW), QUERN_OK);
  EXPECT_TRUE(has_element());
  ASSERT_EQ(quern_session_set_input_none(session, 0), QUERN_OK);
  EXPECT_FALSE(has_element());
}

TEST_F(CApi, Strings) {
  open({.nodes = {node("StringNormalizer", {"x"}, {"y"}, {word("case_change_action", "UPPER")})},
        .inputs = {value("x", text, {""})},
        .outputs = {value("y", text, {""})}});
  const quern_string words[] = {{"mill", 4}, {"stone", 5}};
  quern_tensor t = QUERN_TENSOR_INIT;
  t.dtype = QUERN_STRING;
  t.rank = 1;
  t.dims[0] = 2;
  t.data = words;
  t.bytes = sizeof words;
  EXPECT_EQ(quern_session_set_input(session, 0, &t, QUERN_COPY), QUERN_INVALID_ARGUMENT);
  EXPECT_STREQ(quern_last_error(), "strings can be borrowed, not copied");
  ASSERT_EQ(quern_session_set_input(session, 0, &t, QUERN_BORROW), QUERN_OK);
  ASSERT_EQ(quern_session_run(session), QUERN_OK) << quern_last_error();
  quern_tensor out = QUERN_TENSOR_INIT;
  ASSERT_EQ(quern_session_output(session, 0, &out), QUERN_OK);
  ASSERT_EQ(out.bytes, sizeof words);
  const auto* upper = static_cast<const quern_string*>(out.data);
  EXPECT_EQ(std::string_view(upper[1].data, upper[1].size), "STONE");
}

TEST_F(CApi, EndlessLoopEndsByDeadlineAndByCancel) {
  const Message body =
      make_graph({.nodes = {node("Identity", {"c"}, {"c2"}), node("Neg", {"v"}, {"v2"})},
                  .inputs = {value("i", i64, {}), value("c", boolean, {}), value("v", f32, {""})},
                  .outputs = {value("c2", boolean, {}), value("v2", f32, {""})}});
  open({.nodes = {node("Loop", {"", "", "x"}, {"y"}, {graph("body", body)})},
        .inputs = {value("x", f32, {""})},
        .outputs = {value("y", f32, {""})}});
  const std::vector<float> x = {1};
  const quern_tensor in = vector_of(x);
  ASSERT_EQ(quern_session_set_input(session, 0, &in, QUERN_COPY), QUERN_OK);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(quern_session_run_within(session, 30'000), QUERN_TIMED_OUT);
  EXPECT_STREQ(quern_last_error(), "the deadline has passed");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));

  std::thread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    quern_session_cancel(session);
    quern_session_run(nullptr);  // the error of one thread is no business of another
  });
  EXPECT_EQ(quern_session_run(session), QUERN_BUSY);
  other.join();
  EXPECT_STREQ(quern_last_error(), "cancelled");
}

TEST_F(CApi, ReadingEndsAtItsDeadline) {
  const std::string path = QUERN_SOURCE_DIR "/examples/digits/digits.onnx";
  quern_load_options options = QUERN_LOAD_OPTIONS_INIT;
  options.microseconds = 1;
  EXPECT_EQ(quern_model_load(path.c_str(), &options, &model), QUERN_TIMED_OUT);
  EXPECT_EQ(model, nullptr);
  options.microseconds = UINT64_MAX;
  EXPECT_EQ(quern_model_load(path.c_str(), &options, &model), QUERN_OK) << quern_last_error();
}

TEST_F(CApi, AFileThatIsCopiedMayShrink) {
  const std::string path = ::testing::TempDir() + "c_api_copied.onnx";
  std::filesystem::copy_file(QUERN_SOURCE_DIR "/examples/digits/digits.onnx", path,
                             std::filesystem::copy_options::overwrite_existing);
  quern_load_options options = QUERN_LOAD_OPTIONS_INIT;
  options.copy_file = 1;
  ASSERT_EQ(quern_model_load(path.c_str(), &options, &model), QUERN_OK) << quern_last_error();
  std::filesystem::resize_file(path, 0);  // a mapping would end the process
  EXPECT_EQ(quern_executable_compile(model, nullptr, &executable), QUERN_OK);
  ASSERT_EQ(quern_session_create(executable, 1, &session), QUERN_OK) << quern_last_error();
  const std::vector<float> image(28 * 28);
  quern_tensor x = QUERN_TENSOR_INIT;
  x.rank = 4;
  x.dims[0] = x.dims[1] = 1;
  x.dims[2] = x.dims[3] = 28;
  x.data = image.data();
  x.bytes = image.size() * sizeof(float);
  ASSERT_EQ(quern_session_set_input(session, 0, &x, QUERN_COPY), QUERN_OK) << quern_last_error();
  EXPECT_EQ(quern_session_run(session), QUERN_OK) << quern_last_error();
  std::filesystem::remove(path);
}

// Bytes of the tables of plans, after runs with three shapes.
TEST_F(CApi, KeptPlansHaveALimitInBytes) {
  std::size_t bytes[2];
  for (const std::size_t most : {0, 1}) {
    std::string text = make_model({.nodes = {node("Exp", {"x"}, {"y"})},
                                   .inputs = {value("x", f32, {""})},
                                   .outputs = {value("y", f32, {""})}});
    ASSERT_EQ(quern_model_load_bytes(text.data(), text.size(), nullptr, &model), QUERN_OK);
    quern_compile_options options = QUERN_COMPILE_OPTIONS_INIT;
    options.max_plan_bytes = most;
    ASSERT_EQ(quern_executable_compile(model, &options, &executable), QUERN_OK);
    ASSERT_EQ(quern_session_create(executable, 1, &session), QUERN_OK);
    for (const std::size_t n : {1, 2, 3}) {
      const std::vector<float> x(n);
      const quern_tensor t = vector_of(x);
      ASSERT_EQ(quern_session_set_input(session, 0, &t, QUERN_COPY), QUERN_OK);
      ASSERT_EQ(quern_session_run(session), QUERN_OK) << quern_last_error();
    }
    bytes[most] = executable->executable->table_bytes();
    quern_session_destroy(std::exchange(session, nullptr));
    quern_executable_destroy(std::exchange(executable, nullptr));
    quern_model_destroy(std::exchange(model, nullptr));
  }
  EXPECT_LT(bytes[1], bytes[0]);
}

TEST_F(CApi, CompilingEndsAtItsDeadline) {
  const std::string path = QUERN_SOURCE_DIR "/examples/digits/digits.onnx";
  ASSERT_EQ(quern_model_load(path.c_str(), nullptr, &model), QUERN_OK) << quern_last_error();
  quern_compile_options options = QUERN_COMPILE_OPTIONS_INIT;
  options.microseconds = 1;
  EXPECT_EQ(quern_executable_compile(model, &options, &executable), QUERN_TIMED_OUT);
  EXPECT_STREQ(quern_last_error(), "the deadline has passed");
  EXPECT_EQ(executable, nullptr);
  options.microseconds = UINT64_MAX;
  EXPECT_EQ(quern_executable_compile(model, &options, &executable), QUERN_OK);
}

TEST_F(CApi, MathIsOneOfFour) {
  const std::string path = QUERN_SOURCE_DIR "/examples/digits/digits.onnx";
  ASSERT_EQ(quern_model_load(path.c_str(), nullptr, &model), QUERN_OK) << quern_last_error();
  quern_compile_options options = QUERN_COMPILE_OPTIONS_INIT;
  options.math = "f8";
  EXPECT_EQ(quern_executable_compile(model, &options, &executable), QUERN_INVALID_ARGUMENT);
  EXPECT_STREQ(quern_last_error(), "no math 'f8', there is f32, bf16, bf16x3 and auto");
  options.math = "bf16";
  EXPECT_EQ(quern_executable_compile(model, &options, &executable), QUERN_OK);
}

TEST_F(CApi, DenormalsAreFlushedOrKept) {
  const std::string path = QUERN_SOURCE_DIR "/examples/digits/digits.onnx";
  ASSERT_EQ(quern_model_load(path.c_str(), nullptr, &model), QUERN_OK) << quern_last_error();
  quern_compile_options options = QUERN_COMPILE_OPTIONS_INIT;
  options.denormals = "round";
  EXPECT_EQ(quern_executable_compile(model, &options, &executable), QUERN_INVALID_ARGUMENT);
  EXPECT_STREQ(quern_last_error(),
               "no way to treat denormals is called 'round', there is flush and keep");
  options.denormals = "keep";
  EXPECT_EQ(quern_executable_compile(model, &options, &executable), QUERN_OK);
}

// The error of a limit that nothing meets names the smallest that would do.
TEST_F(CApi, ArenasHaveALimit) {
  const std::string path = QUERN_SOURCE_DIR "/examples/digits/digits.onnx";
  const std::vector<float> image(28 * 28);
  ASSERT_EQ(quern_model_load(path.c_str(), nullptr, &model), QUERN_OK) << quern_last_error();
  quern_compile_options options = QUERN_COMPILE_OPTIONS_INIT;
  options.arena_limit = 1;
  for (const quern_status wanted : {QUERN_OUT_OF_MEMORY, QUERN_OK}) {
    ASSERT_EQ(quern_executable_compile(model, &options, &executable), QUERN_OK);
    ASSERT_EQ(quern_session_create(executable, 0, &session), QUERN_OK);
    quern_tensor in = vector_of(image);
    in.rank = 4;
    std::ranges::copy(std::array{1, 1, 28, 28}, in.dims);
    ASSERT_EQ(quern_session_set_input(session, 0, &in, QUERN_BORROW), QUERN_OK);
    EXPECT_EQ(quern_session_run(session), wanted) << quern_last_error();
    quern_session_destroy(std::exchange(session, nullptr));
    quern_executable_destroy(std::exchange(executable, nullptr));
    if (wanted == QUERN_OK) break;
    const std::string error = quern_last_error();
    ASSERT_NE(error.find("the smallest arena, in stripes of rows, has "), error.npos) << error;
    options.arena_limit = std::stoul(error.substr(error.rfind("has ") + 4));
  }
}

// A plan is the one that the C++ API makes, with the scratch of kernels and without.
TEST_F(CApi, NoScratch) {
  const std::string path = QUERN_SOURCE_DIR "/examples/digits/digits.onnx";
  const std::vector<float> image(28 * 28);
  ASSERT_EQ(quern_model_load(path.c_str(), nullptr, &model), QUERN_OK) << quern_last_error();
  for (const bool scratch : {true, false}) {
    quern_compile_options options = QUERN_COMPILE_OPTIONS_INIT;
    options.threads = 1;
    options.no_scratch = scratch ? 0 : 1;
    ASSERT_EQ(quern_executable_compile(model, &options, &executable), QUERN_OK);
    ASSERT_EQ(quern_session_create(executable, 0, &session), QUERN_OK);
    quern_tensor in = vector_of(image);
    in.rank = 4;
    std::ranges::copy(std::array{1, 1, 28, 28}, in.dims);
    ASSERT_EQ(quern_session_set_input(session, 0, &in, QUERN_BORROW), QUERN_OK);
    ASSERT_EQ(quern_session_prepare(session), QUERN_OK) << quern_last_error();
    quern_plan_info plan = QUERN_PLAN_INFO_INIT;
    ASSERT_EQ(quern_session_plan_info(session, &plan), QUERN_OK);
    quern_session_destroy(std::exchange(session, nullptr));
    quern_executable_destroy(std::exchange(executable, nullptr));

    const auto same =
        Executable::compile(load_onnx(path).value(), nullptr, {.threads = 1, .scratch = scratch});
    const auto wanted = Session::create(same.value()).value();
    ASSERT_TRUE(wanted->set_input(0, Tensor::zeros({DType::f32, {1, 1, 28, 28}})->view()).ok());
    ASSERT_TRUE(wanted->prepare().ok());
    EXPECT_EQ(plan.unshared_bytes, wanted->plan_info().unshared_bytes) << scratch;
  }
}

// ---- threads -----------------------------------------------------------------------------------

struct HostThreads {
  int calls = 0, tasks = 0;
};

void run_backward(void* context, std::int32_t count, quern_task task, void* data) {
  auto& host = *static_cast<HostThreads*>(context);
  ++host.calls;
  host.tasks += count;
  for (std::int32_t i = count; i-- > 0;) task(data, i);
}

// A product of two matrices that is worth more than one thread's while.
TEST_F(CApi, AHostBringsItsThreads) {
  const GraphParts product = {.nodes = {node("MatMul", {"a", "a"}, {"y"})},
                              .inputs = {value("a", f32, {"256", "256"})},
                              .outputs = {value("y", f32, {"256", "256"})}};
  const std::string bytes = make_model(product);
  ASSERT_EQ(quern_model_load_bytes(bytes.data(), bytes.size(), nullptr, &model), QUERN_OK)
      << quern_last_error();
  std::vector<float> a(256 * 256);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  HostThreads host;
  std::vector<std::vector<float>> answers;
  quern_thread_pool_options own = QUERN_THREAD_POOL_OPTIONS_INIT;
  own.threads = 2;
  quern_thread_pool_options hosts = own;
  hosts.run = run_backward;
  hosts.context = &host;
  for (const quern_thread_pool_options* pool_options :
       {static_cast<const quern_thread_pool_options*>(nullptr),
        const_cast<const quern_thread_pool_options*>(&own),
        const_cast<const quern_thread_pool_options*>(&hosts)}) {
    quern_thread_pool* pool = nullptr;
    ASSERT_EQ(quern_thread_pool_create(pool_options, &pool), QUERN_OK) << quern_last_error();
    quern_compile_options options = QUERN_COMPILE_OPTIONS_INIT;
    options.thread_pool = pool;
    ASSERT_EQ(quern_executable_compile(model, &options, &executable), QUERN_OK);
    quern_thread_pool_destroy(pool);  // the executable keeps it
    ASSERT_EQ(quern_session_create(executable, 0, &session), QUERN_OK);
    quern_tensor in = QUERN_TENSOR_INIT;
    in.rank = 2;
    in.dims[0] = in.dims[1] = 256;
    in.data = a.data();
    in.bytes = a.size() * sizeof(float);
    ASSERT_EQ(quern_session_set_input(session, 0, &in, QUERN_BORROW), QUERN_OK);
    ASSERT_EQ(quern_session_run(session), QUERN_OK) << quern_last_error();
    quern_tensor out = QUERN_TENSOR_INIT;
    ASSERT_EQ(quern_session_output(session, 0, &out), QUERN_OK);
    const auto* y = static_cast<const float*>(out.data);
    answers.emplace_back(y, y + 256 * 256);
    quern_session_destroy(std::exchange(session, nullptr));
    quern_executable_destroy(std::exchange(executable, nullptr));
  }
  EXPECT_EQ(answers[0], answers[1]) << "whole numbers, exact in any order";
  EXPECT_EQ(answers[0], answers[2]);
  EXPECT_GT(host.calls, 0);
  EXPECT_GT(host.tasks, host.calls);
}

TEST_F(CApi, APoolHasAtLeastOneThread) {
  quern_thread_pool* pool = nullptr;
  quern_thread_pool_options options = QUERN_THREAD_POOL_OPTIONS_INIT;
  options.threads = -1;
  EXPECT_EQ(quern_thread_pool_create(&options, &pool), QUERN_INVALID_ARGUMENT);
  EXPECT_STREQ(quern_last_error(), "a pool of -1 threads, at least 1 is wanted");
  options.threads = 0;
  options.run = run_backward;
  EXPECT_EQ(quern_thread_pool_create(&options, &pool), QUERN_INVALID_ARGUMENT);
  options.struct_size = 3;
  EXPECT_EQ(quern_thread_pool_create(&options, &pool), QUERN_INVALID_ARGUMENT);
  EXPECT_EQ(quern_thread_pool_create(nullptr, nullptr), QUERN_INVALID_ARGUMENT);
  EXPECT_EQ(pool, nullptr);
  quern_thread_pool_destroy(nullptr);
}

// ---- what goes while a run is under way ---------------------------------------------------------

// y = x + x + ..., as often as `n` says, from the caller's memory in each round.
GraphParts long_sum() {
  const Message body =
      make_graph({.nodes = {node("Identity", {"c"}, {"c2"}), node("Add", {"v", "x"}, {"v2"})},
                  .inputs = {value("i", i64, {}), value("c", boolean, {}), value("v", f32, {""})},
                  .outputs = {value("c2", boolean, {}), value("v2", f32, {""})}});
  return {.nodes = {node("Sub", {"x", "x"}, {"zero"}),
                    node("Loop", {"n", "", "zero"}, {"y"}, {graph("body", body)})},
          .inputs = {value("x", f32, {""}), value("n", i64, {})},
          .outputs = {value("y", f32, {""})}};
}

// Large enough to have pages of its own, which are gone once it is freed.
const std::vector<float> many(std::size_t{1} << 20, 2.0F);
constexpr std::int64_t rounds = 10;

quern_tensor scalar_of(const std::int64_t& n) {
  quern_tensor t = QUERN_TENSOR_INIT;
  t.dtype = QUERN_I64;
  t.data = &n;
  t.bytes = sizeof n;
  return t;
}

TEST_F(CApi, CopiedInputsOutliveARunThatIsUnderWay) {
  open(long_sum());
  std::vector<float> y(many.size());
  const quern_tensor in = vector_of(many);
  const quern_tensor n = scalar_of(rounds);
  ASSERT_EQ(quern_session_set_input(session, 0, &in, QUERN_COPY), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_session_set_input(session, 1, &n, QUERN_COPY), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_session_bind_output(session, 0, y.data(), y.size() * sizeof(float)), QUERN_OK);
  ASSERT_EQ(quern_session_submit(session), QUERN_OK) << quern_last_error();
  quern_session_destroy(std::exchange(session, nullptr));
  EXPECT_THAT(y, ::testing::Each(2.0F * rounds));
}

TEST_F(CApi, EveryOtherHandleMayGoWhileARunIsUnderWay) {
  open(long_sum());
  const quern_tensor in = vector_of(many);
  const quern_tensor n = scalar_of(rounds);
  quern_device_tensor *x = nullptr, *y = nullptr;
  ASSERT_EQ(quern_device_tensor_create(nullptr, &in, &x), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_device_tensor_create(nullptr, &in, &y), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_device_tensor_write(x, &in), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_session_set_input_device(session, 0, x), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_session_set_input(session, 1, &n, QUERN_COPY), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_session_bind_output_device(session, 0, y), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_session_submit(session), QUERN_OK) << quern_last_error();
  quern_device_tensor_destroy(x);
  quern_executable_destroy(std::exchange(executable, nullptr));
  quern_model_destroy(std::exchange(model, nullptr));
  quern_session_destroy(std::exchange(session, nullptr));
  quern_tensor out = QUERN_TENSOR_INIT;
  ASSERT_EQ(quern_device_tensor_read(y, &out), QUERN_OK) << quern_last_error();
  EXPECT_THAT(std::span(static_cast<const float*>(out.data), many.size()),
              ::testing::Each(2.0F * rounds));
  quern_device_tensor_destroy(y);
}

// ---- sizes of structures ------------------------------------------------------------------------

// The sizes up to `most` that a call takes for the structure, each in memory of just that size.
template <class T>
std::vector<std::size_t> sizes_taken(const T& init, std::size_t most,
                                     const std::function<quern_status(T*)>& call) {
  std::vector<std::size_t> taken;
  for (std::size_t size = 0; size <= most; ++size) {
    const std::size_t room = std::max(size, sizeof(std::size_t));
    const std::unique_ptr<std::byte[]> bytes(new std::byte[room]());
    std::memcpy(bytes.get(), &init, std::min(room, sizeof init));
    std::memcpy(bytes.get(), &size, sizeof size);
    const quern_status status = call(reinterpret_cast<T*>(bytes.get()));
    if (status == QUERN_OK) taken.push_back(size);
    EXPECT_TRUE(status == QUERN_OK || status == QUERN_INVALID_ARGUMENT) << size;
    std::size_t after = 0;
    std::memcpy(&after, bytes.get(), sizeof after);
    EXPECT_EQ(after, size);
  }
  return taken;
}

TEST_F(CApi, StructuresHaveASizeOfSomeVersion) {
  open({.nodes = {node("Neg", {"x"}, {"y"})},
        .inputs = {value("x", f32, {""})},
        .outputs = {value("y", f32, {""})}});
  const quern_compile_options compile = QUERN_COMPILE_OPTIONS_INIT;
  EXPECT_THAT(sizes_taken<quern_compile_options>(
                  compile, 200,
                  [&](auto* options) {
                    quern_executable* made = nullptr;
                    const quern_status status = quern_executable_compile(model, options, &made);
                    quern_executable_destroy(made);
                    return status;
                  }),
              ElementsAre(48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144));
  EXPECT_CONTAINS(quern_last_error(),
                  "struct_size of quern_compile_options is 200, not 48 or 56 or 64 or 72 or 80");
  EXPECT_THAT(sizes_taken<quern_thread_pool_options>(QUERN_THREAD_POOL_OPTIONS_INIT, 200,
                                                     [&](auto* options) {
                                                       quern_thread_pool* made = nullptr;
                                                       const quern_status status =
                                                           quern_thread_pool_create(options, &made);
                                                       quern_thread_pool_destroy(made);
                                                       return status;
                                                     }),
              ElementsAre(sizeof(quern_thread_pool_options)));
  const std::vector<float> x = {1, 2};
  EXPECT_THAT(sizes_taken<quern_tensor>(
                  vector_of(x), 200,
                  [&](auto* t) { return quern_session_set_input(session, 0, t, QUERN_COPY); }),
              ElementsAre(sizeof(quern_tensor)));
  ASSERT_EQ(quern_session_run(session), QUERN_OK);
  EXPECT_THAT(
      sizes_taken<quern_tensor>(QUERN_TENSOR_INIT, 200,
                                [&](auto* t) { return quern_session_output(session, 0, t); }),
      ElementsAre(sizeof(quern_tensor)));
  EXPECT_THAT(sizes_taken<quern_plan_info>(
                  QUERN_PLAN_INFO_INIT, 200,
                  [&](auto* info) { return quern_session_plan_info(session, info); }),
              ElementsAre(64, 80));
  EXPECT_THAT(
      sizes_taken<quern_model_info>(QUERN_MODEL_INFO_INIT, 200,
                                    [&](auto* info) { return quern_model_get_info(model, info); }),
      ElementsAre(sizeof(quern_model_info)));
  EXPECT_THAT(sizes_taken<quern_value_info>(
                  QUERN_VALUE_INFO_INIT, 200,
                  [&](auto* info) { return quern_model_input_info(model, 0, info); }),
              ElementsAre(56, sizeof(quern_value_info)));
  EXPECT_THAT(sizes_taken<quern_load_options>(QUERN_LOAD_OPTIONS_INIT, 200,
                                              [&](auto* options) {
                                                quern_model* made = nullptr;
                                                const std::string path =
                                                    QUERN_SOURCE_DIR "/examples/digits/digits.onnx";
                                                const quern_status status =
                                                    quern_model_load(path.c_str(), options, &made);
                                                quern_model_destroy(made);
                                                return status;
                                              }),
              ElementsAre(32, 48, 64));
}

TEST_F(CApi, NullHandles) {
  quern_tensor t = QUERN_TENSOR_INIT;
  quern_value_info info = QUERN_VALUE_INFO_INIT;
  std::size_t n = 0;
  EXPECT_EQ(quern_session_run(nullptr), QUERN_INVALID_ARGUMENT);
  EXPECT_STREQ(quern_last_error(), "session is null");
  EXPECT_EQ(quern_session_output(nullptr, 0, &t), QUERN_INVALID_ARGUMENT);
  EXPECT_EQ(quern_session_prepare(nullptr), QUERN_INVALID_ARGUMENT);
  EXPECT_EQ(quern_session_trim(nullptr), QUERN_INVALID_ARGUMENT);
  EXPECT_EQ(quern_session_plan_info(nullptr, nullptr), QUERN_INVALID_ARGUMENT);
  EXPECT_EQ(quern_model_input_info(nullptr, 0, &info), QUERN_INVALID_ARGUMENT);
  EXPECT_EQ(quern_executable_input_index(nullptr, "x", &n), QUERN_INVALID_ARGUMENT);
  EXPECT_EQ(quern_executable_compile(nullptr, nullptr, &executable), QUERN_INVALID_ARGUMENT);
  EXPECT_EQ(quern_devices_list(nullptr), QUERN_INVALID_ARGUMENT);
  EXPECT_EQ(quern_model_input_count(nullptr), 0U);
  EXPECT_EQ(quern_session_profile_count(nullptr), 0U);
}

// ---- maps --------------------------------------------------------------------------------------

constexpr std::string_view ml = "ai.onnx.ml";

Message map_type(std::int64_t key, std::int64_t element) {
  return Message().message(
      5, Message().number(1, key).message(2, Message().message(1, Message().number(1, element))));
}

TEST_F(CApi, AMapForEachRowIsItsValuesAndTheKeys) {
  open({.nodes = {node("ZipMap", {"x"}, {"y"}, {words("classlabels_strings", {"no", "yes"})},
                       {.domain = ml})},
        .inputs = {value("x", f32, {"N", 2})},
        .outputs = {value("y", sequence_of(map_type(8, f32)))}});
  ASSERT_EQ(quern_model_output_count(model), 2U);
  quern_value_info info = QUERN_VALUE_INFO_INIT;
  ASSERT_EQ(quern_model_output_info(model, 0, &info), QUERN_OK);
  EXPECT_EQ(info.keys, 1U);
  EXPECT_EQ(info.kind, QUERN_TENSOR);
  ASSERT_EQ(quern_model_output_info(model, 1, &info), QUERN_OK);
  EXPECT_EQ(info.keys, QUERN_NO_KEYS);
  EXPECT_STREQ(info.name, "y.keys");

  const std::vector<float> scores = {0.25f, 0.75f, 1, 0, 0.5f, 0.5f};
  quern_tensor x = vector_of(scores);
  x.rank = 2;
  x.dims[0] = 3;
  x.dims[1] = 2;
  ASSERT_EQ(quern_session_set_input(session, 0, &x, QUERN_COPY), QUERN_OK);
  quern_tensor keys = QUERN_TENSOR_INIT, values = QUERN_TENSOR_INIT;
  EXPECT_EQ(quern_session_output_map(session, 0, 0, &keys, &values), QUERN_INVALID_ARGUMENT);
  ASSERT_EQ(quern_session_run(session), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_session_output_map(session, 0, 1, &keys, &values), QUERN_OK)
      << quern_last_error();
  ASSERT_EQ(keys.rank, 1U);
  ASSERT_EQ(values.rank, 1U);
  ASSERT_EQ(values.dims[0], 2);
  const auto* names = static_cast<const StringRef*>(keys.data);
  EXPECT_EQ(names[0].view(), "no");
  EXPECT_EQ(names[1].view(), "yes");
  const auto* numbers = static_cast<const float*>(values.data);
  EXPECT_EQ(numbers[0], 1);
  EXPECT_EQ(numbers[1], 0);
  EXPECT_EQ(quern_session_output_map(session, 0, 3, &keys, &values), QUERN_INVALID_ARGUMENT);
  EXPECT_STREQ(quern_last_error(), "output 0 holds 3 maps");
  EXPECT_EQ(quern_session_output_map(session, 1, 0, &keys, &values), QUERN_INVALID_ARGUMENT);
  EXPECT_STREQ(quern_last_error(), "output 1 is no map");
  EXPECT_EQ(quern_session_output_map(session, 2, 0, &keys, &values), QUERN_INVALID_ARGUMENT);
}

TEST_F(CApi, AMapIsAnInput) {
  open({.nodes = {node("DictVectorizer", {"x"}, {"y"},
                       {attribute("int64_vocabulary", 7).number(8, 5).number(8, 1).number(8, 9)},
                       {.domain = ml})},
        .inputs = {value("x", map_type(i64, f32))},
        .outputs = {Message().text(1, "y")}});
  ASSERT_EQ(quern_model_input_count(model), 2U);
  quern_value_info info = QUERN_VALUE_INFO_INIT;
  ASSERT_EQ(quern_model_input_info(model, 0, &info), QUERN_OK);
  EXPECT_EQ(info.keys, 1U);

  const std::vector<float> numbers = {10, 20, 30};
  const std::vector<std::int64_t> names = {9, 4, 5};
  quern_tensor values = vector_of(numbers), keys = vector_of(numbers);
  keys.dtype = QUERN_I64;
  keys.data = names.data();
  keys.bytes = names.size() * sizeof(std::int64_t);
  ASSERT_EQ(quern_session_set_input(session, 0, &values, QUERN_COPY), QUERN_OK);
  ASSERT_EQ(quern_session_set_input(session, 1, &keys, QUERN_COPY), QUERN_OK);
  ASSERT_EQ(quern_session_run(session), QUERN_OK) << quern_last_error();
  quern_tensor y = QUERN_TENSOR_INIT;
  ASSERT_EQ(quern_session_output(session, 0, &y), QUERN_OK);
  ASSERT_EQ(y.rank, 2U);
  ASSERT_EQ(y.dims[1], 3);
  const auto* row = static_cast<const float*>(y.data);
  EXPECT_THAT(std::vector<float>(row, row + 3), ElementsAre(30, 0, 10));

  keys.dims[0] = 2;
  keys.bytes = 2 * sizeof(std::int64_t);
  ASSERT_EQ(quern_session_set_input(session, 1, &keys, QUERN_COPY), QUERN_OK);
  EXPECT_EQ(quern_session_run(session), QUERN_INVALID_ARGUMENT);
}

// As many dimensions as a tensor has room for, and one more.
TEST_F(CApi, RanksUpToTheMost) {
  open({.nodes = {node("Neg", {"x"}, {"y"})},
        .inputs = {value("x", f32, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2})},
        .outputs = {Message().text(1, "y")}});
  const float numbers[] = {3, 4};
  quern_tensor t = QUERN_TENSOR_INIT;
  t.rank = QUERN_MAX_RANK;
  for (std::int64_t& d : t.dims) d = 1;
  t.dims[QUERN_MAX_RANK - 1] = 2;
  t.data = numbers;
  t.bytes = sizeof numbers;
  EXPECT_EQ(quern_session_set_input(session, 0, &t, QUERN_COPY), QUERN_OK) << quern_last_error();
  ASSERT_EQ(quern_session_run(session), QUERN_OK) << quern_last_error();
  t.rank = QUERN_MAX_RANK + 1;
  EXPECT_EQ(quern_session_set_input(session, 0, &t, QUERN_COPY), QUERN_INVALID_ARGUMENT);
  EXPECT_STREQ(quern_last_error(), "a tensor of rank 17, at most 16 are supported");
}

}  // namespace
}  // namespace quern
