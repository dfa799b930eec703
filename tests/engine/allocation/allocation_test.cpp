// SPDX-License-Identifier: Apache-2.0
// A run on planned shapes takes nothing from the heap, in the engine or in its kernels.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <quern/onnx.h>

#include "frontends/onnx-parser/onnx_parser.h"
#include "graph/graph.h"
#include "tests/engine/allocation/counter.h"
#include "tests/engine/engine_models.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using testing::AllocationCounter;
using testing::must;
using testing::pattern;

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

// What they may allocate, with the reason. Nothing may stand here that does not.
const std::map<std::string, std::string> exempt = {};

fs::path models_folder() {
  const char* given = std::getenv("QUERN_TEST_MODELS");
  return given ? fs::path(given) : fs::path(QUERN_SOURCE_DIR) / ".." / "shared" / "models";
}

std::vector<fs::path> model_folders() {
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(models_folder(), ignored))
    if (fs::exists(entry.path() / "test_data_set_0")) folders.push_back(entry.path());
  std::ranges::sort(folders);
  return folders;
}

Status set_inputs(Session& session, const Graph& graph, const fs::path& set,
                  std::vector<OnnxValue>& values) {
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const fs::path file = set / ("input_" + std::to_string(i) + ".pb");
    QUERN_ASSIGN(values.emplace_back(),
                 read_tensor_file(file.string(), graph.type(graph.inputs()[i])));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    Tensor& t = values[i].tensors.at(0);
    QUERN_ASSIGN(t, Tensor::copy_of(t.type(), {t.data(), t.bytes()}));  // a file aligns nothing
    QUERN_TRY(session.set_input(i, t.view()));
  }
  return {};
}

TEST_P(AllocationTest, ModelsOfTheTestData) {
  const auto folders = model_folders();
  if (folders.empty()) GTEST_SKIP() << "no models in " << models_folder();
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    if (exempt.contains(name)) continue;
    Model model = must(load_onnx((folder / "model.onnx").string()), name.c_str());
    const Model declared = model.clone();
    const auto session = testing::session_of(testing::compile(std::move(model)), GetParam());
    std::vector<OnnxValue> values;
    must(set_inputs(*session, declared.graph(), folder / "test_data_set_0", values), name.c_str());
    expect_none(*session, name);
  }
}

}  // namespace
}  // namespace quern
