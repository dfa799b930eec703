// SPDX-License-Identifier: Apache-2.0
// From a problem to its graph, and numbers for its operands.
#include <cmath>
#include <random>

#include <quern/graph_builder.h>

#include "engine/vocabulary/text_util.h"
#include "graph/custom/registry.h"
#include "graph/graph.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/custom.h"
#include "graph/text.h"
#include "tools/kernel/problem.h"

namespace quern::tools::lab {
namespace {

constexpr double steps_of_range = 1 << 20;

Range usual_range(DType dtype) {
  switch (dtype) {
    case DType::boolean: return {0, 2};
    case DType::i8: return {-128, 128};
    case DType::u8: return {0, 256};
    case DType::i4: return {-8, 8};
    case DType::u4: return {0, 16};
    case DType::i2: return {-2, 2};
    case DType::u2: return {0, 4};
    default: return is_float(dtype) ? Range{-1, 1} : Range{0, 2};
  }
}

// In the narrow types a step of 2^-20 would be denormal.
double steps_of(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 ? steps_of_range : 256;
}

template <class T>
T element_of(double number) {
  if constexpr (std::is_same_v<T, bool>)
    return number != 0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::int64_t>(number));
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(number);
  else
    return T(static_cast<float>(number));
}

// splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void fill_with_numbers(Tensor& t, const Range& range, std::uint64_t seed) {
  const double steps = is_float(t.dtype()) ? steps_of(t.dtype()) : range.high - range.low;
  const double width = (range.high - range.low) / steps;
  const auto count = static_cast<std::uint64_t>(std::max(steps, 1.0));
  visit_dtype(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, StringRef>) {
      auto* to = reinterpret_cast<T*>(t.mutable_data());
      for (std::int64_t i = 0; i < t.shape().elements(); ++i)
        to[i] = element_of<T>(range.low + width * static_cast<double>(next_random(seed) % count));
    }
  });
}

void fill_with_elements(Tensor& t, std::span<const double> elements) {
  visit_dtype(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, StringRef>)
      for (std::size_t i = 0; i < elements.size(); ++i)
        reinterpret_cast<T*>(t.mutable_data())[i] = element_of<T>(elements[i]);
  });
}

// Builds the graph of one problem.
class ProblemGraph {
 public:
  ProblemGraph(const Problem& problem, std::uint64_t seed,
               const std::shared_ptr<const CustomOps>& ops)
      : problem_(problem), seed_(seed), ops_(ops), graph_(builtin_ops(ops)) {}

  Result<Model> build() {
    std::vector<ValueId> inputs;
    for (const OperandSpec& spec : problem_.operands) {
      QUERN_ASSIGN(inputs.emplace_back(), value_of(spec));
    }
    QUERN_ASSIGN(Op op, operator_named());
    QUERN_ASSIGN(const NodeId node,
                 graph_.add_node(std::move(op), std::move(inputs), "kernel", problem_.outputs));
    std::vector<ValueId> results = graph_.node(node).outputs;
    for (const PostOpSpec& post_op : problem_.post_ops) {
      QUERN_ASSIGN(results[0], followed_by(post_op, results[0]));
    }
    for (std::size_t i = 0; i < results.size(); ++i) graph_.add_output(results[i], cat("y", i));
    QUERN_TRY(check_bytes());
    return Model(std::make_unique<Graph>(std::move(graph_)), {});
  }

 private:
  Result<ValueId> value_of(const OperandSpec& spec) {
    if (spec.kind == OperandSpec::Kind::absent) return no_value;
    if (spec.kind == OperandSpec::Kind::input)
      return graph_.add_input(cat("x", graph_.inputs().size()), ValueType(spec.type));
    QUERN_ASSIGN(Tensor t, generate_elements(spec, seed_ + graph_.value_count()));
    return graph_.add_constant(std::move(t));
  }

  Result<Op> operator_named() const {
    if (const OpDef* def = find_op_def(problem_.op)) {
      Op op = default_op(*def);
      QUERN_TRY(parse_attributes(problem_.attributes, op));
      QUERN_TRY(bind_custom(op, ops_.get()));
      return op;
    }
    const std::size_t dot = problem_.op.rfind('.');
    Custom call;
    call.domain = problem_.op.substr(0, dot == std::string::npos ? 0 : dot);
    call.name = problem_.op.substr(dot + 1);
    Op op{call};
    QUERN_TRY(parse_attributes(problem_.attributes, op));
    QUERN_TRY(bind_custom(op, ops_.get()));
    return op;
  }

  Result<ValueId> followed_by(const PostOpSpec& post_op, ValueId result) {
    QUERN_ASSIGN(Op op, make_op(post_op.op, post_op.attributes));
    if (post_op.op == "Unary") return graph_.add(std::move(op), {result});
    OperandSpec spec = post_op.operand.value_or(OperandSpec());
    if (!post_op.operand) {
      const auto shape = graph_.type(result).shape();
      if (!shape) return Status(Code::invalid_argument, "the shape of the result is not known");
      spec.type = {graph_.type(result).dtype, *shape};
    }
    QUERN_ASSIGN(const ValueId operand, value_of(spec));
    return post_op.swapped ? graph_.add(std::move(op), {operand, result})
                           : graph_.add(std::move(op), {result, operand});
  }

  Status check_bytes() const {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < graph_.value_count(); ++i) {
      const ValueType& type = graph_.type(static_cast<ValueId>(i));
      const auto shape = type.is_tensor() ? type.shape() : std::nullopt;
      if (!shape) {
        if (graph_.is_output(static_cast<ValueId>(i)))
          return {Code::invalid_argument, "the shape of a result depends on the data"};
        continue;
      }
      const auto count = shape->checked_elements(size_of(type.dtype));
      bytes += count ? TensorType{type.dtype, *shape}.bytes() : max_problem_bytes + 1;
      if (bytes > max_problem_bytes)
        return {Code::invalid_argument,
                cat("operands and results take more than ", max_problem_bytes, " bytes")};
    }
    return {};
  }

  const Problem& problem_;
  std::uint64_t seed_;
  std::shared_ptr<const CustomOps> ops_;
  Graph graph_;
};

}  // namespace

Result<Tensor> generate_elements(const OperandSpec& spec, std::uint64_t seed) {
  if (spec.type.dtype == DType::string)
    return Status(Code::unsupported, "texts are nothing to measure");
  QUERN_ASSIGN(Tensor t, Tensor::zeros(spec.type));
  if (spec.elements.empty())
    fill_with_numbers(t, spec.range.value_or(usual_range(spec.type.dtype)), seed);
  else
    fill_with_elements(t, spec.elements);
  return t;
}

Result<Model> build_problem(const Problem& problem, std::uint64_t seed,
                            const std::shared_ptr<const CustomOps>& ops) {
  auto model = ProblemGraph(problem, seed, ops).build();
  if (model) return model;
  return Status(Code::invalid_argument,
                cat("problem '", printable(problem.text, 120), "': ", model.error().message()));
}

std::vector<OperandSpec> inputs_of(const Problem& problem, const Model& model) {
  std::vector<OperandSpec> specs;
  for (const OperandSpec& spec : problem.operands)
    if (spec.kind == OperandSpec::Kind::input) specs.push_back(spec);
  for (const PostOpSpec& post_op : problem.post_ops)
    if (post_op.op == "Binary" &&
        (!post_op.operand || post_op.operand->kind == OperandSpec::Kind::input))
      specs.push_back(post_op.operand.value_or(OperandSpec()));
  const Graph& graph = model.graph();
  for (std::size_t i = 0; i < specs.size(); ++i)
    specs[i].type = {graph.type(graph.inputs()[i]).dtype, *graph.type(graph.inputs()[i]).shape()};
  return specs;
}

}  // namespace quern::tools::lab
