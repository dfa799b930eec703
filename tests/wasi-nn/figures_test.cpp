// SPDX-License-Identifier: Apache-2.0
// The figures of a tenant: bytes by kind and at their most, calls by how they ended, processor
// time; and the text of metrics.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <quern/processor_time.h>

#include "frontends/wasi-nn/metrics.h"
#include "tests/expect.h"
#include "tests/process_time.h"
#include "tests/wasi-nn/models.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace quern::wasi_nn_test {
namespace {

using namespace quern::wasi_nn;  // NOLINT
using quern::testing::process_time;
using std::chrono::nanoseconds;

Error load_into(Instance& instance, const std::string& model, Handle* graph) {
  const Bytes part = as_bytes(model);
  return instance.load({&part, 1}, Encoding::onnx, Target::cpu, graph);
}

// A context of the model whose input 0 has this shape and is full of zeros.
Handle ready(Instance& instance, const std::string& model, const Shape& shape) {
  Handle graph = 0, context = 0;
  ContextUse use;
  EXPECT_TRUE(load_into(instance, model, &graph).ok());
  EXPECT_TRUE(instance.init_execution_context(graph, std::nullopt, &context).ok());
  EXPECT_TRUE(instance.use(context, &use).ok());
  const std::vector<float> zeros(static_cast<std::size_t>(shape.elements()));
  EXPECT_TRUE(use.set_input(0, {DType::f32, shape}, as_bytes(zeros)).ok());
  return context;
}

Error compute_in(Instance& instance, Handle context) {
  ContextUse use;
  if (Error error = instance.use(context, &use); !error.ok()) return error;
  return use.compute();
}

// y = x * weights, with weights of 64 x 64 that are packed.
std::string packed_model() {
  onnx::GraphParts g;
  g.inputs = {onnx::value("x", onnx::f32, {"N", 64})};
  g.initializers = {onnx::raw_tensor("weights", onnx::f32, {64, 64}, std::string(64 * 64 * 4, 1))};
  g.nodes = {onnx::node("MatMul", {"x", "weights"}, {"y"}), onnx::node("Exp", {"y"}, {"z"}),
             onnx::node("Softmax", {"z"}, {"p"}), onnx::node("MatMul", {"p", "weights"}, {"q"})};
  g.outputs = {onnx::value("q", onnx::f32, {"N", 64})};
  return onnx::make_model(g);
}

TEST(Figures, BytesAreToldByKind) {
  const auto tenant = Tenant::create({.threads = 1});
  Figures f;
  {
    const auto instance = Instance::create(tenant);
    const std::string model = packed_model();
    const Handle context = ready(*instance, model, {32, 64});
    f = tenant->figures();
    EXPECT_GE(f.resident[Kind::models], model.size());
    EXPECT_GE(f.resident[Kind::tensors], 32u * 64 * 4);
    EXPECT_GT(f.resident[Kind::tables], 0u);
    EXPECT_EQ(f.resident[Kind::weights], 0u) << "nothing was packed yet";
    EXPECT_EQ(f.resident[Kind::arenas], 0u);
    ASSERT_TRUE(compute_in(*instance, context).ok());
    f = tenant->figures();
    EXPECT_GE(f.resident[Kind::weights], 64u * 64 * 4);
    EXPECT_GE(f.resident[Kind::arenas], 32u * 64 * 4);
    EXPECT_GE(f.resident[Kind::tensors], 2u * 32 * 64 * 4) << "the output too";
    EXPECT_EQ(f.resident.total(), f.used.resident_bytes);
    EXPECT_EQ(f.resident, instance->account()->figures().resident);
  }
  const Figures left = tenant->figures();
  EXPECT_EQ(left.resident, KindBytes());
  EXPECT_EQ(left.used, Counts());
  EXPECT_GE(left.peak.resident_bytes, f.used.resident_bytes);
  EXPECT_EQ(left.peak.contexts, 1u);
}

// x [N] -> [N, 4096] -> [N]
std::string wide_model() {
  onnx::GraphParts g;
  g.inputs = {onnx::value("x", onnx::f32, {"N", 1})};
  g.initializers = {onnx::raw_tensor("row", onnx::f32, {1, 4096}, std::string(4096 * 4, 1))};
  g.nodes = {onnx::node("MatMul", {"x", "row"}, {"wide"}),
             onnx::node("Softmax", {"wide"}, {"shares"}),
             onnx::node("ReduceMax", {"shares"}, {"y"})};
  g.outputs = {onnx::value("y", onnx::f32, {1, 1})};
  return onnx::make_model(g);
}

// n -> the largest of n rows, which a loop collects as long as its number is less than n
std::string collecting_model() {
  const onnx::Message body = onnx::make_graph(
      {.name = "body",
       .nodes = {onnx::node("Less", {"i", "n"}, {"goes_on"}),
                 onnx::node("Identity", {"row"}, {"r"})},
       .inputs = {onnx::value("i", onnx::i64, {}), onnx::value("c", onnx::boolean, {})},
       .outputs = {onnx::Message().text(1, "goes_on"), onnx::Message().text(1, "r")}});
  onnx::GraphParts g;
  g.inputs = {onnx::value("n", onnx::i64, {})};
  g.initializers = {onnx::raw_tensor("row", onnx::f32, {4096}, std::string(4096 * 4, 1))};
  g.nodes = {onnx::node("Loop", {"", ""}, {"rows"}, {onnx::graph("body", body)}),
             onnx::node("ReduceMax", {"rows"}, {"y"})};
  g.outputs = {onnx::value("y", onnx::f32, {1, 1})};
  return onnx::make_model(g);
}

// What only the data shows is refused before it is allocated, by the memory of the session.
TEST(Figures, MemoryThatDependsOnDataIsLimitedToo) {
  TenantOptions options{.threads = 1};
  options.limits.most.resident_bytes = 8 << 20;
  const auto tenant = Tenant::create(options);
  const auto instance = Instance::create(tenant);
  Handle graph = 0, context = 0;
  ContextUse use;
  ASSERT_TRUE(load_into(*instance, collecting_model(), &graph).ok());
  ASSERT_TRUE(instance->init_execution_context(graph, std::nullopt, &context).ok());
  ASSERT_TRUE(instance->use(context, &use).ok());
  for (const std::int64_t n : {10, 8000, 10}) {
    ASSERT_TRUE(use.set_input(0, {DType::i64, {}}, as_bytes(std::vector<std::int64_t>{n})).ok());
    const Error error = use.compute();
    if (n == 10) {
      EXPECT_TRUE(error.ok()) << error.text;
      continue;
    }
    EXPECT_EQ(error.code, Errno::too_large);
    EXPECT_CONTAINS(error.text, "and the limit is") << "as a pool says it";
  }
}

#if defined(__GLIBC__)
std::size_t allocated() {
  const auto m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

// A plan that is refused leaves nothing behind that is held and not charged.
TEST(Figures, ARefusedPlanHoldsNothing) {
  TenantOptions options{.threads = 1};
  options.limits.most.resident_bytes = 8 << 20;
  const auto tenant = Tenant::create(options);
  const auto instance = Instance::create(tenant);
  const Handle context = ready(*instance, wide_model(), {16, 1});
  ASSERT_TRUE(compute_in(*instance, context).ok());
  const KindBytes charged = tenant->figures().resident;
  const std::size_t before = allocated();
  ContextUse use;
  ASSERT_TRUE(instance->use(context, &use).ok());
  const std::vector<float> many(8192);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(use.set_input(0, {DType::f32, {8192, 1}}, as_bytes(many)).ok());
    EXPECT_EQ(use.compute().code, Errno::too_large);
    EXPECT_LT(allocated(), before + (4 << 20));
  }
  ASSERT_TRUE(use.set_input(0, {DType::f32, {16, 1}}, as_bytes(std::vector<float>(16))).ok());
  EXPECT_TRUE(use.compute().ok());
  EXPECT_EQ(tenant->figures().resident[Kind::arenas], charged[Kind::arenas]);
}
#endif

TEST(Figures, CallsAreCountedByHowTheyEnded) {
  TenantOptions options{.threads = 1};
  options.limits.most.parallel_computes = 1;
  options.limits.most.model_bytes = 1 << 20;
  options.limits.deadline = std::chrono::milliseconds(200);
  const auto tenant = Tenant::create(options);
  const auto instance = Instance::create(tenant);
  Handle graph = 0;
  EXPECT_EQ(load_into(*instance, "rubbish", &graph).code, Errno::invalid_encoding);
  EXPECT_EQ(load_into(*instance, std::string(2 << 20, 'x'), &graph).code, Errno::too_large);
  ASSERT_TRUE(tenant->add_bytes("identity", as_bytes(identity_model())).ok());
  EXPECT_FALSE(tenant->add_bytes("identity", as_bytes(identity_model())).ok());
  const Handle slow = ready(*instance, slow_model(), {512, 512});
  const Handle fast = ready(*instance, identity_model(), {3});
  const Handle wanting = ready(*instance, add_model(), {1, 4});

  EXPECT_TRUE(compute_in(*instance, fast).ok());
  EXPECT_EQ(compute_in(*instance, slow).code, Errno::timed_out);
  EXPECT_EQ(compute_in(*instance, wanting).code, Errno::invalid_argument) << "input 1 is missing";
  EXPECT_EQ(compute_in(*instance, 1000).code, Errno::invalid_argument) << "no compute at all";
  Charge taken(tenant->account(), &Counts::parallel_computes);
  ASSERT_TRUE(taken.set(1).ok());
  EXPECT_EQ(compute_in(*instance, fast).code, Errno::too_large);
  EXPECT_EQ(compute_in(*instance, fast).code, Errno::too_large);

  const Activity a = tenant->figures().activity;
  EXPECT_EQ(a.loads.ok, 4u);
  EXPECT_EQ(a.loads.refused, 1u);
  EXPECT_EQ(a.loads.failed, 2u);
  EXPECT_EQ(a.computes.ok, 1u);
  EXPECT_EQ(a.computes.timed_out, 1u);
  EXPECT_EQ(a.computes.refused, 2u);
  EXPECT_EQ(a.computes.failed, 1u);
  EXPECT_GT(a.load_time.count(), 0);
  EXPECT_GT(a.compile_time.count(), 0);
}

// Everything that this process does is the compute: both clocks see the same, workers included.
TEST(Figures, TheTimeOfAComputeIsThatOfAllItsThreads) {
  for (const int threads : {1, 2}) {
    const auto tenant = Tenant::create({.threads = threads});
    const auto instance = Instance::create(tenant);
    const Handle context = ready(*instance, slow_model(30), {512, 512});
    ASSERT_TRUE(compute_in(*instance, context).ok());
    const nanoseconds counted = tenant->figures().activity.compute_time;
    const nanoseconds began = process_time();
    ASSERT_TRUE(compute_in(*instance, context).ok());
    const double all = static_cast<double>((process_time() - began).count());
    const double mine =
        static_cast<double>((tenant->figures().activity.compute_time - counted).count());
    EXPECT_LE(mine, 1.01 * all) << threads;
    EXPECT_GE(mine, 0.95 * all) << threads << " threads: " << mine << " of " << all << " ns";
  }
}

TEST(Figures, TenantsAndThreadsHaveTimesOfTheirOwn) {
  const auto busy = Tenant::create({.threads = 2}), idle = Tenant::create({.threads = 2});
  const auto work = [](const std::shared_ptr<Tenant>& tenant, int times) {
    const auto instance = Instance::create(tenant);
    const Handle context = ready(*instance, times > 1 ? slow_model(30) : identity_model(),
                                 times > 1 ? Shape{512, 512} : Shape{3});
    for (int i = 0; i < times; ++i) ASSERT_TRUE(compute_in(*instance, context).ok());
  };
  std::thread other(work, idle, 1);
  work(busy, 2);
  other.join();
  EXPECT_GT(busy->figures().activity.compute_time, 10 * idle->figures().activity.compute_time);
}

// ---- metrics -----------------------------------------------------------------------------------

TEST(Metrics, AreTheTextFormatOfPrometheus) {
  Figures f;
  f.used = {2, 3, 100, 40, 60, 1};
  f.peak.resident_bytes = 70;
  f.resident[Kind::models] = 10;
  f.resident[Kind::tensors] = 50;
  f.activity.loads = {.ok = 4, .timed_out = 6, .refused = 1, .failed = 8};
  f.activity.computes = {.ok = 9, .timed_out = 2, .refused = 3, .failed = 5};
  f.activity.load_time = nanoseconds(1'000'000'007);
  f.activity.compile_time = nanoseconds(-3);
  f.activity.compute_time = nanoseconds(120);
  const std::vector<LabelledFigures> one = {{"a", f}};
  EXPECT_EQ(metrics_text(one),
            R"(# HELP quern_nn_resident_bytes Bytes that are held now, by what they are.
# TYPE quern_nn_resident_bytes gauge
quern_nn_resident_bytes{tenant="a",kind="models"} 10
quern_nn_resident_bytes{tenant="a",kind="weights"} 0
quern_nn_resident_bytes{tenant="a",kind="tables"} 0
quern_nn_resident_bytes{tenant="a",kind="arenas"} 0
quern_nn_resident_bytes{tenant="a",kind="tensors"} 50
# HELP quern_nn_resident_bytes_peak The most bytes that were held at one time.
# TYPE quern_nn_resident_bytes_peak gauge
quern_nn_resident_bytes_peak{tenant="a"} 70
# HELP quern_nn_graphs Handles of graphs, and named models.
# TYPE quern_nn_graphs gauge
quern_nn_graphs{tenant="a"} 2
# HELP quern_nn_contexts Handles of contexts.
# TYPE quern_nn_contexts gauge
quern_nn_contexts{tenant="a"} 3
# HELP quern_nn_model_bytes Bytes of model files.
# TYPE quern_nn_model_bytes gauge
quern_nn_model_bytes{tenant="a"} 100
# HELP quern_nn_tensor_bytes Bytes of inputs that contexts hold, and of tensors.
# TYPE quern_nn_tensor_bytes gauge
quern_nn_tensor_bytes{tenant="a"} 40
# HELP quern_nn_parallel_computes Computes at this moment.
# TYPE quern_nn_parallel_computes gauge
quern_nn_parallel_computes{tenant="a"} 1
# HELP quern_nn_loads_total Models that were loaded, by how that ended.
# TYPE quern_nn_loads_total counter
quern_nn_loads_total{tenant="a",result="ok"} 4
quern_nn_loads_total{tenant="a",result="timed_out"} 6
quern_nn_loads_total{tenant="a",result="refused"} 1
quern_nn_loads_total{tenant="a",result="failed"} 8
# HELP quern_nn_computes_total Computes, by how they ended.
# TYPE quern_nn_computes_total counter
quern_nn_computes_total{tenant="a",result="ok"} 9
quern_nn_computes_total{tenant="a",result="timed_out"} 2
quern_nn_computes_total{tenant="a",result="refused"} 3
quern_nn_computes_total{tenant="a",result="failed"} 5
# HELP quern_nn_processor_seconds_total Processor time of calling threads and of the teams of computes.
# TYPE quern_nn_processor_seconds_total counter
quern_nn_processor_seconds_total{tenant="a",phase="load"} 1.000000007
quern_nn_processor_seconds_total{tenant="a",phase="compile"} 0.000000000
quern_nn_processor_seconds_total{tenant="a",phase="compute"} 0.000000120
)");
}

TEST(Metrics, ListTheTenantsUnderEachName) {
  Figures f;
  f.used.graphs = 7;
  const std::vector<LabelledFigures> tenants = {{"a", f}, {"b", {}}};
  EXPECT_CONTAINS(metrics_text(tenants),
                  "# TYPE quern_nn_graphs gauge\nquern_nn_graphs{tenant=\"a\"} 7\n"
                  "quern_nn_graphs{tenant=\"b\"} 0\n# HELP quern_nn_contexts");
  EXPECT_EQ(metrics_text({}).find('{'), std::string::npos);
}

std::string label_of(std::string label) {
  const std::vector<LabelledFigures> one = {{std::move(label), {}}};
  const std::string text = metrics_text(one);
  const std::size_t begin = text.find("{tenant=") + 8;
  return text.substr(begin, text.find(",kind=") - begin);
}

TEST(Metrics, LabelsAreEscapedAndUtf8) {
  EXPECT_EQ(label_of("a\"b\\c\nd{}"), R"("a\"b\\c\nd{}")");
  EXPECT_EQ(label_of("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"),
            "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"");
  // A lone tail, an overlong slash, a surrogate, one past the last code point, a cut sequence.
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(label_of("\x80"), "\"" + bad + "\"");
  EXPECT_EQ(label_of("\xc0\xaf"), "\"" + bad + bad + "\"");
  EXPECT_EQ(label_of("\xed\xa0\x80"), "\"" + bad + bad + bad + "\"");
  EXPECT_EQ(label_of("\xf4\x90\x80\x80"), "\"" + bad + bad + bad + bad + "\"");
  EXPECT_EQ(label_of("x\xe2\x82"), "\"x" + bad + bad + "\"");
}

// The code point that a sequence of bytes is, by arithmetic alone; nothing if it is none.
std::optional<std::uint32_t> code_point(const std::string& s) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(s[i]); };
  static constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  static constexpr std::array<std::uint32_t, 6> lead = {0, 0, 0xc0, 0xe0, 0xf0, 0xf8};
  if (s.size() == 1) return byte(0) < 0x80 ? std::optional<std::uint32_t>(byte(0)) : std::nullopt;
  if (byte(0) < lead[s.size()] || byte(0) >= lead[s.size() + 1]) return std::nullopt;
  std::uint32_t v = byte(0) - lead[s.size()];
  for (std::size_t i = 1; i < s.size(); ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return std::nullopt;
    v = 64 * v + byte(i) - 0x80;
  }
  const bool is_code = v >= least[s.size()] && v <= 0x10ffff && (v < 0xd800 || v > 0xdfff);
  return is_code ? std::optional(v) : std::nullopt;
}

bool is_text(std::string_view s) {
  if (s.empty()) return true;
  for (std::size_t n = 1; n <= std::min<std::size_t>(4, s.size()); ++n)
    if (code_point(std::string(s.substr(0, n))) && is_text(s.substr(n))) return true;
  return false;
}

// Sequences of two to four bytes from those where a rule begins or ends.
TEST(Metrics, KeepEachSequenceThatIsACodePoint) {
  const std::string heads =
      "\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5"
      "\xff";
  const std::string tails = "\x7f\x80\xbf\xc0";
  for (std::size_t length = 2; length <= 4; ++length) {
    const auto choices = [&](std::size_t i) -> const std::string& { return i < 2 ? heads : tails; };
    std::vector<std::size_t> at(length);
    for (std::size_t d = 0; d < length;) {
      std::string s;
      for (std::size_t i = 0; i < length; ++i) s += choices(i)[at[i]];
      ASSERT_EQ(label_of(s) == '"' + s + '"', is_text(s)) << ::testing::PrintToString(s);
      for (d = 0; d < length && ++at[d] == choices(d).size(); ++d) at[d] = 0;
    }
  }
}

// The memory for a larger shape is charged before the run, also after a run of a smaller shape.
TEST(Figures, EachShapeIsCharged) {
  const auto bytes_after = [](Instance& instance, Handle context, std::int64_t rows) {
    ContextUse use;
    EXPECT_TRUE(instance.use(context, &use).ok());
    const std::vector<float> zeros(static_cast<std::size_t>(64 * rows));
    EXPECT_TRUE(use.set_input(0, {DType::f32, {rows, 64}}, as_bytes(zeros)).ok());
    EXPECT_TRUE(use.compute().ok());
    return instance.account()->figures().resident[Kind::arenas];
  };
  const auto tenant = Tenant::create({.threads = 1});
  const auto instance = Instance::create(tenant);
  const Handle context = ready(*instance, packed_model(), {1, 64});
  const std::uint64_t small = bytes_after(*instance, context, 1);
  const std::uint64_t large = bytes_after(*instance, context, 500);
  EXPECT_GE(large, small + std::uint64_t{499} * 64 * 4);
}

}  // namespace
}  // namespace quern::wasi_nn_test
