// SPDX-License-Identifier: Apache-2.0
// Hostile models and guests must not push a process's peak memory above what they were given,
// and the memory that is counted must be the memory that is held.
#include <chrono>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <string>
#include <unistd.h>

#include <quern/onnx.h>

#include "engine/lowering/constants.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/wasi-nn/instance.h"
#include "tests/engine/engine_test.h"
#include "tests/expect.h"
#include "tests/graph/named_op.h"
#include "tests/limits/guests.h"
#include "tests/onnx-parser/onnx_writer.h"
#include "tests/process_time.h"
#include "tests/wasi-nn/guest.h"

namespace quern::testing {
namespace {

using G = GraphBuilder;

TEST(Guest, PartsThatOverlapAreNotCopied) {
  wasi_nn_test::FakeGuest guest(instance_with(16 * mb), 64 << 20);
  std::fill_n(guest.memory(), guest.size(), std::byte{8});  // pages that are there
  std::vector<std::uint32_t> list;
  for (int i = 0; i < 64; ++i) list.insert(list.end(), {0, guest.size()});
  const std::uint32_t at = guest.put(std::as_bytes(std::span(list)));
  // The guest's memory moves with each call.
  std::uint32_t code = 0;
  const std::size_t growth = peak_growth([&] { code = guest.call("load", {at, 64, 1, 0, 1024}); });
  EXPECT_EQ(code, static_cast<std::uint32_t>(nn::Errno::invalid_argument));
  EXPECT_CONTAINS(guest.instance().last_error(), "parts that overlap");
  expect_at_most(growth, guest.size() + with_slack(16 * mb));
}

TEST(Guest, AModelAboveTheLimitIsNotCopied) {
  const auto instance = instance_with(16 * mb);
  const std::string large(64 << 20, '\x08');
  const std::vector<nn::Bytes> parts(64, as_bytes(large));
  nn::Handle graph = 0;
  const std::size_t growth = peak_growth([&] {
    const nn::Error error = instance->load(parts, nn::Encoding::onnx, nn::Target::cpu, &graph);
    EXPECT_EQ(error.code, nn::Errno::too_large) << error.text;
  });
  expect_at_most(growth, with_slack(0));
}

TEST(Guest, HandlesAreCharged) {
  constexpr std::size_t resident = 4 * mb;
  const auto instance = instance_with(resident);
  const nn::Handle graph = must_load(*instance, wasi_nn_test::add_model());
  int made = 0;
  const std::size_t growth = peak_growth([&] {
    nn::Error error;
    for (nn::Handle context = 0; made < 1'000'000 && error.ok(); ++made)
      error = instance->init_execution_context(graph, std::nullopt, &context);
    EXPECT_EQ(error.code, nn::Errno::too_large) << error.text;
  });
  EXPECT_GT(made, 500);
  RecordProperty("contexts", made);
  expect_at_most(growth, with_slack(resident));
}

TEST(Guest, HandlesOfNamedModelsAreCharged) {
  constexpr std::size_t resident = 2 * mb;
  const auto instance = instance_with(resident);
  const std::string model = wasi_nn_test::add_model();
  ASSERT_TRUE(instance->tenant().add_bytes("add", as_bytes(model)).ok());
  int made = 0;
  const std::size_t growth = peak_growth([&] {
    nn::Error error;
    for (nn::Handle graph = 0; made < 1'000'000 && error.ok(); ++made)
      error = instance->load_by_name("add", &graph);
    EXPECT_EQ(error.code, nn::Errno::too_large) << error.text;
  });
  EXPECT_GT(made, 2000);
  expect_at_most(growth, with_slack(resident));
}

TEST(Guest, PlansAreChargedAndTheOldestGo) {
  constexpr std::size_t resident = 4 * mb;
  const std::string model = chain_of_convolutions(40);
  run_many_shapes(*instance_with(100 * mb), model, 4);  // loads oneDNN
  const auto instance = instance_with(resident);
  const std::size_t growth = peak_growth([&] { run_many_shapes(*instance, model, 14); });
  expect_at_most(growth, with_slack(resident));
  EXPECT_GT(instance->usage().resident_bytes, resident / 8) << "plans are charged";
}

// Plans, states of kernels and the arena are those of a session that contexts borrow.
TEST(Guest, AComputedContextHoldsItsInputsAndOutputs) {
  const auto instance = instance_with(1000 * mb);
  const nn::Handle graph = must_load(*instance, chain_of_convolutions(40));
  const TensorType type{DType::f32, {1, 4, 32, 32}};
  const std::vector<std::byte> zeros(type.bytes());
  const auto compute_one = [&] {
    nn::Handle context = 0;
    nn::ContextUse use;
    ASSERT_TRUE(instance->init_execution_context(graph, std::nullopt, &context).ok());
    ASSERT_TRUE(instance->use(context, &use).ok());
    ASSERT_TRUE(use.set_input(0, type, zeros).ok());
    const nn::Error error = use.compute();
    ASSERT_TRUE(error.ok()) << error.text;
  };
  compute_one();
  const std::size_t before = instance->usage().resident_bytes;
  constexpr std::size_t count = 500;
  const std::size_t growth = peak_growth([&] {
    for (std::size_t i = 0; i < count; ++i) compute_one();
  });
  const std::size_t each = 2 * type.bytes() + 2048;
  EXPECT_LE(instance->usage().resident_bytes - before, count * each);
  expect_at_most(growth, count * each + 2 * mb);
}

// Weights are read when a plan is made: after the file has shrunk.
TEST(Guest, AModelThatShrinksKillsNobody) {
  const std::string path = ::testing::TempDir() + "shrinks_" + std::to_string(getpid()) + ".onnx";
  std::ofstream(path, std::ios::binary) << chain_of_convolutions(40);
  const auto instance = instance_with(100 * mb);
  ASSERT_TRUE(instance->tenant().add_file("chain", path).ok());
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  nn::Handle graph = 0;
  nn::Handle context = 0;
  ASSERT_TRUE(instance->load_by_name("chain", &graph).ok());
  ASSERT_TRUE(instance->init_execution_context(graph, std::nullopt, &context).ok());
  nn::ContextUse use;
  ASSERT_TRUE(instance->use(context, &use).ok());
  const std::vector<std::byte> zeros(4 * 4 * 8 * 8);
  ASSERT_TRUE(use.set_input(0, {DType::f32, {1, 4, 8, 8}}, zeros).ok());
  const nn::Error error = use.compute();
  EXPECT_TRUE(error.ok()) << error.text;
  unlink(path.c_str());
}

// ---- models

// Function i calls function i + 1 twice.
std::string billion_laughs(int depth) {
  std::vector<std::string> names;
  for (int i = 0; i <= depth; ++i) names.push_back("f" + std::to_string(i));
  const onnx::Messages opsets = {onnx::opset("", 17), onnx::opset("own", 1)};
  onnx::Messages functions;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_last = i + 1 == names.size();
    const std::string_view op = is_last ? "Relu" : std::string_view(names[i + 1]);
    const std::string_view domain = is_last ? "" : "own";
    functions.push_back(
        onnx::make_function({.name = names[i],
                             .inputs = {"a"},
                             .outputs = {"c"},
                             .nodes = {onnx::node(op, {"a"}, {"b"}, {}, {.domain = domain}),
                                       onnx::node(op, {"b"}, {"c"}, {}, {.domain = domain})},
                             .opsets = opsets}));
  }
  return onnx::make_model(
      onnx::make_graph({.nodes = {onnx::node("f0", {"x"}, {"y"}, {}, {.domain = "own"})},
                        .inputs = {onnx::value("x", onnx::f32, {2})},
                        .outputs = {onnx::value("y", onnx::f32, {2})}}),
      {.opsets = opsets, .functions = functions});
}

// Results that are kept make room for those that are computed, and for what these are made of.
TEST(ConstantExpressions, StayWithinTheirLimit) {
  Graph g(builtin_ops());
  const ValueId c = g.add_constant(*Tensor::zeros({DType::f32, {1'000'000}}));
  const auto applied = [&](std::string_view kind, ValueId v) {
    return *g.add(named("Unary", cat("kind=", kind)), {v});
  };
  const ValueId kept = applied("neg", c);
  const ValueId last = applied("cos", applied("sin", c));
  const std::size_t limit = 10 * mb;  // of the three results, 4 MB each, two at a time
  const lowering::GraphConstants constants(g, limit, nullptr, nullptr);
  const std::size_t growth = peak_growth([&] {
    for (const ValueId v : {kept, last}) {
      const auto t = constants.find(v)->get();
      ASSERT_TRUE(t) << t.error().message();
    }
  });
  expect_at_most(growth, limit + mb);
}

TEST(Reading, EndsAtItsLimit) {
  const std::string model = billion_laughs(28);
  for (const std::size_t limit : {16 * mb, 64 * mb}) {
    const std::size_t growth = peak_growth([&] {
      const auto read = parse_onnx(as_bytes(model), nullptr, {}, {.max_bytes = limit});
      ASSERT_FALSE(read);
      EXPECT_EQ(read.error().code(), Code::out_of_memory) << read.error().message();
    });
    expect_at_most(growth, limit + 16 * mb);
  }
}

// A graph that grows without end, and a file of fields that nobody knows.
TEST(Reading, EndsAtItsDeadline) {
  std::string fields = billion_laughs(1);
  for (int i = 0; i < 30'000'000; ++i) fields += std::string_view("\xc0\x3e\x00", 3);
  for (const std::string& model : {billion_laughs(28), fields}) {
    constexpr double most_ms = sanitized ? 3000 : 100;
    const double ms = least_of(most_ms, [&] {
      return process_ms_of([&] {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        const auto read = parse_onnx(as_bytes(model), nullptr, {},
                                     {.max_bytes = 4096 * mb, .deadline = deadline});
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().code(), Code::timed_out) << read.error().message();
      });
    });
    EXPECT_LT(ms, most_ms);
    RecordProperty(cat("ms_of_", model.size(), "_bytes"), std::to_string(ms));
  }
}

TEST(Reading, TellsWhatTheGraphTakes) {
  const std::string model = chain_of_convolutions(1000);
  malloc_trim(0);
  const auto before = mallinfo2();
  const Model read = must(parse_onnx(as_bytes(model), nullptr));
  const auto after = mallinfo2();
  const auto held =
      static_cast<double>(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd);
  if (sanitized) return;
  EXPECT_GT(static_cast<double>(read.bytes()), 0.7 * held);
  EXPECT_LT(static_cast<double>(read.bytes()), 2 * held);
}

// Constants of 4 MB, 16 MB, ... that only the last operator reads.
Model chain_of_tiles(int length) {
  G g("tiles");
  Operand c = g.constant(pattern({1, 1024 * 1024}));
  for (int i = 0; i < length; ++i) c = g.concat({c, c, c, c}, 0);
  g.output("y", g.add(g.input("x", DType::f32, {1, 1}), c));
  return must(g.build());
}

TEST(Compiling, ConstantExpressionsEndAtTheLimit) {
  constexpr std::size_t limit = 64 * mb;
  const std::size_t growth = peak_growth([&] {
    const auto made = Executable::compile(chain_of_tiles(4), nullptr, {.memory_limit = limit});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), Code::out_of_memory) << made.error().message();
    EXPECT_CONTAINS(made.error().message(), std::to_string(limit));
  });
  expect_at_most(growth, limit + 16 * mb);
}

// Only what is still read counts: a chain needs two of its values at a time, however long it is.
TEST(Compiling, AChainOfConstantsNeedsTwoOfThem) {
  G g("chain");
  Operand c = g.constant(pattern({1 << 20}));
  for (int i = 0; i < 60; ++i)
    c = g.tanh(g.concat({g.slice(c, {1}, {1 << 20}), g.slice(c, {0}, {1})}, 0));
  g.output("y", g.add(c, g.input("x", DType::f32, {1})));
  const auto made = Executable::compile(must(g.build()), nullptr, {.memory_limit = 64 * mb});
  EXPECT_TRUE(made) << made.error().message();
}

// Graphs of so many nodes, whose tables take some 100 MB while they are compiled.
struct LargeGraph {
  const char* name;
  std::function<void(G& g, int nodes)> write;
};
void PrintTo(const LargeGraph& graph, std::ostream* to) {
  *to << graph.name;
}

const LargeGraph large_graphs[] = {
    {"chain",
     [](G& g, int nodes) {
       Operand x = g.input("x", DType::f32, {1, 8});
       for (int i = 0; i < nodes; ++i) x = g.softmax(x);
       g.output("y", x);
     }},
    {"inputs",
     [](G& g, int nodes) {
       std::vector<Operand> parts;
       for (int i = 0; i < nodes; ++i)
         parts.push_back(g.softmax(g.input(cat("x", i), DType::f32, {1, 8})));
       g.output("y", g.concat(parts, 0));
     }},
    {"parts",
     [](G& g, int nodes) {
       const IntList ones(static_cast<std::size_t>(nodes), 1);
       std::vector<Operand> parts = g.split(g.input("x", DType::f32, {nodes, 8}), ones, 0);
       for (Operand& part : parts) part = g.softmax(part);
       g.output("y", g.concat(parts, 0));
     }},
};

class CompilingOf : public ::testing::TestWithParam<LargeGraph> {};

TEST_P(CompilingOf, TakesNoMoreThanTheLimit) {
  constexpr int nodes = 20'000;
  for (const std::size_t limit : {4 * mb, 50 * mb, 200 * mb}) {
    G g("long");
    GetParam().write(g, nodes);
    Model model = must(g.build());
    const std::size_t growth = peak_growth([&] {
      const auto made = Executable::compile(std::move(model), nullptr, {.memory_limit = limit});
      const bool fits = static_cast<bool>(made);
      ASSERT_EQ(fits, limit == 200 * mb) << (fits ? "" : made.error().message());
      if (fits) return;
      EXPECT_EQ(made.error().code(), Code::out_of_memory) << made.error().message();
      EXPECT_CONTAINS(made.error().message(), "compiling a graph of 2000");  // and up to two more
      EXPECT_CONTAINS(made.error().message(), cat("the limit is ", limit));
    });
    expect_at_most(growth, limit + 4 * mb);
  }
}
INSTANTIATE_TEST_SUITE_P(Graphs, CompilingOf, ::testing::ValuesIn(large_graphs),
                         [](const auto& i) { return i.param.name; });

// Of operators that oneDNN computes, whose objects are counted as well.
const LargeGraph graphs_of_primitives[] = {
    {"products",
     [](G& g, int nodes) {
       Operand x = g.input("x", DType::f32, {30, 30});
       const Operand w = g.constant(pattern({30, 30}));
       for (int i = 0; i < nodes; ++i) x = g.sigmoid(g.matmul(x, w));
       g.output("y", x);
     }},
    {"products_of_own_weights",
     [](G& g, int nodes) {
       Operand x = g.input("x", DType::f32, {30, 30});
       for (int i = 0; i < nodes; ++i) x = g.sigmoid(g.matmul(x, g.constant(pattern({30, 30}, i))));
       g.output("y", x);
     }},
    {"convolutions",
     [](G& g, int nodes) {
       Operand x = g.input("x", DType::f32, {1, 4, 12, 12});
       const Operand w = g.constant(pattern({4, 4, 3, 3}));
       for (int i = 0; i < nodes; ++i) x = g.tanh(g.conv(x, w, {}, {.pads = {1, 1, 1, 1}}));
       g.output("y", x);
     }},
    {"products_of_two",
     [](G& g, int nodes) {
       Operand x = g.input("x", DType::f32, {1, 30, 30});
       for (int i = 0; i < nodes; ++i) x = g.relu(g.matmul(x, x));
       g.output("y", x);
     }},
};

class CompilingPrimitives : public ::testing::TestWithParam<LargeGraph> {};

TEST_P(CompilingPrimitives, TakesNoMoreThanTheLimit) {
  constexpr int nodes = sanitized ? 500 : 10'000;
  int refused = 0, made = 0;
  for (std::size_t limit = 40 * mb; limit <= 200 * mb; limit += 20 * mb) {
    G g("primitives");
    GetParam().write(g, nodes);
    Model model = must(g.build());
    const std::size_t growth = peak_growth([&] {
      const auto executable =
          Executable::compile(std::move(model), nullptr, {.memory_limit = limit});
      ++(executable ? made : refused);
      if (executable) return;
      EXPECT_EQ(executable.error().code(), Code::out_of_memory) << executable.error().message();
    });
    expect_at_most(growth, with_slack(limit));
    RecordProperty(cat("megabytes_within_", limit / mb), static_cast<int>(growth / mb));
  }
  EXPECT_GT(made, 0);
  EXPECT_TRUE(sanitized || refused > 0);
}
INSTANTIATE_TEST_SUITE_P(Graphs, CompilingPrimitives, ::testing::ValuesIn(graphs_of_primitives),
                         [](const auto& i) { return i.param.name; });

// ---- what is counted

struct Counted {
  const char* name;
  std::function<Operand(G&, Operand x, int i)> layer;
};
void PrintTo(const Counted& counted, std::ostream* to) {
  *to << counted.name;
}

const Counted counted[] = {
    {"softmax", [](G& g, Operand x, int) { return g.softmax(x); }},
    {"convolution",
     [](G& g, Operand x, int i) {
       return g.conv(x, g.constant(pattern({4, 4, 3, 3}, i)), {}, {.pads = {1, 1, 1, 1}});
     }},
    {"convolution_of_another_shape",
     [](G& g, Operand x, int i) {
       const auto channels = [](int k) { return k < 0 ? 4 : 4 + k % 13; };
       const Shape weights = {channels(i), channels(i - 1), 1 + i % 3, 1};
       return g.conv(x, g.constant(pattern(weights, i)), {}, {.pads = {0, 0, i % 3, 0}});
     }},
    {"product",
     [](G& g, Operand x, int i) {
       return g.sigmoid(g.matmul(x, g.constant(pattern({30, 30}, i))));
     }},
    {"pool",
     [](G& g, Operand x, int) {
       return g.max_pool(x, {3, 3}, {.pads = {1, 1, 1, 1}});
     }},
};

class Tables : public ::testing::TestWithParam<Counted> {};

// The graph is among the tables, but was there before: it is left out on both sides.
TEST_P(Tables, AreCounted) {
  const auto model = [&] {
    G g("counted");
    Operand x = g.input("x", DType::f32, {1, 4, 30, 30});
    for (int i = 0; i < 200; ++i) x = GetParam().layer(g, x, i);
    g.output("y", x);
    return must(g.build());
  };
  run(*session_of(compile(model())), inputs_of(*compile(model())));  // what is made once
  const auto in_use = [] {
    const auto info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
  };
  Model made = model();
  const double before = in_use();
  const auto executable = compile(std::move(made));
  const auto session = session_of(executable);
  run(*session, inputs_of(*executable));
  const auto weights = static_cast<double>(session->plan_info().weight_bytes);
  const double held = in_use() - before - weights - static_cast<double>(session->resident_bytes());
  const auto counted = static_cast<double>(executable->table_bytes() + session->table_bytes());
  if (sanitized) return;
  EXPECT_GT(counted, held) << "counted " << counted << ", held " << held;
  EXPECT_LT(counted, 6 * held + 200'000) << "counted " << counted << ", held " << held;
}

INSTANTIATE_TEST_SUITE_P(Layers, Tables, ::testing::ValuesIn(counted),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quern::testing
