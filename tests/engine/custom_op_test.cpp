// SPDX-License-Identifier: Apache-2.0
// Operators of the host: what they are shown and may ask, where they run, and what is said of those
// that answer nonsense.
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include <quern/artefact.h>
#include <quern/c/custom_op.h>
#include <quern/custom_ops.h>

#include "graph/custom/attributes.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/onnx_run.h"
#include "tests/expect.h"

namespace quern::onnx_test {
namespace {

using quern::testing::must;
using quern::testing::pattern;
using quern::testing::values;
using Calls = std::atomic<int>;

// y = x * factor + offset (an attribute), of any shape, with its calls counted.
struct Scaling {
  Calls infers = 0;
  Calls prepares = 0;
  Calls destroyed = 0;
  Calls runs = 0;
  Calls references = 0;
  Calls released = 0;
  std::atomic<int> threads = 0;
  std::atomic<std::size_t> workspace = 0;
  std::atomic<bool> in_place = false;
  std::atomic<float> factor_of_constant = 0;
};

Scaling& scaling(const quern_op_call* c) {
  return *static_cast<Scaling*>(c->context);
}

quern_status infer_scale(const quern_op_call* c) {
  ++scaling(c).infers;
  const quern_op_input& x = c->inputs[0];
  if (x.dtype != QUERN_F32) return c->api->fail(c, QUERN_INVALID_MODEL, "input 0 must be f32");
  return c->api->set_output(c, 0, x.dtype, x.rank, x.dims);
}

quern_status prepare_scale(const quern_op_call* c, quern_op_kernel* kernel) {
  Scaling& s = scaling(c);
  ++s.prepares;
  kernel->workspace_bytes = 1000;
  kernel->state = &s;
  kernel->destroy = [](void* state) { ++static_cast<Scaling*>(state)->destroyed; };
  if (c->input_count > 1)
    if (const void* factor = c->api->constant(c, 1))
      s.factor_of_constant = *static_cast<const float*>(factor);
  return QUERN_OK;
}

void scale_part(void* data, std::int64_t begin, std::int64_t end) {
  const auto* c = static_cast<const quern_op_call*>(data);
  const auto* x = static_cast<const float*>(c->inputs[0].data);
  auto* y = static_cast<float*>(c->outputs[0].data);
  const bool has_factor = c->input_count > 1 && c->inputs[1].is_present != 0;
  const float factor = has_factor ? *static_cast<const float*>(c->inputs[1].data) : 2;
  const float offset = c->api->get_float(c, "offset", 0);
  for (std::int64_t i = begin; i < end; ++i) y[i] = x[i] * factor + offset;
}

std::int64_t count_of(const quern_op_output& y) {
  std::int64_t n = 1;
  for (std::int32_t i = 0; i < y.rank; ++i) n *= y.dims[i];
  return n;
}

quern_status run_scale(const quern_op_call* c) {
  Scaling& s = scaling(c);
  ++s.runs;
  s.threads = c->threads;
  s.workspace = c->workspace_bytes;
  if (c->state != &s) return c->api->fail(c, QUERN_INTERNAL, "the state is another");
  if (reinterpret_cast<std::uintptr_t>(c->workspace) % 64 != 0)
    return c->api->fail(c, QUERN_INTERNAL, "the workspace is not aligned");
  std::memset(c->workspace, 0xff, c->workspace_bytes);
  if (c->inputs[0].data == c->outputs[0].data) s.in_place = true;
  c->api->parallel_for(c, count_of(c->outputs[0]), 8, scale_part, const_cast<quern_op_call*>(c));
  return QUERN_OK;
}

quern_status reference_scale(const quern_op_call* c) {
  ++scaling(c).references;
  scale_part(const_cast<quern_op_call*>(c), 0, count_of(c->outputs[0]));
  return QUERN_OK;
}

constexpr const char* scale_attributes[] = {"offset", nullptr};

quern_custom_op scale_op(Scaling& s, std::uint32_t flags = QUERN_OP_DETERMINISTIC) {
  quern_custom_op op = QUERN_CUSTOM_OP_INIT;
  op.domain = "org.example";
  op.name = "Scale";
  op.flags = flags;
  op.max_inputs = 2;
  op.attributes = scale_attributes;
  op.context = &s;
  op.infer = infer_scale;
  op.prepare = prepare_scale;
  op.run = run_scale;
  op.reference = reference_scale;
  return op;
}

std::shared_ptr<CustomOps> registry_of(const quern_custom_op& op) {
  auto ops = std::make_shared<CustomOps>();
  must(ops->add(op));
  return ops;
}

Message custom_node(std::string_view op, const Names& in, const Names& out,
                    const Messages& attributes = {}) {
  return node(op, in, out, attributes, {.name = "mine", .domain = "org.example"});
}

std::string custom_model(const GraphParts& parts, std::int64_t version = 1) {
  return make_model(make_graph(parts), {.opsets = {opset("", 17), opset("org.example", version)}});
}

// y = Scale(relu(x)), x f32[N,6]
std::string scale_model(const Messages& attributes = {}, const Names& more = {},
                        const Messages& initializers = {}) {
  Names in = {"r"};
  in.insert(in.end(), more.begin(), more.end());
  return custom_model(
      {.nodes = {node("Relu", {"x"}, {"r"}), custom_node("Scale", in, {"y"}, attributes)},
       .inputs = {value("x", f32, {"N", 6})},
       .outputs = {value("y", f32, {"N", 6})},
       .initializers = initializers});
}

Result<Model> parse(const std::string& bytes, std::shared_ptr<const CustomOps> ops) {
  return parse_onnx(std::as_bytes(std::span(bytes)), nullptr, {}, {.ops = std::move(ops)});
}

std::string parse_error(const std::string& bytes, std::shared_ptr<const CustomOps> ops) {
  const auto model = parse(bytes, std::move(ops));
  return model ? std::string() : std::string(model.error().message());
}

std::vector<float> answer(Session& session, const Tensor& x) {
  must(session.set_input(0, x.view()));
  must(session.run(), "run");
  return values(must(session.output(0)));
}

std::vector<float> expected(const Tensor& x, float factor, float offset) {
  std::vector<float> y = values(x.view());
  for (float& v : y) v = std::max(v, 0.0F) * factor + offset;
  return y;
}

// ---- running -----------------------------------------------------------------------------------

TEST(CustomOp, RunsWithItsStateItsWorkspaceAndTheSessionsThreads) {
  Scaling s;
  const std::string bytes = scale_model({number("offset", 0.5F)});
  Model model = must(parse(bytes, registry_of(scale_op(s))));
  {
    const auto session = testing::session_of(testing::compile(std::move(model)), 2);
    const Tensor x = pattern({40, 6});
    EXPECT_EQ(answer(*session, x), expected(x, 2, 0.5F));
    EXPECT_EQ(answer(*session, x), expected(x, 2, 0.5F));
    const PlanInfo plan = session->plan_info();
    EXPECT_EQ(plan.steps.back().op, "org.example.Scale");
    EXPECT_EQ(plan.steps.back().implementation, "host org.example.Scale");
    EXPECT_EQ(s.threads, session->threads());
  }
  EXPECT_EQ(s.runs, 2);
  EXPECT_EQ(s.prepares, 1);
  EXPECT_EQ(s.destroyed, 1);
  EXPECT_EQ(s.workspace, 1000U);
  EXPECT_EQ(s.references, 0);
}

TEST(CustomOp, OfAReferenceDeviceIsItsReference) {
  Scaling s;
  const std::string bytes = scale_model();
  Model model = must(parse(bytes, registry_of(scale_op(s))));
  const auto session = testing::session_of(testing::compile(std::move(model), "reference"));
  const Tensor x = pattern({3, 6});
  EXPECT_EQ(answer(*session, x), expected(x, 2, 0));
  EXPECT_GT(s.references, 0);
  EXPECT_EQ(s.runs, 0);
}

TEST(CustomOp, WithoutAReferenceRunsInItsPlace) {
  Scaling s;
  quern_custom_op op = scale_op(s);
  op.reference = nullptr;
  const std::string bytes = scale_model();
  Model model = must(parse(bytes, registry_of(op)));
  const auto session = testing::session_of(testing::compile(std::move(model), "reference"));
  const Tensor x = pattern({3, 6});
  EXPECT_EQ(answer(*session, x), expected(x, 2, 0));
  EXPECT_EQ(s.runs, 1);
  EXPECT_EQ(s.prepares, s.destroyed);
}

TEST(CustomOp, MayWriteOverItsInputWhereItSaysSo) {
  for (const bool may : {false, true}) {
    Scaling s;
    const auto flags = QUERN_OP_DETERMINISTIC | (may ? QUERN_OP_IN_PLACE : 0);
    const std::string bytes =
        custom_model({.nodes = {node("Relu", {"x"}, {"a"}), custom_node("Scale", {"a"}, {"b"}),
                                node("Relu", {"b"}, {"c"}), node("Neg", {"c"}, {"y"})},
                      .inputs = {value("x", f32, {64, 6})},
                      .outputs = {value("y", f32, {64, 6})}});
    Model model = must(parse(bytes, registry_of(scale_op(s, static_cast<std::uint32_t>(flags)))));
    const auto session = testing::session_of(testing::compile(std::move(model)));
    const Tensor x = pattern({64, 6});
    std::vector<float> y = expected(x, -2, 0);
    EXPECT_EQ(answer(*session, x), y);
    EXPECT_EQ(s.in_place, may);
  }
}

TEST(CustomOp, IsShownConstantsWhenItIsPrepared) {
  Scaling s;
  const std::string bytes = scale_model({}, {"f"}, {floats("f", {}, {3})});
  Model model = must(parse(bytes, registry_of(scale_op(s))));
  const auto session = testing::session_of(testing::compile(std::move(model)));
  const Tensor x = pattern({3, 6});
  EXPECT_EQ(answer(*session, x), expected(x, 3, 0));
  EXPECT_EQ(s.factor_of_constant, 3);
}

TEST(CustomOp, SessionsOfManyThreadsShareOneKernel) {
  Scaling s;
  const std::string bytes = scale_model();
  Model model = must(parse(bytes, registry_of(scale_op(s))));
  const auto executable = testing::compile(std::move(model));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const auto session = testing::session_of(executable, 1);
      const Tensor x = pattern({30, 6}, i);
      for (int run = 0; run < 20; ++run) EXPECT_EQ(answer(*session, x), expected(x, 2, 0));
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(s.runs, 80);
  EXPECT_EQ(s.prepares, 1);
}

// ---- passes ------------------------------------------------------------------------------------

// y = Scale(c) + Scale(c) + x for a constant c.
std::string twice_model() {
  return custom_model(
      {.nodes = {custom_node("Scale", {"c"}, {"a"}), custom_node("Scale", {"c"}, {"b"}),
                 node("Add", {"a", "b"}, {"s"}), node("Add", {"s", "x"}, {"y"})},
       .inputs = {value("x", f32, {2})},
       .outputs = {value("y", f32, {2})},
       .initializers = {floats("c", {2}, {1, 2})}});
}

TEST(CustomOp, IsComputedAheadOnlyWhereItIsDeterministic) {
  for (const bool is_deterministic : {true, false}) {
    Scaling s;
    const std::string bytes = twice_model();
    Model model = must(parse(
        bytes, registry_of(scale_op(s, is_deterministic ? unsigned{QUERN_OP_DETERMINISTIC} : 0U))));
    const auto session = testing::session_of(testing::compile(std::move(model)));
    const Tensor x = testing::tensor<float>({2}, {10, 20});
    EXPECT_EQ(answer(*session, x), (std::vector<float>{14, 28}));
    EXPECT_EQ(s.runs, is_deterministic ? 0 : 2);
  }
}

TEST(CustomOp, IsMergedOnlyWhereItIsDeterministic) {
  for (const bool is_deterministic : {true, false}) {
    Scaling s;
    const std::string bytes = custom_model(
        {.nodes = {custom_node("Scale", {"x"}, {"a"}), custom_node("Scale", {"x"}, {"b"}),
                   custom_node("Scale", {"x"}, {"c"}, {number("offset", 1)}),
                   node("Sum", {"a", "b", "c"}, {"y"})},
         .inputs = {value("x", f32, {2})},
         .outputs = {value("y", f32, {2})}});
    Model model = must(parse(
        bytes, registry_of(scale_op(s, is_deterministic ? unsigned{QUERN_OP_DETERMINISTIC} : 0U))));
    const auto session = testing::session_of(testing::compile(std::move(model)));
    EXPECT_EQ(answer(*session, testing::tensor<float>({2}, {1, 2})), (std::vector<float>{7, 13}));
    EXPECT_EQ(s.runs, is_deterministic ? 2 : 3);
  }
}

TEST(CustomOp, OfHalvesIsGivenHalves) {
  quern_custom_op op = QUERN_CUSTOM_OP_INIT;
  op.domain = "org.example";
  op.name = "Same";
  op.infer = [](const quern_op_call* c) {
    const quern_op_input& x = c->inputs[0];
    if (x.dtype != QUERN_F16) return c->api->fail(c, QUERN_INVALID_MODEL, "input 0 must be f16");
    return c->api->set_output(c, 0, x.dtype, x.rank, x.dims);
  };
  op.run = [](const quern_op_call* c) {
    std::memcpy(c->outputs[0].data, c->inputs[0].data,
                2 * static_cast<std::size_t>(count_of(c->outputs[0])));
    return quern_status{QUERN_OK};
  };
  const std::string bytes =
      custom_model({.nodes = {node("Add", {"x", "x"}, {"a"}), custom_node("Same", {"a"}, {"b"}),
                              node("Add", {"b", "x"}, {"y"})},
                    .inputs = {value("x", f16, {2})},
                    .outputs = {value("y", f16, {2})}});
  Model model = must(parse(bytes, registry_of(op)));
  const auto session = testing::session_of(testing::compile(std::move(model)));
  const std::uint16_t halves[] = {0x3c00, 0x4000};  // 1, 2
  const Tensor x = must(Tensor::copy_of({DType::f16, {2}}, std::as_bytes(std::span(halves))));
  must(session->set_input(0, x.view()));
  must(session->run(), "run");
  EXPECT_EQ(values<std::uint16_t>(must(session->output(0))),
            (std::vector<std::uint16_t>{0x4200, 0x4600}));  // 3, 6
}

// ---- shapes ------------------------------------------------------------------------------------

// y = the first n columns of x, n the element of a plan input.
quern_custom_op columns_op() {
  quern_custom_op op = QUERN_CUSTOM_OP_INIT;
  op.domain = "org.example";
  op.name = "Columns";
  op.min_inputs = op.max_inputs = 2;
  op.plan_inputs = 2;
  op.infer = [](const quern_op_call* c) {
    const quern_op_input& x = c->inputs[0];
    if (x.rank != 2) return c->api->fail(c, QUERN_INVALID_MODEL, "input 0 must have rank 2");
    const auto* n = static_cast<const std::int64_t*>(c->inputs[1].data);
    const std::int64_t dims[2] = {x.dims[0], n ? *n : -1};
    return c->api->set_output(c, 0, x.dtype, 2, dims);
  };
  op.run = [](const quern_op_call* c) {
    const quern_op_output& y = c->outputs[0];
    const std::int64_t width = c->inputs[0].dims[1];
    for (std::int64_t i = 0; i < count_of(y); ++i)
      static_cast<float*>(y.data)[i] =
          static_cast<const float*>(c->inputs[0].data)[i / y.dims[1] * width + i % y.dims[1]];
    return quern_status{QUERN_OK};
  };
  return op;
}

TEST(CustomOp, ElementsOfPlanInputsDecideShapes) {
  const std::string bytes =
      custom_model({.nodes = {custom_node("Columns", {"x", "n"}, {"y"})},
                    .inputs = {value("x", f32, {"N", 3}), value("n", i64, {1})},
                    .outputs = {value("y", f32, {"N", "M"})}});
  Model model = must(parse(bytes, registry_of(columns_op())));
  const auto session = testing::session_of(testing::compile(std::move(model)));
  const Tensor x = testing::tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor two = testing::tensor<std::int64_t>({1}, {2});
  must(session->set_input(1, two.view()));
  EXPECT_EQ(answer(*session, x), (std::vector<float>{1, 2, 4, 5}));
  const Tensor one = testing::tensor<std::int64_t>({1}, {1});
  must(session->set_input(1, one.view()));
  EXPECT_EQ(answer(*session, x), (std::vector<float>{1, 4}));
}

TEST(CustomOp, NamesOfDimensionsComeThrough) {
  Scaling s;
  const std::string bytes = scale_model();
  const Model model = must(parse(bytes, registry_of(scale_op(s))));
  EXPECT_EQ(model.outputs()[0].symbols, model.inputs()[0].symbols);
}

// An operator whose inference is this function.
thread_local std::function<quern_status(const quern_op_call*)> hostile;

quern_custom_op hostile_op() {
  quern_custom_op op = QUERN_CUSTOM_OP_INIT;
  op.domain = "org.example";
  op.name = "Hostile";
  op.infer = [](const quern_op_call* c) { return hostile(c); };
  op.run = [](const quern_op_call*) { return quern_status{QUERN_OK}; };
  return op;
}

// What reading and compiling says where inference is `f`.
std::string complaint(std::function<quern_status(const quern_op_call*)> f) {
  hostile = std::move(f);
  const std::string bytes = custom_model({.nodes = {custom_node("Hostile", {"x"}, {"y"})},
                                          .inputs = {value("x", f32, {2, 3})},
                                          .outputs = {value("y", unranked_type(f32))}});
  auto model = parse(bytes, registry_of(hostile_op()));
  if (!model) return std::string(model.error().message());
  const auto executable = Executable::compile(std::move(*model));
  return executable ? std::string() : std::string(executable.error().message());
}

std::string complaint(quern_dtype dtype, std::int32_t rank, std::vector<std::int64_t> dims) {
  return complaint(
      [=](const quern_op_call* c) { return c->api->set_output(c, 0, dtype, rank, dims.data()); });
}

TEST(CustomOp, NonsenseOfItsInferenceIsAnError) {
  EXPECT_EQ(complaint(QUERN_F32, 1, {-7}),
            "node 'mine' (org.example.Hostile): its inference gives output 0 the dimension -7 at "
            "axis 0, wants a number of at least 0, -1, or a dimension of an input");
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_CONTAINS(complaint(QUERN_F32, 3, {large, large, large}), "which is too large");
  EXPECT_CONTAINS(complaint(QUERN_F32, 17, std::vector<std::int64_t>(17, 1)),
                  "rank 17, wants -1 to 16");
  EXPECT_CONTAINS(complaint(QUERN_F32, -2, {}), "rank -2, wants -1 to 16");
  EXPECT_CONTAINS(complaint(99, 0, {}), "the element type 99, which is none");
  EXPECT_CONTAINS(complaint(-1, 0, {}), "the element type -1, which is none");
  EXPECT_CONTAINS(complaint(QUERN_STRING, 0, {}), "strings");
  EXPECT_CONTAINS(complaint(QUERN_F32, 1, {-1}), "shapes of an operator of the host depend on");
  EXPECT_CONTAINS(complaint(QUERN_F32, -1, {}), "shapes of an operator of the host depend on");
  EXPECT_CONTAINS(complaint([](const quern_op_call* c) {
                    return c->api->set_output(c, 0, QUERN_F32, 2, nullptr);
                  }),
                  "rank 2 without dimensions");
  EXPECT_CONTAINS(complaint([](const quern_op_call* c) {
                    return c->api->set_output(c, 5, QUERN_F32, 0, nullptr);
                  }),
                  "the node has 1 outputs");
  EXPECT_CONTAINS(complaint([](const quern_op_call*) { return QUERN_OK; }),
                  "gives output 0 no type");
  EXPECT_CONTAINS(complaint([](const quern_op_call*) { return 1234; }),
                  "'infer' gives status 1234 (invalid_argument) and no reason");
  // The first error counts, whatever is returned.
  EXPECT_CONTAINS(complaint([](const quern_op_call* c) {
                    (void)c->api->fail(c, QUERN_UNSUPPORTED, "not today");
                    (void)c->api->fail(c, QUERN_UNSUPPORTED, nullptr);
                    return c->api->set_output(c, 0, QUERN_F32, 0, nullptr);
                  }),
                  "(org.example.Hostile): not today");
}

TEST(CustomOp, WhatItAsksForIsCheckedInEveryStage) {
  // What only other stages have.
  EXPECT_EQ(complaint([](const quern_op_call* c) {
              EXPECT_EQ(c->api->constant(c, 0), nullptr);
              EXPECT_EQ(c->api->constant(c, 77), nullptr);
              std::int64_t sum = 0;
              c->api->parallel_for(
                  c, 10, 1,
                  [](void* data, std::int64_t begin, std::int64_t end) {
                    *static_cast<std::int64_t*>(data) += end - begin;
                  },
                  &sum);
              EXPECT_EQ(sum, 10);
              EXPECT_EQ(c->api->is_over(c), 0);
              std::size_t count = 7;
              EXPECT_EQ(c->api->get_ints(c, "none", &count), nullptr);
              EXPECT_EQ(count, 0U);
              EXPECT_EQ(c->api->get_floats(c, nullptr, nullptr), nullptr);
              EXPECT_STREQ(c->api->get_text(c, "none", "x"), "x");
              EXPECT_EQ(c->api->get_int(c, "none", 4), 4);
              return c->api->set_output(c, 0, QUERN_F32, 2, c->inputs[0].dims);
            }),
            "");
}

TEST(CustomOp, ErrorsOfPreparationAndOfARunNameTheNode) {
  Scaling s;
  quern_custom_op op = scale_op(s);
  op.prepare = [](const quern_op_call* c, quern_op_kernel* kernel) {
    kernel->state = c->context;
    kernel->destroy = [](void* state) { ++static_cast<Scaling*>(state)->destroyed; };
    return c->api->fail(c, QUERN_UNSUPPORTED, "no kernel for this shape");
  };
  const std::string bytes = custom_model({.nodes = {custom_node("Scale", {"x"}, {"y"})},
                                          .inputs = {value("x", f32, {6})},
                                          .outputs = {value("y", f32, {6})}});
  auto refused = Executable::compile(must(parse(bytes, registry_of(op))));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unsupported);
  EXPECT_CONTAINS(std::string(refused.error().message()), "node 'mine'");
  EXPECT_CONTAINS(std::string(refused.error().message()), "no kernel for this shape");
  EXPECT_EQ(s.destroyed, 1);
  op.prepare = [](const quern_op_call*, quern_op_kernel* kernel) {
    kernel->workspace_bytes = SIZE_MAX - 5;
    return quern_status{QUERN_OK};
  };
  auto too_much = Executable::compile(must(parse(bytes, registry_of(op))));
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code(), Code::out_of_memory);
  op.prepare = nullptr;
  op.run = [](const quern_op_call* c) {
    return c->api->fail(c, QUERN_INVALID_ARGUMENT, "element 3 is no index");
  };
  const auto session =
      testing::session_of(must(Executable::compile(must(parse(bytes, registry_of(op))))));
  const Tensor x = pattern({6});
  must(session->set_input(0, x.view()));
  const Status failed = session->run();
  EXPECT_EQ(failed.code(), Code::invalid_argument);
  EXPECT_CONTAINS(std::string(failed.message()), "node 'mine'");
  EXPECT_CONTAINS(std::string(failed.message()), "element 3 is no index");
}

// ---- importing ---------------------------------------------------------------------------------

TEST(CustomOp, NodesAreCheckedWhereTheyAreRead) {
  Scaling s;
  const auto ops = registry_of(scale_op(s));
  EXPECT_CONTAINS(parse_error(scale_model({number("offsett", 1)}), ops),
                  "attribute 'offsett' is not known");
  EXPECT_CONTAINS(parse_error(scale_model({integer("offset", 1)}), registry_of([&] {
                                quern_custom_op op = scale_op(s);
                                op.infer = [](const quern_op_call* c) {
                                  (void)c->api->get_float(c, "offset", 0);
                                  return infer_scale(c);
                                };
                                return op;
                              }())),
                  "attribute 'offset' is an int, wants a float");
  EXPECT_CONTAINS(parse_error(scale_model({words("offset", {"a"})}), ops),
                  "operators of the host take ints, floats, a string and lists of both");
  EXPECT_CONTAINS(parse_error(scale_model({}, {"r", "r"}), ops), "has 3 inputs, wants 1 to 2");
  EXPECT_CONTAINS(parse_error(scale_model(), nullptr), "this operator is not supported");
  EXPECT_CONTAINS(parse_error(scale_model(), std::make_shared<CustomOps>()),
                  "this operator is not supported");
  quern_custom_op later = scale_op(s);
  later.first_opset = 2;
  later.last_opset = 4;
  EXPECT_CONTAINS(parse_error(scale_model(), registry_of(later)),
                  "is registered for opsets 2 to 4, the model uses opset 1");
}

TEST(CustomOp, TenantsHaveRegistriesOfTheirOwn) {
  Scaling mine;
  Scaling theirs;
  const std::string bytes = scale_model();
  Model a = must(parse(bytes, registry_of(scale_op(mine))));
  Model b = must(parse(bytes, registry_of(scale_op(theirs))));
  const Tensor x = pattern({3, 6});
  (void)answer(*testing::session_of(testing::compile(std::move(a))), x);
  EXPECT_EQ(mine.runs, 1);
  EXPECT_EQ(theirs.runs, 0);
}

TEST(CustomOp, GoesBeforeTheEnginesOwnAndTheModelsFunctions) {
  Scaling s;
  quern_custom_op op = scale_op(s);
  op.domain = nullptr;
  op.name = "Relu";
  const std::string bytes = custom_model({.nodes = {node("Relu", {"x"}, {"y"})},
                                          .inputs = {value("x", f32, {2})},
                                          .outputs = {value("y", f32, {2})}});
  const auto session = testing::session_of(testing::compile(must(parse(bytes, registry_of(op)))));
  EXPECT_EQ(answer(*session, testing::tensor<float>({2}, {-1, 3})), (std::vector<float>{-2, 6}));
}

TEST(CustomOp, IsReleasedWhenNothingNeedsItAnyMore) {
  Scaling s;
  quern_custom_op op = scale_op(s);
  op.release = [](void* context) { ++static_cast<Scaling*>(context)->released; };
  auto ops = registry_of(op);
  const std::string bytes = scale_model();
  auto model = std::optional(must(parse(bytes, ops)));
  auto executable = testing::compile(model->clone());
  ops.reset();
  model.reset();
  EXPECT_EQ(s.released, 0);
  executable.reset();
  EXPECT_EQ(s.released, 1);
}

// ---- registering -------------------------------------------------------------------------------

TEST(CustomOps, FieldsAreChecked) {
  Scaling s;
  CustomOps ops;
  const auto refused = [&](const std::function<void(quern_custom_op&)>& change) {
    quern_custom_op op = scale_op(s);
    change(op);
    const Status status = ops.add(op);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    return std::string(status.message());
  };
  EXPECT_CONTAINS(refused([](auto& op) { op.struct_size = 3; }), "struct_size is 3");
  EXPECT_CONTAINS(refused([](auto& op) { op.name = nullptr; }), "name is NULL");
  EXPECT_CONTAINS(refused([](auto& op) { op.name = ""; }), "name is ''");
  EXPECT_CONTAINS(refused([](auto& op) { op.domain = "a b"; }), "domain is 'a b'");
  EXPECT_CONTAINS(refused([](auto& op) { op.infer = nullptr; }), "infer is NULL");
  EXPECT_CONTAINS(refused([](auto& op) { op.run = nullptr; }), "run is NULL");
  EXPECT_CONTAINS(refused([](auto& op) { op.flags = 64; }), "flags is 64");
  EXPECT_CONTAINS(refused([](auto& op) { op.min_inputs = -1; }), "min_inputs is -1, at least 0");
  EXPECT_CONTAINS(refused([](auto& op) { op.max_inputs = 0; }), "max_inputs is 0, below");
  EXPECT_CONTAINS(refused([](auto& op) { op.min_outputs = 0; }), "min_outputs is 0, at least 1");
  EXPECT_CONTAINS(refused([](auto& op) {
                    op.first_opset = 3;
                    op.last_opset = 2;
                  }),
                  "last_opset is 2");
  EXPECT_TRUE(ops.list().empty());
  must(ops.add(scale_op(s)));
  EXPECT_CONTAINS(refused([](auto&) {}), "org.example.Scale is registered twice");
  EXPECT_EQ(ops.list().size(), 1U);
}

TEST(CustomOps, VersionsOfOneNameStandBesideEachOther) {
  Scaling old;
  Scaling fresh;
  CustomOps ops;
  quern_custom_op op = scale_op(old);
  op.last_opset = 4;
  must(ops.add(op));
  op = scale_op(fresh);
  op.first_opset = 5;
  must(ops.add(op));
  op.first_opset = 4;
  EXPECT_FALSE(ops.add(op).ok());
}

TEST(CustomOps, FilesThatAreNoneSayWhy) {
  CustomOps ops;
  const Status missing = ops.load("/no/such/file.so");
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_CONTAINS(std::string(missing.message()), "no such file");
  const Status text = ops.load(QUERN_SOURCE_DIR "/README.md");
  EXPECT_EQ(text.code(), Code::invalid_argument);
  EXPECT_CONTAINS(std::string(text.message()), "no shared object of operators");
}

TEST(CustomAttributes, ReadBackAsTheyWere) {
  const std::vector<CustomAttribute> all = {{"a", std::int64_t{-3}},
                                            {"b", 0.1F},
                                            {"c", std::string("a=b:c\n\"")},
                                            {"d", std::vector<std::int64_t>{1, -2}},
                                            {"e", std::vector<float>{0.1F, -INFINITY}},
                                            {"f", std::vector<std::int64_t>{}}};
  for (const CustomAttribute& a : all)
    EXPECT_EQ(must(parse_custom_attribute(to_text(a))), a) << to_text(a);
  for (const char* wrong : {"", "a", "a=", "a=i", "a=i:", "a=i:1x", "=i:1", "a=q:1", "a=is:1,",
                            "a=is:,1", "a=fs:x", "a b=i:1", "a=i:99999999999999999999"})
    EXPECT_FALSE(parse_custom_attribute(wrong)) << wrong;
}

// ---- artefacts ---------------------------------------------------------------------------------

TEST(CustomOp, AnArtefactNamesItAndARegistryHasIt) {
  Scaling s;
  const auto ops = registry_of(scale_op(s));
  const std::string bytes =
      custom_model({.nodes = {node("Relu", {"x"}, {"r"}),
                              custom_node("Scale", {"r"}, {"y"}, {number("offset", 1)})},
                    .inputs = {value("x", f32, {3, 6})},
                    .outputs = {value("y", f32, {3, 6})}});
  const auto executable = testing::compile(must(parse(bytes, ops)));
  for (const bool is_portable : {false, true}) {
    const Artefact artefact = must(Artefact::make(executable, {.is_portable = is_portable}));
    const auto file = must(artefact.in_memory());
    const std::span<const std::byte> view(file.get(), artefact.contents().bytes);
    const auto loaded = must(parse_artefact(view, file, nullptr, {.ops = ops}));
    const Tensor x = pattern({3, 6});
    EXPECT_EQ(answer(*testing::session_of(loaded), x), expected(x, 2, 1));
    EXPECT_EQ(work_of(*loaded).graphs, 0U);
    const auto without = parse_artefact(view, file);
    ASSERT_FALSE(without);
    EXPECT_EQ(without.error().code(), Code::unsupported);
    EXPECT_CONTAINS(std::string(without.error().message()),
                    "operator org.example.Scale of opset 1 is not registered here");
  }
}

}  // namespace
}  // namespace quern::onnx_test
