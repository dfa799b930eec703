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
#include "kernels/contract/einsum.h"

#include <algorithm>
#include <array>

#include "graph/numeric.h"
#include "graph/ops/einsum.h"
#include "graph/ops/einsum_equation.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

// Everything that the loops need. The tables of operand k begin at k * einsum::id_count.
struct EinsumTables {
  einsum::Order order;
  std::array<std::int64_t, einsum::id_count> size;
  std::array<std::int64_t, einsum::id_count> at{};
  std::span<std::int64_t> strides;
  std::span<std::int64_t> offsets;

  // To the next index over ids[begin, end); false, and back at the first, when it was the last.
  bool next(std::size_t begin, std::size_t end) {
    for (std::size_t i = end; i-- > begin;) {
      const std::size_t id = order.ids[i];
      const bool wraps = ++at[id] == size[id];
      const std::int64_t steps = wraps ? 1 - size[id] : 1;
      for (std::size_t k = 0; k < offsets.size(); ++k)
        offsets[k] += steps * strides[k * einsum::id_count + id];
      if (!wraps) return true;
      at[id] = 0;
    }
    return false;
  }
};

EinsumTables make_loops(const ReferenceCall& call) {
  const einsum::Equation equation(call.as<Einsum>().equation);
  const std::size_t n = call.inputs.size();
  EinsumTables loops;
  loops.size.fill(1);
  loops.strides = {call.scratch.take<std::int64_t>(n * einsum::id_count), n * einsum::id_count};
  loops.offsets = {call.scratch.take<std::int64_t>(n), n};
  std::fill(loops.strides.begin(), loops.strides.end(), 0);
  std::fill(loops.offsets.begin(), loops.offsets.end(), 0);
  einsum::Occurrences seen{};
  for (std::size_t k = 0; k < n; ++k) {
    const Shape& x = call.inputs[k].type.shape;
    const einsum::Term term = *einsum::parse_term(equation.operand(k));
    const Shape strides = row_major_strides(x);
    for (std::size_t d = 0; d < x.rank(); ++d) {
      const std::size_t id = term.id(d, x.rank());
      ++seen[id];
      if (x[d] == 1) continue;
      loops.size[id] = x[d];
      loops.strides[k * einsum::id_count + id] += strides[d];
    }
  }
  loops.order = *einsum::make_order(equation, seen);
  return loops;
}

template <class T>
void contract(const ReferenceCall& call, EinsumTables& loops) {
  const einsum::Order& order = loops.order;
  bool sums_nothing = false;
  for (std::size_t i = order.outer; i < order.total; ++i)
    sums_nothing |= loops.size[order.ids[i]] == 0;
  T* y = call.outputs[0].as<T>();
  StopCheck check(call.stop);
  const auto cost = static_cast<std::int64_t>(4 * call.inputs.size());
  do {
    Sum<T> sum = 0;
    if (!sums_nothing) do {
        if (check.spend(cost)) return;
        Sum<T> product = 1;
        for (std::size_t k = 0; k < call.inputs.size(); ++k)
          product *= static_cast<Sum<T>>(call.inputs[k].as<T>()[loops.offsets[k]]);
        sum += product;
      } while (loops.next(order.outer, order.total));
    *y++ = static_cast<T>(sum);
  } while (loops.next(0, order.outer));
}

Status einsum_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  EinsumTables loops = make_loops(call);
  visit_number(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) { contract<T>(call, loops); });
  return {};
}

std::size_t einsum_scratch(const Op&, std::span<const TensorType> inputs,
                           std::span<const TensorType>) {
  return Scratch::bytes_for<std::int64_t>(inputs.size() * einsum::id_count) +
         Scratch::bytes_for<std::int64_t>(inputs.size());
}

// A multiplication for each operand but the first, and an addition, at every index.
Cost einsum_flops(const Op& op, std::span<const TensorType> inputs,
                  std::span<const TensorType> outputs) {
  Cost cost = traffic(inputs, outputs);
  const einsum::Equation equation(op.as<Einsum>()->equation);
  std::array<std::int64_t, einsum::id_count> size;
  size.fill(1);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Shape& x = inputs[k].shape;
    const einsum::Term term = *einsum::parse_term(equation.operand(k));
    for (std::size_t d = 0; d < x.rank(); ++d)
      if (x[d] != 1) size[term.id(d, x.rank())] = x[d];
  }
  cost.flops = static_cast<double>(inputs.size());
  for (std::int64_t n : size) cost.flops *= static_cast<double>(n);
  return cost;
}

}  // namespace

EinsumLoops einsum_loops(const Einsum& op, std::span<const Shape> operands) {
  const einsum::Equation equation(op.equation);
  std::array<EinsumLoops::Label, einsum::id_count> all;
  for (EinsumLoops::Label& l : all) l.strides.assign(operands.size(), 0);
  einsum::Occurrences seen{};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Shape& x = operands[k];
    const einsum::Term term = *einsum::parse_term(equation.operand(k));
    const Shape strides = row_major_strides(x);
    for (std::size_t d = 0; d < x.rank(); ++d) {
      EinsumLoops::Label& l = all[term.id(d, x.rank())];
      ++seen[term.id(d, x.rank())];
      if (x[d] == 1) continue;
      l.size = x[d];
      l.strides[k] += strides[d];
    }
  }
  const einsum::Order order = *einsum::make_order(equation, seen);
  EinsumLoops loops;
  for (std::size_t i = 0; i < order.total; ++i)
    (i < order.outer ? loops.outer : loops.summed).push_back(all[order.ids[i]]);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const einsum::Term term = *einsum::parse_term(equation.operand(k));
    loops.labels.emplace_back();
    for (std::size_t d = 0; d < operands[k].rank(); ++d) {
      const auto* const ids = order.ids.data();
      const auto* at = std::find(ids, ids + order.total, term.id(d, operands[k].rank()));
      loops.labels[k].push_back(static_cast<std::size_t>(at - ids));
    }
  }
  return loops;
}

const OpKernels& Einsum::kernels() {
  static constexpr OpKernels table{.reference = {einsum_reference, einsum_scratch},
                                   .flops = einsum_flops,
                                   .gpu = gpu::select_einsum};
  return table;
}

}  // namespace quern
