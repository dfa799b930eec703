// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/einsum_equation.h"

namespace quern::einsum {

std::optional<std::uint8_t> label_id(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<std::uint8_t>(c - 'A');
  if (c >= 'a' && c <= 'z') return static_cast<std::uint8_t>(26 + c - 'a');
  return std::nullopt;
}

std::optional<Term> parse_term(std::string_view text) {
  Term t;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "..." && !t.ellipsis) {
      t.ellipsis = t.count;
      i += 2;
      continue;
    }
    const auto label = label_id(text[i]);
    if (!label || t.count == Shape::max_rank) return std::nullopt;
    t.labels[t.count++] = *label;
  }
  return t;
}

std::optional<Order> make_order(const Equation& equation, const Occurrences& seen) {
  Order order;
  const auto push_ellipsis = [&] {
    for (std::size_t id = label_count; id < id_count; ++id)
      if (seen[id]) order.push_outer(id);
  };
  if (equation.has_output) {
    const auto term = parse_term(equation.output);
    if (!term) return std::nullopt;
    for (std::size_t i = 0; i <= term->count; ++i) {
      if (term->ellipsis == i) push_ellipsis();
      if (i == term->count) break;
      if (!seen[term->labels[i]] || !order.push_outer(term->labels[i])) return std::nullopt;
    }
  } else {
    push_ellipsis();
    for (std::size_t id = 0; id < label_count; ++id)
      if (seen[id] == 1) order.push_outer(id);
  }
  const auto outer_end = order.ids.begin() + order.outer;
  for (std::size_t id = 0; id < id_count; ++id)
    if (seen[id] && std::find(order.ids.begin(), outer_end, id) == outer_end)
      order.ids[order.total++] = static_cast<std::uint8_t>(id);
  return order;
}

}  // namespace quern::einsum
