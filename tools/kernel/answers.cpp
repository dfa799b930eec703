// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/answers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <quern/session.h>

#include "engine/vocabulary/text_util.h"
#include "graph/graph.h"
#include "graph/numeric.h"
#include "tools/opened.h"

namespace quern::tools::lab {
namespace {

// Of the elements of the results, for the oracle to be the judge.
constexpr double least_judged = 0.99;

// What rounding factors to 8 or 16 bits may add to a result, as a share of the largest: the errors
// of a sum of products are as random as its terms, so that they grow as the sum does. Four times
// what the bits of one factor make of it.
double looseness_of(Math math) {
  if (math == Math::f32) return 0;
  return math == Math::bf16 ? 0x1p-6 : 0x1p-13;
}

// The right answer in the type of the output: floats of 16 and 32 bits are f64 before.
Result<Tensor> in_own_type(const BoundedTensor& t) {
  if (t.type == t.value.dtype()) return t.value;
  QUERN_ASSIGN(Tensor narrow, Tensor::zeros({t.type, t.value.shape()}));
  const auto wide = t.value.span<double>();
  visit_dtype(t.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* to = reinterpret_cast<T*>(narrow.mutable_data());
    if constexpr (is_float_type<T>)
      for (std::size_t i = 0; i < wide.size(); ++i) to[i] = T(static_cast<float>(wide[i]));
  });
  return narrow;
}

float outwards(double bound, float towards) {
  return std::nextafter(static_cast<float>(bound), towards);
}

// False where an element is outside, or where a float cannot tell.
bool are_inside(std::span<const float> got, std::span<const float> least,
                std::span<const float> most) {
  bool inside = true;
  for (std::size_t i = 0; i < got.size(); ++i)
    inside &= static_cast<bool>(static_cast<int>(got[i] >= least[i]) &
                                static_cast<int>(got[i] <= most[i]));
  return inside;
}

}  // namespace

Result<Answers> Answers::make(const Problem& problem, const Model& model, const Options& options) {
  Answers a;
  const Graph& graph = model.graph();
  for (const ValueId v : graph.outputs())
    a.types_.push_back({graph.type(v).dtype, *graph.type(v).shape()});
  const std::vector<OperandSpec> specs = inputs_of(problem, model);
  for (std::size_t s = 0; s < std::max<std::size_t>(options.sets, 2); ++s) {
    Set& set = a.sets_.emplace_back();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      QUERN_ASSIGN(set.inputs.emplace_back(),
                   generate_elements(specs[i], options.seed + 1000003 * s + 7919 * (i + 1)));
    }
    Status asked = a.judge_ == "oracle" ? a.ask_oracle(model, options, set) : Status();
    if (asked.code() == Code::unsupported) {
      a.judge_ = "reference";
      a.criterion_ = {.rtol = 1e-4, .atol = 0, .of_largest = 1e-5};
      asked = Status();
    }
    QUERN_TRY(std::move(asked));
    if (a.judge_ == "reference") QUERN_TRY(a.ask_reference(model, set));
  }
  return a;
}

Status Answers::ask_oracle(const Model& model, const Options& options, Set& set) const {
  std::vector<OracleInput> inputs;
  for (const Tensor& t : set.inputs) inputs.push_back({BoundedValue::Kind::tensor, {t}});
  QUERN_ASSIGN(std::vector<BoundedValue> values,
               evaluate_with_bounds(model.graph(), inputs, {.arithmetic = options.arithmetic}));
  Share share;
  for (const BoundedValue& value : values) share += judged_share(value);
  if (share.judged() < least_judged)
    return {Code::unsupported, "the oracle leaves too many elements undetermined"};
  const double looseness = looseness_of(options.math);
  for (BoundedValue& value : values) {
    if (value.kind != BoundedValue::Kind::tensor)
      return {Code::unsupported, "results are no tensors, or their shapes depend on rounding"};
    Output& output = set.outputs.emplace_back();
    output.bounded = std::move(value.tensors[0]);
    QUERN_ASSIGN(output.right, in_own_type(output.bounded));
    const double more = looseness * largest_magnitude(output.right.view());
    for (double& bound : output.bounded.bound) bound += more;
    if (output.bounded.type != DType::f32) continue;
    const auto wanted = output.bounded.value.span<double>();
    constexpr float infinite = std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      output.least.push_back(outwards(wanted[i] - output.bounded.bound[i], -infinite));
      output.most.push_back(outwards(wanted[i] + output.bounded.bound[i], infinite));
    }
  }
  return {};
}

Status Answers::ask_reference(const Model& model, Set& set) const {
  QUERN_ASSIGN(auto device, device_named("reference"));
  QUERN_ASSIGN(auto executable,
               Executable::compile(model.clone(), std::move(device), {.optimize = false}));
  QUERN_ASSIGN(const auto session, Session::create(executable));
  for (std::size_t i = 0; i < set.inputs.size(); ++i)
    QUERN_TRY(session->set_input(i, set.inputs[i].view()));
  QUERN_TRY(session->run());
  set.outputs.clear();
  for (std::size_t i = 0; i < executable->outputs().size(); ++i) {
    QUERN_ASSIGN(const TensorView y, session->output(i));
    Output& output = set.outputs.emplace_back();
    QUERN_ASSIGN(output.right, Tensor::copy_of(y.type, {y.data, y.type.bytes()}));
  }
  return {};
}

void Answers::spoil(std::size_t set, std::size_t output, std::byte* to) const {
  const Tensor& right = sets_[set].outputs[output].right;
  const std::byte mask{static_cast<unsigned char>(right.dtype() == DType::boolean ? 1 : 0xff)};
  for (std::size_t i = 0; i < right.bytes(); ++i) to[i] = right.data()[i] ^ mask;
}

std::string Answers::verdict(std::size_t set, std::size_t output, const TensorView& got) const {
  const Output& wanted = sets_[set].outputs[output];
  if (got.type != types_[output])
    return cat("the answer is ", got.type.text(), ", wanted ", types_[output].text());
  if (judge_ == "reference") {
    const Comparison c = compare(got, wanted.right.view(), criterion_);
    return c.ok ? "" : c.reason;
  }
  if (!wanted.least.empty() && are_inside(got.span<float>(), wanted.least, wanted.most)) return "";
  const auto difference = quern::tools::compare(wanted.bounded, got);
  return difference ? difference->text : "";
}

}  // namespace quern::tools::lab
