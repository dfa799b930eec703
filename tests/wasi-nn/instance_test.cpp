// SPDX-License-Identifier: Apache-2.0
// The typed layer: graphs, contexts, names, limits and what is left when all is gone.
#include "frontends/wasi-nn/instance.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"
#include "tests/sanitized.h"
#include "tests/wasi-nn/models.h"

namespace quern::wasi_nn_test {
namespace {

using namespace quern::wasi_nn;  // NOLINT
using ::testing::ElementsAre;

std::shared_ptr<Instance> instance_with(const Limits& tenant, const Limits& instance = {}) {
  TenantOptions options;
  options.limits = tenant;
  options.threads = 1;
  return Instance::create(Tenant::create(options), instance);
}

Errno load(Instance& instance, const std::string& model, Handle* graph) {
  const Bytes part = as_bytes(model);
  return instance.load({&part, 1}, Encoding::onnx, Target::cpu, graph).code;
}

Handle must_load(Instance& instance, const std::string& model) {
  Handle graph = 0;
  EXPECT_EQ(load(instance, model, &graph), Errno::success);
  return graph;
}

Handle must_init(Instance& instance, Handle graph) {
  Handle context = 0;
  const Error error = instance.init_execution_context(graph, std::nullopt, &context);
  EXPECT_TRUE(error.ok()) << error.text;
  return context;
}

Errno set(Instance& instance, Handle context, std::size_t index, const std::vector<float>& values,
          const Shape& shape) {
  ContextUse use;
  if (const Error error = instance.use(context, &use); !error.ok()) return error.code;
  return use.set_input(index, {DType::f32, shape}, as_bytes(values)).code;
}

Errno compute(Instance& instance, Handle context) {
  ContextUse use;
  if (const Error error = instance.use(context, &use); !error.ok()) return error.code;
  return use.compute().code;
}

std::vector<float> floats(Instance& instance, Handle context, std::size_t index = 0) {
  ContextUse use;
  TensorView view;
  EXPECT_TRUE(instance.use(context, &use).ok());
  const Error error = use.output(index, &view);
  EXPECT_TRUE(error.ok()) << error.text;
  if (!error.ok()) return {};
  const auto span = view.span<float>();
  return {span.begin(), span.end()};
}

// ---- graphs and contexts -----------------------------------------------------------------------

TEST(Instance, ComputesByIndexWithAnyBatch) {
  const auto instance = instance_with({});
  const Handle context = must_init(*instance, must_load(*instance, add_model()));
  ASSERT_EQ(set(*instance, context, 1, {10, 20, 30, 5}, {4}), Errno::success);
  ASSERT_EQ(set(*instance, context, 0, {1, 2, 3, 4}, {1, 4}), Errno::success);
  ASSERT_EQ(compute(*instance, context), Errno::success);
  EXPECT_THAT(floats(*instance, context), ElementsAre(11, 22, 33, 9));
  ASSERT_EQ(set(*instance, context, 0, {0, 0, 0, 0, 90, 0, 0, 0}, {2, 4}), Errno::success);
  ASSERT_EQ(compute(*instance, context), Errno::success);
  EXPECT_THAT(floats(*instance, context), ElementsAre(10, 20, 30, 5, 100, 20, 30, 5));
}

TEST(Instance, ComputesNamedTensorsWithoutAContext) {
  const auto instance = instance_with({});
  const Handle graph = must_load(*instance, add_model());
  const std::vector<float> a = {1, 2, 3, 4}, b = {0, 9, 0, 0};
  const std::vector<NamedTensor> inputs = {{"b", {{DType::f32, {4}}, as_bytes(b).data()}},
                                           {"a", {{DType::f32, {1, 4}}, as_bytes(a).data()}}};
  std::vector<NamedOutput> outputs;
  ASSERT_EQ(instance->compute(graph, inputs, &outputs).code, Errno::success);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].name, "sum");
  EXPECT_THAT(outputs[0].tensor.span<float>(), ElementsAre(1, 11, 3, 4));
  EXPECT_EQ(outputs[1].name, "arg");
  EXPECT_THAT(outputs[1].tensor.span<std::int64_t>(), ElementsAre(1));
  EXPECT_EQ(instance->usage().contexts, 0u);

  const std::vector<NamedTensor> wrong = {{"c", inputs[0].tensor}};
  const Error error = instance->compute(graph, wrong, &outputs);
  EXPECT_EQ(error.code, Errno::not_found);
  EXPECT_CONTAINS(error.text, "'c'");
}

TEST(Instance, PutsAModelTogetherFromItsParts) {
  const auto instance = instance_with({});
  const std::string model = add_model();
  const std::vector<Bytes> parts = {as_bytes(model).first(7), as_bytes(model).subspan(7)};
  Handle graph = 0;
  EXPECT_EQ(instance->load(parts, Encoding::autodetect, Target::cpu, &graph).code, Errno::success);
}

TEST(Instance, DescribesInputsAndOutputs) {
  const auto instance = instance_with({});
  std::shared_ptr<ChargedGraph> graph;
  ASSERT_TRUE(instance->graph(must_load(*instance, add_model()), &graph).ok());
  ASSERT_EQ(graph->graph().inputs().size(), 2u);
  EXPECT_EQ(graph->graph().inputs()[0].name, "a");
  EXPECT_THAT(graph->graph().inputs()[0].dims, ElementsAre(-1, 4));
  EXPECT_EQ(graph->graph().outputs()[1].dtype, DType::i64);
}

TEST(Instance, KeepsAnOutputWhileInputsChange) {
  const auto instance = instance_with({});
  const Handle context = must_init(*instance, must_load(*instance, identity_model()));
  ASSERT_EQ(set(*instance, context, 0, {1, 2}, {2}), Errno::success);
  ASSERT_EQ(compute(*instance, context), Errno::success);
  ASSERT_EQ(set(*instance, context, 0, {3, 4}, {2}), Errno::success);
  EXPECT_THAT(floats(*instance, context), ElementsAre(1, 2));
  ASSERT_EQ(set(*instance, context, 0, std::vector<float>(5000, 7), {5000}), Errno::success);
  EXPECT_THAT(floats(*instance, context), ElementsAre(1, 2));
}

TEST(Instance, KeepsAnInputThatARejectedOneWouldHaveReplaced) {
  const auto instance = instance_with({});
  const Handle context = must_init(*instance, must_load(*instance, identity_model()));
  ASSERT_EQ(set(*instance, context, 0, {1, 2}, {2}), Errno::success);
  EXPECT_EQ(set(*instance, context, 0, {3, 4}, {1, 2}), Errno::invalid_argument);
  EXPECT_EQ(set(*instance, context, 0, {3, 4}, {3}), Errno::invalid_argument);
  EXPECT_EQ(set(*instance, context, 1, {3, 4}, {2}), Errno::invalid_argument);
  ASSERT_EQ(compute(*instance, context), Errno::success);
  EXPECT_THAT(floats(*instance, context), ElementsAre(1, 2));
}

TEST(Instance, TakesOneElementForAScalar) {
  const auto instance = instance_with({});
  const Handle context = must_init(*instance, must_load(*instance, scale_model(3)));
  for (const Shape& shape : {Shape{1}, Shape{}}) {
    ASSERT_EQ(set(*instance, context, 0, {2}, shape), Errno::success);
    ASSERT_EQ(compute(*instance, context), Errno::success);
    EXPECT_THAT(floats(*instance, context), ElementsAre(6));
  }
  const Handle vector = must_init(*instance, must_load(*instance, identity_model()));
  EXPECT_EQ(set(*instance, vector, 0, {2}, Shape{1, 1}), Errno::invalid_argument);
  EXPECT_EQ(set(*instance, vector, 0, {2}, Shape{}), Errno::success);
}

TEST(Instance, TellsRunTimeFailuresFromMissingInputs) {
  const auto instance = instance_with({});
  const Handle context = must_init(*instance, must_load(*instance, product_model()));
  EXPECT_EQ(compute(*instance, context), Errno::invalid_argument);
  ASSERT_EQ(set(*instance, context, 0, {1, 2, 3}, {1, 3}), Errno::success);
  ASSERT_EQ(set(*instance, context, 1, {1, 2}, {2, 1}), Errno::success);
  EXPECT_EQ(compute(*instance, context), Errno::runtime_error);
  ASSERT_EQ(set(*instance, context, 1, {1, 1, 1}, {3, 1}), Errno::success);
  ASSERT_EQ(compute(*instance, context), Errno::success);
  EXPECT_THAT(floats(*instance, context), ElementsAre(6));
}

TEST(Instance, SaysThatAContextIsBusyAndOnlyThatOne) {
  const auto instance = instance_with({});
  const Handle graph = must_load(*instance, identity_model());
  const Handle one = must_init(*instance, graph), other = must_init(*instance, graph);
  ContextUse use;
  ASSERT_TRUE(instance->use(one, &use).ok());
  std::thread([&] {
    EXPECT_EQ(set(*instance, one, 0, {1}, {1}), Errno::busy);
    EXPECT_EQ(instance->finalize_execution_context(one).code, Errno::busy);
    EXPECT_EQ(set(*instance, other, 0, {1}, {1}), Errno::success);
    EXPECT_EQ(compute(*instance, other), Errno::success);
  }).join();
}

TEST(Instance, LetsThreadsComputeInContextsOfTheirOwn) {
  const auto instance = instance_with({});
  const Handle graph = must_load(*instance, identity_model());
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        const Handle context = must_init(*instance, graph);
        const std::vector<float> values(static_cast<std::size_t>(1 + round % 9), float(t));
        const Shape shape{static_cast<std::int64_t>(values.size())};
        if (set(*instance, context, 0, values, shape) == Errno::success &&
            compute(*instance, context) == Errno::success && floats(*instance, context) == values)
          ++right;
        EXPECT_TRUE(instance->finalize_execution_context(context).ok());
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 200);
}

// ---- names -------------------------------------------------------------------------------------

TEST(Tenant, ResolvesNamesForItsOwnInstancesOnly) {
  const auto first = Tenant::create(), second = Tenant::create();
  const std::string twice = scale_model(2), thrice = scale_model(3);
  ASSERT_TRUE(first->add_bytes("model", as_bytes(twice)).ok());
  ASSERT_TRUE(second->add_bytes("model", as_bytes(thrice)).ok());
  ASSERT_TRUE(first->add_bytes("mine", as_bytes(twice)).ok());
  const std::vector<std::pair<std::shared_ptr<Tenant>, float>> wanted = {{first, 4}, {second, 6}};
  for (const auto& [tenant, result] : wanted) {
    const auto instance = Instance::create(tenant);
    Handle graph = 0;
    ASSERT_TRUE(instance->load_by_name("model", &graph).ok());
    const Handle context = must_init(*instance, graph);
    ASSERT_EQ(set(*instance, context, 0, {2}, {1}), Errno::success);
    ASSERT_EQ(compute(*instance, context), Errno::success);
    EXPECT_THAT(floats(*instance, context), ElementsAre(result));
  }
  Handle graph = 7;
  EXPECT_EQ(Instance::create(second)->load_by_name("mine", &graph).code, Errno::not_found);
  EXPECT_EQ(graph, 7u);
}

TEST(Tenant, CompilesANamedModelOnceForAllInstances) {
  const auto tenant = Tenant::create();
  const std::string model = add_model();
  ASSERT_TRUE(tenant->add_bytes("add", as_bytes(model)).ok());
  const auto one = Instance::create(tenant), two = Instance::create(tenant);
  Handle first = 0, second = 0;
  ASSERT_TRUE(one->load_by_name("add", &first).ok());
  ASSERT_TRUE(two->load_by_name("add", &second).ok());
  std::shared_ptr<ChargedGraph> a, b;
  ASSERT_TRUE(one->graph(first, &a).ok());
  ASSERT_TRUE(two->graph(second, &b).ok());
  EXPECT_EQ(*a->graph().executable(Target::cpu), *b->graph().executable(Target::cpu));
  EXPECT_EQ(tenant->usage().model_bytes, model.size());
  EXPECT_EQ(one->usage().model_bytes, 0u);
}

TEST(Tenant, GivesEachLoadByNameAHandleOfItsOwn) {
  const auto tenant = Tenant::create();
  const std::string model = scale_model(2);
  ASSERT_TRUE(tenant->add_bytes("m", as_bytes(model)).ok());
  const auto instance = Instance::create(tenant);
  Handle one = 0, two = 0;
  ASSERT_TRUE(instance->load_by_name("m", &one).ok());
  ASSERT_TRUE(instance->load_by_name("m", &two).ok());
  EXPECT_NE(one, two);
  ASSERT_TRUE(instance->unload(one).ok());
  EXPECT_NE(must_init(*instance, two), 0u);
}

TEST(Tenant, TakesAndDropsModelsWhileGuestsRun) {
  const auto tenant = Tenant::create();
  const auto instance = Instance::create(tenant);
  const std::string model = scale_model(2);
  Handle graph = 0;
  EXPECT_EQ(instance->load_by_name("late", &graph).code, Errno::not_found);
  ASSERT_TRUE(tenant->add_bytes("late", as_bytes(model)).ok());
  EXPECT_EQ(tenant->add_bytes("late", as_bytes(model)).code, Errno::invalid_argument);
  ASSERT_TRUE(instance->load_by_name("late", &graph).ok());
  ASSERT_TRUE(tenant->remove("late").ok());
  EXPECT_EQ(tenant->remove("late").code, Errno::not_found);
  Handle again = 0;
  EXPECT_EQ(instance->load_by_name("late", &again).code, Errno::not_found);
  EXPECT_GT(tenant->usage().model_bytes, 0u);  // the handle that is left
  EXPECT_NE(must_init(*instance, graph), 0u);
  ASSERT_TRUE(instance->unload(graph).ok());
}

TEST(Tenant, SharesAGraphWithAnotherTenantWhenTheHostSaysSo) {
  const std::string model = scale_model(2);
  const Bytes part = as_bytes(model);
  auto graph = SharedGraph::load({&part, 1});
  ASSERT_TRUE(graph);
  const auto first = Tenant::create(), second = Tenant::create();
  EXPECT_TRUE(first->add("shared", *graph).ok());
  EXPECT_TRUE(second->add("shared", *graph).ok());
  EXPECT_EQ(second->usage().model_bytes, model.size());
}

TEST(Tenant, ReadsFilesOfTheHost) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "wasi_nn_scale.onnx";
  std::ofstream(path, std::ios::binary) << scale_model(2);
  const auto tenant = Tenant::create();
  EXPECT_TRUE(tenant->add_file("file", path.string()).ok());
  EXPECT_EQ(tenant->add_file("none", path.string() + ".none").code, Errno::not_found);
  EXPECT_THAT(tenant->names(), ElementsAre("file"));
  std::filesystem::remove(path);
}

// ---- limits ------------------------------------------------------------------------------------

Limits at_most(Resource resource, std::uint64_t n) {
  Limits limits;
  limits.most.*resource = n;
  return limits;
}

TEST(Limits, CountModelBytesToTheByte) {
  const std::string model = add_model();
  Handle graph = 0;
  for (const bool of_tenant : {true, false}) {
    const Limits exact = at_most(&Counts::model_bytes, model.size());
    const Limits less = at_most(&Counts::model_bytes, model.size() - 1);
    const auto fits = of_tenant ? instance_with(exact) : instance_with({}, exact);
    EXPECT_EQ(load(*fits, model, &graph), Errno::success);
    EXPECT_EQ(load(*fits, model, &graph), Errno::too_large);
    const auto tight = of_tenant ? instance_with(less) : instance_with({}, less);
    EXPECT_EQ(load(*tight, model, &graph), Errno::too_large);
    EXPECT_EQ(tight->usage(), Counts());
    EXPECT_EQ(tight->tenant().usage(), Counts());
  }
}

TEST(Limits, CountTensorBytesToTheByte) {
  const auto instance = instance_with({}, at_most(&Counts::tensor_bytes, 40));
  const Handle graph = must_load(*instance, identity_model());
  const Handle one = must_init(*instance, graph), two = must_init(*instance, graph);
  EXPECT_EQ(set(*instance, one, 0, std::vector<float>(11), {11}), Errno::too_large);
  EXPECT_EQ(set(*instance, one, 0, std::vector<float>(10), {10}), Errno::success);
  EXPECT_EQ(set(*instance, two, 0, {1}, {1}), Errno::too_large);
  EXPECT_EQ(set(*instance, one, 0, std::vector<float>(9), {9}), Errno::success);
  EXPECT_EQ(set(*instance, two, 0, {1}, {1}), Errno::success);
  EXPECT_EQ(instance->usage().tensor_bytes, 40u);
  EXPECT_TRUE(instance->finalize_execution_context(one).ok());
  EXPECT_EQ(instance->usage().tensor_bytes, 4u);
}

TEST(Limits, CountASharedTensorOnce) {
  const auto instance = instance_with({}, at_most(&Counts::tensor_bytes, 56));
  const Handle context = must_init(*instance, must_load(*instance, identity_model()));
  std::shared_ptr<HeldTensor> shared;
  ASSERT_TRUE(HeldTensor::create(instance->account(), {DType::f32, {4}}, &shared).ok());
  const auto adopt = [&] {
    ContextUse use;
    EXPECT_TRUE(instance->use(context, &use).ok());
    return use.adopt_input("x", shared).code;
  };
  EXPECT_EQ(adopt(), Errno::success);
  EXPECT_EQ(instance->usage().tensor_bytes, 16u);
  EXPECT_EQ(adopt(), Errno::invalid_argument) << "it is there twice";
  // An input of the context's own takes its place, and nothing is shared in the place of that.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(set(*instance, context, 0, std::vector<float>(10), {10}), Errno::success);
    EXPECT_EQ(adopt(), Errno::invalid_argument);
    EXPECT_EQ(instance->usage().tensor_bytes, 56u);
  }
}

TEST(Limits, CountResidentBytesToTheByte) {
  const std::string model = add_model();
  const auto use = [&](Instance& instance) {
    Handle graph = 0, context = 0;
    if (const Errno e = load(instance, model, &graph); e != Errno::success) return e;
    if (const Error e = instance.init_execution_context(graph, std::nullopt, &context); !e.ok())
      return e.code;
    for (std::size_t i : {0, 1}) {
      const Shape shape = i == 0 ? Shape{50, 4} : Shape{4};
      const std::vector<float> values(static_cast<std::size_t>(shape.elements()), 1);
      if (const Errno e = set(instance, context, i, values, shape); e != Errno::success) return e;
    }
    return compute(instance, context);
  };
  const auto free = instance_with({});
  ASSERT_EQ(use(*free), Errno::success);
  const std::uint64_t needed = free->usage().resident_bytes;
  EXPECT_GT(needed, model.size() + 50 * 16);
  EXPECT_EQ(use(*instance_with({}, at_most(&Counts::resident_bytes, needed))), Errno::success);
  const auto tight = instance_with({}, at_most(&Counts::resident_bytes, needed - 1));
  EXPECT_EQ(use(*tight), Errno::too_large);
  EXPECT_LT(tight->usage().resident_bytes, needed);
}

// A refused request is charged to nobody, and earlier charges stay as they were.
TEST(Limits, ARefusalChangesNoCharge) {
  for (const Resource resource : {&Counts::tensor_bytes, &Counts::resident_bytes}) {
    const auto free = instance_with({});
    const Handle first = must_init(*free, must_load(*free, identity_model()));
    ASSERT_EQ(set(*free, first, 0, {1, 2}, {2}), Errno::success);
    const auto tight = instance_with(at_most(resource, free->usage().*resource + 64));
    const Handle context = must_init(*tight, must_load(*tight, identity_model()));
    ASSERT_EQ(set(*tight, context, 0, {1, 2}, {2}), Errno::success);
    const Counts before = tight->usage();
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(set(*tight, context, 0, std::vector<float>(1000), {1000}), Errno::too_large);
      EXPECT_EQ(tight->usage(), before);
      EXPECT_EQ(tight->tenant().usage(), before);
    }
    EXPECT_EQ(set(*tight, context, 0, {3, 4}, {2}), Errno::success);
    EXPECT_EQ(tight->usage(), before);
    EXPECT_TRUE(tight->finalize_execution_context(context).ok());
    EXPECT_EQ(tight->usage().tensor_bytes, 0u);
  }
}

TEST(Limits, AreNamedWhenTheyAreReached) {
  struct Row {
    Resource resource;
    std::string_view name;
  };
  for (const auto& [resource, name] :
       {Row{&Counts::graphs, "graphs: "}, Row{&Counts::contexts, "contexts: "},
        Row{&Counts::model_bytes, "model bytes: "}, Row{&Counts::tensor_bytes, "tensor bytes: "},
        Row{&Counts::resident_bytes, "resident bytes: "},
        Row{&Counts::parallel_computes, "parallel computes: "}}) {
    Account account(at_most(resource, 4), nullptr);
    const Error error = account.change(resource, 0, 5);
    EXPECT_EQ(error.code, Errno::too_large);
    EXPECT_EQ(error.text, std::string(name) + "0 are used and 5 wanted, the limit is 4");
    EXPECT_TRUE(account.change(resource, 0, 3).ok());
    EXPECT_EQ(account.headroom(resource), 1U);
  }
}

TEST(Limits, APlaceThatNobodyHasIsAnError) {
  Place place;
  EXPECT_EQ(make_place(std::size_t{1} << 62, &place).code, Errno::too_large);
  EXPECT_EQ(place, nullptr);
  EXPECT_TRUE(make_place(0, &place).ok());
  EXPECT_NE(place, nullptr);
}

TEST(Limits, AnInputThatNobodyHasRoomForChangesNoCharge) {
  const auto instance = instance_with({});
  const Handle context = must_init(*instance, must_load(*instance, identity_model()));
  ASSERT_EQ(set(*instance, context, 0, {1, 2}, {2}), Errno::success);
  const Counts before = instance->usage();
  {
    ContextUse use;
    ASSERT_TRUE(instance->use(context, &use).ok());
    std::byte* place = nullptr;
    const TensorType type{DType::f32, {std::int64_t{1} << 56}};
    EXPECT_EQ(use.place_input(0, type, &place).code, Errno::too_large);
    EXPECT_EQ(place, nullptr);
  }
  EXPECT_EQ(instance->usage(), before);
  ASSERT_EQ(compute(*instance, context), Errno::success);
  EXPECT_THAT(floats(*instance, context), ElementsAre(1, 2));
}

TEST(Limits, CountHandles) {
  const auto graphs = instance_with(at_most(&Counts::graphs, 2));
  Handle graph = 0;
  const Handle first = must_load(*graphs, identity_model());
  must_load(*graphs, identity_model());
  EXPECT_EQ(load(*graphs, identity_model(), &graph), Errno::too_large);
  EXPECT_TRUE(graphs->unload(first).ok());
  EXPECT_EQ(load(*graphs, identity_model(), &graph), Errno::success);

  const auto contexts = instance_with({}, at_most(&Counts::contexts, 1));
  const Handle held = must_load(*contexts, identity_model());
  const Handle context = must_init(*contexts, held);
  Handle other = 0;
  EXPECT_EQ(contexts->init_execution_context(held, std::nullopt, &other).code, Errno::too_large);
  EXPECT_TRUE(contexts->finalize_execution_context(context).ok());
  EXPECT_TRUE(contexts->init_execution_context(held, std::nullopt, &other).ok());
}

TEST(Limits, OfATenantAddUpOverItsInstances) {
  TenantOptions options;
  options.limits = at_most(&Counts::contexts, 1);
  const auto tenant = Tenant::create(options);
  auto one = Instance::create(tenant);
  const auto two = Instance::create(tenant);
  must_init(*one, must_load(*one, identity_model()));
  const Handle graph = must_load(*two, identity_model());
  Handle context = 0;
  EXPECT_EQ(two->init_execution_context(graph, std::nullopt, &context).code, Errno::too_large);
  one.reset();  // and its context with it
  EXPECT_TRUE(two->init_execution_context(graph, std::nullopt, &context).ok());
}

TEST(Limits, BoundParallelComputes) {
  const auto instance = instance_with(at_most(&Counts::parallel_computes, 0));
  const Handle context = must_init(*instance, must_load(*instance, identity_model()));
  ASSERT_EQ(set(*instance, context, 0, {1}, {1}), Errno::success);
  EXPECT_EQ(compute(*instance, context), Errno::too_large);
}

TEST(Limits, StopAComputeAtItsDeadline) {
  Limits limits;
  limits.deadline = std::chrono::milliseconds(5);
  const auto instance = instance_with({}, limits);
  const Handle context = must_init(*instance, must_load(*instance, slow_model()));
  ASSERT_EQ(set(*instance, context, 0, std::vector<float>(512 * 512), {512, 512}), Errno::success);
  EXPECT_EQ(compute(*instance, context), Errno::timed_out);
  EXPECT_EQ(instance->usage().parallel_computes, 0u);
  const Handle quick = must_init(*instance, must_load(*instance, identity_model()));
  ASSERT_EQ(set(*instance, quick, 0, {1}, {1}), Errno::success);
  // A busy machine may keep one from running for longer than that.
  Errno answer = Errno::timed_out;
  for (int i = 0; i < 50 && answer == Errno::timed_out; ++i) answer = compute(*instance, quick);
  EXPECT_EQ(answer, Errno::success);
}

TEST(Limits, TheShorterDeadlineHolds) {
  using std::chrono::microseconds;
  const auto both = [](int tenant, int instance) {
    const auto limits = [](int us) {
      Limits l;
      l.deadline = microseconds(us);
      return l;
    };
    const auto above = std::make_shared<Account>(limits(tenant), nullptr);
    return Account(limits(instance), above).deadline();
  };
  EXPECT_EQ(both(5, 2), microseconds(2));
  EXPECT_EQ(both(2, 5), microseconds(2));
  EXPECT_EQ(both(0, 5), microseconds(5)) << "0 is no deadline";
  EXPECT_EQ(both(5, 0), microseconds(5));
  EXPECT_EQ(both(0, 0), microseconds(0));
}

TEST(Limits, NamesOnlyRefusesModelsOfGuests) {
  Limits limits;
  limits.names_only = true;
  const auto instance = instance_with(limits);
  const std::string model = identity_model();
  Handle graph = 0;
  EXPECT_EQ(load(*instance, model, &graph), Errno::unsupported_operation);
  ASSERT_TRUE(instance->tenant().add_bytes("x", as_bytes(model)).ok());
  EXPECT_TRUE(instance->load_by_name("x", &graph).ok());
}

TEST(Limits, PicturesOfGuestsAreTheHostsToAllow) {
  onnx::GraphParts g;
  g.inputs = {onnx::value("x", onnx::u8, {"N"})};
  g.nodes = {onnx::node("ImageDecoder", {"x"}, {"y"})};
  g.outputs = {onnx::value("y", onnx::u8, {"H", "W", "3"})};
  const std::string model = onnx::make_model(g, 20);
  for (const bool are_shared : {false, true})
    for (const bool are_allowed : {false, true}) {
      TenantOptions options;
      options.share_graphs = are_shared;
      options.guest_pictures = are_allowed;
      const auto instance = Instance::create(Tenant::create(options));
      const Bytes part = as_bytes(model);
      Handle graph = 0;
      const Error error = instance->load({&part, 1}, Encoding::onnx, Target::cpu, &graph);
      EXPECT_EQ(error.ok(), are_allowed) << error.text;
      if (!are_allowed) {
        EXPECT_CONTAINS(error.text, "which the host forbids");
      }
      EXPECT_TRUE(instance->tenant().add_bytes("x", as_bytes(model)).ok());
    }
}

TEST(Limits, SayWhichTargetsMayBeUsed) {
  Limits limits;
  limits.targets = 1 << static_cast<unsigned>(Target::cpu);
  const auto instance = instance_with({}, limits);
  const std::string model = identity_model();
  const Bytes part = as_bytes(model);
  Handle graph = 0;
  EXPECT_EQ(instance->load({&part, 1}, Encoding::onnx, Target::gpu, &graph).code,
            Errno::unsupported_operation);
  graph = must_load(*instance, model);
  Handle context = 0;
  EXPECT_EQ(instance->init_execution_context(graph, Target::gpu, &context).code,
            Errno::unsupported_operation);
  EXPECT_TRUE(instance->init_execution_context(graph, Target::cpu, &context).ok());
}

TEST(Limits, EverythingIsGivenBack) {
  const auto tenant = Tenant::create();
  const std::string model = add_model();
  ASSERT_TRUE(tenant->add_bytes("add", as_bytes(model)).ok());
  auto instance = Instance::create(tenant);
  Handle named = 0;
  ASSERT_TRUE(instance->load_by_name("add", &named).ok());
  const auto use = [&](Handle graph) {
    const Handle context = must_init(*instance, graph);
    EXPECT_EQ(set(*instance, context, 0, {1, 2, 3, 4}, {1, 4}), Errno::success);
    EXPECT_EQ(set(*instance, context, 1, {1, 2, 3, 4}, {4}), Errno::success);
    EXPECT_EQ(compute(*instance, context), Errno::success);
    return context;
  };
  EXPECT_TRUE(instance->finalize_execution_context(use(named)).ok());
  const Counts before = tenant->usage();
  for (int i = 0; i < 200; ++i) {
    const Handle graph = must_load(*instance, model);
    const Handle context = use(graph);
    EXPECT_TRUE(instance->unload(graph).ok());
    EXPECT_EQ(compute(*instance, context), Errno::invalid_argument);
    EXPECT_THAT(floats(*instance, context), ElementsAre(2, 4, 6, 8));
    EXPECT_TRUE(instance->finalize_execution_context(context).ok());
  }
  EXPECT_EQ(tenant->usage(), before);
  use(named);
  instance.reset();
  ASSERT_TRUE(tenant->remove("add").ok());
  EXPECT_EQ(tenant->usage(), Counts());
}

// This returns the resident set of this process, in bytes.
std::uint64_t resident_set() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Limits, TwentyThousandContextsAndFiveHundredGraphsLeaveNoTrace) {
  const auto instance = instance_with({});
  const std::string model = add_model();
  const Handle kept = must_load(*instance, model);
  const auto churn = [&](int contexts, int graphs) {
    for (int i = 0; i < contexts; ++i) {
      const Handle context = must_init(*instance, kept);
      if (i % 20 == 0) {
        EXPECT_EQ(set(*instance, context, 0, {1, 2, 3, 4}, {1, 4}), Errno::success);
        EXPECT_EQ(set(*instance, context, 1, {1, 2, 3, 4}, {4}), Errno::success);
        EXPECT_EQ(compute(*instance, context), Errno::success);
      }
      EXPECT_TRUE(instance->finalize_execution_context(context).ok());
    }
    for (int i = 0; i < graphs; ++i)
      EXPECT_TRUE(instance->unload(must_load(*instance, model)).ok());
  };
  churn(1000, 50);
  const Counts before = instance->usage();
  const std::uint64_t resident = resident_set();
  churn(20000, 500);
  EXPECT_EQ(instance->usage(), before);
  EXPECT_EQ(instance->tenant().usage(), before);
  if (!quern::testing::sanitized) {
    EXPECT_LT(resident_set(), resident + (1 << 20));
  }
}

}  // namespace
}  // namespace quern::wasi_nn_test
