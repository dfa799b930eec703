// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/vocabulary/text_util.h"
#include "graph/evaluate.h"
#include "graph/numeric.h"
#include "graph/ops/control_flow.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "kernels/contract/kernel.h"

namespace quern::testing {

Graph graph_of(std::string_view statements) {
  auto g = parse_text(cat("graph \"\" {\n", statements, "\n}"), builtin_ops());
  EXPECT_TRUE(g) << (g ? "" : g.error().message()) << "\nin\n" << statements;
  return g ? std::move(*g) : Graph(builtin_ops());
}

std::string plain_text(const Graph& graph) {
  return to_text(graph, {.names = false});
}

std::vector<PassCount> apply(Graph& graph, const Rules& rules) {
  std::vector<PassCount> counts;
  PassOptions options{.fuse = rules.fuse, .verify = true, .counts = &counts};
  if (!rules.only.empty())
    for (std::string_view name : pass_names())
      if (std::ranges::find(rules.only, name) == rules.only.end())
        options.disabled.emplace_back(name);
  EXPECT_LE(rules.only.size() + options.disabled.size(), pass_names().size()) << "no such rule";
  const Status s = run_passes(graph, options);
  EXPECT_TRUE(s.ok()) << s.message() << "\nin\n" << to_text(graph);
  const Status v = verify(graph);
  EXPECT_TRUE(v.ok()) << v.message() << "\nin\n" << to_text(graph);
  return counts;
}

namespace {

bool has_known_inputs(const Graph& g) {
  return std::ranges::all_of(g.inputs(), [&](ValueId v) { return g.type(v).fully_known(); });
}

void expect_same_results(const Graph& before, const Graph& after, double tolerance) {
  for (std::uint64_t seed : {1, 2}) {
    const std::vector<Tensor> inputs = random_inputs(before, seed);
    const auto expected = interpret(before, inputs);
    const auto actual = interpret(after, inputs);
    ASSERT_TRUE(expected) << expected.error().message();
    ASSERT_TRUE(actual) << actual.error().message();
    ASSERT_EQ(expected->size(), actual->size());
    for (std::size_t i = 0; i < expected->size(); ++i)
      expect_close((*expected)[i], (*actual)[i], tolerance);
  }
}

}  // namespace

void expect_becomes(const Rules& rules, std::string_view before, std::string_view after,
                    double tolerance) {
  const Graph original = graph_of(before);
  Graph g = original.clone();
  apply(g, rules);
  EXPECT_EQ(plain_text(g), plain_text(graph_of(after)));
  if (has_known_inputs(original)) expect_same_results(original, g, tolerance);
}

void expect_is(const Graph& changed, const Graph& original, std::string_view after,
               double tolerance) {
  const Status s = verify(changed);
  EXPECT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(plain_text(changed), plain_text(graph_of(after)));
  const auto inputs = random_inputs(original, 1);
  const auto expected = interpret(original, inputs);
  const auto actual = interpret(changed, inputs);
  ASSERT_TRUE(expected && actual);
  for (std::size_t i = 0; i < expected->size(); ++i)
    expect_close((*expected)[i], (*actual)[i], tolerance);
}

void expect_stays(const Rules& rules, std::string_view statements) {
  Graph g = graph_of(statements);
  const std::string before = plain_text(g);
  for (const PassCount& c : apply(g, rules)) EXPECT_EQ(c.fired, 0U) << c.pass;
  EXPECT_EQ(plain_text(g), before);
}

// ---- references --------------------------------------------------------------------------------

Tensor random_tensor(const TensorType& type, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> real(-2, 2);
  std::uniform_int_distribution<int> integer(0, 7);
  auto t = Tensor::zeros(type);
  visit_dtype(type.dtype, [&]<class T>(TypeTag<T>) {
    auto* data = reinterpret_cast<T*>(t->mutable_data());
    for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
      if constexpr (std::is_same_v<T, bool>) data[i] = integer(engine) % 2 == 0;
      if constexpr (is_float_type<T>) data[i] = T(real(engine));
      if constexpr (is_integer_type<T>) data[i] = static_cast<T>(integer(engine));
    }
  });
  return std::move(*t);
}

std::vector<Tensor> random_inputs(const Graph& graph, std::uint64_t seed) {
  std::vector<Tensor> inputs;
  for (ValueId v : graph.inputs())
    inputs.push_back(random_tensor({graph.type(v).dtype, *graph.type(v).shape()}, ++seed * 7919));
  return inputs;
}

namespace {

class Interpreter {
 public:
  explicit Interpreter(const Graph& g) : g_(g), values_(g.value_count()) {}

  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[index(g_.inputs()[i])] = inputs[i];
    for (NodeId id : g_.order()) QUERN_TRY(run_node(g_.node(id)));
    std::vector<Tensor> outputs;
    for (ValueId v : g_.outputs()) outputs.push_back(value(v));
    return outputs;
  }

 private:
  Tensor value(ValueId v) const {
    if (v == no_value) return {};
    return g_.value(v).is_constant() ? g_.value(v).constant : values_[index(v)];
  }

  Status run_node(const Node& n) {
    std::vector<Tensor> inputs;
    std::vector<Tensor> operands;
    for (ValueId v : n.inputs) inputs.push_back(value(v));
    for (ValueId v : n.operands) operands.push_back(value(v));
    QUERN_ASSIGN(const std::vector<Tensor> outputs, n.as<If>()     ? run_if(n, inputs)
                                                    : n.as<Loop>() ? run_loop(n, inputs)
                                                                   : compute(n, inputs, operands));
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i] != no_value) values_[index(n.outputs[i])] = outputs[i];
    return {};
  }

  static Result<std::vector<Tensor>> run_if(const Node& n, const std::vector<Tensor>& inputs) {
    const bool condition = inputs[0].span<bool>()[0];
    return interpret(n.bodies[condition ? 0 : 1], {inputs.begin() + 1, inputs.end()});
  }

  // A number of trips and carried values; nothing collected.
  static Result<std::vector<Tensor>> run_loop(const Node& n, const std::vector<Tensor>& inputs) {
    const auto carried = n.as<Loop>()->carried;
    if (!inputs[0].valid() || static_cast<std::int64_t>(n.outputs.size()) != carried)
      return Status(Code::unsupported, "a loop that the interpreter does not know");
    const auto split = inputs.begin() + 2 + carried;
    std::vector<Tensor> state(inputs.begin() + 2, split);
    Tensor go_on = inputs[1].valid() ? inputs[1] : Tensor::scalar(DType::boolean, true);
    for (std::int64_t i = 0; i < inputs[0].span<std::int64_t>()[0] && go_on.span<bool>()[0]; ++i) {
      std::vector<Tensor> in = {Tensor::scalar(DType::i64, i), go_on};
      in.insert(in.end(), state.begin(), state.end());
      in.insert(in.end(), split, inputs.end());
      QUERN_ASSIGN(std::vector<Tensor> out, interpret(n.bodies[0], in));
      go_on = out[0];
      state.assign(out.begin() + 1, out.end());
    }
    return state;
  }

  Result<std::vector<Tensor>> compute(const Node& n, const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& operands) {
    const OpDef& def = n.op.def();
    std::vector<InferInput> in;
    for (const Tensor& t : inputs)
      in.push_back(t.valid() ? InferInput{true, ValueType(t.type()), &t} : InferInput{});
    InferContext context(n.op, def.name, n.name, in, n.outputs.size());
    QUERN_TRY((def.bound ? def.bound : def.infer)(context));
    std::vector<TensorType> types;
    for (const ValueType& t : context.outputs()) {
      if (!t.fully_known()) return Status(Code::internal, "a shape is not known");
      types.push_back({t.dtype, *t.shape()});
    }
    return evaluate(g_.ops(), n.op, n.post_ops, inputs, operands, types);
  }

  const Graph& g_;
  std::vector<Tensor> values_;
};

std::vector<double> elements(const Tensor& t) {
  std::vector<double> all;
  visit_dtype(t.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (is_number_type<T> || std::is_same_v<T, bool>)
      for (const T& v : t.span<T>()) all.push_back(static_cast<double>(v));
  });
  return all;
}

}  // namespace

Result<std::vector<Tensor>> interpret(const Graph& graph, const std::vector<Tensor>& inputs) {
  return Interpreter(graph).run(inputs);
}

void expect_close(const Tensor& expected, const Tensor& actual, double tolerance) {
  ASSERT_EQ(expected.type(), actual.type());
  const std::vector<double> a = elements(expected);
  const std::vector<double> b = elements(actual);
  double greatest = 1;
  for (double v : a)
    if (std::isfinite(v)) greatest = std::max(greatest, std::fabs(v));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) || std::isinf(a[i])) {
      EXPECT_EQ(std::isnan(a[i]), std::isnan(b[i])) << "element " << i;
      if (std::isinf(a[i])) {
        EXPECT_EQ(a[i], b[i]) << "element " << i;
      }
    } else {
      EXPECT_NEAR(a[i], b[i], tolerance * greatest) << "element " << i;
    }
  }
}

}  // namespace quern::testing
