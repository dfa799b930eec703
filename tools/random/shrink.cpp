// SPDX-License-Identifier: Apache-2.0
#include "tools/random/shrink.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/onnx_parser.h"
#include "frontends/onnx-parser/tensor.h"
#include "tools/json.h"
#include "tools/random/fill.h"
#include "tools/random/judge.h"
#include "tools/whole_file.h"

namespace quern::tools {
namespace {

using Names = std::set<std::string_view>;

// Names that a graph and those inside of it read.
void add_reads(const onnx::GraphProto& graph, Names& names);
void add_reads(const onnx::NodeProto& node, Names& names) {
  names.insert(node.inputs.begin(), node.inputs.end());
  for (const onnx::AttributeProto& a : node.attributes)
    for (const onnx::GraphProto& g : a.g) add_reads(g, names);
}
void add_reads(const onnx::GraphProto& graph, Names& names) {
  for (const onnx::NodeProto& node : graph.nodes) add_reads(node, names);
  for (const onnx::ValueInfo& o : graph.outputs) names.insert(o.name);
}

// Removes the nodes, constants and inputs that no output needs.
void drop_dead(RandomModel& m) {
  onnx::GraphProto& g = m.graph();
  Names needed;
  for (const onnx::ValueInfo& o : g.outputs) needed.insert(o.name);
  std::vector<onnx::NodeProto> kept;
  for (auto node = g.nodes.rbegin(); node != g.nodes.rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [&](std::string_view o) { return needed.contains(o); });
    if (!used) continue;
    add_reads(*node, needed);
    kept.push_back(std::move(*node));
  }
  g.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  const auto is_dead = [&](const auto& v) { return !needed.contains(v.name); };
  std::erase_if(g.initializers, is_dead);
  std::erase_if(g.inputs, is_dead);
  for (auto& run : m.runs)
    std::erase_if(run, [&](const RandomInput& in) { return !needed.contains(in.name); });
}

// Selects whether the dimensions of a type have their numbers.
enum class Sizes : std::uint8_t { known, open };

onnx::TypeProto type_of(const Tensor& t, Sizes sizes) {
  onnx::TypeProto type;
  type.kind = onnx::TypeProto::Kind::tensor;
  type.elem_type = onnx::onnx_type_of(t.dtype());
  type.has_shape = true;
  for (const std::int64_t d : t.shape()) {
    onnx::Dimension& dim = type.dims.emplace_back();
    dim.has_value = sizes == Sizes::known;
    dim.value = dim.has_value ? d : 0;
  }
  return type;
}

class Shrinker {
 public:
  Shrinker(RandomModel model, const StillFails& fails, double seconds)
      : best_(std::move(model)),
        fails_(fails),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(seconds))) {}

  RandomModel run() {
    fewer_outputs();
    fewer_runs();
    for (int round = 0; round < 4 && progress(); ++round) {
      changed_ = false;
      earlier_outputs();
      cut_nodes();
      fewer_outputs();
      fewer_attributes();
      smaller_dims();
      inputs_to_constants();
      if (!changed_) break;
    }
    return std::move(best_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool progress() const { return Clock::now() < deadline_; }

  bool accept(RandomModel candidate) {
    if (!progress()) return false;
    drop_dead(candidate);
    if (candidate.graph().outputs.empty() || !fails_(candidate)) return false;
    best_ = std::move(candidate);
    changed_ = true;
    return true;
  }

  void fewer_outputs() {
    // One alone first, then without halves, quarters, ... one each.
    const std::size_t n = best_.graph().outputs.size();
    for (std::size_t i = 0; n > 1 && i < n; ++i) {
      RandomModel c = best_;
      c.graph().outputs = {best_.graph().outputs[i]};
      if (accept(std::move(c))) return;
    }
    for (std::size_t size = n / 2; size > 0; size /= 2) {
      for (std::size_t at = 0; at < best_.graph().outputs.size();) {
        if (size >= best_.graph().outputs.size()) break;
        RandomModel c = best_;
        auto& outputs = c.graph().outputs;
        const auto from = static_cast<std::ptrdiff_t>(at);
        const auto to = static_cast<std::ptrdiff_t>(std::min(at + size, outputs.size()));
        outputs.erase(outputs.begin() + from, outputs.begin() + to);
        if (!accept(std::move(c))) at += size;
      }
    }
  }

  // Tensors that the node of an output reads, where another node makes them; of sequences and
  // optionals those that they are made of.
  std::vector<std::string_view> read_by_maker(std::string_view output) const {
    const std::vector<onnx::NodeProto>& nodes = best_.graph().nodes;
    const auto maker = [&](std::string_view name) {
      return std::ranges::find_if(nodes, [&](const onnx::NodeProto& n) {
        return std::ranges::find(n.outputs, name) != n.outputs.end();
      });
    };
    std::vector<std::string_view> found, waiting = {output};
    Names seen;
    while (!waiting.empty()) {
      const auto node = maker(waiting.back());
      waiting.pop_back();
      if (node == nodes.end()) continue;
      for (const std::string_view in : node->inputs) {
        if (in.empty() || maker(in) == nodes.end() || !seen.insert(in).second) continue;
        (best_.structured.contains(in) ? waiting : found).push_back(in);
      }
    }
    return found;
  }

  // Replaces outputs by what their nodes read, so that nodes behind the defect go.
  void earlier_outputs() {
    for (std::size_t i = 0; i < best_.graph().outputs.size() && progress();) {
      const auto inputs = read_by_maker(best_.graph().outputs[i].name);
      const bool moved = std::ranges::any_of(inputs, [&](std::string_view name) {
        RandomModel c = best_;
        c.graph().outputs[i] = {name, {}};
        return accept(std::move(c));
      });
      if (!moved) ++i;
    }
  }

  void fewer_runs() {
    for (std::size_t i = 0; best_.runs.size() > 1 && i < best_.runs.size(); ++i) {
      RandomModel c = best_;
      c.runs = {best_.runs[i]};
      if (accept(std::move(c))) return;
    }
    for (std::size_t i = best_.runs.size(); i-- > 0 && best_.runs.size() > 1;) {
      RandomModel c = best_;
      c.runs.erase(c.runs.begin() + static_cast<std::ptrdiff_t>(i));
      accept(std::move(c));
    }
  }

  // Replaces the node by inputs. False if the elements of one of its outputs are not known.
  static bool replace_node(RandomModel& m, std::string_view first_output,
                           const std::vector<std::map<std::string_view, Tensor>>& known) {
    onnx::GraphProto& g = m.graph();
    const auto node = std::find_if(g.nodes.begin(), g.nodes.end(), [&](const onnx::NodeProto& n) {
      return !n.outputs.empty() && n.outputs[0] == first_output;
    });
    if (node == g.nodes.end()) return true;
    for (const std::string_view o : node->outputs)
      for (const auto& run : known)
        if (!o.empty() && !run.contains(o)) return false;
    for (const std::string_view o : node->outputs) {
      if (o.empty()) continue;
      bool same = true;
      for (const auto& run : known) same = same && run.at(o).shape() == known[0].at(o).shape();
      g.inputs.push_back({o, type_of(known[0].at(o), same ? Sizes::known : Sizes::open)});
      for (std::size_t k = 0; k < known.size(); ++k)
        m.runs[k].push_back({std::string(o), known[k].at(o)});
    }
    g.nodes.erase(node);
    return true;
  }

  // The reference's values of all tensors of the main graph.
  std::vector<std::map<std::string_view, Tensor>> all_values() const {
    RandomModel m = best_;
    m.graph().outputs.clear();
    for (const onnx::NodeProto& node : m.graph().nodes)
      for (const std::string_view o : node.outputs) {
        if (!o.empty() && !m.structured.contains(o)) m.graph().outputs.push_back({o, {}});
      }
    const auto outputs = reference_outputs(m);
    std::vector<std::map<std::string_view, Tensor>> known(best_.runs.size());
    if (!outputs) return known;
    for (std::size_t k = 0; k < known.size(); ++k)
      for (std::size_t i = 0; i < m.graph().outputs.size(); ++i)
        known[k][m.graph().outputs[i].name] = (*outputs)[k][i].front();
    return known;
  }

  // Halves, quarters, ... single nodes whose results become inputs.
  void cut_nodes() {
    const auto known = all_values();
    for (std::size_t size = std::max<std::size_t>(best_.graph().nodes.size() / 2, 1);; size /= 2) {
      for (std::size_t at = 0; at < best_.graph().nodes.size() && progress();) {
        RandomModel c = best_;
        std::vector<std::string_view> group;
        for (std::size_t i = at; i < std::min(at + size, best_.graph().nodes.size()); ++i)
          group.push_back(best_.graph().nodes[i].outputs[0]);
        bool possible = true;
        for (const std::string_view name : group)
          possible = possible && replace_node(c, name, known);
        if (!possible || !accept(std::move(c))) at += size;
      }
      if (size <= 1) break;
    }
  }

  void fewer_attributes() {
    for (std::size_t n = 0; n < best_.graph().nodes.size(); ++n) {
      for (std::size_t a = best_.graph().nodes[n].attributes.size(); a-- > 0 && progress();) {
        if (n >= best_.graph().nodes.size() || a >= best_.graph().nodes[n].attributes.size()) break;
        RandomModel c = best_;
        auto& attributes = c.graph().nodes[n].attributes;
        attributes.erase(attributes.begin() + static_cast<std::ptrdiff_t>(a));
        accept(std::move(c));
      }
    }
  }

  void inputs_to_constants() {
    if (best_.runs.size() != 1) return;
    for (std::size_t i = best_.graph().inputs.size(); i-- > 0 && progress();) {
      if (best_.graph().inputs.size() == 1) return;
      if (best_.graph().inputs[i].type.kind != onnx::TypeProto::Kind::tensor) continue;
      RandomModel c = best_;
      const Tensor& t = c.tensors->emplace_back(c.runs[0][i].tensor);
      c.graph().initializers.push_back(onnx::tensor_message(t, c.graph().inputs[i].name, *c.pool));
      c.graph().inputs.erase(c.graph().inputs.begin() + static_cast<std::ptrdiff_t>(i));
      c.runs[0].erase(c.runs[0].begin() + static_cast<std::ptrdiff_t>(i));
      accept(std::move(c));
    }
  }

  // ---- dimensions: everywhere that a size occurs in inputs and constants, the first elements stay

  static Tensor leading(const Tensor& t, std::int64_t from, std::int64_t to) {
    if (!t.valid()) return t;
    Shape shape = t.shape();
    for (std::size_t d = 0; d < shape.rank(); ++d)
      if (shape[d] == from) shape[d] = to;
    Tensor out = Tensor::zeros({t.dtype(), shape}).value();
    const std::size_t size = size_of(t.dtype());
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      std::int64_t rest = i;
      std::int64_t place = 0;
      std::int64_t stride = 1;
      for (std::size_t d = shape.rank(); d-- > 0;) {
        place += rest % shape[d] * stride;
        rest /= shape[d];
        stride *= t.shape()[d];
      }
      std::memcpy(out.mutable_data() + static_cast<std::size_t>(i) * size,
                  t.data() + static_cast<std::size_t>(place) * size, size);
    }
    // Shapes that are operands hold the size itself.
    if (t.dtype() == DType::i64 && t.shape().rank() == 1) {
      auto* v = reinterpret_cast<std::int64_t*>(out.mutable_data());
      for (std::int64_t i = 0; i < shape.elements(); ++i)
        if (v[i] == from) v[i] = to;
    }
    return t.dtype() == DType::string ? owned_copy(out.view()).value() : out;
  }

  bool with_size(std::int64_t from, std::int64_t to) {
    RandomModel c = best_;
    onnx::MemoryBudget budget(std::size_t{64} << 20);
    onnx::TensorDecoder decoder(nullptr, onnx::ConfinedFolder(""), budget);
    for (onnx::TensorProto& proto : c.graph().initializers) {
      const auto t = decoder.decode(proto);
      if (!t || t->dtype() == DType::string) return false;
      const Tensor copy = Tensor::copy_of(t->type(), {t->data(), t->bytes()}).value();
      const Tensor& smaller = c.tensors->emplace_back(leading(copy, from, to));
      proto = onnx::tensor_message(smaller, proto.name, *c.pool);
    }
    for (std::size_t i = 0; i < c.graph().inputs.size(); ++i) {
      for (auto& run : c.runs) run[i].tensor = leading(run[i].tensor, from, to);
      if (c.graph().inputs[i].type.kind == onnx::TypeProto::Kind::tensor)
        c.graph().inputs[i].type =
            type_of(c.runs[0][i].tensor, c.runs.size() == 1 ? Sizes::known : Sizes::open);
    }
    for (onnx::ValueInfo& o : c.graph().outputs) {
      o.type.has_shape = false;
      o.type.dims.clear();
    }
    return accept(std::move(c));
  }

  void smaller_dims() {
    std::set<std::int64_t, std::greater<>> sizes;
    for (const auto& run : best_.runs)
      for (const RandomInput& in : run)
        sizes.insert(in.tensor.shape().begin(), in.tensor.shape().end());
    for (const onnx::TensorProto& t : best_.graph().initializers)
      sizes.insert(t.dims.begin(), t.dims.end());
    for (const std::int64_t size : sizes) {
      for (std::int64_t to = 1, from = size; to < from && progress();) {
        if (with_size(from, to)) break;
        to = to + (from - to + 1) / 2;
      }
    }
  }

  RandomModel best_;
  const StillFails& fails_;
  Clock::time_point deadline_;
  bool changed_ = false;
};

ValueType::Kind kind_of(const onnx::TypeProto& type) {
  using Kind = onnx::TypeProto::Kind;
  if (type.kind == Kind::sequence) return ValueType::Kind::sequence;
  return type.kind == Kind::optional ? ValueType::Kind::optional_tensor : ValueType::Kind::tensor;
}

Status write_value(const std::string& path, const onnx::ValueInfo& declared,
                   const std::vector<Tensor>& tensors) {
  const ValueType::Kind kind = kind_of(declared.type);
  return write_tensor_file(path, {.name = std::string(declared.name),
                                  .kind = kind,
                                  .present = kind == ValueType::Kind::sequence || !tensors.empty(),
                                  .tensors = tensors});
}

std::vector<Tensor> present(const RandomInput& in) {
  if (!in.tensor.valid()) return {};
  return {in.tensor};
}

}  // namespace

RandomModel shrink(const RandomModel& model, const StillFails& fails, double seconds) {
  return Shrinker(model, fails, seconds).run();
}

Status write_case(const RandomModel& model, const std::string& folder) {
  std::error_code error;
  const auto outputs = reference_outputs(model);
  for (std::size_t k = 0; k < model.runs.size(); ++k) {
    const std::string set = cat(folder, "/test_data_set_", k);
    std::filesystem::create_directories(set, error);
    if (error) return {Code::invalid_argument, cat(printable(set), ": ", error.message())};
    for (std::size_t i = 0; i < model.graph().inputs.size(); ++i) {
      const std::string_view name = model.graph().inputs[i].name;
      for (const RandomInput& in : model.runs[k])
        if (in.name == name)
          QUERN_TRY(
              write_value(cat(set, "/input_", i, ".pb"), model.graph().inputs[i], present(in)));
    }
    for (std::size_t i = 0; outputs && i < model.graph().outputs.size(); ++i) {
      QUERN_TRY(
          write_value(cat(set, "/output_", i, ".pb"), model.graph().outputs[i], (*outputs)[k][i]));
    }
  }
  return write_whole_file(folder + "/model.onnx", onnx::write_model(model.model));
}

}  // namespace quern::tools
