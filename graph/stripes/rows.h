// SPDX-License-Identifier: Apache-2.0
// Operators that can compute a range of rows of their result from ranges of rows of their inputs.
//
// Rows are the indices along one dimension of a tensor: the rows of an image, the steps of a
// signal, the words of a text. Which dimension that is follows from the operators: windows go over
// dimension 2, products of matrices go row by row, and all others keep what they are given. Nothing
// is computed twice: ranges of the result are disjoint, ranges of the inputs overlap where windows
// do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace quern::stripes {

// The dimension of each value along which its rows lie; no_rows: it is not known.
using RowAxes = std::span<const std::uint8_t>;
inline constexpr std::uint8_t no_rows = 0xff;

// The rows [begin, end).
struct Rows {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool contains(const Rows& other) const { return begin <= other.begin && other.end <= end; }
  bool operator==(const Rows&) const = default;
};

// The rows of an input that rows of the result need: from floor((begin * mul + first) / div) to
// floor(((end - 1) * mul + last) / div), as far as the input has them.
struct RowMap {
  std::int64_t mul = 1;
  std::int64_t div = 1;
  std::int64_t first = 0;
  std::int64_t last = 0;

  // The first row that results from `begin` on need; may lie before the input.
  std::int64_t begin_of(std::int64_t begin) const { return floor_div(begin * mul + first); }
  // The row after the last that results before `end` need; may lie behind the input.
  std::int64_t end_of(std::int64_t end) const { return floor_div((end - 1) * mul + last) + 1; }
  Rows of(const Rows& result, std::int64_t height) const {
    return {std::clamp<std::int64_t>(begin_of(result.begin), 0, height),
            std::clamp<std::int64_t>(end_of(result.end), 0, height)};
  }

 private:
  std::int64_t floor_div(std::int64_t v) const {
    return v >= 0 ? v / div : -((-v + div - 1) / div);
  }
};

// An input of which a range of rows is read.
struct RowRead {
  std::uint8_t axis = 0;
  RowMap map;
};

// How a node can be computed by rows.
struct RowRule {
  std::uint8_t axis = 0;    // of its results
  std::int64_t height = 0;  // rows of its results
  std::int64_t unit = 1;    // ranges of the results begin and end at multiples of it, or at the end
  std::vector<std::optional<RowRead>> reads;  // by Node::read; nullopt: read as a whole
};

// The rule of a node of a graph whose dimensions are all numbers; nullopt: it needs all of its
// inputs. Every range of rows of its results needs at least one row of each input that is cut.
std::optional<RowRule> row_rule(const Graph& graph, const Node& node, RowAxes axes);

// The operator that computes `result` from rows `input` of the first input, and the operands that
// differ from the node's.
struct RowOp {
  Op op;
  std::vector<std::pair<std::size_t, Tensor>> operands;
};
RowOp row_op(const Graph& graph, const Node& node, const RowRule& rule, const Rows& result,
             const Rows& input);

}  // namespace quern::stripes
