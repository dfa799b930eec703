// SPDX-License-Identifier: Apache-2.0
// Models of the same bytes as one graph: what it saves, what stays apart, what is charged.
#include <algorithm>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/wasi-nn/models.h"

namespace quern::wasi_nn_test {
namespace {

using namespace quern::wasi_nn;  // NOLINT

std::shared_ptr<Tenant> sharing(TenantOptions options = {}) {
  options.share_graphs = true;
  options.threads = 1;
  return Tenant::create(options);
}

Handle loaded(Instance& instance, std::string_view model, Target target = Target::cpu) {
  Handle graph = 0;
  const Bytes whole = as_bytes(model);
  const std::vector<Bytes> parts = {whole.first(whole.size() / 3), whole.subspan(whole.size() / 3)};
  const Error error = instance.load(parts, Encoding::onnx, target, &graph);
  EXPECT_TRUE(error.ok()) << error.text;
  return graph;
}

const SharedGraph* graph_of(Instance& instance, Handle handle) {
  std::shared_ptr<ChargedGraph> graph;
  return instance.graph(handle, &graph).ok() ? &graph->graph() : nullptr;
}

Handle context_of(Instance& instance, Handle graph) {
  Handle context = 0;
  EXPECT_TRUE(instance.init_execution_context(graph, std::nullopt, &context).ok());
  return context;
}

// This computes scale_model() with 3 for x, and returns the result, or 0 after an error.
float computed(Instance& instance, Handle context) {
  ContextUse use;
  TensorView view;
  const std::vector<float> x = {3};
  const bool ok = instance.use(context, &use).ok() &&
                  use.set_input(0, {DType::f32, {}}, as_bytes(x)).ok() && use.compute().ok() &&
                  use.output(0, &view).ok();
  return ok ? view.span<float>()[0] : 0;
}

// y = x * weights, with a million weights.
std::string large_model(char fill = 1) {
  onnx::GraphParts g;
  g.inputs = {onnx::value("x", onnx::f32, {1, 1000})};
  g.initializers = {
      onnx::raw_tensor("weights", onnx::f32, {1000, 1000}, std::string(4'000'000, fill))};
  g.nodes = {onnx::node("MatMul", {"x", "weights"}, {"y"})};
  g.outputs = {onnx::value("y", onnx::f32, {1, 1000})};
  return onnx::make_model(g);
}

TEST(Share, TheSecondLoadCostsNeitherBytesNorTime) {
  const auto tenant = sharing();
  const auto one = Instance::create(tenant), two = Instance::create(tenant);
  const std::string model = large_model();
  const Handle first = loaded(*one, model);
  (void)context_of(*one, first);
  const Figures before = tenant->figures();
  const Handle second = loaded(*one, model), third = loaded(*two, model);
  const Figures after = tenant->figures();
  EXPECT_EQ(graph_of(*one, first), graph_of(*one, second));
  EXPECT_EQ(graph_of(*one, first), graph_of(*two, third));
  EXPECT_LE(after.used.resident_bytes, before.used.resident_bytes + 2 * 1024);
  EXPECT_EQ(after.used.model_bytes, before.used.model_bytes);
  EXPECT_EQ(after.used.graphs, before.used.graphs + 2) << "handles count";
  EXPECT_EQ(after.activity.loads.ok, 3u);
  const auto compiling = after.activity.compile_time;
  (void)context_of(*two, third);
  EXPECT_LT(tenant->figures().activity.compile_time - compiling, std::chrono::milliseconds(1));
}

TEST(Share, UnloadingOneLeavesTheOther) {
  const auto tenant = sharing();
  const auto one = Instance::create(tenant);
  auto two = Instance::create(tenant);
  const Handle a = loaded(*one, scale_model(5)), b = loaded(*two, scale_model(5));
  const Handle in_a = context_of(*one, a), in_b = context_of(*two, b);
  EXPECT_EQ(computed(*one, in_a), 15);
  ASSERT_TRUE(one->unload(a).ok());
  EXPECT_EQ(computed(*one, in_a), 0) << "unloaded";
  EXPECT_EQ(computed(*two, in_b), 15);
  ASSERT_TRUE(one->finalize_execution_context(in_a).ok());
  EXPECT_EQ(computed(*two, in_b), 15);
  EXPECT_EQ(one->usage(), Counts());
  two.reset();
  EXPECT_EQ(tenant->usage(), Counts()) << "nothing keeps a graph that no handle has";
  const Handle again = loaded(*one, scale_model(5));
  EXPECT_EQ(computed(*one, context_of(*one, again)), 15);
}

TEST(Share, WhatDiffersIsApart) {
  const auto tenant = sharing();
  const auto instance = Instance::create(tenant);
  const std::string model = scale_model(5);
  const Handle first = loaded(*instance, model);
  EXPECT_NE(graph_of(*instance, first), graph_of(*instance, loaded(*instance, scale_model(6))));
  EXPECT_NE(graph_of(*instance, first), graph_of(*instance, loaded(*instance, model, Target::gpu)));
  for (std::size_t at = 0; at < model.size(); ++at) {  // no byte is overlooked
    std::string other = model;
    other[at] = static_cast<char>(other[at] ^ 0x40);
    const Bytes part = as_bytes(other);
    Handle graph = 0;
    if (!instance->load({&part, 1}, Encoding::onnx, Target::cpu, &graph).ok()) continue;
    EXPECT_NE(graph_of(*instance, first), graph_of(*instance, graph)) << at;
    EXPECT_TRUE(instance->unload(graph).ok());
  }
  const auto other = Instance::create(sharing());
  EXPECT_NE(graph_of(*instance, first), graph_of(*other, loaded(*other, model)))
      << "another tenant";
  const auto plain = Instance::create(Tenant::create());
  EXPECT_NE(graph_of(*plain, loaded(*plain, model)), graph_of(*plain, loaded(*plain, model)));
}

TEST(Share, TakesInNamedBytes) {
  const auto tenant = sharing();
  const std::string model = scale_model(5);
  ASSERT_TRUE(tenant->add_bytes("five", as_bytes(model)).ok());
  const std::uint64_t held = tenant->usage().model_bytes;
  const auto instance = Instance::create(tenant);
  Handle named = 0;
  ASSERT_TRUE(instance->load_by_name("five", &named).ok());
  const Handle own = loaded(*instance, model);
  EXPECT_EQ(graph_of(*instance, named), graph_of(*instance, own));
  EXPECT_EQ(tenant->usage().model_bytes, held);
  ASSERT_TRUE(tenant->remove("five").ok());
  EXPECT_EQ(computed(*instance, context_of(*instance, own)), 15);
}

// An instance cannot get past its own limits by what others have loaded.
TEST(Share, InstancesAreChargedForTheirHandles) {
  const std::string model = large_model();
  const auto tenant = sharing();
  Limits small;
  small.most.model_bytes = model.size() + model.size() / 2;
  const auto one = Instance::create(tenant), two = Instance::create(tenant, small);
  (void)loaded(*one, model);
  (void)loaded(*two, model);
  EXPECT_EQ(two->usage().model_bytes, model.size());
  EXPECT_EQ(tenant->usage().model_bytes, model.size());
  const Bytes part = as_bytes(model);
  Handle graph = 0;
  EXPECT_EQ(two->load({&part, 1}, Encoding::onnx, Target::cpu, &graph).code, Errno::too_large);
  EXPECT_EQ(two->usage().model_bytes, model.size());
}

TEST(Share, ATenantsLimitCountsOnce) {
  const std::string model = large_model();
  TenantOptions options;
  options.limits.most.model_bytes = model.size() + 1000;
  const auto tenant = sharing(options);
  const auto instance = Instance::create(tenant);
  (void)loaded(*instance, model);
  (void)loaded(*instance, model);
  const std::string other = large_model(2);
  const Bytes part = as_bytes(other);
  Handle graph = 0;
  EXPECT_EQ(instance->load({&part, 1}, Encoding::onnx, Target::cpu, &graph).code, Errno::too_large);
}

TEST(Share, ManyThreadsLoadAndUnload) {
  const auto tenant = sharing();
  const auto work = [&](float factor) {
    const auto instance = Instance::create(tenant);
    for (int i = 0; i < 20; ++i) {
      const Handle graph = loaded(*instance, scale_model(factor));
      const Handle context = context_of(*instance, graph);
      EXPECT_EQ(computed(*instance, context), 3 * factor);
      EXPECT_TRUE(instance->unload(graph).ok());
      EXPECT_TRUE(instance->finalize_execution_context(context).ok());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, static_cast<float>(2 + i % 2));
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(tenant->usage(), Counts());
}

}  // namespace
}  // namespace quern::wasi_nn_test
