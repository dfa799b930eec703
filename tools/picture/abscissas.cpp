// SPDX-License-Identifier: Apache-2.0
// Coordinates across: vertices are aligned with a median neighbour to blocks, and blocks are set as
// close as they may stand. That is done four times, from above and from below, from the left and
// from the right, and a vertex gets the mean of the two middle places.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "tools/picture/layout.h"

namespace quern::tools {
namespace {

std::uint64_t link_key(std::uint32_t upper, std::uint32_t lower) {
  return std::uint64_t{upper} << 32 | lower;
}

// Links that no alignment follows: those that cross a wire, and the ends of wires at a node that
// has as many nodes as wires as its neighbours on that side, so that paths of nodes are straight.
class Refused {
 public:
  explicit Refused(const LayeredGraph& g) : g_(g) {
    for (std::size_t r = 0; r + 1 < g.rows.size(); ++r) refuse_crossing(r);
    for (std::uint32_t v = 0; v < g.nodes; ++v) {
      refuse_ends(g.below[v], [&](std::uint32_t n) { return link_key(v, n); });
      refuse_ends(g.above[v], [&](std::uint32_t n) { return link_key(n, v); });
    }
  }

  bool has(std::uint32_t upper, std::uint32_t lower) const {
    return links_.contains(link_key(upper, lower));
  }

 private:
  template <class Key>
  void refuse_ends(const std::vector<std::uint32_t>& neighbours, const Key& key) {
    const auto nodes = std::ranges::count_if(neighbours, [&](auto n) { return g_.is_node(n); });
    if (2 * static_cast<std::size_t>(nodes) < neighbours.size()) return;
    for (const std::uint32_t n : neighbours)
      if (!g_.is_node(n)) links_.insert(key(n));
  }

  // The upper vertex of a piece of a wire that ends at `v`; none if `v` is a node, or the first of
  // its wire.
  std::optional<std::uint32_t> wire_above(std::uint32_t v) const {
    if (g_.is_node(v) || g_.is_node(g_.above[v][0])) return std::nullopt;
    return g_.above[v][0];
  }

  // Brandes and Köpf, algorithm 1, between this row and the next.
  void refuse_crossing(std::size_t row) {
    const auto& lower = g_.rows[row + 1];
    std::uint32_t low = 0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < lower.size(); ++i) {
      const auto wire = wire_above(lower[i]);
      if (!wire && i + 1 < lower.size()) continue;
      const std::uint32_t high =
          wire ? g_.place[*wire] : static_cast<std::uint32_t>(g_.rows[row].size());
      for (; next <= i; ++next)
        for (const std::uint32_t upper : g_.above[lower[next]]) {
          const std::uint32_t k = g_.place[upper];
          const bool is_wire = wire_above(lower[next]).has_value();
          if (!is_wire && (k < low || k > high)) links_.insert(link_key(upper, lower[next]));
        }
      low = high;
    }
  }

  const LayeredGraph& g_;
  std::unordered_set<std::uint64_t> links_;
};

enum class FirstRow : std::uint8_t { above, below };
enum class FirstSide : std::uint8_t { left, right };

// One of the four ways.
class Alignment {
 public:
  Alignment(const LayeredGraph& g, const Refused& refused, const LayoutSizes& sizes, FirstRow from,
            FirstSide side)
      : g_(g),
        refused_(refused),
        sizes_(sizes),
        from_above_(from == FirstRow::above),
        from_left_(side == FirstSide::left) {
    root_.resize(g.size());
    std::iota(root_.begin(), root_.end(), 0U);
  }

  std::vector<double> places() {
    for (std::size_t i = 1; i < g_.rows.size(); ++i)
      align(from_above_ ? i : g_.rows.size() - 1 - i);
    std::vector<double> x = compact();
    if (!from_left_)
      for (double& v : x) v = -v;
    return x;
  }

 private:
  // The vertex at a place that is counted from the side where this way begins.
  std::uint32_t at(const std::vector<std::uint32_t>& row, std::size_t place) const {
    return row[from_left_ ? place : row.size() - 1 - place];
  }
  std::int64_t place(std::uint32_t v) const {
    const auto p = static_cast<std::int64_t>(g_.place[v]);
    return from_left_ ? p : static_cast<std::int64_t>(g_.rows[g_.row[v]].size()) - 1 - p;
  }

  // Gives each vertex of a row the block of a median neighbour, unless that crosses the block of
  // one before it.
  void align(std::size_t r) {
    std::int64_t last = -1;
    std::vector<std::uint32_t> near;
    for (std::size_t i = 0; i < g_.rows[r].size(); ++i) {
      const std::uint32_t v = at(g_.rows[r], i);
      near = from_above_ ? g_.above[v] : g_.below[v];
      std::erase_if(near, [&](std::uint32_t n) {
        return from_above_ ? refused_.has(n, v) : refused_.has(v, n);
      });
      std::ranges::sort(near, {}, [&](std::uint32_t n) { return place(n); });
      for (std::size_t m : {(near.size() - 1) / 2, near.size() / 2}) {
        if (near.empty() || place(near[m]) <= last) continue;
        root_[v] = root_[near[m]];
        last = place(near[m]);
        break;
      }
    }
  }

  double apart(std::uint32_t a, std::uint32_t b) const {
    const int nodes = int{g_.is_node(a)} + int{g_.is_node(b)};
    return nodes * sizes_.node / 2 + (nodes > 0 ? sizes_.gap : sizes_.wire);
  }

  struct Neighbour {
    std::uint32_t block;
    double apart;
  };

  // Blocks as far to the side where this way begins as they go, then back towards their
  // neighbours, so that no block is farther from them than it needs to be.
  std::vector<double> compact() {
    std::vector<std::vector<Neighbour>> after(g_.size());
    std::vector<std::uint32_t> before(g_.size(), 0);
    for (const auto& row : g_.rows)
      for (std::size_t i = 1; i < row.size(); ++i) {
        const std::uint32_t a = at(row, i - 1);
        const std::uint32_t b = at(row, i);
        after[root_[a]].push_back({root_[b], apart(a, b)});
        ++before[root_[b]];
      }
    std::vector<double> x(g_.size(), 0);
    std::vector<std::uint32_t> order;
    for (std::uint32_t v = 0; v < g_.size(); ++v)
      if (root_[v] == v && before[v] == 0) order.push_back(v);
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const Neighbour& n : after[order[i]]) {
        x[n.block] = std::max(x[n.block], x[order[i]] + n.apart);
        if (--before[n.block] == 0) order.push_back(n.block);
      }
    for (std::size_t i = order.size(); i-- > 0;) {
      double most = std::numeric_limits<double>::max();
      for (const Neighbour& n : after[order[i]]) most = std::min(most, x[n.block] - n.apart);
      if (!after[order[i]].empty()) x[order[i]] = std::max(x[order[i]], most);
    }
    for (std::uint32_t v = 0; v < g_.size(); ++v) x[v] = x[root_[v]];
    return x;
  }

  const LayeredGraph& g_;
  const Refused& refused_;
  const LayoutSizes& sizes_;
  bool from_above_;
  bool from_left_;
  std::vector<std::uint32_t> root_;  // by vertex: the first of its block
};

struct Sides {
  double low = std::numeric_limits<double>::max();
  double high = std::numeric_limits<double>::lowest();
  double width() const { return high - low; }
};

Sides extent_of(const LayeredGraph& g, const LayoutSizes& sizes, const std::vector<double>& x) {
  Sides e;
  for (std::uint32_t v = 0; v < g.size(); ++v) {
    const double half = g.is_node(v) ? sizes.node / 2 : 0;
    e.low = std::min(e.low, x[v] - half);
    e.high = std::max(e.high, x[v] + half);
  }
  return e;
}

}  // namespace

std::vector<double> abscissas(const LayeredGraph& graph, const LayoutSizes& sizes) {
  if (graph.size() == 0) return {};
  const Refused refused(graph);
  std::array<std::vector<double>, 4> ways;
  std::array<Sides, 4> extents;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    ways[i] = Alignment(graph, refused, sizes, i < 2 ? FirstRow::above : FirstRow::below,
                        i % 2 == 0 ? FirstSide::left : FirstSide::right)
                  .places();
    extents[i] = extent_of(graph, sizes, ways[i]);
  }
  // All are moved to the narrowest, with whose left or right edge they begin.
  const Sides& narrowest = *std::ranges::min_element(extents, {}, &Sides::width);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const double shift =
        i % 2 == 0 ? narrowest.low - extents[i].low : narrowest.high - extents[i].high;
    for (double& x : ways[i]) x += shift;
  }
  std::vector<double> x(graph.size());
  for (std::size_t v = 0; v < x.size(); ++v) {
    std::array<double, 4> all = {ways[0][v], ways[1][v], ways[2][v], ways[3][v]};
    std::ranges::sort(all);
    x[v] = (all[1] + all[2]) / 2;
  }
  const double low = extent_of(graph, sizes, x).low;
  for (double& v : x) v -= low;
  return x;
}

}  // namespace quern::tools
