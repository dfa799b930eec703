// SPDX-License-Identifier: Apache-2.0
// TreeEnsemble: each tree leads a row to a leaf by comparing features with splits; the weights of
// the leaves are summed (averaged, least, greatest) for each target.
//
// ONNX: ai.onnx.ml TreeEnsemble (opset 5), TreeEnsembleRegressor and TreeEnsembleClassifier (opsets
// 1, 3), whose base values, transforms and labels are operators behind it. A comparison with NaN is
// a no, that with "not equal" a yes, unless the node takes missing values for a yes. Sums are held
// in f64 in the order of the trees, so that a kernel that keeps the order has the same bits.
#include "graph/ops/trees.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/contract/kernel.h"
#include "kernels/cpu/tree_rows.h"

namespace quern {
namespace {

namespace in = tree_input;

template <class T>
bool is_yes(std::int32_t test, T x, T split) {
  if ((test & tree_missing_is_yes) != 0 && std::isnan(x)) return true;
  switch (static_cast<TreeTest>(test & ~tree_missing_is_yes)) {
    case TreeTest::less_equal: return x <= split;
    case TreeTest::less: return x < split;
    case TreeTest::greater_equal: return x >= split;
    case TreeTest::greater: return x > split;
    case TreeTest::equal: return x == split;
    case TreeTest::not_equal: return x != split;
  }
  return false;
}

// NaN: no weight yet.
void merge(TreeAggregate how, double& sum, double weight) {
  switch (how) {
    case TreeAggregate::sum:
    case TreeAggregate::average: sum += weight; break;
    case TreeAggregate::min: sum = sum <= weight ? sum : weight; break;
    case TreeAggregate::max: sum = sum >= weight ? sum : weight; break;
  }
}

template <class T>
class Trees {
 public:
  explicit Trees(const ReferenceCall& call)
      : call_(call),
        how_(call.as<TreeEnsemble>().aggregate),
        roots_(call.inputs[in::roots].span<std::int32_t>()),
        check_(call.stop) {}

  void run() {
    const Shape& y = call_.outputs[0].type.shape;
    const auto targets = static_cast<std::size_t>(y[1]);
    auto* sums = call_.scratch.take<double>(targets);
    for (std::int64_t row = 0; row < y[0]; ++row) {
      if (check_.spend(2 * y[1])) return;
      const bool adds = how_ == TreeAggregate::sum || how_ == TreeAggregate::average;
      std::fill_n(sums, targets, adds ? 0 : std::numeric_limits<double>::quiet_NaN());
      add_row(row, sums);
      T* to = call_.outputs[0].template as<T>() + row * y[1];
      for (std::size_t t = 0; t < targets; ++t) to[t] = result(sums[t]);
    }
  }

 private:
  void add_row(std::int64_t row, double* sums) {
    const TensorView& x = call_.inputs[in::x];
    const T* features = x.as<T>() + row * x.type.shape[1];
    const auto* begins = call_.inputs[in::leaves].as<std::int32_t>();
    const auto* targets = call_.inputs[in::targets].as<std::int32_t>();
    const T* weights = call_.inputs[in::weights].as<T>();
    for (std::int32_t root : roots_) {
      const std::int32_t leaf = leaf_of(features, root);
      if (check_.is_over()) return;
      for (std::int32_t e = begins[leaf]; e < begins[leaf + 1] && !check_.spend(2); ++e)
        merge(how_, sums[targets[e]], static_cast<double>(weights[e]));
    }
  }

  std::int32_t leaf_of(const T* features, std::int32_t at) {
    const auto* nodes = call_.inputs[in::nodes].as<TreeNode>();
    const T* splits = call_.inputs[in::splits].as<T>();
    while (at >= 0 && !check_.spend(3)) {
      const TreeNode& node = nodes[at];
      at = is_yes(node.test, features[node.feature], splits[at]) ? node.yes : node.no;
    }
    return -1 - at;
  }

  T result(double sum) const {
    switch (how_) {
      case TreeAggregate::sum: return static_cast<T>(sum);
      case TreeAggregate::average:
        return roots_.empty() ? T(0) : static_cast<T>(sum / static_cast<double>(roots_.size()));
      default: return std::isnan(sum) ? T(0) : static_cast<T>(sum);
    }
  }

  const ReferenceCall& call_;
  TreeAggregate how_;
  std::span<const std::int32_t> roots_;
  StopCheck check_;
};

Status trees_reference(const ReferenceCall& call) {
  if (call.inputs[in::x].type.dtype == DType::f64)
    Trees<double>(call).run();
  else
    Trees<float>(call).run();
  return {};
}

std::size_t trees_scratch(const Op& op, std::span<const TensorType>, std::span<const TensorType>) {
  return Scratch::bytes_for<double>(static_cast<std::size_t>(op.as<TreeEnsemble>()->targets));
}

// A path is about as long as a tree of that many leaves is deep.
Cost trees_cost(const Op&, std::span<const TensorType> inputs,
                std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  const auto trees = static_cast<double>(std::max<std::int64_t>(inputs[in::roots].shape[0], 1));
  const auto leaves = static_cast<double>(inputs[in::leaves].shape[0]);
  cost.flops = static_cast<double>(inputs[in::x].shape[0]) * trees *
               (1 + std::log2(std::max(leaves / trees, 1.0)));
  return cost;
}

constexpr CpuImplementation tree_implementations[] = {{"rows", select_tree_rows}};

}  // namespace

const OpKernels& TreeEnsemble::kernels() {
  static constexpr OpKernels table{.reference = {trees_reference, trees_scratch},
                                   .cpu = tree_implementations,
                                   .flops = trees_cost};
  return table;
}

}  // namespace quern
