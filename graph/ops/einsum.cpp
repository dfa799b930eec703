// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/einsum.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/einsum_equation.h"
#include "graph/ops/products.h"

namespace quern {
namespace {

// Records the dimensions of operand i; false if it has an ellipsis of unknown length.
Result<bool> note_operand(const InferContext& c, std::size_t i, const einsum::Term& term,
                          einsum::Occurrences& seen, std::vector<Dims>& sizes) {
  if (!c.dims(i)) {
    for (std::size_t k = 0; k < term.count; ++k) {
      ++seen[term.labels[k]];
      sizes[term.labels[k]] = *broadcast(sizes[term.labels[k]], {Dim()});
    }
    return !term.ellipsis;
  }
  const Dims& x = *c.dims(i);
  if (x.size() > Shape::max_rank || !term.fits(x.size()))
    return c.error(cat(c.describe(i), " does not have the rank of its subscripts"));
  for (std::size_t d = 0; d < x.size(); ++d) {
    const std::size_t id = term.id(d, x.size());
    ++seen[id];
    const auto size = broadcast(sizes[id], {x[d]});
    if (!size)
      return c.error(cat(c.describe(i), " has ", x[d].value(), " in dimension ", d,
                         ", another operand has ", sizes[id][0].value()));
    sizes[id] = *size;
  }
  return true;
}

Status infer_einsum(InferContext& c) {
  const std::string& text = c.op<Einsum>().equation;
  const einsum::Equation equation(text);
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be of numbers"));
  for (std::size_t i = 1; i < c.input_count(); ++i) {
    if (!c.has(i)) return c.error(cat("input ", i, " is left out, but every term has an operand"));
    QUERN_TRY(c.want_same_dtype(0, i));
  }
  if (equation.size() != c.input_count())
    return c.error(cat("equation '", printable(text), "' has ", equation.size(),
                       " operands, the node has ", c.input_count()));
  einsum::Occurrences seen{};
  std::vector<Dims> sizes(einsum::id_count, Dims{1});
  bool ellipsis_known = true;
  bool any_ellipsis = false;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const auto term = einsum::parse_term(equation.operand(i));
    if (!term) return c.error(cat("equation '", printable(text), "' has a malformed operand ", i));
    any_ellipsis |= term->ellipsis.has_value();
    QUERN_ASSIGN(const bool known, note_operand(c, i, *term, seen, sizes));
    ellipsis_known &= known;
  }
  const auto order = einsum::make_order(equation, seen);
  if (!order) return c.error(cat("equation '", printable(text), "' has a malformed output"));
  if (order->outer > Shape::max_rank)
    return c.unsupported(
        cat("equation '", printable(text), "' gives ", order->outer, " dimensions"));
  const bool dots_in_output =
      equation.has_output ? equation.output.find('.') != std::string_view::npos : any_ellipsis;
  if (dots_in_output && !ellipsis_known) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims y;
  for (std::size_t i = 0; i < order->outer; ++i) y.push_back(sizes[order->ids[i]][0]);
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

}  // namespace

const OpDef& Einsum::def() {
  static constexpr OpDef def{.name = "Einsum",
                             .inputs = {1, any_number},
                             .outputs = {1, 1},
                             .traits = OpTrait::flushes_denormals,
                             .infer = infer_einsum,
                             .attributes = &op_struct<Einsum>};
  return def;
}

}  // namespace quern
