// SPDX-License-Identifier: Apache-2.0
#include "tools/picture/layout.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace quern::tools {
namespace {

struct Net {
  std::size_t nodes = 0;
  std::vector<LayoutWire> wires;
};

// Each node reads up to `most` of those before it, mostly near ones.
Net random_net(std::size_t nodes, int most, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  Net net{nodes, {}};
  std::vector<std::size_t> wire(nodes, nodes);
  for (std::uint32_t n = 1; n < nodes; ++n) {
    for (int k = static_cast<int>(rng() % (most + 1)); k > 0; --k) {
      const std::uint32_t reach = rng() % 10 == 0 ? n : std::min<std::uint32_t>(n, 6);
      const auto from = static_cast<std::uint32_t>(n - 1 - rng() % reach);
      if (wire[from] == nodes) {
        wire[from] = net.wires.size();
        net.wires.push_back({from, {}});
      }
      auto& to = net.wires[wire[from]].to;
      if (to.empty() || to.back() != n) to.push_back(n);
    }
  }
  return net;
}

Net chain(std::uint32_t nodes) {
  Net net{nodes, {}};
  for (std::uint32_t n = 1; n < nodes; ++n) net.wires.push_back({n - 1, {n}});
  return net;
}

// What every layout must be: wires go down, what stands in one row stands apart, wires have a place
// in each row that they pass.
void check(const Net& net, const Layout& l, const LayoutSizes& sizes = {}) {
  ASSERT_EQ(l.row.size(), net.nodes);
  ASSERT_EQ(l.x.size(), net.nodes);
  ASSERT_EQ(l.at.size(), net.wires.size());
  struct Thing {
    double x, half;
  };
  std::vector<std::vector<Thing>> rows(l.rows);
  for (std::size_t n = 0; n < net.nodes; ++n) {
    ASSERT_LT(l.row[n], l.rows);
    EXPECT_GE(l.x[n], sizes.node / 2 - 1e-6);
    EXPECT_LE(l.x[n], l.width - sizes.node / 2 + 1e-6);
    rows[l.row[n]].push_back({l.x[n], sizes.node / 2});
  }
  for (std::size_t w = 0; w < net.wires.size(); ++w) {
    const std::uint32_t from = l.row[net.wires[w].from];
    std::uint32_t last = from + 1;
    for (const std::uint32_t reader : net.wires[w].to) {
      EXPECT_GT(l.row[reader], from);
      last = std::max(last, l.row[reader]);
    }
    EXPECT_EQ(l.at[w].size(), l.is_stub[w] ? 0 : last - from - 1);
    for (std::size_t i = 0; i < l.at[w].size(); ++i) rows[from + 1 + i].push_back({l.at[w][i], 0});
  }
  for (auto& row : rows) {
    std::ranges::sort(row, {}, &Thing::x);
    for (std::size_t i = 1; i < row.size(); ++i) {
      const bool has_node = row[i].half + row[i - 1].half > 0;
      EXPECT_GE(row[i].x - row[i - 1].x + 1e-6,
                row[i].half + row[i - 1].half + (has_node ? sizes.gap : sizes.wire));
    }
  }
}

// Links between the rows of a graph without wires that pass a row.
LayeredGraph layered(std::vector<std::vector<std::uint32_t>> rows,
                     const std::vector<std::pair<std::uint32_t, std::uint32_t>>& links) {
  LayeredGraph g;
  for (const auto& row : rows) g.nodes += row.size();
  g.row.resize(g.nodes);
  g.place.resize(g.nodes);
  g.above.resize(g.nodes);
  g.below.resize(g.nodes);
  for (std::uint32_t r = 0; r < rows.size(); ++r)
    for (std::uint32_t i = 0; i < rows[r].size(); ++i) {
      g.row[rows[r][i]] = r;
      g.place[rows[r][i]] = i;
    }
  g.rows = std::move(rows);
  for (const auto& [upper, lower] : links) {
    g.below[upper].push_back(lower);
    g.above[lower].push_back(upper);
  }
  return g;
}

// By comparing each pair of links.
std::uint64_t crossings_of_pairs(const LayeredGraph& g) {
  std::uint64_t count = 0;
  for (const auto& row : g.rows)
    for (const std::uint32_t a : row)
      for (const std::uint32_t b : row)
        for (const std::uint32_t c : g.below[a])
          for (const std::uint32_t d : g.below[b])
            count += g.place[a] < g.place[b] && g.place[c] > g.place[d];
  return count;
}

TEST(Layout, NothingAndOneNode) {
  EXPECT_EQ(layered_layout(0, {}).rows, 0U);
  const Layout one = layered_layout(1, {});
  EXPECT_EQ(one.rows, 1U);
  EXPECT_EQ(one.width, LayoutSizes().node);
  EXPECT_EQ(one.x, std::vector<double>{LayoutSizes().node / 2});
}

TEST(Layout, RowsAreLongestPathsAndSourcesComeDown) {
  // 0 -> 1 -> 2 -> 4, and 3 is read by 4 alone.
  const std::vector<LayoutWire> wires = {{0, {1}}, {1, {2}}, {2, {4}}, {3, {4}}};
  EXPECT_EQ(rows_of(5, wires), (std::vector<std::uint32_t>{0, 1, 2, 2, 3}));
}

TEST(Layout, ChainsAndResidualPathsAreStraight) {
  const Net net = chain(50);
  check(net, layered_layout(net.nodes, net.wires));
  for (const double x : layered_layout(net.nodes, net.wires).x) EXPECT_EQ(x, 74);
  // Blocks of three nodes with a wire around the first two.
  Net blocks{31, {}};
  for (std::uint32_t n = 0; n < 30; ++n) blocks.wires.push_back({n, {n + 1}});
  for (std::uint32_t n = 0; n + 3 < 31; n += 3) blocks.wires[n].to.push_back(n + 3);
  const Layout l = layered_layout(blocks.nodes, blocks.wires);
  check(blocks, l);
  for (const double x : l.x) EXPECT_EQ(x, l.x[0]);
}

TEST(Layout, RandomNetsAreLaidOutApart) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Net net = random_net(1 + seed * 3, 1 + static_cast<int>(seed % 4), seed);
    SCOPED_TRACE(seed);
    check(net, layered_layout(net.nodes, net.wires));
  }
}

TEST(Layout, CountsCrossings) {
  std::mt19937_64 rng(7);
  for (int i = 0; i < 40; ++i) {
    std::vector<std::vector<std::uint32_t>> rows(3);
    for (std::uint32_t n = 0; n < 18; ++n) rows[n / 6].push_back(n);
    for (auto& row : rows) std::shuffle(row.begin(), row.end(), rng);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
    for (std::uint32_t a = 0; a < 12; ++a)
      for (std::uint32_t b = a / 6 * 6 + 6; b < a / 6 * 6 + 12; ++b)
        if (rng() % 3 == 0) links.emplace_back(a, b);
    LayeredGraph g = layered(std::move(rows), links);
    const std::uint64_t before = crossings(g);
    EXPECT_EQ(before, crossings_of_pairs(g));
    reduce_crossings(g);
    EXPECT_LE(crossings(g), before);
    EXPECT_EQ(crossings(g), crossings_of_pairs(g));
  }
}

TEST(Layout, PlanarRowsGetNoCrossing) {
  // Three chains side by side, each row in another order.
  LayeredGraph g =
      layered({{0, 1, 2}, {5, 3, 4}, {7, 8, 6}}, {{0, 3}, {1, 4}, {2, 5}, {3, 6}, {4, 7}, {5, 8}});
  EXPECT_GT(crossings(g), 0U);
  reduce_crossings(g);
  EXPECT_EQ(crossings(g), 0U);
}

TEST(Layout, LongWiresEndInStubs) {
  // Each of a thousand nodes at the beginning is read far below, behind a long chain.
  Net net = chain(3000);
  for (std::uint32_t n = 0; n < 1000; ++n) net.wires[n].to.push_back(2999 - n);
  const Layout l = layered_layout(net.nodes, net.wires);
  check(net, l);
  std::size_t passed = 0;
  for (const auto& at : l.at) passed += at.size();
  EXPECT_LE(passed, LayoutSizes().passed_rows * net.nodes + 1000);
  EXPECT_TRUE(std::ranges::any_of(l.is_stub, [](bool s) { return s; }));
  EXPECT_TRUE(std::ranges::any_of(l.is_stub, [](bool s) { return !s; }));
}

// Ten times as many nodes take about ten times as long, where squares would take a hundred times.
TEST(Layout, TimeIsAboutLinear) {
  const auto seconds = [](const Net& net) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      (void)layered_layout(net.nodes, net.wires);
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
  };
  EXPECT_LT(seconds(random_net(20'000, 2, 1)), 40 * seconds(random_net(2000, 2, 1)));
}

}  // namespace
}  // namespace quern::tools
