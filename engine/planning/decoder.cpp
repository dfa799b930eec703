// SPDX-License-Identifier: Apache-2.0
// Decoders of models that are not compiled yet, whose caches may be made such that they grow in
// place.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <quern/decoder.h>

#include "engine/vocabulary/guarded.h"
#include "graph/graph.h"
#include "graph/ops/attention.h"
#include "graph/ops/concat.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/slice.h"

namespace quern {
namespace {

// ---- the graph

ValueId input_named(const Graph& g, const std::string& name) {
  const auto at =
      std::ranges::find_if(g.inputs(), [&](ValueId v) { return g.value(v).name == name; });
  return at == g.inputs().end() ? no_value : *at;
}

ValueId output_named(const Graph& g, const std::string& name) {
  const auto at = std::ranges::find(g.output_names(), name);
  if (at == g.output_names().end()) return no_value;
  return g.outputs()[static_cast<std::size_t>(at - g.output_names().begin())];
}

// The node that does nothing but join rows to this past, where nothing else reads it.
std::optional<NodeId> join_of(const Graph& g, ValueId past, ValueId present) {
  const Value& v = g.value(past);
  if (v.uses.size() != 1 || v.handed_out > 0 || !v.type.dims || v.type.dims->size() != 4)
    return std::nullopt;
  const Node& n = g.node(v.uses[0].node);
  const auto* concat = n.as<Concat>();
  const bool joins_rows = concat && (concat->axis == 2 || concat->axis == -2) &&
                          n.inputs.size() == 2 && n.inputs[0] == past && n.post_ops.empty();
  return joins_rows && n.outputs[0] == present ? std::optional(v.uses[0].node) : std::nullopt;
}

// All of them; nothing if one is of another form.
std::vector<NodeId> joins_of(const Graph& g, const DecoderNames& names) {
  std::vector<NodeId> joins;
  for (std::size_t layer = 0;; ++layer) {
    const auto find = [&](const std::string& past_pattern, const std::string& present_pattern) {
      const ValueId past = input_named(g, DecoderNames::of_layer(past_pattern, layer));
      const ValueId present = output_named(g, DecoderNames::of_layer(present_pattern, layer));
      return past == no_value || present == no_value ? std::nullopt : join_of(g, past, present);
    };
    if (input_named(g, DecoderNames::of_layer(names.past_key, layer)) == no_value) return joins;
    const auto key = find(names.past_key, names.present_key);
    const auto value = find(names.past_value, names.present_value);
    if (!key || !value) return {};
    joins.insert(joins.end(), {*key, *value});
    if (names.past_key.find('%') == std::string::npos) return joins;
  }
}

// Turns every Concat of a past with new rows that is an output into a CacheAppend, as long as the
// past, behind as many rows as a new input, `names.before`, says. False, with the graph as it was,
// where the model has no such cache, or does more with a past than to join it.
Result<bool> append_to_caches(Graph& graph, const DecoderNames& names) {
  const std::vector<NodeId> joins = joins_of(graph, names);
  if (joins.empty() || input_named(graph, names.before) != no_value) return false;
  const ValueId before = graph.add_input(names.before, ValueType(DType::i64, Dims{1}));
  for (NodeId id : joins) {
    const ValueId past = graph.node(id).inputs[0];
    const ValueId rows = graph.node(id).inputs[1];
    QUERN_ASSIGN(const ValueId length, graph.add(ShapeOf{.start = 2, .end = 3}, {past}));
    QUERN_TRY(graph.replace(id, CacheAppend{.causal = true}, {past, rows, before, length}));
  }
  return true;
}

// Leaves the last row of the logits alone, which is all that a Decoder reads. The passes take the
// slice before what computes the rows (slice_before).
Status keep_last_logits(Graph& graph, const DecoderNames& names) {
  const auto at = std::ranges::find(graph.output_names(), names.logits);
  if (at == graph.output_names().end()) return {};
  const auto i = static_cast<std::size_t>(at - graph.output_names().begin());
  const ValueId logits = graph.outputs()[i];
  const auto& dims = graph.type(logits).dims;
  if (!dims || dims->size() != 3) return {};
  const auto list = [&](std::int64_t v) {
    return graph.add_constant(Tensor::from_values<std::int64_t>(DType::i64, {1}, {&v, 1}));
  };
  QUERN_ASSIGN(const ValueId last,
               graph.add(Slice{}, {logits, list(-1), list(std::numeric_limits<std::int64_t>::max()),
                                   list(1)}));
  graph.set_output(i, last);
  return {};
}

// ---- what it computes

using Tokens = std::vector<std::int64_t>;
using Logits = std::vector<float>;

// Computed in parts and at once, by the model as it is and as it is made.
const Tokens probe = {0, 1, 2};

Result<std::unique_ptr<Decoder>> compile_and_open(Model model, const DecoderOptions& options,
                                                  std::shared_ptr<Device> device) {
  auto executable = Executable::compile(std::move(model), std::move(device), options.compile);
  if (!executable) return std::move(executable).error();
  return Decoder::open(*std::move(executable), options);
}

// The logits behind the tokens, which are appended in parts of these lengths; empty if that fails.
Logits logits_of(Decoder& decoder, std::initializer_list<std::size_t> parts) {
  decoder.reset();
  std::span<const std::int64_t> rest = probe;
  for (std::size_t n : parts) {
    if (!decoder.append(rest.first(n)).ok()) return {};
    rest = rest.subspan(n);
  }
  return {decoder.logits().begin(), decoder.logits().end()};
}

bool are_close(const Logits& a, const Logits& b, float share) {
  float most = 0, apart = 0;
  for (float x : b) most = std::max(most, std::fabs(x));
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return false;
    apart = std::max(apart, std::fabs(a[i] - b[i]));
  }
  return apart <= share * most;
}

// True if tokens behind each other in a cache with room give what all of them give at once in one
// without: positions, masks and whatever else the model makes of lengths are right then.
bool agrees(Decoder& decoder, const Logits& wanted) {
  const bool is_f32 = std::ranges::none_of(decoder.executable().inputs(), [](const ValueSpec& s) {
    return s.dtype == DType::f16 || s.dtype == DType::bf16;
  });
  const float share = is_f32 ? 1e-3F : 2e-2F;
  return are_close(logits_of(decoder, {3}), wanted, share) &&
         are_close(logits_of(decoder, {1, 1, 1}), wanted, share) &&
         are_close(logits_of(decoder, {1, 2}), wanted, share);
}

// Null where the model has another form, or means something else with a cache that has room.
Result<std::unique_ptr<Decoder>> open_in_place(const Model& model, const DecoderOptions& options,
                                               const std::shared_ptr<Device>& device) {
  const auto size = static_cast<std::int64_t>(probe.size());
  const bool has_room = options.capacity == 0 || options.capacity > size;
  Model made = model.clone();
  QUERN_ASSIGN(const bool is_made, append_to_caches(made.graph(), options.names));
  if (!is_made || !has_room) return std::unique_ptr<Decoder>();
  Logits wanted;
  {
    DecoderOptions small = options;
    small.capacity = size;
    QUERN_ASSIGN(const auto plain, compile_and_open(model.clone(), small, device));
    wanted = logits_of(*plain, {probe.size()});
  }
  if (wanted.empty()) return std::unique_ptr<Decoder>();
  QUERN_ASSIGN(auto decoder, compile_and_open(std::move(made), options, device));
  if (decoder->growth() != Decoder::Growth::in_place || !agrees(*decoder, wanted))
    return std::unique_ptr<Decoder>();
  decoder->reset();
  return decoder;
}

}  // namespace

Result<std::unique_ptr<Decoder>> Decoder::open(Model model, const DecoderOptions& options,
                                               std::shared_ptr<Device> device) {
  return guarded([&]() -> Result<std::unique_ptr<Decoder>> {
    QUERN_TRY(keep_last_logits(model.graph(), options.names));
    auto in_place = open_in_place(model, options, device);
    if (in_place && *in_place) return in_place;
    return compile_and_open(std::move(model), options, std::move(device));
  });
}

}  // namespace quern
