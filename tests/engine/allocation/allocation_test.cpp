// SPDX-License-Identifier: Apache-2.0
// A run on planned shapes takes nothing from the heap, in the engine or in its kernels.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include <quern/artefact.h>
#include <quern/decoder.h>

#include "graph/memory/pools/pool.h"
#include "tests/engine/allocation/counter.h"
#include "tests/engine/decoder_models.h"
#include "tests/engine/engine_models.h"
#include "tests/engine/test_models.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using quern::testing::AllocationCounter;
using quern::testing::must;
using quern::testing::pattern;

class AllocationTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!testing::can_count_allocations()) GTEST_SKIP() << "malloc belongs to somebody else here";
  }

  // Three runs each; the first two may plan and grow.
  void expect_none(Session& session, const std::string& what) {
    must(session.run());
    must(session.run());
    AllocationCounter counter;
    const Status status = session.run();
    const auto counts = counter.stop();
    must(status, what.c_str());
    EXPECT_EQ(counts.ours, 0U) << what << " with " << session.threads()
                               << " threads, first from:" << counter.first_caller();
    std::printf("%-24s %d threads: %zu in the engine, %zu (%zu bytes) in oneDNN, %zu kernels\n",
                what.c_str(), session.threads(), counts.ours, counts.onednn, counts.onednn_bytes,
                session.plan_info().steps.size());
  }

  void expect_none(Model model, const Tensor& input, const std::string& what) {
    const auto session = testing::session_of(testing::compile(std::move(model)), GetParam());
    must(session->set_input(0, input.view()));
    expect_none(*session, what);
  }
};

INSTANTIATE_TEST_SUITE_P(Threads, AllocationTest, ::testing::Values(1, 2));

// The counter itself sees malloc, new, and what a library of C takes.
TEST_P(AllocationTest, TheCounterCounts) {
  AllocationCounter counter;
  delete new int;
  std::free(std::malloc(1));
  std::free(std::aligned_alloc(64, 64));
  EXPECT_EQ(counter.stop().ours, 3U);
  EXPECT_NE(counter.first_caller(), "");
}

TEST_P(AllocationTest, Digits) {
  expect_none(must(load_onnx(QUERN_SOURCE_DIR "/examples/digits/digits.onnx")),
              pattern({1, 1, 28, 28}), "digits");
}

TEST_P(AllocationTest, Transformer) {
  expect_none(testing::transformer_model(), pattern({48, 32}), "transformer");
}

TEST_P(AllocationTest, Lstm) {
  expect_none(testing::lstm_model(), pattern({20, 1, 16}), "lstm");
}

// Known batches in turn: every plan was made before.
TEST_P(AllocationTest, ConvolutionOfSeveralBatches) {
  const auto session = testing::session_of(testing::compile(testing::conv_model()), GetParam());
  std::vector<Tensor> images;
  for (std::int64_t n : {1, 2, 4}) images.push_back(pattern({n, 3, 64, 64}));
  const auto run_all = [&] {
    for (const Tensor& image : images) {
      must(session->set_input(0, image.view()));
      must(session->run());
    }
  };
  run_all();
  run_all();
  AllocationCounter counter;
  run_all();
  EXPECT_EQ(counter.stop().ours, 0U) << counter.first_caller();
}

TEST_P(AllocationTest, BoundOutputsAndDeadlines) {
  const auto session = testing::session_of(testing::compile(testing::conv_model()), GetParam());
  const Tensor image = pattern({1, 3, 32, 32});
  std::vector<float> place(10);
  must(session->set_input(0, image.view()));
  must(session->bind_output(1, reinterpret_cast<std::byte*>(place.data()), 40));
  const auto later = std::chrono::steady_clock::now() + std::chrono::hours(1);
  must(session->run_until(later));
  AllocationCounter counter;
  const Status status = session->run_until(later);
  EXPECT_EQ(counter.stop().ours, 0U) << counter.first_caller();
  must(status);
}

// Shapes that depend on data: every segment was planned, and the pool has what they take.
TEST_P(AllocationTest, ShapesOfData) {
  for (const MemoryPoolKind& pool : pools()) {
    CompileOptions options;
    options.pool = pool.name;
    const auto executable = testing::compile(testing::chosen_rows_model(), "cpu", options);
    const auto session = testing::session_of(executable, GetParam());
    const Tensor x = pattern({64, 64});
    must(session->set_input(0, x.view()));
    std::vector<Tensor> choices;
    for (const std::int64_t n : {3, 40, 17}) choices.push_back(testing::first_rows(64, n));
    const auto run_all = [&] {
      for (const Tensor& choice : choices) {
        must(session->set_input(1, choice.view()));
        must(session->run());
      }
    };
    run_all();
    run_all();
    AllocationCounter counter;
    run_all();
    EXPECT_EQ(counter.stop().ours, 0U) << pool.name << counter.first_caller();
  }
}

// A token more: no allocation and no plan, and of the cache no row but its own is written.
TEST_P(AllocationTest, TokensOfADecoder) {
  const auto d = must(Decoder::open(testing::decoder_model(),
                                    {.capacity = 32, .session = {.threads = GetParam()}}));
  ASSERT_EQ(d->growth(), Decoder::Growth::in_place);
  const std::vector<std::int64_t> prompt = {1, 2, 3}, token = {4};
  must(d->append(prompt));
  must(d->append(token));
  must(d->append(token));
  const std::size_t plans = work_of(d->executable()).graphs;
  AllocationCounter counter;
  Status status;
  for (int i = 0; i < 20 && status.ok(); ++i) status = d->append(token);
  EXPECT_EQ(counter.stop().ours, 0U) << counter.first_caller();
  must(status);
  EXPECT_EQ(work_of(d->executable()).graphs, plans);
}

// The iterations of a loop have plans as well.
TEST_P(AllocationTest, Loop) {
  GraphBuilder g;
  const Operand x = g.input("x", DType::f32, {8, 8});
  const auto y = g.loop(g.scalar(5, DType::i64), {}, {x},
                        [](GraphBuilder& b, std::span<const Operand> in) -> Operands {
                          const Operand next = b.tanh(b.matmul(in[2], in[2]));
                          return {in[1], next, next};
                        });
  g.output("last", y.at(0));
  g.output("all", y.at(1));
  expect_none(must(g.build()), pattern({8, 8}), "loop");
}

// ---- the models of the test data, when they are there ------------------------------------------

// These models may allocate, for the reasons given. Models that do not allocate must not be here.
const std::map<std::string, std::string> exempt = {};

TEST_P(AllocationTest, ModelsOfTheTestData) {
  const auto folders = testing::model_folders();
  if (folders.empty()) GTEST_SKIP() << "no models in " << testing::models_folder();
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    if (exempt.contains(name)) continue;
    quern::testing::OpenedModel opened = testing::open_test_model(folder, GetParam());
    expect_none(*opened.session, name);
  }
}

}  // namespace
}  // namespace quern
