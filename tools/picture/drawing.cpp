// SPDX-License-Identifier: Apache-2.0
#include "tools/picture/drawing.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/custom.h"
#include "graph/text.h"
#include "tools/console.h"
#include "tools/operators.h"

namespace quern::tools {
namespace {

// How the nodes of one key ("name", "operator") are told apart.
using Counts = std::map<std::pair<std::string, std::string>, std::size_t>;

std::string cost_op(const Op& op) {
  if (const CustomCall* const custom = custom_call(op)) return custom->full_name();
  return std::string(op.def().name);
}

void count_nodes(const Graph& graph, Counts& counts) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    ++counts[{node.name, cost_op(node.op)}];
    for (const Graph& body : node.bodies) count_nodes(body, counts);
  }
}

std::string body_title(const Node& node, std::size_t body) {
  if (node.as<If>()) return body == 0 ? "then" : "else";
  return "body";
}

class Drawer {
 public:
  Drawer(const NodeCosts* costs, ConstantNodes constants, const DrawingLimits& limits)
      : costs_(costs), constants_(constants), limits_(limits) {}

  Drawing draw(const Graph& graph) && {
    if (costs_) count_nodes(graph, counts_);
    add_scene(graph, 0);
    return std::move(drawing_);
  }

 private:
  // What is known of a scene while it is made; `drawing_.scenes` moves meanwhile.
  struct Making {
    const Graph& graph;
    std::size_t depth;
    Scene scene;
    std::unordered_map<std::uint32_t, std::uint32_t> maker;  // by value: the node drawn
    std::unordered_map<std::uint32_t, std::uint32_t> wire;   // by value
    std::unordered_set<std::uint32_t> computed;              // values of nodes that are hidden
  };

  std::uint32_t add_scene(const Graph& graph, std::size_t depth) {
    const auto number = static_cast<std::uint32_t>(drawing_.scenes.size());
    drawing_.scenes.emplace_back();
    Making m{graph, depth, {}, {}, {}, {}};
    add_inputs(m);
    for (const NodeId id : graph.order()) {
      if (hide(m, graph.node(id))) continue;
      if (drawn_ < limits_.nodes)
        add_node(m, graph.node(id));
      else
        leave_out(graph.node(id));
    }
    add_outputs(m);
    group_nodes(m.scene);
    m.scene.layout = layered_layout(m.scene.nodes.size(), m.scene.wires);
    drawing_.scenes[number] = std::move(m.scene);
    return number;
  }

  // True for a node that needs constants only.
  bool hide(Making& m, const Node& node) {
    const Graph& g = m.graph;
    const auto is_constant = [&](ValueId id) {
      return id == no_value || g.value(id).is_constant() || m.computed.contains(index(id));
    };
    if (constants_ == ConstantNodes::drawn || !node.bodies.empty() ||
        node.op.def().is(OpTrait::random) || node.op.def().is(OpTrait::structural) ||
        !std::ranges::all_of(node.reads(), is_constant) ||
        std::ranges::any_of(node.outputs,
                            [&](ValueId id) { return id != no_value && g.is_output(id); }))
      return false;
    for (const ValueId id : node.outputs)
      if (id != no_value) m.computed.insert(index(id));
    ++drawing_.constants;
    return true;
  }

  void leave_out(const Node& node) {
    ++drawing_.left_out;
    for (const Graph& body : node.bodies)
      for (const NodeId id : body.order()) leave_out(body.node(id));
  }

  // ---- texts

  bool has_room() const { return text_ < limits_.text; }
  std::string told(std::string_view text, std::size_t most = 120) {
    std::string s = visible_text(text, most);
    text_ += s.size();
    return s;
  }
  std::string type_of(const Graph& graph, ValueId id) {
    const Value& v = graph.value(id);
    ValueType type = v.type;
    if (!type.dims && v.claim) type.dims = v.claim;
    return told(type_text(type, &graph), 80);
  }
  // "weight: f32[64,3,7,7], constant of 37.6 kB"
  std::string value_text(const Graph& graph, ValueId id) {
    if (id == no_value) return "(left out)";
    const Value& v = graph.value(id);
    std::string s = cat(told(v.name, 80), v.name.empty() ? "" : ": ", type_of(graph, id));
    if (v.is_constant())
      s += cat(", constant of ", bytes_text(static_cast<double>(v.constant.bytes())));
    return s;
  }
  DrawnOperand operand(const Making& m, ValueId id) {
    DrawnOperand o{value_text(m.graph, id)};
    if (m.computed.contains(index(id))) o.text += ", computed from constants";
    if (const auto found = m.maker.find(index(id)); found != m.maker.end()) o.maker = found->second;
    return o;
  }

  // ---- nodes

  void add_inputs(Making& m) {
    for (const ValueId id : m.graph.inputs()) {
      if (drawn_ >= limits_.nodes) return;
      DrawnNode n;
      n.kind = DrawnNode::Kind::input;
      n.op = "input";
      n.name = told(m.graph.value(id).name);
      n.outputs.push_back({value_text(m.graph, id)});
      make(m, id);
      m.scene.nodes.push_back(std::move(n));
      ++drawn_;
    }
  }

  // Says that the next node makes this value.
  static void make(Making& m, ValueId id) {
    m.maker[index(id)] = static_cast<std::uint32_t>(m.scene.nodes.size());
  }

  void add_node(Making& m, const Node& node) {
    ++drawn_;
    DrawnNode n;
    n.family = family_of(node.op.def());
    n.op = told(op_name(node.op), 60);
    n.name = told(node.name, 200);
    if (has_room()) describe(m, node, n);
    const auto number = static_cast<std::uint32_t>(m.scene.nodes.size());
    for (const ValueId id : node.reads())
      if (id != no_value) connect(m, id, number);
    for (const ValueId id : node.outputs)
      if (id != no_value) make(m, id);
    n.cost = cost(node);
    m.scene.nodes.push_back(std::move(n));
    if (m.depth >= limits_.depth) {
      for (const Graph& body : node.bodies)
        for (const NodeId id : body.order()) leave_out(body.node(id));
      return;
    }
    for (std::size_t i = 0; i < node.bodies.size(); ++i) {
      const std::uint32_t scene = add_scene(node.bodies[i], m.depth + 1);
      m.scene.nodes[number].bodies.push_back({body_title(node, i), scene});
    }
  }

  void describe(const Making& m, const Node& node, DrawnNode& n) {
    n.attributes = told(attributes_text(node.op), 1000);
    for (const ValueId id : node.inputs) {
      if (n.inputs.size() == limits_.operands) break;
      n.inputs.push_back(operand(m, id));
    }
    if (node.inputs.size() > limits_.operands)
      n.inputs.push_back({cat("and ", node.inputs.size() - limits_.operands, " more")});
    for (const ValueId id : node.outputs) {
      if (n.outputs.size() == limits_.operands) break;
      if (id != no_value) n.outputs.push_back({value_text(m.graph, id)});
    }
    for (const PostOp& p : node.post_ops) {
      if (n.post_ops.size() == limits_.operands) break;
      const std::string text = post_ops_text({p}, [&](std::uint32_t i) {
        return i < node.operands.size() ? m.graph.value(node.operands[i]).name : std::string();
      });
      n.post_ops.push_back(told(text.substr(std::min<std::size_t>(3, text.size()))));
      const auto* const binary = std::get_if<BinaryPostOp>(&p);
      if (binary && binary->operand < node.operands.size())
        n.inputs.push_back(operand(m, node.operands[binary->operand]));
    }
  }

  NodeCost cost(const Node& node) {
    if (!costs_) return {};
    const std::pair<std::string, std::string> key{node.name, cost_op(node.op)};
    const auto same = counts_.find(key);
    if (same == counts_.end()) return {};
    const NodeCost* const found = costs_->find(node.name, key.second, met_[key]++, same->second);
    if (!found) return {};
    NodeCost c = *found;
    c.kernel = told(c.kernel, 160);
    c.layouts = told(c.layouts, 160);
    return c;
  }

  void add_outputs(Making& m) {
    for (std::size_t i = 0; i < m.graph.outputs().size(); ++i) {
      if (drawn_ >= limits_.nodes) return;
      const ValueId id = m.graph.outputs()[i];
      DrawnNode n;
      n.kind = DrawnNode::Kind::output;
      n.op = "output";
      n.name = told(i < m.graph.output_names().size() ? m.graph.output_names()[i] : "");
      n.inputs.push_back(operand(m, id));
      connect(m, id, static_cast<std::uint32_t>(m.scene.nodes.size()));
      m.scene.nodes.push_back(std::move(n));
      ++drawn_;
    }
  }

  void connect(Making& m, ValueId id, std::uint32_t reader) {
    const auto maker = m.maker.find(index(id));
    if (maker == m.maker.end()) return;
    const auto [wire, is_new] = m.wire.try_emplace(index(id), m.scene.wires.size());
    if (is_new) {
      m.scene.wires.push_back({maker->second, {}});
      m.scene.wire_texts.push_back(type_of(m.graph, id));
    }
    auto& to = m.scene.wires[wire->second].to;
    if (to.empty() || to.back() != reader) to.push_back(reader);
  }

  // ---- groups

  // Names are cut at what most tools write between their parts. The last part is the node's own.
  static std::vector<std::string_view> parts_of(std::string_view name, char between) {
    constexpr std::size_t most = 12;
    std::vector<std::string_view> parts;
    while (parts.size() < most) {
      const std::size_t end = name.find(between);
      if (end == std::string_view::npos) break;
      if (end > 0) parts.push_back(name.substr(0, end));
      name.remove_prefix(end + 1);
    }
    return parts;
  }

  // Only what holds two nodes or more is a group.
  void group_nodes(Scene& scene) const {
    const bool has_paths = std::ranges::any_of(
        scene.nodes, [](const DrawnNode& n) { return n.name.find('/', 1) != std::string::npos; });
    std::map<std::string, std::size_t> sizes;
    const auto for_each_prefix = [&](const DrawnNode& n, const auto& f) {
      if (n.kind != DrawnNode::Kind::node) return;
      std::string path;
      for (const std::string_view part : parts_of(n.name, has_paths ? '/' : '.')) {
        path += cat("/", part);
        f(path, part);
      }
    };
    for (const DrawnNode& n : scene.nodes)
      for_each_prefix(n, [&](const std::string& path, std::string_view) { ++sizes[path]; });
    std::map<std::string, std::int64_t> numbers;
    for (DrawnNode& n : scene.nodes)
      for_each_prefix(n, [&](const std::string& path, std::string_view part) {
        if (sizes[path] < 2) return;
        const auto [found, is_new] =
            numbers.try_emplace(path, static_cast<std::int64_t>(scene.groups.size()));
        if (is_new && scene.groups.size() == limits_.groups) {
          numbers.erase(found);
          return;
        }
        if (is_new) scene.groups.push_back({std::string(part), n.group});
        n.group = found->second;
      });
  }

  const NodeCosts* costs_;
  ConstantNodes constants_;
  const DrawingLimits& limits_;
  Drawing drawing_;
  Counts counts_, met_;
  std::size_t drawn_ = 0;
  std::size_t text_ = 0;
};

constexpr std::array<std::string_view, 8> names_of_families = {
    "products",     "sums, pools, norms", "elementwise", "movement", "types, quantisation",
    "control flow", "shapes of data",     "others"};

struct FamilyRow {
  std::size_t family;
  std::vector<std::string_view> operators;
};

// What the traits of a definition do not say.
const std::vector<FamilyRow>& family_rows() {
  static const std::vector<FamilyRow> rows = {
      {0,
       {"Attention",
        "BlockQuantizedMatMul",
        "CachedAttention",
        "Conv",
        "ConvInteger",
        "ConvIntegerToFloat",
        "ConvTranspose",
        "DeformConv",
        "Det",
        "Dft",
        "Einsum",
        "Inverse",
        "MatMul",
        "MatMulInteger",
        "QLinearConv",
        "QLinearMatMul",
        "Rnn",
        "SquaredDistance",
        "Stft",
        "TreeEnsemble"}},
      {1,
       {"ArgReduce", "BatchNorm", "Cumulative", "GroupNorm", "LayerNorm", "LpNorm", "Lrn",
        "MaxUnpool", "Pool", "Reduce", "RoiPool", "Softmax", "TopK"}},
      {2, {"Binary", "Unary", "Where"}},
      {3,
       {"CacheAppend", "Col2Im", "Concat", "DepthSpace", "Expand", "Gather", "GridSample", "Pad",
        "Resize", "ReverseSequence", "Scatter", "Slice", "Split", "Tile", "Transpose", "Trilu"}},
      {4,
       {"Bf16Parts", "BitCast", "Cast", "Dequantize", "DynamicQuantize", "Quantize", "UnpackBits"}},
      {6, {"ConstantOfShape", "EyeLike", "OneHot", "Range", "ShapeOf", "SizeOf"}}};
  return rows;
}

// Code points that a reader does not see, or that turn the text after them around.
bool is_hidden(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || (c >= 0xd800 && c < 0xe000) || c == 0xfeff ||
         (c >= 0xfff0 && c <= 0xfffb) || (c >= 0xe0000 && c < 0xe0080);
}

std::string code_text(std::uint32_t c) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string s;
  for (int shift = c > 0xffff ? 20 : 12; shift >= 0; shift -= 4) s += digits[c >> shift & 15];
  return c > 0xffff ? cat("\\u{", s, "}") : cat("\\u", s);
}

}  // namespace

std::string visible_text(std::string_view text, std::size_t most) {
  std::string s;
  // A hostile name may be long, and is cut before it is read.
  const std::string valid = valid_utf8(text.substr(0, std::min(text.size(), 4 * most + 4)));
  for (std::size_t i = 0; i < valid.size();) {
    const auto first = static_cast<unsigned char>(valid[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    std::uint32_t c = length == 1 ? first : first & (0xffU >> (length + 1));
    for (std::size_t k = 1; k < length; ++k)
      c = c << 6 | (static_cast<unsigned char>(valid[i + k]) & 0x3f);
    s += is_hidden(c) ? code_text(c) : valid.substr(i, length);
    i += length;
  }
  return shortened(s, most);
}

std::size_t family_of(const OpDef& def) {
  for (const FamilyRow& row : family_rows())
    if (std::ranges::find(row.operators, def.name) != row.operators.end()) return row.family;
  if (def.is(OpTrait::structural)) return 5;
  if (def.is(OpTrait::data_dependent)) return 6;
  if (def.is(OpTrait::view)) return 3;
  return def.is(OpTrait::elementwise) ? 2 : 7;
}

std::span<const std::string_view> family_names() {
  return names_of_families;
}

Drawing draw_graph(const Graph& graph, const NodeCosts* costs, ConstantNodes constants,
                   const DrawingLimits& limits) {
  return Drawer(costs, constants, limits).draw(graph);
}

}  // namespace quern::tools
