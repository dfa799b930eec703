// SPDX-License-Identifier: Apache-2.0
// Einsum: for every index of the output, the sum over all other indices of the product of the
// operands' elements.
//
// ONNX: Einsum, opset 12, and NumPy's reading of it: a label twice in one operand is a diagonal,
// "..." stands for leading dimensions that broadcast, a dimension of 1 broadcasts, and without "->"
// the output is "..." and then the labels that occur once, in order. Dimensions under "..." that an
// explicit output leaves out are summed. Sums in double, rounded once; integers wrap.
//
// Dimensions are numbered: 0 to 51 for A-Z and a-z, 52 to 59 for those under "...", which end
// at 59.
#include "kernels/einsum.h"

#include <algorithm>
#include <array>

#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/iterate.h"
#include "kernels/kernel.h"

namespace quern {
namespace {

constexpr std::size_t label_count = 52;
constexpr std::size_t id_count = label_count + Shape::max_rank;

// The subscripts of one operand.
struct Term {
  std::array<std::uint8_t, Shape::max_rank> labels{};
  std::size_t count = 0;
  std::optional<std::size_t> ellipsis;  // labels before "..."

  bool fits(std::size_t rank) const { return ellipsis ? rank >= count : rank == count; }
  // The number of dimension d of an operand of this rank.
  std::size_t id(std::size_t d, std::size_t rank) const {
    const std::size_t under = rank - count;
    if (!ellipsis || d < *ellipsis) return labels[d];
    return d < *ellipsis + under ? id_count - under + (d - *ellipsis) : labels[d - under];
  }
};

std::optional<std::uint8_t> label_id(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<std::uint8_t>(c - 'A');
  if (c >= 'a' && c <= 'z') return static_cast<std::uint8_t>(26 + c - 'a');
  return std::nullopt;
}

// Nothing for what is no term, or has more labels than a tensor has dimensions.
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

// The dimensions of the output in order, then those that are summed.
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

// Nothing when the output has a label twice, or one that no operand has.
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

// ---- inference

// What operand i says about the dimensions; false when it has an ellipsis of unknown length.
Result<bool> note_operand(const InferContext& c, std::size_t i, const Term& term, Occurrences& seen,
                          std::vector<Dims>& sizes) {
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

Status infer(InferContext& c) {
  const std::string& text = c.op<Einsum>().equation;
  const Equation equation(text);
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be of numbers"));
  for (std::size_t i = 1; i < c.input_count(); ++i) {
    if (!c.has(i)) return c.error(cat("input ", i, " is left out, but every term has an operand"));
    QUERN_TRY(c.want_same_dtype(0, i));
  }
  if (equation.size() != c.input_count())
    return c.error(cat("equation '", printable(text), "' has ", equation.size(),
                       " operands, the node has ", c.input_count()));
  Occurrences seen{};
  std::vector<Dims> sizes(id_count, Dims{1});
  bool ellipsis_known = true;
  bool any_ellipsis = false;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const auto term = parse_term(equation.operand(i));
    if (!term) return c.error(cat("equation '", printable(text), "' has a malformed operand ", i));
    any_ellipsis |= term->ellipsis.has_value();
    QUERN_ASSIGN(const bool known, note_operand(c, i, *term, seen, sizes));
    ellipsis_known &= known;
  }
  const auto order = make_order(equation, seen);
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

EinsumLoops einsum_loops(const Einsum& op, std::span<const Shape> operands) {
  const Equation equation(op.equation);
  std::array<EinsumLoops::Label, id_count> all;
  for (EinsumLoops::Label& l : all) l.strides.assign(operands.size(), 0);
  Occurrences seen{};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Shape& x = operands[k];
    const Term term = *parse_term(equation.operand(k));
    const Shape strides = row_major_strides(x);
    for (std::size_t d = 0; d < x.rank(); ++d) {
      EinsumLoops::Label& l = all[term.id(d, x.rank())];
      ++seen[term.id(d, x.rank())];
      if (x[d] == 1) continue;
      l.size = x[d];
      l.strides[k] += strides[d];
    }
  }
  const Order order = *make_order(equation, seen);
  EinsumLoops loops;
  for (std::size_t i = 0; i < order.total; ++i)
    (i < order.outer ? loops.outer : loops.summed).push_back(all[order.ids[i]]);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Term term = *parse_term(equation.operand(k));
    loops.labels.emplace_back();
    for (std::size_t d = 0; d < operands[k].rank(); ++d) {
      const auto* at = std::find(order.ids.begin(), order.ids.begin() + order.total,
                                 term.id(d, operands[k].rank()));
      loops.labels[k].push_back(static_cast<std::size_t>(at - order.ids.begin()));
    }
  }
  return loops;
}

namespace {

// ---- reference

// Everything that the loops need. The tables of operand k begin at k * id_count.
struct Loops {
  Order order;
  std::array<std::int64_t, id_count> size;
  std::array<std::int64_t, id_count> at{};
  std::span<std::int64_t> strides;
  std::span<std::int64_t> offsets;

  // To the next index over ids[begin, end); false, and back at the first, when it was the last.
  bool next(std::size_t begin, std::size_t end) {
    for (std::size_t i = end; i-- > begin;) {
      const std::size_t id = order.ids[i];
      const bool wraps = ++at[id] == size[id];
      const std::int64_t steps = wraps ? 1 - size[id] : 1;
      for (std::size_t k = 0; k < offsets.size(); ++k)
        offsets[k] += steps * strides[k * id_count + id];
      if (!wraps) return true;
      at[id] = 0;
    }
    return false;
  }
};

Loops make_loops(const ReferenceCall& call) {
  const Equation equation(call.as<Einsum>().equation);
  const std::size_t n = call.inputs.size();
  Loops loops;
  loops.size.fill(1);
  loops.strides = {call.scratch.take<std::int64_t>(n * id_count), n * id_count};
  loops.offsets = {call.scratch.take<std::int64_t>(n), n};
  std::fill(loops.strides.begin(), loops.strides.end(), 0);
  std::fill(loops.offsets.begin(), loops.offsets.end(), 0);
  Occurrences seen{};
  for (std::size_t k = 0; k < n; ++k) {
    const Shape& x = call.inputs[k].type.shape;
    const Term term = *parse_term(equation.operand(k));
    const Shape strides = row_major_strides(x);
    for (std::size_t d = 0; d < x.rank(); ++d) {
      const std::size_t id = term.id(d, x.rank());
      ++seen[id];
      if (x[d] == 1) continue;
      loops.size[id] = x[d];
      loops.strides[k * id_count + id] += strides[d];
    }
  }
  loops.order = *make_order(equation, seen);
  return loops;
}

template <class T>
void contract(const ReferenceCall& call, Loops& loops) {
  const Order& order = loops.order;
  bool sums_nothing = false;
  for (std::size_t i = order.outer; i < order.total; ++i)
    sums_nothing |= loops.size[order.ids[i]] == 0;
  T* y = call.outputs[0].as<T>();
  do {
    Sum<T> sum = 0;
    if (!sums_nothing) do {
        Sum<T> product = 1;
        for (std::size_t k = 0; k < call.inputs.size(); ++k)
          product *= static_cast<Sum<T>>(call.inputs[k].as<T>()[loops.offsets[k]]);
        sum += product;
      } while (loops.next(order.outer, order.total));
    *y++ = static_cast<T>(sum);
  } while (loops.next(0, order.outer));
}

Status reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  Loops loops = make_loops(call);
  visit_number(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) { contract<T>(call, loops); });
  return {};
}

std::size_t scratch(const Op&, std::span<const TensorType> inputs, std::span<const TensorType>) {
  return Scratch::bytes_for<std::int64_t>(inputs.size() * id_count) +
         Scratch::bytes_for<std::int64_t>(inputs.size());
}

// A multiplication for each operand but the first, and an addition, at every index.
Cost flops(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  const Equation equation(std::get_if<Einsum>(&op)->equation);
  std::array<std::int64_t, id_count> size;
  size.fill(1);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Shape& x = inputs[k].shape;
    const Term term = *parse_term(equation.operand(k));
    for (std::size_t d = 0; d < x.rank(); ++d)
      if (x[d] != 1) size[term.id(d, x.rank())] = x[d];
  }
  cost.flops = static_cast<double>(inputs.size());
  for (std::int64_t n : size) cost.flops *= static_cast<double>(n);
  return cost;
}

constexpr OpKernels kernels{.cpu = {}, .flops = flops, .gpu = gpu::select_einsum};

}  // namespace

const OpDef& Einsum::def() {
  static constexpr OpDef def{.name = "Einsum",
                             .inputs = {1, any_number},
                             .outputs = {1, 1},
                             .infer = infer,
                             .reference = reference,
                             .scratch = scratch,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
