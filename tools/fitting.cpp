// SPDX-License-Identifier: Apache-2.0
#include "tools/fitting.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/op_fields.h"
#include "graph/operands.h"
#include "graph/ops/attention.h"
#include "graph/ops/cast.h"
#include "graph/ops/concat.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/cumulative.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/features.h"
#include "graph/ops/fill.h"
#include "graph/ops/gather.h"
#include "graph/ops/one_hot.h"
#include "graph/ops/pad.h"
#include "graph/ops/pool.h"
#include "graph/ops/random.h"
#include "graph/ops/rearrange.h"
#include "graph/ops/reduce.h"
#include "graph/ops/resampling.h"
#include "graph/ops/reshape.h"
#include "graph/ops/scatter.h"
#include "graph/ops/sequences.h"
#include "graph/ops/slice.h"
#include "graph/ops/split.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"
#include "graph/ops/where.h"

namespace quern::tools {
namespace {

Fit range(std::int64_t low, std::int64_t high) {
  return {.form = Fit::Form::range, .low = low, .high = high};
}

// The size of a dimension, where the graph tells it.
std::optional<std::int64_t> known_size(const Graph& graph, ValueId v, std::int64_t axis) {
  const auto& dims = graph.type(v).dims;
  const auto rank = dims ? static_cast<std::int64_t>(dims->size()) : 0;
  if (axis < -rank || axis >= rank) return std::nullopt;
  const Dim d = (*dims)[positive_axis(axis, dims->size())];
  return d.known() ? std::optional(d.value()) : std::nullopt;
}

// Indices along a dimension. Where its size is open, only the first element is sure to be there.
Fit index_within(const Graph& graph, ValueId table, std::int64_t axis) {
  return range(0, std::max<std::int64_t>(known_size(graph, table, axis).value_or(1), 1) - 1);
}

// One tuple of indices has an element for each of several dimensions: all fit within the smallest.
Fit tuple_within(const Graph& graph, ValueId table) {
  const auto& dims = graph.type(table).dims;
  std::int64_t least = dims && !dims->empty() ? std::numeric_limits<std::int64_t>::max() : 1;
  if (dims)
    for (const Dim d : *dims) least = std::min(least, d.known() ? d.value() : 1);
  return range(0, std::max<std::int64_t>(least, 1) - 1);
}

// Axes of a node differ from each other.
Fit axes() {
  return {.form = Fit::Form::counting};
}

// Most ends lie beyond all dimensions then, unless another reader wants less.
Fit slice_fit(std::uint32_t operand) {
  switch (operand) {
    case 1: return range(0, 0);
    case 2: return range(1, std::numeric_limits<std::int32_t>::max());
    case 3: return axes();
    default: return range(1, 1);  // steps
  }
}

// Of an Rnn, by its fields: its header knows all functions of an element.
constexpr std::uint32_t lengths_of_rnn = 4;
bool has_batches_first(const Node& node) {
  bool is_first = false;
  for_each_field(node.op, [&]<class T>(std::string_view name, const T& field) {
    if constexpr (std::is_same_v<T, bool>)
      if (name == "batch_first") is_first = field;
  });
  return is_first;
}

// Sizes of parts of a dimension, rows in front of those that a cache gets, lengths of sequences.
std::optional<Fit> part_fit(const Graph& graph, const Node& node, std::uint32_t read) {
  if (node.op.def().name == "Rnn" && read == lengths_of_rnn) {
    const auto rows = known_size(graph, node.inputs[0], has_batches_first(node) ? 1 : 0);
    return range(1, std::max<std::int64_t>(rows.value_or(1), 1));
  }
  if (const auto* split = node.as<Split>(); split && read == 1) {
    const auto size = known_size(graph, node.inputs[0], split->axis);
    return size ? std::optional(Fit{.form = Fit::Form::parts, .high = *size}) : std::nullopt;
  }
  if (!node.as<CacheAppend>() || read != 2) return std::nullopt;
  const auto rows = known_size(graph, node.inputs[0], 2);
  const auto fresh = known_size(graph, node.inputs[1], 2);
  return range(0, rows && fresh ? std::max<std::int64_t>(*rows - *fresh, 0) : 0);
}

// Operands that name indices: of tables, axes and positions in sequences.
std::optional<Fit> index_fit(const Graph& graph, const Node& node, std::uint32_t read) {
  if (const auto* gather = node.as<Gather>(); gather && read == 1)
    return gather->kind == GatherKind::nd ? tuple_within(graph, node.inputs[0])
                                          : index_within(graph, node.inputs[0], gather->axis);
  if (const auto* scatter = node.as<Scatter>(); scatter && read == 1)
    return scatter->kind == ScatterKind::nd ? tuple_within(graph, node.inputs[0])
                                            : index_within(graph, node.inputs[0], scatter->axis);
  if (node.as<RoiPool>() && read == 2) return index_within(graph, node.inputs[0], 0);
  if (node.as<Dft>() && read == 2) return range(1, 1);
  if (node.as<Sequence>() && read > 0 &&
      graph.type(node.inputs[read]).dims.value_or(Dims{}).empty())
    return range(0, 0);
  const bool is_axis = node.as<Squeeze>() || node.as<Unsqueeze>() || node.as<Reduce>() ||
                       node.as<Cumulative>() || node.as<Trilu>();
  if (is_axis && read == 1) return axes();
  return std::nullopt;
}

// Operands that name sizes and numbers of times.
std::optional<Fit> size_fit(const Node& node, std::uint32_t read) {
  if (node.as<Reshape>() && read == 1) return Fit{.form = Fit::Form::reshape};
  if (node.as<Slice>() && read > 0) return slice_fit(read);
  if (node.as<Pad>() && read == 1) return range(0, 0);
  if (node.as<Pad>() && read == 3) return axes();
  if ((node.as<Expand>() || node.as<TopK>() || node.as<ReverseSequence>()) && read == 1)
    return range(1, 1);
  if (node.as<Tile>() && read == 1) return range(1, 2);
  if (node.as<ConstantOfShape>()) return range(1, 4);
  if (node.as<Range>()) return read == 0 ? range(0, 0) : read == 1 ? range(8, 16) : range(1, 1);
  if (node.as<OneHot>() && read == 1) return range(10, 10);
  if (node.as<Loop>() && read == 0) return range(1, 3);
  if (node.as<NonMaxSuppression>() && read == 2) return range(1, 10);
  if (node.as<Resize>() && read > 1) return range(read == 2 ? 2 : 1, read == 2 ? 2 : 16);
  if (node.as<AffineGrid>() && read == 1) return range(1, 4);
  return std::nullopt;
}

// Elements that a table has as keys, and keys of a map that a table asks for.
std::optional<Fit> key_fit(const Graph& graph, const Node& node, std::uint32_t read) {
  if (!node.as<KeyIndex>()) return std::nullopt;
  const Tensor& keys = graph.value(node.inputs[1 - read]).constant;
  if (!keys.valid() || keys.shape().elements() == 0) return std::nullopt;
  return Fit{.form = Fit::Form::listed, .keys = keys};
}

// The kind of a Binary, by its name; empty: the node is no such one.
std::string_view binary_kind(const Node& node) {
  std::string_view kind;
  if (node.op.def().name != "Binary") return kind;
  for_each_field(node.op, [&]<class T>(std::string_view, const T& field) {
    if constexpr (std::is_same_v<T, EnumField>) kind = field.name();
  });
  return kind;
}

// The one constant that a node compares an element with: models take one of a few numbers, such as
// rates of samples, and choose a branch by it.
std::optional<Fit> compared_fit(const Graph& graph, const Node& node, std::uint32_t read) {
  if (binary_kind(node) != "equal" || read > 1) return std::nullopt;
  const Tensor& other = graph.value(node.inputs[1 - read]).constant;
  if (!other.valid() || other.shape().elements() != 1) return std::nullopt;
  return Fit{.form = Fit::Form::listed, .keys = other};
}

// Nodes whose results hold elements of their input, where they are numbers that are handed on.
bool hands_on(const Node& node, std::uint32_t read) {
  const bool from_first = node.as<Cast>() || node.as<Identity>() || node.as<Reshape>() ||
                          node.as<Flatten>() || node.as<Squeeze>() || node.as<Unsqueeze>() ||
                          node.as<Transpose>() || node.as<Slice>() || node.as<Split>() ||
                          node.as<Expand>() || node.as<Tile>() || node.as<Gather>() ||
                          node.as<Optional>();
  if (from_first) return read == 0;
  if (node.as<Where>()) return read == 1 || read == 2;
  const std::string_view kind = binary_kind(node);
  return kind == "min" || kind == "max" || node.as<Concat>();
}

// What a node adds to each element of the input; nothing: it does something else with it.
std::optional<std::int64_t> constant_shift(const Graph& graph, const Node& node,
                                           std::uint32_t read) {
  const std::string_view kind = binary_kind(node);
  if (kind.empty() || read > 1 || node.inputs.size() != 2) return std::nullopt;
  const bool adds = kind == "add";
  if (!adds && (kind != "sub" || read != 0)) return std::nullopt;
  const Tensor& other = graph.value(node.inputs[1 - read]).constant;
  if (!other.valid() || other.shape().elements() != 1) return std::nullopt;
  constexpr std::int64_t most = std::int64_t{1} << 40;
  const std::int64_t shift = std::clamp(int_element(other.view(), 0), -most, most);
  return adds ? shift : -shift;
}

// The use of a value in a body that a control flow node hands it to; no_value: none.
ValueId value_in_body(const Node& node, const Graph& body, std::uint32_t read) {
  const std::uint32_t skipped = node.as<If>() ? 1 : 0;  // the condition
  const bool is_handed = read >= skipped && read - skipped < body.inputs().size();
  // A Loop's first two operands are the trip count and the condition, the body's are others.
  if (!is_handed || (node.as<Loop>() && read < 2) || node.as<SequenceMap>()) return no_value;
  return body.inputs()[read - skipped];
}

class Follower {
 public:
  explicit Follower(std::size_t most_uses) : left_(most_uses) {}

  std::optional<Fit> follow(const Graph& graph, ValueId input) {
    found_.reset();
    seen_.clear();
    const auto shape = graph.type(input).shape();
    is_one_ = shape && shape->elements() == 1;
    waiting_.assign(1, {&graph, input, 0});
    while (!waiting_.empty()) {
      const Place place = waiting_.back();
      waiting_.pop_back();
      if (!seen_[place.graph].insert(index(place.value)).second) continue;
      for (const Use& use : place.graph->value(place.value).uses) {
        if (left_ == 0) return found_;
        --left_;
        visit(place, use);
      }
    }
    return found_;
  }

 private:
  struct Place {
    const Graph* graph;
    ValueId value;
    std::int64_t shift;  // added to the input's elements on the way here
  };

  void visit(const Place& at, const Use& use) {
    const Node& node = at.graph->node(use.node);
    if (use.read >= node.inputs.size()) return;
    std::optional<Fit> fit = index_fit(*at.graph, node, use.read);
    if (!fit) fit = size_fit(node, use.read);
    if (!fit) fit = part_fit(*at.graph, node, use.read);
    if (!fit) fit = key_fit(*at.graph, node, use.read);
    if (!fit && is_one_) fit = compared_fit(*at.graph, node, use.read);
    if (fit) meet(*fit, at.shift);
    if (const auto shift = constant_shift(*at.graph, node, use.read)) {
      hand_on(at, node, at.shift + *shift);
    } else if (!fit && hands_on(node, use.read)) {
      hand_on(at, node, at.shift);
    }
    for (const Graph& body : node.bodies)
      if (const ValueId inside = value_in_body(node, body, use.read); inside != no_value)
        waiting_.push_back({&body, inside, at.shift});
  }

  void hand_on(const Place& at, const Node& node, std::int64_t shift) {
    for (const ValueId v : node.outputs)
      if (v != no_value) waiting_.push_back({at.graph, v, shift});
  }

  // Where two ranges have nothing in common, the first reader's counts.
  void meet(Fit fit, std::int64_t shift) {
    if (shift != 0 && fit.form != Fit::Form::range && fit.form != Fit::Form::reshape) return;
    fit.low -= shift;
    fit.high -= shift;
    if (!found_) {
      found_ = fit;
    } else if (found_->form == Fit::Form::range && fit.form == Fit::Form::range) {
      const std::int64_t low = std::max(found_->low, fit.low);
      const std::int64_t high = std::min(found_->high, fit.high);
      if (low <= high) found_ = range(low, high);
    }
  }

  std::size_t left_;
  bool is_one_ = false;  // element that the input has
  std::optional<Fit> found_;
  std::unordered_map<const Graph*, std::unordered_set<std::uint32_t>> seen_;
  std::vector<Place> waiting_;
};

// The size that a dimension needs for the constant indices of a Gather along it.
std::int64_t least_size(const Tensor& indices) {
  constexpr std::int64_t most_looked_at = 4096, largest = 65536;
  std::int64_t least = 0;
  for (std::int64_t i = 0; i < std::min(indices.shape().elements(), most_looked_at); ++i) {
    const std::int64_t v = int_element(indices.view(), i);
    if (v > -largest && v < largest) least = std::max(least, v < 0 ? -v : v + 1);
  }
  return least;
}

std::map<std::string, std::int64_t> least_dims(const Graph& graph) {
  std::map<std::string, std::int64_t> least;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const auto* gather = node.as<Gather>();
    if (!gather || gather->kind != GatherKind::axis) continue;
    const auto& dims = graph.type(node.inputs[0]).dims;
    const Tensor& indices = graph.value(node.inputs[1]).constant;
    if (!dims || !indices.valid() || dims->empty()) continue;
    const Dim d = (*dims)[positive_axis(gather->axis, dims->size())];
    if (!d.is_symbol()) continue;
    std::int64_t& size = least[graph.symbols()[d.symbol_id()]];
    size = std::max(size, least_size(indices));
  }
  return least;
}

}  // namespace

Fits fits_of(const Graph& graph, std::size_t most_uses) {
  Fits fits{.elements = {}, .least_dims = least_dims(graph)};
  fits.elements.reserve(graph.inputs().size());
  Follower follower(most_uses);
  for (const ValueId input : graph.inputs()) {
    const DType dtype = graph.type(input).dtype;
    fits.elements.push_back(dtype == DType::boolean ? std::nullopt : follower.follow(graph, input));
  }
  return fits;
}

}  // namespace quern::tools
