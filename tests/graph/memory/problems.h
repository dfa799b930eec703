// SPDX-License-Identifier: Apache-2.0
// Random problems.
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "graph/memory/order/order.h"
#include "graph/memory/order/step_graph.h"
#include "graph/memory/problem/plan.h"

namespace quern {

inline Interval interval(std::int64_t first, std::int64_t end, std::uint64_t size,
                         std::uint64_t alignment = 1) {
  return {.name = std::to_string(first) + "-" + std::to_string(end) + "x" + std::to_string(size),
          .size = size,
          .alignment = alignment,
          .first = first,
          .end = end};
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  // From 0 to n - 1.
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

struct Features {
  bool alignments = false;
  bool gaps = false;
  bool parts = false;  // gaps in which a part is live
  bool zeros = false;
  bool fixed = false;
};

inline void add_gap(Interval& i, Random& random, bool part) {
  if (i.end - i.first < 3 || i.size < 2) return;
  const std::int64_t first =
      i.first + 1 +
      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(i.end - i.first - 2)));
  Gap gap{first, first + 1, 0, 0};
  if (part) {
    gap.from = random.below(i.size);
    gap.to = gap.from + 1 + random.below(i.size - gap.from);
  }
  i.gaps.push_back(gap);
}

inline MemoryProblem random_problem(std::size_t buffers, unsigned seed, const Features& f = {},
                                    std::uint64_t max_size = 12, std::uint64_t steps = 8) {
  Random random(seed);
  MemoryProblem p;
  for (std::size_t n = 0; n < buffers; ++n) {
    const auto first = static_cast<std::int64_t>(random.below(steps));
    const auto end = first + 1 + static_cast<std::int64_t>(random.below(steps));
    Interval i = interval(first, end, random.one_in(20) ? 0 : 1 + random.below(max_size));
    if (f.alignments) i.alignment = std::uint64_t{1} << random.below(4);
    if (f.gaps && random.one_in(3)) add_gap(i, random, f.parts && random.one_in(2));
    if (f.zeros && random.one_in(8)) i.must_be_zero = true;
    p.intervals.push_back(std::move(i));
  }
  if (!f.fixed || buffers == 0) return p;
  // Two of the buffers are fixed, far enough apart.
  p.intervals[0].fixed_offset = p.intervals[0].alignment * random.below(3);
  if (buffers > 1) p.intervals[1].fixed_offset = p.intervals[1].alignment * (40 + random.below(3));
  return p;
}

struct OrderShape {
  std::size_t nodes = 8;
  std::size_t reach = 8;  // how far back operands lie
  bool in_place = false;
};

// Every node makes a buffer; operands are buffers of earlier nodes.
inline OrderProblem random_order_problem(unsigned seed, const OrderShape& shape) {
  Random random(seed);
  OrderProblem p;
  for (std::uint32_t n = 0; n < shape.nodes; ++n) {
    OrderProblem::Node node;
    if (random.one_in(4)) node.scratch = random.below(20);
    const std::size_t operands = n == 0 ? 0 : random.below(std::min<std::size_t>(n, 3) + 1);
    for (std::size_t k = 0; k < operands; ++k) {
      const auto from =
          static_cast<std::uint32_t>(n - 1 - random.below(std::min<std::size_t>(n, shape.reach)));
      if (std::ranges::find(node.before, from) != node.before.end()) continue;
      node.before.push_back(from);
      p.buffers[from].users.push_back(n);
      if (shape.in_place && p.buffers[from].size > 20) node.in_place.push_back({from, n});
    }
    OrderProblem::Buffer made;
    made.size = shape.in_place && random.one_in(2) ? 24 : 1 + random.below(30);
    made.users = {n};
    made.live_out = random.one_in(9);
    for (auto& pair : node.in_place) pair.result = n;
    std::erase_if(node.in_place,
                  [&](const auto& pair) { return p.buffers[pair.operand].size != made.size; });
    p.buffers.push_back(std::move(made));
    p.nodes.push_back(std::move(node));
  }
  return p;
}

// Stages of randomly wired cells, each a sum, a convolution and an activation that may be in place;
// listed breadth first, as exporters do.
inline OrderProblem randomly_wired(unsigned seed, std::size_t stages, std::size_t cells) {
  Random random(seed);
  OrderProblem p;
  const auto node = [&](std::vector<std::uint32_t> operands, std::uint64_t size, bool in_place) {
    const auto n = static_cast<std::uint32_t>(p.nodes.size());
    std::ranges::sort(operands);
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    for (std::uint32_t o : operands) p.buffers[o].users.push_back(n);
    p.buffers.push_back({.size = size, .users = {n}});
    p.nodes.push_back({.before = operands});
    if (in_place)
      for (std::uint32_t o : operands) p.nodes.back().in_place.push_back({o, n});
    return n;
  };
  std::uint32_t last = node({}, 4096, false);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const std::uint64_t size = std::uint64_t{4096} >> stage;
    last = node({last}, size, false);
    std::vector<std::uint32_t> made = {last};
    std::vector<char> is_read(cells + 1);
    for (std::size_t c = 0; c < cells; ++c) {
      std::vector<std::uint32_t> operands;
      for (std::size_t k = 1 + random.below(2); k-- > 0;) {
        const std::size_t from =
            made.size() - 1 - random.below(std::min<std::size_t>(made.size(), 6));
        is_read[from] = 1;
        operands.push_back(made[from]);
      }
      std::uint32_t n = node(operands, size, true);
      n = node({n}, size, false);
      made.push_back(node({n}, size, true));
    }
    std::vector<std::uint32_t> ends;
    for (std::size_t c = 0; c < made.size(); ++c)
      if (!is_read[c]) ends.push_back(made[c]);
    last = node(ends, size, true);
  }
  return p;
}

inline constexpr std::uint64_t unit_of_programs = 64;

// Buffers of one to four units; steps are elementwise, or concatenate. Writes end at multiples of
// `write_units`, to which buffers are aligned if there are several.
inline StepGraph random_program(unsigned seed, std::size_t steps, std::uint64_t write_units = 1) {
  constexpr std::uint64_t unit = unit_of_programs;
  Random random(seed);
  StepGraph g;
  if (write_units > 1) g.write_unit = write_units * unit;
  const auto make = [&](std::uint64_t units) {
    g.buffers.push_back({.name = std::to_string(g.buffers.size()),
                         .size = units * unit,
                         .alignment = write_units * unit});
    return static_cast<std::uint32_t>(g.buffers.size() - 1);
  };
  const auto any = [&] { return static_cast<std::uint32_t>(random.below(g.buffers.size())); };
  for (std::size_t n = 0; n < steps; ++n) {
    StepGraph::Step step;
    step.name = std::to_string(n);
    if (random.one_in(5)) step.scratch = 1 + random.below(200);
    if (g.buffers.size() > 1 && random.one_in(3)) {
      step.only_copies = true;
      std::uint64_t at = 0;
      for (std::size_t k = 2 + random.below(2); k-- > 0;) {
        step.reads.push_back(any());
        step.shares.push_back({step.reads.back(), 0, true, at});
        at += g.buffers[step.reads.back()].size;
      }
      const std::uint32_t result = make(at / unit);
      for (auto& share : step.shares) share.result = result;
      step.writes = {result};
    } else {
      for (std::size_t k = g.buffers.empty() ? 0 : random.below(3); k-- > 0;)
        step.reads.push_back(any());
      const bool same = !step.reads.empty() && !random.one_in(3);
      const std::uint32_t result =
          make(same ? g.buffers[step.reads[0]].size / unit : 1 + random.below(4));
      for (std::uint32_t r : step.reads)
        if (g.buffers[r].size == g.buffers[result].size)
          step.shares.push_back({r, result, false, 0});
      step.writes = {result};
    }
    g.steps.push_back(std::move(step));
  }
  for (auto& b : g.buffers) b.live_out = random.one_in(6);
  if (!g.buffers.empty()) g.buffers.back().live_out = true;
  return g;
}

}  // namespace quern
