// SPDX-License-Identifier: Apache-2.0
#include "tools/picture/layout.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace quern::tools {
namespace {

// Wires as links between nodes, with the rows that they allow.
class RowRanking {
 public:
  RowRanking(std::size_t nodes, const std::vector<LayoutWire>& wires)
      : wires_(wires), row_(nodes, 0), inputs_(nodes, 0), made_(nodes) {
    for (std::uint32_t w = 0; w < wires.size(); ++w) {
      made_[wires[w].from].push_back(w);
      for (const std::uint32_t reader : wires[w].to) ++inputs_[reader];
    }
  }

  std::vector<std::uint32_t> rows() {
    for (std::uint32_t n = 0; n < row_.size(); ++n)
      for_each_reader(n, [&](std::uint32_t r) { row_[r] = std::max(row_[r], row_[n] + 1); });
    for (auto n = static_cast<std::uint32_t>(row_.size()); n-- > 0;) come_down(n);
    return row_;
  }

 private:
  template <class F>
  void for_each_reader(std::uint32_t node, const F& f) const {
    for (const std::uint32_t w : made_[node])
      for (const std::uint32_t reader : wires_[w].to) f(reader);
  }
  // Towards the readers, where that shortens more wires than it makes longer.
  void come_down(std::uint32_t node) {
    if (made_[node].size() <= inputs_[node]) return;
    std::uint32_t nearest = std::numeric_limits<std::uint32_t>::max();
    for_each_reader(node, [&](std::uint32_t r) { nearest = std::min(nearest, row_[r]); });
    if (nearest != std::numeric_limits<std::uint32_t>::max() && nearest > 0)
      row_[node] = std::max(row_[node], nearest - 1);
  }

  const std::vector<LayoutWire>& wires_;
  std::vector<std::uint32_t> row_;
  std::vector<std::size_t> inputs_;
  std::vector<std::vector<std::uint32_t>> made_;  // wires, by node
};

class Layering {
 public:
  Layering(std::size_t nodes, const std::vector<LayoutWire>& wires, const LayoutSizes& sizes)
      : wires_(wires), sizes_(sizes), first_(wires.size(), 0), passes_(wires.size(), 0) {
    graph_.nodes = nodes;
    graph_.row = rows_of(nodes, wires);
    layout_.row = graph_.row;
    layout_.is_stub.assign(wires.size(), false);
  }

  Layout layout() && {
    measure_wires();
    graph_.above.resize(graph_.nodes);
    graph_.below.resize(graph_.nodes);
    for (std::uint32_t w = 0; w < wires_.size(); ++w) add_wire(w);
    order_rows();
    reduce_crossings(graph_);
    read_places(abscissas(graph_, sizes_));
    return std::move(layout_);
  }

 private:
  // How many rows each wire passes, and which are too long to be drawn.
  void measure_wires() {
    std::vector<std::uint32_t> shortest(wires_.size());
    std::iota(shortest.begin(), shortest.end(), 0U);
    for (std::uint32_t w = 0; w < wires_.size(); ++w)
      for (const std::uint32_t reader : wires_[w].to)
        passes_[w] = std::max(passes_[w], graph_.row[reader] - graph_.row[wires_[w].from] - 1);
    std::ranges::stable_sort(shortest, {}, [&](std::uint32_t w) { return passes_[w]; });
    std::size_t left = sizes_.passed_rows * graph_.nodes + 1000;
    for (const std::uint32_t w : shortest) {
      layout_.is_stub[w] = passes_[w] > left;
      if (layout_.is_stub[w]) passes_[w] = 0;
      left -= passes_[w];
    }
  }

  void link(std::uint32_t upper, std::uint32_t lower) {
    graph_.below[upper].push_back(lower);
    graph_.above[lower].push_back(upper);
  }

  // A vertex for each row that it passes, and its links.
  void add_wire(std::uint32_t w) {
    const std::uint32_t from = wires_[w].from;
    first_[w] = static_cast<std::uint32_t>(graph_.size());
    std::uint32_t last = from;
    for (std::uint32_t i = 0; i < passes_[w]; ++i) {
      const auto vertex = static_cast<std::uint32_t>(graph_.size());
      graph_.row.push_back(graph_.row[from] + 1 + i);
      graph_.above.emplace_back();
      graph_.below.emplace_back();
      link(last, vertex);
      last = vertex;
    }
    for (const std::uint32_t reader : wires_[w].to) {
      const std::uint32_t passed = graph_.row[reader] - graph_.row[from] - 1;
      if (passed > passes_[w]) continue;  // of a stub
      link(passed == 0 ? from : first_[w] + passed - 1, reader);
    }
  }

  // As a walk from the sources meets them, so that what belongs together stands together.
  void order_rows() {
    layout_.rows = graph_.row.empty() ? 0 : *std::ranges::max_element(graph_.row) + std::size_t{1};
    graph_.rows.resize(layout_.rows);
    graph_.place.resize(graph_.size());
    std::vector<bool> is_seen(graph_.size(), false);
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t source = 0; source < graph_.size(); ++source) {
      if (graph_.above[source].empty()) waiting.push_back(source);
      while (!waiting.empty()) {
        const std::uint32_t v = waiting.back();
        waiting.pop_back();
        if (is_seen[v]) continue;
        is_seen[v] = true;
        graph_.place[v] = static_cast<std::uint32_t>(graph_.rows[graph_.row[v]].size());
        graph_.rows[graph_.row[v]].push_back(v);
        waiting.insert(waiting.end(), graph_.below[v].rbegin(), graph_.below[v].rend());
      }
    }
  }

  void read_places(const std::vector<double>& x) {
    layout_.x.assign(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(graph_.nodes));
    for (std::uint32_t w = 0; w < wires_.size(); ++w) {
      const auto begin = x.begin() + first_[w];
      layout_.at.emplace_back(begin, begin + passes_[w]);
    }
    for (std::uint32_t v = 0; v < graph_.size(); ++v)
      layout_.width = std::max(layout_.width, x[v] + (graph_.is_node(v) ? sizes_.node / 2 : 0));
  }

  const std::vector<LayoutWire>& wires_;
  const LayoutSizes& sizes_;
  LayeredGraph graph_;
  Layout layout_;
  std::vector<std::uint32_t> first_;   // by wire: its first vertex
  std::vector<std::uint32_t> passes_;  // by wire: the number of its vertices
};

}  // namespace

std::vector<std::uint32_t> rows_of(std::size_t nodes, const std::vector<LayoutWire>& wires) {
  return RowRanking(nodes, wires).rows();
}

Layout layered_layout(std::size_t nodes, const std::vector<LayoutWire>& wires,
                      const LayoutSizes& sizes) {
  return Layering(nodes, wires, sizes).layout();
}

}  // namespace quern::tools
