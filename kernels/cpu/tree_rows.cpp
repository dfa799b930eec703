// SPDX-License-Identifier: Apache-2.0
// TreeEnsemble, eight paths at one time: a path is a chain of loads, each of which waits for the
// one before, and eight chains wait together. Blocks of rows go through one tree after the other,
// whose nodes stay in the cache meanwhile; rows that are left over go through eight trees at once.
// Sums are those of the reference, in its order.
#include "kernels/cpu/tree_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "kernels/contract/rows.h"
#include "kernels/cpu/tree_nodes.h"

namespace quern {
namespace {

namespace in = tree_input;

constexpr std::int64_t paths_at_once = 8;
constexpr std::int64_t tree_block_rows = 128;
constexpr std::int64_t tree_block_sums = 4096;  // of a block, unless one row has more

// How a path steps: rows without NaN and trees that test for one side need less.
enum class TreeTests : std::uint8_t { high, interval };
enum class MissingValues : std::uint8_t { none, some };

struct TreeSizes {
  TreeCounts counts;
  std::int64_t rows;
  std::int64_t features;
  std::int64_t targets;
  TreeAggregate aggregate;
  bool intervals;
  bool single;  // one target, and each leaf has one weight for it

  bool adds() const {
    return aggregate == TreeAggregate::sum || aggregate == TreeAggregate::average;
  }
  std::int64_t rows_of_block() const {
    return std::clamp<std::int64_t>(tree_block_sums / targets, 1, tree_block_rows);
  }
};

// The leaves of the call.
template <class T>
struct TreeLeaves {
  const std::int32_t* begins;
  const std::int32_t* targets;
  const T* weights;
};

template <class T>
MissingValues missing_in(const T* x, std::int64_t n) {
  bool found = false;
  for (std::int64_t i = 0; i < n; ++i) found |= std::isnan(x[i]);
  return found ? MissingValues::some : MissingValues::none;
}

// Eight paths. Lane l reads the features at x + l * stride.
template <class T, TreeTests tests, MissingValues missing>
class Paths {
 public:
  Paths(const WalkTrees<T>& trees, const T* x, std::int64_t stride)
      : nodes_(trees.nodes.data()),
        lows_(trees.lows.data()),
        nan_holds_(trees.nan_holds.data()),
        x_(x),
        stride_(stride) {}

  // Leads `at` to leaves, which are the nodes from `first_leaf` on; false if `check` ends it.
  bool walk(std::array<std::int32_t, paths_at_once>& at, std::int32_t certain_steps,
            std::int32_t first_leaf, StopCheck& check) const {
    for (std::int32_t s = 0; s < certain_steps; ++s) {
      step(at);
      if (check.spend(paths_at_once)) return false;
    }
    const auto is_on_the_way = [&] {
      bool found = false;
      for (std::int32_t node : at) found |= node < first_leaf;
      return found;
    };
    while (is_on_the_way()) {
      step(at);
      step(at);
      if (check.spend(2 * paths_at_once)) return false;
    }
    return true;
  }

 private:
  void step(std::array<std::int32_t, paths_at_once>& at) const {
#pragma GCC unroll 8
    for (std::size_t l = 0; l < paths_at_once; ++l)
      at[l] = next(at[l], x_ + static_cast<std::int64_t>(l) * stride_);
  }

  std::int32_t next(std::int32_t at, const T* x) const {
    const WalkNode<T>& node = nodes_[at];
    const T v = x[node.feature];
    bool holds = v <= node.high;
    if constexpr (tests == TreeTests::interval) holds &= v >= lows_[at];
    if constexpr (missing == MissingValues::some)
      holds = std::isnan(v) ? nan_holds_[at] != 0 : holds;
    return node.next[holds ? 1 : 0];
  }

  const WalkNode<T>* nodes_;
  const T* lows_;
  const std::uint8_t* nan_holds_;
  const T* x_;
  std::int64_t stride_;
};

template <class T>
class TreeRows final : public CpuKernel {
 public:
  TreeRows(const TreeSizes& sizes, std::shared_ptr<const std::byte> packed)
      : s_(sizes), packed_(std::move(packed)) {
    trees_ = WalkTrees<T>::in(s_.counts, const_cast<std::byte*>(packed_.get()));
  }

  static std::size_t sums_bytes(const TreeSizes& s) {
    return round_up(static_cast<std::size_t>(s.rows_of_block() * s.targets) * sizeof(double), 64);
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const TreeLeaves<T> leaves = {reinterpret_cast<const std::int32_t*>(args.inputs[in::leaves]),
                                  reinterpret_cast<const std::int32_t*>(args.inputs[in::targets]),
                                  reinterpret_cast<const T*>(args.inputs[in::weights])};
    const auto* x = reinterpret_cast<const T*>(args.inputs[in::x]);
    auto* y = reinterpret_cast<T*>(args.outputs[0]);
    const std::int64_t step = s_.rows_of_block();
    const auto block = [&](std::size_t slot, std::int64_t i) {
      auto* sums = reinterpret_cast<double*>(args.scratch + slot * sums_bytes(s_));
      StopCheck check(args.stop);
      const std::int64_t begin = i * step;
      const std::int64_t rows = std::min(step, s_.rows - begin);
      run_block({x + begin * s_.features, rows, leaves, sums, check}, y + begin * s_.targets);
    };
    const std::int64_t blocks = ceil_div(s_.rows, step);
    const auto paths = s_.rows * static_cast<std::int64_t>(s_.counts.trees);
    if (paths < elements_per_thread())
      for (std::int64_t i = 0; i < blocks && !args.is_over(); ++i) block(0, i);
    else
      parallel.each(blocks, block);
    return {};
  }

 private:
  struct Block {
    const T* x;
    std::int64_t rows;
    const TreeLeaves<T>& leaves;
    double* sums;  // [rows, targets]
    StopCheck& check;
  };

  void run_block(const Block& b, T* y) const {
    const std::int64_t n = b.rows * s_.targets;
    std::fill_n(b.sums, n, s_.adds() ? 0 : std::numeric_limits<double>::quiet_NaN());
    const std::int64_t whole = b.rows / paths_at_once * paths_at_once;
    std::array<MissingValues, tree_block_rows / paths_at_once> missing{};
    for (std::int64_t r = 0; r < whole; r += paths_at_once)
      missing[static_cast<std::size_t>(r / paths_at_once)] =
          missing_in(b.x + r * s_.features, paths_at_once * s_.features);
    for (std::size_t t = 0; t < s_.counts.trees && whole > 0 && !b.check.is_over(); ++t)
      for (std::int64_t r = 0; r < whole; r += paths_at_once)
        with_paths(missing[static_cast<std::size_t>(r / paths_at_once)], b.x + r * s_.features,
                   s_.features, [&](const auto& paths) { add_rows(b, paths, t, r); });
    for (std::int64_t r = whole; r < b.rows && !b.check.is_over(); ++r) {
      const T* row = b.x + r * s_.features;
      with_paths(missing_in(row, s_.features), row, 0,
                 [&](const auto& paths) { add_row(b, paths, r); });
    }
    for (std::int64_t i = 0; i < n; ++i) y[i] = result(b.sums[i]);
  }

  template <class F>
  void with_paths(MissingValues missing, const T* x, std::int64_t stride, const F& f) const {
    const bool nan = missing == MissingValues::some;
    if (s_.intervals)
      nan ? f(Paths<T, TreeTests::interval, MissingValues::some>(trees_, x, stride))
          : f(Paths<T, TreeTests::interval, MissingValues::none>(trees_, x, stride));
    else
      nan ? f(Paths<T, TreeTests::high, MissingValues::some>(trees_, x, stride))
          : f(Paths<T, TreeTests::high, MissingValues::none>(trees_, x, stride));
  }

  std::int32_t first_leaf() const { return static_cast<std::int32_t>(s_.counts.nodes); }

  // Eight rows from `row` on through one tree.
  template <class P>
  void add_rows(const Block& b, const P& paths, std::size_t tree, std::int64_t row) const {
    std::array<std::int32_t, paths_at_once> at;
    at.fill(trees_.roots[tree]);
    if (!paths.walk(at, trees_.shortest[tree], first_leaf(), b.check)) return;
    for (std::size_t l = 0; l < paths_at_once; ++l)
      add_leaf(b, at[l], row + static_cast<std::int64_t>(l));
  }

  // One row through all trees, eight at a time; the last ones have fewer, and go the way of the
  // last tree again without adding it.
  template <class P>
  void add_row(const Block& b, const P& paths, std::int64_t row) const {
    for (std::size_t t = 0; t < s_.counts.trees; t += paths_at_once) {
      const std::size_t n = std::min<std::size_t>(paths_at_once, s_.counts.trees - t);
      std::array<std::int32_t, paths_at_once> at;
      std::int32_t certain = trees_.shortest[t];
      for (std::size_t l = 0; l < paths_at_once; ++l) {
        const std::size_t tree = t + std::min(l, n - 1);
        at[l] = trees_.roots[tree];
        certain = std::min(certain, trees_.shortest[tree]);
      }
      if (!paths.walk(at, certain, first_leaf(), b.check)) return;
      for (std::size_t l = 0; l < n; ++l) add_leaf(b, at[l], row);
    }
  }

  void add_leaf(const Block& b, std::int32_t node, std::int64_t row) const {
    const std::int32_t leaf = node - first_leaf();
    double* sums = b.sums + row * s_.targets;
    if (s_.single) {
      merge(*sums, static_cast<double>(b.leaves.weights[leaf]));
      return;
    }
    for (std::int32_t e = b.leaves.begins[leaf]; e < b.leaves.begins[leaf + 1]; ++e)
      if (!b.check.spend(2))
        merge(sums[b.leaves.targets[e]], static_cast<double>(b.leaves.weights[e]));
  }

  void merge(double& sum, double weight) const {
    if (s_.adds())
      sum += weight;
    else if (s_.aggregate == TreeAggregate::min)
      sum = sum <= weight ? sum : weight;
    else
      sum = sum >= weight ? sum : weight;
  }

  T result(double sum) const {
    if (s_.aggregate == TreeAggregate::average)
      sum = s_.counts.trees == 0 ? 0 : sum / static_cast<double>(s_.counts.trees);
    else if (!s_.adds() && std::isnan(sum))
      sum = 0;
    return static_cast<T>(sum);
  }

  TreeSizes s_;
  std::shared_ptr<const std::byte> packed_;
  WalkTrees<T> trees_;
};

// The constants, or nothing where one of them is none.
using TreeConstants = std::array<Tensor, in::count>;
Result<std::optional<TreeConstants>> tree_constants(const KernelRequest& r) {
  TreeConstants all;
  for (std::size_t i = in::nodes; i < in::count; ++i) {
    if (!r.inputs[i].constant) return std::optional<TreeConstants>();
    QUERN_ASSIGN(all[i], r.inputs[i].constant->get());
    if (reinterpret_cast<std::uintptr_t>(all[i].data()) % alignof(double) != 0)
      return std::optional<TreeConstants>();
  }
  return std::optional<TreeConstants>(std::move(all));
}

TreeSizes tree_sizes(const KernelRequest& r, const TreeConstants& c) {
  const auto& op = r.as<TreeEnsemble>();
  TreeSizes s{.counts = {},
              .rows = r.shape(in::x)[0],
              .features = r.shape(in::x)[1],
              .targets = op.targets,
              .aggregate = op.aggregate,
              .intervals = false,
              .single = false};
  const auto size = [&](std::size_t i) { return static_cast<std::size_t>(r.shape(i)[0]); };
  s.counts = {size(in::nodes), size(in::leaves) - 1, size(in::roots)};
  const std::span<const TreeNode> nodes(reinterpret_cast<const TreeNode*>(c[in::nodes].data()),
                                        s.counts.nodes);
  s.intervals = tests_intervals(nodes);
  const auto begins = c[in::leaves].span<std::int32_t>();
  s.single = op.targets == 1 && size(in::weights) == s.counts.leaves;
  for (std::size_t l = 0; l < begins.size() && s.single; ++l)
    s.single = begins[l] == static_cast<std::int32_t>(l);
  return s;
}

template <class T>
Selection choose_trees(const KernelRequest& r, const TreeConstants& c) {
  const TreeSizes s = tree_sizes(r, c);
  if (s.counts.nodes + s.counts.leaves > std::numeric_limits<std::int32_t>::max() ||
      s.features == 0)
    return unsupported();
  const auto fill = [&](std::byte* to) -> Status {
    fill_walk<T>(s.counts,
                 {reinterpret_cast<const TreeNode*>(c[in::nodes].data()),
                  reinterpret_cast<const T*>(c[in::splits].data()),
                  reinterpret_cast<const std::int32_t*>(c[in::roots].data())},
                 WalkTrees<T>::in(s.counts, to));
    return {};
  };
  const std::string key =
      cat("trees|", r.inputs[in::nodes].constant->key(), "|", r.inputs[in::splits].constant->key(),
          "|", r.inputs[in::roots].constant->key(), "|", s.counts.leaves);
  QUERN_ASSIGN(auto packed,
               r.target.weights->find_or_make(key, WalkTrees<T>::bytes(s.counts), fill));
  KernelChoice choice;
  choice.implementation = "rows";
  choice.packed_inputs.resize(r.inputs.size());
  for (std::size_t i : {in::nodes, in::splits, in::roots}) choice.packed_inputs[i] = true;
  choice.scratch_bytes = static_cast<std::size_t>(Parallel::slots(
                             ceil_div(s.rows, s.rows_of_block()), r.target.team.threads)) *
                         TreeRows<T>::sums_bytes(s);
  choice.work = std::make_unique<TreeRows<T>>(s, std::move(packed));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace

Selection select_tree_rows(const KernelRequest& r) {
  if (r.outputs[0].shape.elements() == 0) return unsupported();
  QUERN_ASSIGN(const std::optional<TreeConstants> constants, tree_constants(r));
  if (!constants) return unsupported();
  return r.dtype(in::x) == DType::f64 ? choose_trees<double>(r, *constants)
                                      : choose_trees<float>(r, *constants);
}

}  // namespace quern
