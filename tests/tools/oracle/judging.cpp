// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/oracle/judging.h"

#include <chrono>
#include <cmath>
#include <map>
#include <random>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/session.h>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/text.h"
#include "tools/oracle/values.h"

namespace quern::testing {
namespace {

using tools::as_numbers;

std::vector<OracleInput> as_oracle_inputs(const std::vector<Tensor>& inputs) {
  std::vector<OracleInput> out;
  for (const Tensor& t : inputs) out.push_back({.tensors = {t}});
  return out;
}

Status bind(Session& session, const std::vector<OracleInput>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::vector<TensorView> views;
    for (const Tensor& t : inputs[i].tensors) views.push_back(t.view());
    switch (inputs[i].kind) {
      case BoundedValue::Kind::none: QUERN_TRY(session.set_input_none(i)); break;
      case BoundedValue::Kind::sequence: QUERN_TRY(session.set_input_sequence(i, views)); break;
      default: QUERN_TRY(session.set_input(i, views.at(0))); break;
    }
  }
  return {};
}

void add(Judged& judged, const BoundedTensor& wanted, const TensorView& got,
         const std::string& name) {
  if (auto difference = tools::compare(wanted, got))
    return judged.failures.push_back(cat(name, ": ", difference->text));
  if (!is_number_float(wanted.type)) return;
  const auto g = as_numbers(Tensor(got.type, nullptr, got.data));
  const auto w = as_numbers(wanted.value);
  for (std::size_t i = 0; i < g.size(); ++i)
    if (wanted.bound[i] > 0 && std::isfinite(wanted.bound[i]) && std::isfinite(g[i]))
      judged.worst_ratio = std::max(judged.worst_ratio, std::fabs(g[i] - w[i]) / wanted.bound[i]);
}

Status run_and_compare(Session& session, const std::vector<BoundedValue>& wanted, Judged& judged) {
  QUERN_TRY(session.run());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    judged.share += tools::judged_share(wanted[i]);
    if (wanted[i].kind == BoundedValue::Kind::undetermined) continue;
    const std::string name = cat("output ", i);
    QUERN_ASSIGN(const std::size_t count, session.output_count(i));
    if (count != wanted[i].tensors.size()) {
      judged.failures.push_back(
          cat(name, ": ", count, " tensors, wanted ", wanted[i].tensors.size()));
      continue;
    }
    for (std::size_t k = 0; k < count; ++k) {
      QUERN_ASSIGN(const TensorView got, session.output_element(i, k));
      add(judged, wanted[i].tensors[k], got, name);
    }
  }
  return {};
}

// A device stays open for the graphs that follow: to open a GPU takes longer than most of them.
Result<std::shared_ptr<Device>> kept_device(std::string_view name) {
  static std::map<std::string, std::shared_ptr<Device>, std::less<>> kept;
  if (const auto it = kept.find(name); it != kept.end()) return it->second;
  QUERN_ASSIGN(auto opened, open_device(name));
  return kept.emplace(name, std::move(opened)).first->second;
}

Status run_on(std::string_view device, std::string_view implementation, const Graph& graph,
              const std::vector<OracleInput>& inputs, const std::vector<BoundedValue>& wanted,
              Judged& judged) {
  QUERN_ASSIGN(auto opened, kept_device(device));
  CompileOptions options;
  options.implementation = implementation;
  QUERN_ASSIGN(
      auto executable,
      Executable::compile(Model(std::make_unique<Graph>(graph.clone()), {}), opened, options));
  QUERN_ASSIGN(auto session, Session::create(executable));
  QUERN_TRY(bind(*session, inputs));
  QUERN_TRY(run_and_compare(*session, wanted, judged));
  for (const StepInfo& step : session->plan_info().steps)
    judged.kernels.push_back(step.implementation);
  return {};
}

Tensor random_tensor(const TensorType& type, std::mt19937_64& random, const Draw& draw) {
  auto made = Tensor::zeros(type);
  Tensor t = made ? std::move(*made) : Tensor();
  std::uniform_real_distribution<double> uniform(draw.low, draw.high);
  visit_dtype(type.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!std::is_same_v<T, StringRef>) {
      auto* to = reinterpret_cast<T*>(t.mutable_data());
      for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
        double v = uniform(random);
        if (draw.grid > 0) v = std::round(v / draw.grid) * draw.grid;
        if constexpr (std::is_same_v<T, bool>) {
          to[i] = (random() & 1) != 0;
        } else if constexpr (is_integer_type<T>) {
          to[i] = convert<T>(std::floor(v));
        } else {
          to[i] = T(static_cast<float>(v));
        }
      }
    }
  });
  return t;
}

}  // namespace

Graph graph_of(std::string_view statements) {
  auto g = parse_text(cat("graph \"\" {\n", statements, "\n}"), builtin_ops());
  EXPECT_TRUE(g) << (g ? "" : g.error().message()) << "\nin\n" << statements;
  return g ? std::move(*g) : Graph(builtin_ops());
}

std::vector<Tensor> random_inputs(const Graph& graph, std::uint64_t seed, const Draw& draw) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> out;
  for (ValueId v : graph.inputs())
    out.push_back(random_tensor({graph.type(v).dtype, *graph.type(v).shape()}, random, draw));
  return out;
}

void fill_constants(Graph& graph) {
  std::mt19937_64 random(7);
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    const Tensor& t = graph.value(ValueId{i}).constant;
    if (!t.valid() || t.shape().elements() < 30 || !tools::all_zero(as_numbers(t))) continue;
    const bool is_float = is_number_float(t.dtype());
    const Draw draw = is_float ? Draw{-1, 1} : Draw{-100, 100};
    graph.replace_uses(ValueId{i}, graph.add_constant(random_tensor(t.type(), random, draw)));
  }
}

std::vector<BoundedValue> bounds_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto r = tools::evaluate_with_bounds(graph, as_oracle_inputs(inputs));
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? std::move(*r) : std::vector<BoundedValue>(graph.outputs().size());
}

Judged judge(const Graph& graph, const std::vector<OracleInput>& inputs, std::string_view device,
             std::string_view implementation) {
  Judged judged;
  const auto begin = std::chrono::steady_clock::now();
  const auto wanted = tools::evaluate_with_bounds(
      graph, inputs, {.arithmetic = tools::arithmetic_of(device, implementation)});
  judged.oracle_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (wanted) {
    judged.refusal = run_on(device, implementation, graph, inputs, *wanted, judged).message();
  } else {
    judged.failures.push_back(cat("the oracle: ", wanted.error().message()));
  }
  return judged;
}

Judged judge(const Graph& graph, const std::vector<Tensor>& inputs, std::string_view device,
             std::string_view implementation) {
  return judge(graph, as_oracle_inputs(inputs), device, implementation);
}

}  // namespace quern::testing
