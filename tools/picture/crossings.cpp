// SPDX-License-Identifier: Apache-2.0
// The order of vertices within their rows.
#include <algorithm>
#include <utility>

#include "tools/picture/layout.h"

namespace quern::tools {
namespace {

// Sums over prefixes of counters. Fenwick: "A new data structure for cumulative frequency tables",
// Software: Practice and Experience 24(3), 1994.
class PrefixSums {
 public:
  explicit PrefixSums(std::size_t size) : sums_(size + 1, 0) {}
  void add(std::size_t at) {
    for (++at; at < sums_.size(); at += at & (~at + 1)) ++sums_[at];
  }
  // Of the counters before `end`.
  std::uint64_t before(std::size_t end) const {
    std::uint64_t sum = 0;
    for (; end > 0; end -= end & (~end + 1)) sum += sums_[end];
    return sum;
  }

 private:
  std::vector<std::uint64_t> sums_;
};

// Barth, Jünger, Mutzel: "Simple and efficient bilayer cross counting", GD 2002.
std::uint64_t crossings_below(const LayeredGraph& g, std::size_t row) {
  PrefixSums ends(g.rows[row + 1].size());
  std::uint64_t links = 0;
  std::uint64_t crossing = 0;
  std::vector<std::uint32_t> places;
  for (const std::uint32_t v : g.rows[row]) {
    places.clear();
    for (const std::uint32_t below : g.below[v]) places.push_back(g.place[below]);
    for (const std::uint32_t p : places) crossing += links - ends.before(p + std::size_t{1});
    for (const std::uint32_t p : places) ends.add(p);
    links += places.size();
  }
  return crossing;
}

// Sorts a row by the mean place of the neighbours on one side; who has none keeps its place.
void sort_by_barycentre(LayeredGraph& g, std::size_t row,
                        const std::vector<std::vector<std::uint32_t>>& neighbours,
                        std::vector<std::pair<double, std::uint32_t>>& keys) {
  keys.clear();
  for (const std::uint32_t v : g.rows[row]) {
    double sum = 0;
    for (const std::uint32_t n : neighbours[v]) sum += g.place[n];
    keys.emplace_back(
        neighbours[v].empty() ? g.place[v] : sum / static_cast<double>(neighbours[v].size()), v);
  }
  std::ranges::stable_sort(keys, {}, &std::pair<double, std::uint32_t>::first);
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    g.rows[row][i] = keys[i].second;
    g.place[keys[i].second] = i;
  }
}

enum class SweepWay : std::uint8_t { down, up };

void sweep(LayeredGraph& g, SweepWay way) {
  std::vector<std::pair<double, std::uint32_t>> keys;
  for (std::size_t i = 1; i < g.rows.size(); ++i) {
    const std::size_t row = way == SweepWay::down ? i : g.rows.size() - 1 - i;
    sort_by_barycentre(g, row, way == SweepWay::down ? g.above : g.below, keys);
  }
}

}  // namespace

std::uint64_t crossings(const LayeredGraph& graph) {
  std::uint64_t sum = 0;
  for (std::size_t r = 0; r + 1 < graph.rows.size(); ++r) sum += crossings_below(graph, r);
  return sum;
}

void reduce_crossings(LayeredGraph& graph) {
  constexpr int most_sweeps = 8;
  constexpr int most_in_vain = 3;
  std::uint64_t fewest = crossings(graph);
  auto best = graph.rows;
  int in_vain = 0;
  for (int i = 0; i < most_sweeps && fewest > 0 && in_vain < most_in_vain; ++i) {
    sweep(graph, i % 2 == 0 ? SweepWay::down : SweepWay::up);
    const std::uint64_t now = crossings(graph);
    ++in_vain;
    if (now >= fewest) continue;
    fewest = now;
    best = graph.rows;
    in_vain = 0;
  }
  graph.rows = std::move(best);
  for (const auto& row : graph.rows)
    for (std::uint32_t i = 0; i < row.size(); ++i) graph.place[row[i]] = i;
}

}  // namespace quern::tools
