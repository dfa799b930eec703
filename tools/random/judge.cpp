// SPDX-License-Identifier: Apache-2.0
#include "tools/random/judge.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <quern/onnx.h>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/tensor.h"
#include "graph/numeric.h"
#include "tools/compare.h"
#include "tools/console.h"
#include "tools/optimize/rewriting.h"
#include "tools/quantize/edited_model.h"
#include "tools/random/fill.h"
#include "tools/random/rng.h"

namespace quern::tools {
namespace {

constexpr std::size_t moves = 3;

double unit_of(Grain grain) {
  return grain == Grain::f16 ? 0x1p-11 : grain == Grain::bf16 ? 0x1p-8 : 0x1p-24;
}
double move_of(Grain grain) {
  return unit_of(grain) * (grain == Grain::f32 ? 64 : 4);
}

// Every float times 1 + e, |e| <= `by`.
void move_elements(DType dtype, std::byte* data, std::int64_t count, double by, Rng& rng) {
  visit_float(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* v = reinterpret_cast<T*>(data);
    for (std::int64_t i = 0; i < count; ++i)
      v[i] = static_cast<T>(static_cast<double>(v[i]) * (1 + rng.real(-by, by)));
  });
}

class Mover {
 public:
  Mover(RandomModel& model, double by, Rng& rng) : model_(model), by_(by), rng_(rng) {}

  void move_all() {
    move(model_.graph());
    for (auto& run : model_.runs)
      for (RandomInput& in : run)
        if (!is_steady(in.name)) in.tensor = moved(in.tensor);
  }

 private:
  bool is_steady(std::string_view name) const {
    return std::find(model_.steady.begin(), model_.steady.end(), name) != model_.steady.end();
  }
  Tensor moved(const Tensor& t) {
    if (!t.valid() || !is_number_float(t.dtype())) return t;
    Tensor copy = Tensor::copy_of(t.type(), {t.data(), t.bytes()}).value();
    move_elements(t.dtype(), copy.mutable_data(), t.shape().elements(), by_, rng_);
    return copy;
  }
  void move(onnx::TensorProto& t, std::string_view name) {
    const auto dtype = onnx::dtype_of(t.data_type);
    if (!dtype || !is_number_float(*dtype) || !t.has_raw || is_steady(name)) return;
    // Copied to where elements are aligned, and from there to text.
    std::vector<double> aligned(t.raw.size() / sizeof(double) + 1);
    auto* bytes = reinterpret_cast<std::byte*>(aligned.data());
    if (!t.raw.empty()) std::memcpy(bytes, t.raw.data(), t.raw.size());
    move_elements(*dtype, bytes, static_cast<std::int64_t>(t.raw.size() / size_of(*dtype)), by_,
                  rng_);
    t.raw = model_.pool->keep({reinterpret_cast<const char*>(bytes), t.raw.size()});
  }
  // Moves the nodes' results as well: each element times a number close to 1.
  void move_results(onnx::GraphProto& graph) {
    std::vector<onnx::NodeProto> nodes;
    for (onnx::NodeProto& node : graph.nodes) {
      std::vector<onnx::NodeProto> after;
      for (std::string_view& name : node.outputs) {
        const auto type = model_.rounded.find(name);
        if (type == model_.rounded.end()) continue;
        onnx::NodeProto mul;
        mul.op_type = "Mul";
        mul.outputs = {name};
        name = model_.pool->keep(cat(name, "_raw"));
        mul.inputs = {name, factors(after, name, type->second)};
        after.push_back(std::move(mul));
      }
      nodes.push_back(std::move(node));
      for (onnx::NodeProto& n : after) nodes.push_back(std::move(n));
    }
    graph.nodes = std::move(nodes);
  }
  // One for each element of `x`: equal elements, such as those of a pool, are moved apart.
  std::string_view factors(std::vector<onnx::NodeProto>& nodes, std::string_view x, DType dtype) {
    onnx::NodeProto& n = nodes.emplace_back();
    n.op_type = "RandomUniformLike";
    n.inputs = {x};
    n.outputs = {new_name()};
    n.attributes = {onnx::number_attribute("low", static_cast<float>(1 - by_)),
                    onnx::number_attribute("high", static_cast<float>(1 + by_)),
                    onnx::number_attribute("seed", static_cast<float>(rng_.between(1, 1 << 20)))};
    if (dtype != DType::bf16) return n.outputs[0];
    // RandomUniformLike makes no bf16.
    const std::string_view drawn = n.outputs[0];
    n.attributes.push_back(onnx::integer_attribute("dtype", onnx::onnx_type_of(DType::f32)));
    onnx::NodeProto& cast = nodes.emplace_back();
    cast.op_type = "Cast";
    cast.inputs = {drawn};
    cast.outputs = {new_name()};
    cast.attributes = {onnx::integer_attribute("to", onnx::onnx_type_of(dtype))};
    return cast.outputs[0];
  }
  std::string_view new_name() { return model_.pool->keep(cat("move_", count_++)); }
  void move(onnx::GraphProto& graph) {
    move_results(graph);
    for (onnx::TensorProto& t : graph.initializers) move(t, t.name);
    for (onnx::NodeProto& node : graph.nodes) {
      for (onnx::AttributeProto& a : node.attributes) {
        for (onnx::GraphProto& g : a.g) move(g);
        if (node.op_type == "Constant" && !a.t.empty()) move(a.t[0], node.outputs[0]);
      }
    }
  }

  RandomModel& model_;
  double by_;
  Rng& rng_;
  int count_ = 0;
};

std::vector<double> numbers_of(const Tensor& t) {
  std::vector<double> v(static_cast<std::size_t>(t.shape().elements()));
  visit_float(t.dtype(), [&](auto tag) {
    const auto* from = t.view().as<typename decltype(tag)::type>();
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(from[i]);
  });
  return v;
}

bool same_class(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::isfinite(a) ? std::isfinite(b) : a == b;
}

std::string at_text(const Shape& shape, std::size_t i) {
  Shape at = shape;
  auto rest = static_cast<std::int64_t>(i);
  for (std::size_t d = shape.rank(); d-- > 0;) {
    at[d] = rest % shape[d];
    rest /= shape[d];
  }
  return at.text();
}

Result<Model> parsed_model(const RandomModel& model) {
  auto bytes = std::make_shared<const std::string>(onnx::write_model(model.model));
  const std::span<const std::byte> view(reinterpret_cast<const std::byte*>(bytes->data()),
                                        bytes->size());
  return parse_onnx(view, bytes, {}, {.ops = model.ops});
}

Result<Model> rewritten_random(const RandomModel& model, std::string_view level) {
  auto bytes = std::make_shared<const std::string>(onnx::write_model(model.model));
  QUERN_ASSIGN(EditedModel edited, EditedModel::parse(std::move(bytes), {}, model.ops));
  return rewritten_model(std::move(edited), level_named(level));
}

// True if every element of the tensor has a finite bound.
bool is_determined(const BoundedValue* value, std::size_t element) {
  if (!value || element >= value->tensors.size()) return false;
  const std::vector<double>& bound = value->tensors[element].bound;
  return std::ranges::none_of(bound, [](double b) { return std::isinf(b); });
}

// The error in the tensors of an output, by the oracle alone.
std::string against_bounds(const BoundedValue& bounds, const std::vector<Tensor>& got) {
  if (bounds.kind == BoundedValue::Kind::undetermined) return {};
  if (bounds.tensors.size() != got.size())
    return cat("got ", got.size(), " tensors, wanted ", bounds.tensors.size());
  for (std::size_t k = 0; k < got.size(); ++k)
    if (const auto difference = compare(bounds.tensors[k], got[k].view())) return difference->text;
  return {};
}

}  // namespace

Result<std::shared_ptr<const Executable>> compile_random(const RandomModel& model,
                                                         const std::shared_ptr<Device>& device,
                                                         const CompileOptions& options,
                                                         const Levers& way) {
  QUERN_ASSIGN(Model parsed, way.rewritten.empty() ? parsed_model(model)
                                                   : rewritten_random(model, way.rewritten));
  return way.compile(std::move(parsed), device, options, model.ops);
}

Result<RunOutputs> run_once(Session& session, const std::vector<RandomInput>& inputs) {
  for (const RandomInput& in : inputs) {
    QUERN_ASSIGN(const std::size_t i, session.input_index(in.name));
    Status bound =
        in.tensor.valid() ? session.set_input(i, in.tensor.view()) : session.set_input_none(i);
    QUERN_TRY(std::move(bound).in(cat("input '", in.name, "'")));
  }
  QUERN_TRY(session.run());
  RunOutputs outputs;
  for (std::size_t i = 0; i < session.executable().outputs().size(); ++i) {
    QUERN_ASSIGN(const std::size_t count, session.output_count(i));
    std::vector<Tensor>& tensors = outputs.emplace_back();
    for (std::size_t k = 0; k < count; ++k) {
      QUERN_ASSIGN(const TensorView view, session.output_element(i, k));
      QUERN_ASSIGN(tensors.emplace_back(), owned_copy(view));
    }
  }
  return outputs;
}

Result<std::vector<RunOutputs>> reference_outputs(const RandomModel& model) {
  QUERN_ASSIGN(const auto device, open_device("reference"));
  QUERN_ASSIGN(const auto executable,
               compile_random(model, device, {.threads = 1, .optimize = false}));
  QUERN_ASSIGN(const auto session, Session::create(executable));
  std::vector<RunOutputs> all;
  for (const auto& inputs : model.runs) {
    QUERN_ASSIGN(all.emplace_back(), run_once(*session, inputs));
  }
  return all;
}

Result<Judge> Judge::make(const RandomModel& model, Arithmetic arithmetic) {
  QUERN_ASSIGN(std::vector<RunOutputs> wanted, reference_outputs(model));
  return make(model, std::move(wanted), arithmetic);
}

Result<Judge> Judge::make(const RandomModel& model, std::vector<RunOutputs> wanted,
                          Arithmetic arithmetic) {
  Judge judge;
  judge.wanted_ = std::move(wanted);
  for (const onnx::ValueInfo& o : model.graph().outputs) {
    Rule& rule = judge.rules_.emplace_back();
    rule.exact = std::find(model.exact.begin(), model.exact.end(), o.name) != model.exact.end();
    const auto grain = model.grains.find(o.name);
    if (grain != model.grains.end()) rule.grain = grain->second;
  }
  QUERN_ASSIGN(const Model parsed, parsed_model(model));
  judge.ask_oracle(model, parsed, arithmetic);
  judge.check_reference(model);
  judge.count_and_move(model);
  return judge;
}

void Judge::ask_oracle(const RandomModel& model, const Model& parsed, Arithmetic arithmetic) {
  const std::vector<ValueSpec> specs = parsed.inputs();
  for (const auto& run : model.runs) {
    std::vector<OracleInput> inputs;
    for (const ValueSpec& spec : specs)
      for (const RandomInput& in : run)
        if (in.name == spec.name)
          inputs.push_back(in.tensor.valid() ? OracleInput{.tensors = {in.tensor}}
                                             : OracleInput{.kind = BoundedValue::Kind::none});
    auto bounds = evaluate_with_bounds(parsed.graph(), inputs, {.arithmetic = arithmetic});
    bounds_.push_back(bounds ? std::move(*bounds) : std::vector<BoundedValue>());
  }
}

const BoundedValue* Judge::bounds(std::size_t run, std::size_t output) const {
  return output < bounds_[run].size() ? &bounds_[run][output] : nullptr;
}

void Judge::check_reference(const RandomModel& model) {
  for (std::size_t run = 0; run < wanted_.size(); ++run) {
    for (std::size_t i = 0; i < wanted_[run].size(); ++i) {
      const BoundedValue* b = bounds(run, i);
      std::string wrong = b ? against_bounds(*b, wanted_[run][i]) : "";
      if (wrong.empty()) continue;
      faults_.push_back({std::string(model.graph().outputs[i].name),
                         cat("run ", run, ": the reference itself: ", wrong)});
    }
  }
}

void Judge::count_and_move(const RandomModel& model) {
  bool needed[3] = {};
  for (std::size_t run = 0; run < wanted_.size(); ++run) {
    for (std::size_t i = 0; i < wanted_[run].size(); ++i) {
      const BoundedValue* b = bounds(run, i);
      for (std::size_t k = 0; k < wanted_[run][i].size(); ++k) {
        const Tensor& t = wanted_[run][i][k];
        if (rules_[i].exact || !is_number_float(t.dtype())) continue;
        const std::int64_t n = t.shape().elements();
        const bool is_bounded = b && k < b->tensors.size();
        share_ += {n, is_bounded ? std::ranges::count(b->tensors[k].bound, INFINITY) : n};
        needed[static_cast<int>(rules_[i].grain)] |= !is_determined(b, k);
      }
    }
  }
  for (int g = 0; g < 3; ++g) {
    for (std::size_t k = 0; needed[g] && k < moves; ++k) {
      RandomModel moved = model;
      Rng rng(k * 3 + static_cast<std::size_t>(g));
      Mover(moved, move_of(static_cast<Grain>(g)), rng).move_all();
      // If an index or a shape depends on moved values, the result gives no information.
      if (auto outputs = reference_outputs(moved)) moved_[g].push_back(std::move(*outputs));
    }
  }
}

std::string Judge::verdict(std::size_t run, std::size_t output,
                           const std::vector<Tensor>& got) const {
  const std::vector<Tensor>& wanted = wanted_[run][output];
  if (got.size() != wanted.size())
    return cat("got ", got.size(), " tensors, wanted ", wanted.size());
  const BoundedValue* b = bounds(run, output);
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (got[k].type() != wanted[k].type())
      return cat("got ", got[k].type().text(), ", wanted ", wanted[k].type().text());
    if (rules_[output].exact || !is_number_float(got[k].dtype())) {
      std::string wrong = compare_exact(got[k], wanted[k]);
      if (!wrong.empty()) return wrong;
      continue;
    }
    if (b && k < b->tensors.size())
      if (const auto difference = compare(b->tensors[k], got[k].view())) return difference->text;
    std::string wrong = is_determined(b, k) ? "" : compare_moved(run, output, k, got[k]);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string Judge::compare_exact(const Tensor& got, const Tensor& wanted) const {
  return compare(got.view(), wanted.view(), {.rtol = 0, .atol = 0}).reason;
}

std::string Judge::compare_moved(std::size_t run, std::size_t output, std::size_t element,
                                 const Tensor& got) const {
  const Rule& rule = rules_[output];
  const Tensor& wanted = wanted_[run][output][element];
  const std::vector<double> a = numbers_of(got);
  const std::vector<double> b = numbers_of(wanted);
  std::vector<double> shift(b.size(), 0);
  // The oracle's, or moved from finite to not, or back: anything goes.
  std::vector<bool> any(b.size(), false);
  const BoundedValue* bounded = bounds(run, output);
  for (std::size_t i = 0; bounded && element < bounded->tensors.size() && i < b.size(); ++i)
    any[i] = std::isfinite(bounded->tensors[element].bound[i]);
  for (const auto& outputs : moved_[static_cast<int>(rule.grain)]) {
    if (outputs[run][output].size() <= element) continue;
    const Tensor& t = outputs[run][output][element];
    if (t.type() != wanted.type()) continue;
    const std::vector<double> m = numbers_of(t);
    for (std::size_t i = 0; i < b.size(); ++i) {
      if (!same_class(m[i], b[i]))
        any[i] = true;
      else if (std::isfinite(b[i]))
        shift[i] = std::max(shift[i], std::abs(m[i] - b[i]));
    }
  }
  // A typical shift of the tensor, for elements that three moves happened to leave alone.
  double squares = 0;
  double largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    squares += shift[i] * shift[i];
    if (std::isfinite(b[i])) largest = std::max(largest, std::abs(b[i]));
  }
  const double typical =
      std::sqrt(squares / static_cast<double>(std::max<std::size_t>(b.size(), 1)));
  const double unit = unit_of(rule.grain);
  double worst = 0;
  std::size_t place = 0;
  std::size_t outside = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (any[i]) continue;
    const double allowed =
        4 * shift[i] + typical + 8 * unit * std::abs(b[i]) + 2 * unit * largest + 1e-37;
    double excess = 0;
    if (!same_class(a[i], b[i])) {
      excess = INFINITY;
    } else if (std::isfinite(b[i])) {
      excess = std::abs(a[i] - b[i]) / allowed;
    }
    outside += excess > 1;
    if (excess > worst) {
      worst = excess;
      place = i;
    }
  }
  if (outside == 0) return {};
  return cat("at ", at_text(wanted.shape(), place), " got ", number_text(a[place]), ", wanted ",
             number_text(b[place]), ", ", number_text(worst), " times what rounding explains; ",
             outside, " of ", b.size(), " elements differ");
}

}  // namespace quern::tools
