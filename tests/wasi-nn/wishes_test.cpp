// SPDX-License-Identifier: Apache-2.0
// The public discussions of WebAssembly/wasi-nn ask for these features; each one has a test.
#include <chrono>
#include <mutex>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <quern/artefact.h>
#include <quern/onnx.h>

#include "tests/expect.h"
#include "tests/wasi-nn/guest.h"

namespace quern::wasi_nn_test {
namespace {

using namespace quern::wasi_nn;  // NOLINT
using ::testing::ElementsAre;

Handle must_load(Instance& instance, const std::string& model, Target target = Target::cpu) {
  Handle graph = 0;
  const Bytes part = as_bytes(model);
  const Error error = instance.load({&part, 1}, Encoding::onnx, target, &graph);
  EXPECT_TRUE(error.ok()) << error.text;
  return graph;
}

std::vector<float> run(Instance& instance, Handle context, const std::vector<float>& x) {
  ContextUse use;
  TensorView y;
  EXPECT_TRUE(instance.use(context, &use).ok());
  const Shape shape{static_cast<std::int64_t>(x.size())};
  EXPECT_TRUE(use.set_input(0, {DType::f32, shape}, as_bytes(x)).ok());
  EXPECT_TRUE(use.compute().ok());
  const Error error = use.output(0, &y);
  if (!error.ok()) return {};
  return {y.span<float>().begin(), y.span<float>().end()};
}

bool has_gpu() {
  const std::string model = identity_model();
  const Bytes part = as_bytes(model);
  auto graph = SharedGraph::load({&part, 1});
  return graph && (*graph)->executable(Target::gpu);
}

// "Should the target be given to load, or to the context?" Both: load's is a hint, compiled when
// the first context wants it, and a context may say otherwise.
TEST(Issue31, TheTargetIsLoadsOrTheContexts) {
  std::mutex mutex;
  std::string log;
  TenantOptions options;
  options.log = [&](std::string_view text) {
    const std::lock_guard lock(mutex);
    log += text;
  };
  const auto lenient = Instance::create(Tenant::create(options));
  options.gpu_or_nothing = true;
  const auto strict = Instance::create(Tenant::create(options));

  Handle context = 0;
  const Handle anywhere = must_load(*lenient, identity_model(), Target::gpu);
  ASSERT_TRUE(lenient->init_execution_context(anywhere, std::nullopt, &context).ok());
  EXPECT_THAT(run(*lenient, context, {1, 2}), ElementsAre(1, 2));
  EXPECT_EQ(log.find("the GPU was wanted") == std::string::npos, has_gpu());

  const Handle graph = must_load(*strict, identity_model(), Target::gpu);
  const Error error = strict->init_execution_context(graph, std::nullopt, &context);
  EXPECT_EQ(error.code, has_gpu() ? Errno::success : Errno::unsupported_operation);
  ASSERT_TRUE(strict->init_execution_context(graph, Target::cpu, &context).ok());
  EXPECT_THAT(run(*strict, context, {3, 4}), ElementsAre(3, 4));
}

TEST(Issue31, TheTargetIsTheCpuWhereThereIsNoGpu) {
  quern::testing::expect_passes_with("VK_DRIVER_FILES=/dev/null VK_ICD_FILENAMES=/dev/null",
                                     "Issue31.TheTargetIsLoadsOrTheContexts");
}

// The host may have the last word.
TEST(Issue31, TheHostSaysWhereModelsRunWhateverGuestsAskFor) {
  TenantOptions options;
  options.everywhere = Target::cpu;
  options.gpu = "vulkan:none such";
  options.gpu_or_nothing = true;
  const auto on_cpu = Instance::create(Tenant::create(options));
  options.everywhere = Target::gpu;
  const auto on_gpu = Instance::create(Tenant::create(options));

  Handle context = 0;
  const Handle wants_gpu = must_load(*on_cpu, identity_model(), Target::gpu);
  ASSERT_TRUE(on_cpu->init_execution_context(wants_gpu, Target::gpu, &context).ok());
  EXPECT_THAT(run(*on_cpu, context, {1, 2}), ElementsAre(1, 2));

  const Handle wants_cpu = must_load(*on_gpu, identity_model(), Target::cpu);
  const Error error = on_gpu->init_execution_context(wants_cpu, Target::cpu, &context);
  EXPECT_FALSE(error.ok()) << "the GPU of this tenant does not exist";
  EXPECT_NE(error.text.find("none such"), std::string::npos) << error.text;
}

// "Preloaded models under names": in a registry that the host attaches, loaded and compiled once.
TEST(Issue36, NamedModelsAreCompiledOnceForAllInstances) {
  using Clock = std::chrono::steady_clock;
  const std::string model = slow_model();
  const auto tenant = Tenant::create();
  const auto start = Clock::now();
  ASSERT_TRUE(tenant->add_bytes("model", as_bytes(model)).ok());
  const auto first = Clock::now() - start;

  auto next = Clock::duration::max();
  for (int i = 0; i < 20; ++i) {
    const auto before = Clock::now();
    const auto instance = Instance::create(tenant);
    Handle graph = 0;
    ASSERT_TRUE(instance->load_by_name("model", &graph).ok());
    next = std::min(next, Clock::now() - before);
  }
  const double share = double(next.count()) / double(first.count());
  std::printf("load: %.0f us for the first, %.2f us for the next instance\n",
              std::chrono::duration<double, std::micro>(first).count(),
              std::chrono::duration<double, std::micro>(next).count());
  EXPECT_LT(share, 0.01);

  Handle graph = 0;
  EXPECT_EQ(Instance::create(Tenant::create())->load_by_name("model", &graph).code,
            Errno::not_found);
}

// A named model may be a file that is compiled already; what a guest sends may not.
TEST(Issue36, ANamedModelMayBeAnArtefact) {
  const std::string model = identity_model();
  auto parsed = parse_onnx(as_bytes(model), nullptr);
  ASSERT_TRUE(parsed);
  const auto executable = Executable::compile(std::move(*parsed));
  ASSERT_TRUE(executable);
  const Artefact artefact = std::move(Artefact::make(*executable)).value();
  const std::string path = ::testing::TempDir() + "named-" + std::to_string(getpid()) + ".quern";
  ASSERT_TRUE(artefact.write(path).ok());
  const auto tenant = Tenant::create();
  ASSERT_TRUE(tenant->add_file("net", path).ok());
  const auto instance = Instance::create(tenant);
  Handle graph = 0;
  ASSERT_TRUE(instance->load_by_name("net", &graph).ok());
  Handle context = 0;
  ASSERT_TRUE(instance->init_execution_context(graph, std::nullopt, &context).ok());
  EXPECT_THAT(run(*instance, context, {3, 4}), ElementsAre(3, 4));
  std::string bytes;
  for (const std::string_view piece : artefact.pieces()) bytes += piece;
  const Bytes parts[] = {as_bytes(bytes)};
  EXPECT_FALSE(instance->load(parts, Encoding::onnx, Target::cpu, &graph).ok());
  unlink(path.c_str());
}

// "Unload graphs, end contexts, address tensors by name."
TEST(Issue41, WhatWasMadeCanBeGivenBack) {
  const auto tenant = Tenant::create();
  FakeGuest guest(Instance::create(tenant));
  const std::string model = identity_model();
  const std::uint32_t builder =
      guest.put_words({guest.put(as_bytes(model)), std::uint32_t(model.size())});
  ASSERT_EQ(guest.call("load", {builder, 1, 1, 0, 0}), 0u);
  ASSERT_EQ(guest.call("init_execution_context", {1, 0}), 0u);
  EXPECT_THAT(run(guest.instance(), 2, {7}), ElementsAre(7));
  EXPECT_GT(tenant->usage().resident_bytes, 0u);
  EXPECT_EQ(guest.call("finalize_execution_context", {2}), 0u);
  EXPECT_EQ(guest.call("unload", {1}), 0u);
  EXPECT_EQ(tenant->usage(), Counts());
}

// A host that says nothing: enough for any guest that does nothing unusual.
TEST(Limits, AreUsualOnesWhereTheHostSetsNone) {
  const auto tenant = Tenant::create();
  const auto instance = Instance::create(tenant);
  const Handle graph = must_load(*instance, identity_model());
  Handle context = 0;
  for (int i = 0; i < 64; ++i)
    EXPECT_TRUE(instance->init_execution_context(graph, std::nullopt, &context).ok());
  EXPECT_EQ(instance->init_execution_context(graph, std::nullopt, &context).code, Errno::too_large);
  for (int i = 1; i < 16; ++i) must_load(*instance, identity_model());
  const std::string model = identity_model();
  const Bytes part = as_bytes(model);
  Handle one_more = 0;
  EXPECT_EQ(instance->load({&part, 1}, Encoding::onnx, Target::cpu, &one_more).code,
            Errno::too_large);
}

TEST(Issue41, InputsAndOutputsHaveNames) {
  const auto instance = Instance::create(Tenant::create());
  const Handle graph = must_load(*instance, add_model());
  Handle context = 0;
  ASSERT_TRUE(instance->init_execution_context(graph, std::nullopt, &context).ok());
  ContextUse use;
  ASSERT_TRUE(instance->use(context, &use).ok());
  std::size_t index = 9;
  EXPECT_TRUE(use.input_index("b", &index).ok());
  EXPECT_EQ(index, 1u);
  EXPECT_TRUE(use.output_index("sum", &index).ok());
  EXPECT_EQ(index, 0u);
  EXPECT_EQ(use.input_index("sum", &index).code, Errno::not_found);
}

// "Drop set-input and get-output": named tensors in, named tensors out, and no context to care for.
TEST(Issue43, ComputesWithoutAContext) {
  const auto instance = Instance::create(Tenant::create());
  const Handle graph = must_load(*instance, scale_model(3));
  const float two = 2;
  const std::vector<NamedTensor> inputs = {
      {"x", {{DType::f32, {}}, reinterpret_cast<const std::byte*>(&two)}}};
  std::vector<NamedOutput> outputs;
  const Counts before = instance->usage();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(instance->compute(graph, inputs, &outputs).ok());
    EXPECT_EQ(outputs.at(0).name, "y");
    EXPECT_THAT(outputs.at(0).tensor.span<float>(), ElementsAre(6));
  }
  EXPECT_EQ(instance->usage().contexts, before.contexts);
  EXPECT_EQ(instance->usage().tensor_bytes, before.tensor_bytes);
}

TEST(Issue43, AComputeByNamesRemembersNoInputs) {
  const auto instance = Instance::create(Tenant::create());
  const Handle graph = must_load(*instance, add_model());
  Handle context = 0;
  ASSERT_TRUE(instance->init_execution_context(graph, std::nullopt, &context).ok());
  const std::vector<float> row = {1, 2, 3, 4};
  const NamedTensor a = {"a", {{DType::f32, {1, 4}}, as_bytes(row).data()}};
  const NamedTensor b = {"b", {{DType::f32, {4}}, as_bytes(row).data()}};
  const std::vector<NamedTensor> both = {a, b}, half = {a}, twice = {a, b, b};
  std::vector<NamedOutput> outputs;
  ContextUse use;
  ASSERT_TRUE(instance->use(context, &use).ok());
  ASSERT_TRUE(use.compute(both, &outputs).ok());
  EXPECT_EQ(use.compute(half, &outputs).code, Errno::invalid_argument);
  EXPECT_EQ(use.compute(twice, &outputs).code, Errno::invalid_argument);
  EXPECT_TRUE(use.compute(both, &outputs).ok());
}

// A device that counts, and answers zeros.
TEST(Wishes, GraphsOnOneGpuShareItsDeviceWhileAnyExists) {
  const std::string model = identity_model();
  const Bytes part = as_bytes(model);
  const auto load = [&](const char* gpu) {
    auto graph = SharedGraph::load({&part, 1}, {.gpu = gpu});
    EXPECT_TRUE(graph);
    return *graph;
  };
  const auto device_of = [](const std::shared_ptr<SharedGraph>& graph, Target target) {
    const auto executable = graph->executable(target);
    EXPECT_TRUE(executable) << executable.error().message();
    return &(*executable)->device();
  };
  const auto one = load("null"), two = load("null"), other = load("null,regions");
  const auto* device = device_of(one, Target::gpu);
  EXPECT_EQ(device->info().name, "null");
  EXPECT_EQ(device_of(two, Target::gpu), device);
  EXPECT_EQ(device_of(one, Target::gpu), device) << "compiled once";
  EXPECT_NE(device_of(other, Target::gpu), device);
  EXPECT_EQ(device_of(one, Target::cpu)->info().kind, DeviceInfo::Kind::cpu);
  EXPECT_EQ(one->executable(Target::tpu).error().code(), Code::unsupported);
  EXPECT_EQ(load("none such")->executable(Target::gpu).error().code(), Code::unsupported)
      << "not_found is of names";
  const Code of_options = open_device("vulkan,none such").error().code();
  EXPECT_EQ(load("vulkan,none such")->executable(Target::gpu).error().code(),
            of_options == Code::not_found ? Code::unsupported : of_options);
}

}  // namespace
}  // namespace quern::wasi_nn_test
