// SPDX-License-Identifier: Apache-2.0
// With the host's memory and threads, nothing large, no thread and no variable of the environment
// goes around it, from reading a model to its last run.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <quern/artefact.h>
#include <quern/host.h>
#include <quern/onnx.h>

#include "tests/engine/allocation/around.h"
#include "tests/engine/allocation/counter.h"
#include "tests/engine/engine_models.h"
#include "tests/engine/engine_test.h"
#include "tests/expect.h"
#include "tests/onnx-parser/onnx_writer.h"
#include "tests/serial_pool.h"

namespace quern {
namespace {

using quern::testing::AroundHost;
using quern::testing::HostsOwn;
using quern::testing::must;
using quern::testing::pattern;
using quern::testing::SerialPool;

// Counts what it gives and gets back, and keeps sentences.
class CountingHost final : public Host {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    const HostsOwn own;
    if (bytes <= least_bytes || alignment > 64 || refuses) ++wrong;
    if (refuses) return nullptr;
    void* const block = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    std::fill_n(static_cast<std::byte*>(block), bytes, std::byte{0xee});  // of any content
    ++blocks;
    held += bytes;
    return block;
  }
  void free(void* block, std::size_t bytes, std::size_t) noexcept override {
    const HostsOwn own;
    held -= bytes;
    std::free(block);
  }
  void log(Level level, std::string_view sentence) noexcept override {
    const HostsOwn own;
    const std::scoped_lock lock(mutex_);
    sentences.push_back((level == Level::warning ? "warning: " : "info: ") + std::string(sentence));
  }

  std::atomic<std::size_t> held = 0;
  std::atomic<int> blocks = 0;
  std::atomic<int> wrong = 0;
  std::atomic<bool> refuses = false;
  std::vector<std::string> sentences;

 private:
  std::mutex mutex_;
};

class HostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::can_count_allocations()) GTEST_SKIP() << "malloc belongs to somebody else here";
  }
  CompileOptions options() const { return {.threads = 2, .thread_pool = pool, .host = host}; }

  // Nothing of the model goes around the host, and all of it is given back.
  void expect_none(const std::string& what, const std::function<void()>& work) {
    AroundHost around;
    work();
    const AroundHost::Counts counts = around.stop();
    std::printf(
        "%-24s %d blocks of the host; around it: %zu allocations, %zu maps, %zu threads, "
        "%zu of the environment; of oneDNN: %zu\n",
        what.c_str(), host->blocks.load(), counts.allocations, counts.maps, counts.threads,
        counts.environment, counts.onednn);
    EXPECT_EQ(counts.all_but_onednn(), 0U) << what << ", first from:" << around.first_caller();
    EXPECT_GT(host->blocks, 0) << what;
    EXPECT_EQ(host->held, 0U) << what;
    EXPECT_EQ(host->wrong, 0) << what;
  }

  void expect_none(const std::string& what, Model model, const Tensor& input) {
    expect_none(what, [&] {
      const auto executable = must(Executable::compile(std::move(model), nullptr, options()));
      const auto session = testing::session_of(executable);
      must(session->set_input(0, input.view()));
      must(session->run(), what.c_str());
      must(session->run(), what.c_str());
      EXPECT_GT(host->held, 0U) << what;
    });
  }

  std::shared_ptr<CountingHost> host = std::make_shared<CountingHost>();
  std::shared_ptr<SerialPool> pool = std::make_shared<SerialPool>(2);
};

TEST_F(HostTest, TheWatchSeesWhatGoesAround) {
  AroundHost around;
  std::free(std::malloc(100'000));
  std::free(std::malloc(1'000));
  std::vector<std::byte> large(80'000);
  setenv("QUERN_TEST_OF_THE_WATCH", "1", 1);
  unsetenv("QUERN_TEST_OF_THE_WATCH");
  std::thread([] {}).join();
  const auto mapped = must(Tensor::zeros({DType::f32, {1 << 20}}));
  const AroundHost::Counts counts = around.stop();
  EXPECT_GE(counts.allocations, 1U);  // the vector may be left out by a compiler
  EXPECT_EQ(counts.maps, 1U);
  EXPECT_EQ(counts.threads, 1U);
  EXPECT_EQ(counts.environment, 2U);
  EXPECT_NE(around.first_caller(), "");
}

TEST_F(HostTest, Digits) {
  expect_none("digits", [&] {
    Model model = must(load_onnx(QUERN_SOURCE_DIR "/examples/digits/digits.onnx",
                                 {.files = OnnxOptions::Files::read, .host = host}));
    const auto session =
        testing::session_of(must(Executable::compile(std::move(model), nullptr, options())));
    const Tensor x = pattern({1, 1, 28, 28});
    must(session->set_input(0, x.view()));
    must(session->run(), "digits");
  });
}

TEST_F(HostTest, ConvolutionOfSeveralImages) {
  const Tensor x = pattern({4, 3, 64, 64});
  expect_none("convolution", testing::conv_model(), x);
}

// Weights and results of a megabyte: what is mapped without a host.
TEST_F(HostTest, LargeProduct) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {300, 600});
  g.output("y", g.matmul(x, testing::weights(g, {600, 500}, 3)));
  Model model = must(g.build());
  const Tensor input = pattern({300, 600});
  expect_none("product", std::move(model), input);
}

// Values that a loop carries, which no plan knows.
TEST_F(HostTest, Loop) {
  const Tensor x = pattern({10'000, 8});
  expect_none("loop", testing::loop_model(), x);
}

TEST_F(HostTest, Artefact) {
  const auto executable = testing::compile(testing::conv_model());
  const Artefact artefact =
      must(Artefact::make(executable, {.shapes = {{Shape{4, 3, 64, 64}}}, .is_portable = true}));
  const std::string path = ::testing::TempDir() + "host_test.quern";
  must(artefact.write(path));
  const Tensor x = pattern({4, 3, 64, 64});
  for (const auto files : {OnnxOptions::Files::mapped, OnnxOptions::Files::read})
    expect_none("artefact", [&] {
      const auto loaded =
          must(load_artefact(path, nullptr, {.files = files, .compile = options()}));
      const auto session = testing::session_of(loaded);
      must(session->set_input(0, x.view()));
      must(session->run(), "artefact");
    });
  std::remove(path.c_str());
}

TEST_F(HostTest, RefusedMemoryIsAnErrorAndNothingIsLost) {
  const Tensor x = pattern({4, 3, 64, 64});
  auto executable = must(Executable::compile(testing::conv_model(), nullptr, options()));
  auto session = testing::session_of(executable);
  must(session->set_input(0, x.view()));
  host->refuses = true;
  EXPECT_EQ(session->run().code(), Code::out_of_memory);
  host->refuses = false;
  must(session->run(), "after memory was there again");
  session.reset();
  executable.reset();
  EXPECT_EQ(host->held, 0U);
}

TEST_F(HostTest, SentencesGoToTheLog) {
  CompileOptions asks = options();
  asks.threads = 1000;
  (void)must(Executable::compile(testing::conv_model(), nullptr, asks));
  EXPECT_ELEMENTS(host->sentences, {"warning: 1000 threads were asked for, 2 are used"});
  host->sentences.clear();
  namespace on = onnx_test;
  const std::string bytes =
      on::make_model(on::GraphParts{.nodes = {on::node("Relu", {"x"}, {"y"})},
                                    .inputs = {on::value("x", on::f32, {2})},
                                    .outputs = {on::value("y", on::f32, {7})}});
  (void)must(parse_onnx(std::as_bytes(std::span(bytes)), nullptr, {}, {.host = host}));
  EXPECT_ELEMENTS(host->sentences, {"warning: output 'y' is declared f32[7], but is f32[2]"});
}

}  // namespace
}  // namespace quern
