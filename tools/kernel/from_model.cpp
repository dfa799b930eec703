// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/from_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include <quern/processor_time.h>

#include "engine/vocabulary/text_util.h"
#include "graph/graph.h"
#include "graph/numeric.h"
#include "graph/passes/match.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/precision.h"
#include "graph/text.h"
#include "tools/dress/remake.h"
#include "tools/kernel/clocks.h"
#include "tools/kernel/lab.h"
#include "tools/profile_data.h"

namespace quern::tools::lab {
namespace {

using Kind = OperandSpec::Kind;

// A constant of so few elements is written out: it may decide shapes.
constexpr std::int64_t few_elements = 32;
constexpr int profiled_runs = 10;

// The graph as plans have it: the model's after the passes, in the shapes of these inputs.
Result<Graph> static_graph(const Model& model, const std::vector<InputValue>& inputs) {
  Model copy = model.clone();
  QUERN_TRY(widen_f16(copy.graph()));
  const Graph& old = copy.graph();
  Remake remake(old);
  QUERN_TRY(remake.run([&](Graph& into, std::size_t i) -> Result<ValueId> {
    const Value& v = old.value(old.inputs()[i]);
    if (inputs[i].kind != InputValue::Kind::tensor)
      return into.add_input(v.name, into.adopt(v.type, old));
    return into.add_input(v.name,
                          ValueType(TensorType{v.type.dtype, inputs[i].tensors[0].shape()}));
  }));
  Graph graph = remake.finish();
  QUERN_TRY(run_passes(graph));
  return graph;
}

// From the least to the greatest element, a little more where all are equal.
Range range_of(const Tensor& t) {
  double low = INFINITY;
  double high = -INFINITY;
  visit_dtype(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, StringRef>) {
      const auto* elements = reinterpret_cast<const T*>(t.data());
      for (std::int64_t i = 0; i < t.shape().elements(); ++i) {
        T element;
        std::memcpy(&element, elements + i, sizeof element);  // a mapped file aligns nothing
        double v = 0;
        if constexpr (std::is_arithmetic_v<T>)
          v = static_cast<double>(element);
        else
          v = static_cast<double>(static_cast<float>(element));
        if (!std::isfinite(v)) continue;
        low = std::min(low, v);
        high = std::max(high, v);
      }
    }
  });
  if (!(low <= high)) return {};
  if (is_integer(t.dtype()) || t.dtype() == DType::boolean) return {low, high + 1};
  return {low, std::max(high, low + std::max(std::abs(low), 1.0) * 1e-3)};
}

std::vector<double> elements_of(const Tensor& t) {
  std::vector<double> elements;
  visit_dtype(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T>)
      for (std::int64_t i = 0; i < t.shape().elements(); ++i) {
        T element;
        std::memcpy(&element, t.data() + i * static_cast<std::int64_t>(sizeof element),
                    sizeof element);
        elements.push_back(static_cast<double>(element));
      }
  });
  const bool are_finite = std::ranges::all_of(elements, [](double v) { return std::isfinite(v); });
  return are_finite ? elements : std::vector<double>();
}

// The constant that `id` is, or that it is computed from: weights that were cast or scaled have
// about its range. Null for what a run computes.
const Tensor* constant_behind(const Graph& g, ValueId id) {
  if (g.value(id).is_constant()) return &g.value(id).constant;
  if (!passes::is_constant_expression(g, id)) return nullptr;
  const Node& n = g.node(g.value(id).producer);
  for (const ValueId input : n.inputs)
    if (input != no_value)
      if (const Tensor* t = constant_behind(g, input)) return t;
  return nullptr;
}

// Three digits say enough of a range.
double three_digits(double bound, double sign) {
  if (bound == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(bound))) - 2);
  const double rounded = (sign > 0 ? std::ceil(bound / unit) : std::floor(bound / unit)) * unit;
  return std::strtod(number_text(rounded).c_str(), nullptr);
}

// Errors: unsupported, with what is in the way.
Result<OperandSpec> operand_of(const Graph& g, ValueId id) {
  OperandSpec spec;
  if (id == no_value) {
    spec.kind = Kind::absent;
    return spec;
  }
  const Value& v = g.value(id);
  const auto shape = v.type.is_tensor() ? v.type.shape() : std::nullopt;
  if (!shape || v.type.dtype == DType::string)
    return Status(Code::unsupported, cat("an operand is ", type_text(v.type)));
  spec.type = {v.type.dtype, *shape};
  const Tensor* constant = constant_behind(g, id);
  if (!constant) return spec;
  spec.kind = Kind::constant;
  if (v.is_constant() && shape->elements() <= few_elements) spec.elements = elements_of(v.constant);
  if (!spec.elements.empty()) return spec;
  const Range range = range_of(*constant);
  spec.range = is_float(spec.type.dtype)
                   ? Range{three_digits(range.low, -1), three_digits(range.high, 1)}
                   : range;
  return spec;
}

// A line without ranges: kernels that differ in their numbers alone are one.
std::string without_ranges(std::string_view line) {
  std::string s;
  bool is_range = false;
  for (const char c : line) {
    if (c == '@') is_range = true;
    if (c == ' ') is_range = false;
    if (!is_range) s += c;
  }
  return s;
}

Result<std::string> line_of(const Graph& g, const Node& n) {
  if (!n.bodies.empty()) return Status(Code::unsupported, "it has bodies");
  std::string line = cat("op:", n.op.def().name);
  if (const std::string text = attributes_text(n.op); !text.empty()) line += " " + text;
  for (const ValueId v : n.inputs) {
    QUERN_ASSIGN(const OperandSpec spec, operand_of(g, v));
    line += " " + operand_text(spec);
  }
  if (n.outputs.size() > 1) line += cat(" ->", n.outputs.size());
  for (const PostOp& post_op : n.post_ops) {
    if (const Unary* unary = unary_of(post_op)) {
      line += cat(" +", unary_text(*unary));
      continue;
    }
    const auto& binary = std::get<BinaryPostOp>(post_op);
    QUERN_ASSIGN(const OperandSpec spec, operand_of(g, n.operands[binary.operand]));
    const std::string kind = attributes_text(operator_of(binary));
    line += cat(binary.swapped ? " +~" : " +",
                kind.empty() ? "add" : kind.substr(std::string_view("kind=").size()), ":",
                operand_text(spec));
  }
  return line;
}

// What a profile says of the kernels of one node.
struct NodeTime {
  std::size_t calls = 0;
  double us = 0;
};

}  // namespace

Result<ModelKernels> ModelKernels::open(const KernelArgs& args, const Console& console) {
  ModelKernels kernels;
  DeviceArgs device = args.device;
  device.device = split_devices(device.device).at(0);
  QUERN_ASSIGN(kernels.opened_, open_model(args.from, args.inputs, device));
  note_assumptions(kernels.opened_, console);
  kernels.name_ = model_name(args.from);
  QUERN_ASSIGN(const auto ops, load_ops(device.ops));
  QUERN_ASSIGN(const Model model, load_model(args.from, {.ops = ops}));
  QUERN_ASSIGN(const Graph graph, static_graph(model, kernels.opened_.inputs));
  QUERN_TRY(kernels.collect(graph));
  return kernels;
}

Status ModelKernels::collect(const Graph& graph) {
  QUERN_ASSIGN(const Profile profile, take_profile(*opened_.session, profiled_runs));
  const PlanInfo& plan = opened_.session->plan_info();
  double moved_bytes = 0;
  std::map<std::string, NodeTime> times;
  for (const ProfiledStep& s : profile.steps) {
    moved_bytes += s.bytes();
    const double us = 1e3 * s.ms;
    if (s.step.op == "Reorder") {
      reorders_us_ += us;
      continue;
    }
    NodeTime& time = times[s.step.node];
    time.calls = std::max(time.calls, s.calls);
    time.us += us;
  }
  touched_bytes_ =
      std::min(static_cast<std::size_t>(moved_bytes), plan.weight_bytes + plan.arena_bytes);
  std::map<std::string, std::size_t> places;  // of a line in problems_
  for (const NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    const auto time = times.find(n.name);
    if (time == times.end()) continue;  // a view, or computed with another node
    auto line = line_of(graph, n);
    auto problem = line ? parse_problem(*line) : Result<Problem>(std::move(line.error()));
    if (!problem) {
      left_out_.push_back(cat("'", printable(n.name, 60), "' (", n.op.def().name,
                              "): ", problem.error().message()));
      continue;
    }
    const auto [place, is_new] = places.try_emplace(without_ranges(*line), problems_.size());
    const auto calls = static_cast<double>(time->second.calls);
    if (is_new) {
      problem->weight = calls;
      problems_.push_back(std::move(*problem));
    } else {
      problems_[place->second].weight += calls;
    }
    covered_us_ += time->second.us;
    times.erase(time);
  }
  for (const auto& [node, time] : times) {
    others_us_ += time.us;
    left_out_.push_back(cat("'", printable(node, 60), "', ", time_text(1e-3 * time.us),
                            ": planning made it, no node of the graph has this name"));
  }
  return {};
}

Status ModelKernels::time_runs(double seconds) {
  Session& session = *opened_.session;
  const Clocks& clocks = system_clocks();
  QUERN_TRY(session.run());
  const double begin = clocks.wall();
  do {
    const auto processor = processor_time(session);
    const double wall = clocks.wall();
    QUERN_TRY(session.run());
    wall_us_.push_back(clocks.wall() - wall);
    processor_us_.push_back(1e-3 *
                            static_cast<double>((processor_time(session) - processor).count()));
  } while (clocks.wall() - begin < 1e6 * seconds);
  return {};
}

namespace {

std::string beside_run(double sum_us, double run_us) {
  return cat(time_text(1e-3 * sum_us), " of ", time_text(1e-3 * run_us), " (",
             percent_text(run_us > 0 ? sum_us / run_us : 0), ")");
}

}  // namespace

std::string model_text(const ModelKernels& model, const ModelSum& sum) {
  std::string s = cat(shown(model.name()), ": the kernels take ",
                      beside_run(sum.wall_us, model.wall().median), " of a run");
  if (sum.processor_us > 0)
    s += cat("; processor time ", beside_run(sum.processor_us, model.processor().median));
  s += cat("\nof a run, ", time_text(1e-3 * model.covered_us()),
           " are in nodes that problems stand ", "for, ", time_text(1e-3 * model.reorders_us()),
           " in reorders, ", time_text(1e-3 * model.others_us()), " in other kernels\n");
  if (!sum.is_believed) s += "some kernels are not believed, and not in the sum\n";
  for (const std::string& node : model.left_out()) s += cat("left out: ", shown(node, 200), "\n");
  return s;
}

Json model_json(const ModelKernels& model, const ModelSum& sum) {
  Json j;
  j["name"] = model.name();
  j["run_wall_us"] = model.wall().median;
  j["run_processor_us"] = model.processor().median;
  j["kernels_wall_us"] = sum.wall_us;
  j["kernels_processor_us"] = sum.processor_us;
  j["covered_us"] = model.covered_us();
  j["reorders_us"] = model.reorders_us();
  j["others_us"] = model.others_us();
  j["left_out"] = Json::array_of(model.left_out());
  return j;
}

}  // namespace quern::tools::lab
