// SPDX-License-Identifier: Apache-2.0
// From a seed to a model: which families take part, and what is handed out in the end.
#include <algorithm>
#include <numeric>

#include "engine/vocabulary/text_util.h"
#include "tools/console.h"
#include "tools/parse.h"
#include "tools/random/builder.h"
#include "tools/random/families.h"

namespace quern::tools {
namespace {

// A family drawn by weight.
const Family& draw(Rng& rng, const std::vector<Family>& families,
                   const std::vector<double>& weights) {
  double at = rng.unit() * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (at < weights[i]) return families[i];
    at -= weights[i];
  }
  return families.back();
}

// Most models are of some families only, and of a few of them above all: what meets rarely where
// everything does meets often there (Groce et al.: Swarm testing, 2012).
std::vector<double> drawn_weights(Rng& rng, const std::vector<Family>& families) {
  const bool is_mixed = rng.chance(0.4);
  std::vector<double> weights;
  for (const Family& f : families) {
    const double factor = rng.pick(std::vector<double>{0, 0, 1, 1, 1, 8});
    weights.push_back(is_mixed ? f.weight : f.weight * factor);
  }
  const bool is_empty =
      std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; });
  if (is_empty) weights.front() = 1;
  return weights;
}

}  // namespace

std::vector<Family> all_families() {
  std::vector<Family> all;
  for (const auto& table : {elementwise_families(),
                            matrix_families(),
                            window_families(),
                            norm_families(),
                            movement_families(),
                            index_families(),
                            shape_families(),
                            quantised_families(),
                            control_families(),
                            pattern_families(),
                            text_families(),
                            data_dependent_families(),
                            sampling_families(),
                            spectral_families(),
                            narrow_families(),
                            layer_families(),
                            contrib_families(),
                            contrib_attention_families(),
                            contrib_decoder_families(),
                            contrib_diffusion_families(),
                            contrib_math_families(),
                            contrib_quantised_families(),
                            contrib_sequence_families(),
                            classical_families(),
                            optional_families(),
                            same_families()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

std::vector<std::string> random_families() {
  std::vector<std::string> names;
  for (const Family& f : all_families()) names.emplace_back(f.name);
  return names;
}

Status parse_node_range(const std::string& text, RandomOptions& options) {
  const std::size_t dots = text.find("..");
  const auto from = parse_integer(text.substr(0, dots));
  const auto to = dots == text.npos ? from : parse_integer(text.substr(dots + 2));
  if (!from || !to || *from < 1 || *to < *from || *to > 100000)
    return {Code::invalid_argument, cat("--nodes ", shown(text), ": write a range such as 20..60")};
  options.min_nodes = static_cast<int>(*from);
  options.max_nodes = static_cast<int>(*to);
  return {};
}

std::size_t count_nodes(const onnx::GraphProto& graph) {
  std::size_t n = graph.nodes.size();
  for (const onnx::NodeProto& node : graph.nodes)
    for (const onnx::AttributeProto& a : node.attributes)
      for (const onnx::GraphProto& g : a.g) n += count_nodes(g);
  return n;
}

void Builder::grow(int nodes) {
  static const std::vector<Family> usual = all_families();
  static const std::vector<Family> with_custom = [] {
    std::vector<Family> all = usual;
    all.insert(all.end(), custom_families().begin(), custom_families().end());
    return all;
  }();
  const std::vector<Family>& families = ops() ? with_custom : usual;
  if (weights_.empty()) {
    weights_ = drawn_weights(rng, usual);
    // A fifth of the nodes, so that they meet all others.
    if (ops()) weights_.push_back(std::accumulate(weights_.begin(), weights_.end(), 0.0) / 4);
  }
  const int end = nodes_ + nodes;
  for (int tries = 0; nodes_ < end && tries < 4 * nodes + 20; ++tries) {
    const Family& f = draw(rng, families, weights_);
    if (f.grow(*this)) out_.families.emplace_back(f.name);
  }
}

// Backwards from what something discontinuous reads to the inputs and constants.
void Builder::mark_steady() {
  std::vector<std::string_view> open;
  for (const auto& [name, made] : made_)
    if (made.jumps) open.insert(open.end(), made.in.begin(), made.in.end());
  std::set<std::string_view> seen;
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    if (!seen.insert(name).second) continue;
    const auto made = made_.find(name);
    if (made == made_.end()) {
      out_.steady.push_back(name);
    } else {
      open.insert(open.end(), made->second.in.begin(), made->second.in.end());
    }
  }
  std::sort(out_.steady.begin(), out_.steady.end());
}

// The types that files declare for nodes' outputs are claims: missing, vague or wrong.
onnx::TypeProto Builder::vague(onnx::TypeProto type) {
  if (options_.claims == RandomOptions::Claims::true_ones) return type;
  if (type.kind == onnx::TypeProto::Kind::tensor && rng.chance(0.2)) {
    type.has_shape = false;
    type.dims.clear();
  }
  for (onnx::Dimension& d : type.dims) {
    if (!rng.chance(0.06)) continue;
    d = {};
    if (rng.chance(0.5)) {
      d.has_value = true;
      d.value = rng.between(0, 9);
    } else {
      d.param = rng.chance(0.5) ? "N" : "claimed";
    }
  }
  return type;
}

// In value_info the rank is right: an operator that cannot do without one may ask for it.
void Builder::add_claims() {
  if (!rng.chance(0.3)) return;
  const double share = rng.real(0.1, 1);
  for (const DrawnValue& v : top_)
    if (made_.contains(v.name) && rng.chance(share))
      out_.graph().value_info.push_back({v.name, vague(declared(v.dtype, v.dims, Fixed::some))});
}

void Builder::choose_outputs() {
  std::vector<onnx::ValueInfo>& outputs = out_.graph().outputs;
  const auto hand_out = [&](const DrawnValue& v) {
    outputs.push_back({v.name, vague(declared(v.dtype, v.dims, Fixed::some))});
    if (rng.chance(0.02)) outputs.push_back(onnx::ValueInfo(outputs.back()));  // named twice
    if (v.exact) out_.exact.push_back(v.name);
    out_.grains[v.name] = v.grain;
  };
  const bool everything = rng.chance(0.1);
  for (const DrawnValue& v : top_) {
    const bool is_input = !made_.contains(v.name);
    const double share = is_input ? 0.03 : !used_.contains(v.name) ? 0.95 : everything ? 1.0 : 0.12;
    if (!rng.chance(share)) continue;
    hand_out(v);
  }
  for (const auto& [name, type] : structured_) {
    outputs.push_back({name, type});
    out_.grains[name] = main_ == DType::f16    ? Grain::f16
                        : main_ == DType::bf16 ? Grain::bf16
                                               : Grain::f32;
  }
  if (outputs.empty()) hand_out(top_.back());
}

RandomModel Builder::finish(const std::vector<std::string>& families) {
  for (const std::string& f : families) out_.families.push_back(f);
  choose_outputs();
  add_claims();
  mark_steady();
  std::sort(out_.families.begin(), out_.families.end());
  out_.families.erase(std::unique(out_.families.begin(), out_.families.end()), out_.families.end());
  return std::move(out_);
}

RandomModel make_random_model(const RandomOptions& options) {
  Builder b(options);
  const int nodes = static_cast<int>(b.rng.between(options.min_nodes, options.max_nodes));
  b.grow(nodes);
  return b.finish({});
}

}  // namespace quern::tools
