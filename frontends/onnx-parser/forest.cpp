// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/forest.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"

namespace quern::onnx {
namespace {

constexpr std::int64_t number_max = std::numeric_limits<std::int32_t>::max();

std::int32_t narrow(std::int64_t v) {
  return static_cast<std::int32_t>(v);
}

// Puts the nodes that roots lead to in an order in which children lie behind their nodes, the one
// for "yes" right behind where that can be. No recursion: a tree may be as deep as it has nodes.
class Order {
 public:
  explicit Order(const Forest& forest)
      : forest_(forest), states_(forest.nodes.size(), State::unseen) {}

  // False where nodes form a cycle: `on_cycle` is one of them.
  bool find() {
    for (auto root = forest_.roots.rbegin(); root != forest_.roots.rend(); ++root)
      if (!visit(*root)) return false;
    std::reverse(nodes.begin(), nodes.end());
    places.assign(forest_.nodes.size(), -1);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      places[static_cast<std::size_t>(nodes[i])] = static_cast<std::int64_t>(i);
    return true;
  }

  std::vector<std::int64_t> nodes;
  std::vector<std::int64_t> places;  // of the nodes of the forest
  std::int64_t on_cycle = 0;

 private:
  // The open nodes are those of one path.
  enum class State : std::uint8_t { unseen, open, done };

  // Each node is done after its children, that for "yes" being the last.
  bool visit(TreeChild root) {
    if (root >= 0) path_.push_back(root);
    while (!path_.empty()) {
      const std::int64_t node = path_.back();
      State& state = states_[static_cast<std::size_t>(node)];
      if (state == State::unseen) {
        state = State::open;
        const ForestNode& at = forest_.nodes[static_cast<std::size_t>(node)];
        if (!open(at.yes) || !open(at.no)) return false;
        continue;
      }
      if (state == State::open) nodes.push_back(node);
      state = State::done;
      path_.pop_back();
    }
    return true;
  }

  bool open(TreeChild child) {
    if (child < 0) return true;
    on_cycle = child;
    const State state = states_[static_cast<std::size_t>(child)];
    if (state == State::unseen) path_.push_back(child);
    return state != State::open;
  }

  const Forest& forest_;
  std::vector<State> states_;
  std::vector<std::int64_t> path_;
};

ValueId list_constant(NodeImport& n, const Shape& shape, const std::vector<std::int32_t>& values) {
  return n.constant(Tensor::from_values<std::int32_t>(DType::i32, shape, values));
}
ValueId narrow_constant(NodeImport& n, const std::vector<std::int64_t>& values) {
  std::vector<std::int32_t> narrowed;
  for (std::int64_t v : values)
    narrowed.push_back(narrow(std::clamp<std::int64_t>(v, -1, number_max)));
  return list_constant(n, {static_cast<std::int64_t>(values.size())}, narrowed);
}
ValueId float_constant(NodeImport& n, DType dtype, const std::vector<double>& values) {
  if (dtype == DType::f64) return n.constant(list_tensor(dtype, values));
  return n.constant(list_tensor(dtype, std::vector<float>(values.begin(), values.end())));
}

}  // namespace

ValueId add_trees(NodeImport& n, ValueId x, const Forest& forest, const TreeEnsemble& op) {
  const std::size_t most =
      std::max({forest.nodes.size(), forest.leaves.size(), forest.targets.size()});
  if (most >= static_cast<std::size_t>(number_max)) n.unsupported("has too many nodes");
  if (!n.charge(40 * forest.nodes.size() + 12 * (forest.leaves.size() + forest.targets.size())))
    return no_value;
  Order order(forest);
  if (!order.find()) {
    n.fail(cat("the nodes of a tree form a cycle: ", forest.node_name(order.on_cycle),
               " leads back to itself"));
    return no_value;
  }
  const auto place = [&](TreeChild child) {
    return narrow(child < 0 ? child : order.places[static_cast<std::size_t>(child)]);
  };
  std::vector<std::int32_t> nodes;
  std::vector<double> splits;
  for (std::int64_t i : order.nodes) {
    const ForestNode& node = forest.nodes[static_cast<std::size_t>(i)];
    const std::int32_t missing = node.missing_is_yes ? tree_missing_is_yes : 0;
    nodes.insert(nodes.end(),
                 {narrow(std::clamp<std::int64_t>(node.feature, -1, number_max)),
                  static_cast<std::int32_t>(node.test) | missing, place(node.yes), place(node.no)});
    splits.push_back(node.split);
  }
  std::vector<std::int32_t> roots;
  for (TreeChild root : forest.roots) roots.push_back(place(root));
  std::vector<std::int64_t> leaves = forest.leaves;
  leaves.push_back(static_cast<std::int64_t>(forest.targets.size()));
  const DType dtype = n.dtype(x);
  const auto count = static_cast<std::int64_t>(splits.size());
  std::vector<ValueId> inputs = {x, list_constant(n, {count, 4}, nodes)};
  inputs.push_back(float_constant(n, dtype, splits));
  inputs.push_back(list_constant(n, {static_cast<std::int64_t>(roots.size())}, roots));
  inputs.push_back(narrow_constant(n, leaves));
  inputs.push_back(narrow_constant(n, forest.targets));
  inputs.push_back(float_constant(n, dtype, forest.weights));
  return n.ok() ? n.add(op, std::move(inputs)) : no_value;
}

}  // namespace quern::onnx
