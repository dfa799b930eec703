// SPDX-License-Identifier: Apache-2.0
// The parsed equation of an Einsum.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <quern/shape.h>

namespace quern::einsum {

inline constexpr std::size_t label_count = 52;

inline constexpr std::size_t id_count = label_count + Shape::max_rank;

// The subscripts of one operand.
struct Term {
  std::array<std::uint8_t, Shape::max_rank> labels{};
  std::size_t count = 0;
  std::optional<std::size_t> ellipsis;  // number of labels before "..."

  bool fits(std::size_t rank) const { return ellipsis ? rank >= count : rank == count; }
  // The label id of dimension d of an operand of this rank.
  std::size_t id(std::size_t d, std::size_t rank) const {
    const std::size_t under = rank - count;
    if (!ellipsis || d < *ellipsis) return labels[d];
    return d < *ellipsis + under ? id_count - under + (d - *ellipsis) : labels[d - under];
  }
};

std::optional<std::uint8_t> label_id(char c);

// nullopt if `text` is no term or has more labels than a tensor can have dimensions.
std::optional<Term> parse_term(std::string_view text);

struct Equation {
  std::string_view operands, output;
  bool has_output = false;

  explicit Equation(std::string_view text) : operands(text) {
    const std::size_t arrow = text.find("->");
    if (arrow == std::string_view::npos) return;
    operands = text.substr(0, arrow);
    output = text.substr(arrow + 2);
    has_output = true;
  }
  std::size_t size() const {
    return 1 + static_cast<std::size_t>(std::count(operands.begin(), operands.end(), ','));
  }
  std::string_view operand(std::size_t i) const {
    std::string_view rest = operands;
    for (; i > 0; --i) rest.remove_prefix(rest.find(',') + 1);
    return rest.substr(0, rest.find(','));
  }
};

// The dimensions of the output in order, followed by the summed ones.
struct Order {
  std::array<std::uint8_t, id_count> ids{};
  std::size_t outer = 0;
  std::size_t total = 0;

  bool push_outer(std::size_t id) {
    if (std::find(ids.begin(), ids.begin() + outer, id) != ids.begin() + outer) return false;
    ids[outer++] = static_cast<std::uint8_t>(id);
    total = outer;
    return true;
  }
};

using Occurrences = std::array<std::uint32_t, id_count>;

// nullopt if the output has a label twice, or one that no operand has.
std::optional<Order> make_order(const Equation& equation, const Occurrences& seen);

}  // namespace quern::einsum
