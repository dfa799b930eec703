// SPDX-License-Identifier: Apache-2.0
// If, Loop, Scan and SequenceMap: bodies are walked as often as a run does it.
#include "graph/ops/control_flow.h"

#include "engine/vocabulary/text_util.h"
#include "graph/ops/concat.h"
#include "graph/ops/gather.h"
#include "graph/ops/reshape.h"
#include "graph/ops/sequences.h"
#include "tools/oracle/walk.h"

namespace quern::tools {
namespace {

std::vector<Traces> all_undetermined(const Node& n) {
  return std::vector<Traces>(n.outputs.size(), Traces::undetermined());
}

std::int64_t entry(const Ints& list, std::size_t i) {
  return i < list.size() ? list[i] : 0;
}

}  // namespace

Status refused(const Node& n, std::string_view why) {
  return {Code::invalid_argument, cat("node '", n.name, "': ", why)};
}

std::optional<std::int64_t> whole_number(const Traces& t) {
  const Traced* x = t.tensor();
  if (!x || !x->exact() || x->elements() != 1) return std::nullopt;
  const auto all = int_elements(x->value);
  return all ? std::optional(all->front()) : std::nullopt;
}

std::optional<bool> condition(const Traces& t) {
  const Traced* x = t.tensor();
  if (!x || !x->exact() || x->elements() != 1) return std::nullopt;
  return as_numbers(x->value).front() != 0;
}

bool is_undetermined(const Traces& t) {
  return t.kind == BoundedValue::Kind::undetermined;
}

bool any_undetermined(const std::vector<Traces>& all) {
  return std::ranges::any_of(all, is_undetermined);
}

Traces tensor_of(Tensor exact, DType type) {
  auto x = std::make_shared<Traced>();
  x->value = std::move(exact);
  x->type = type;
  return {BoundedValue::Kind::tensor, {std::move(x)}};
}

Result<std::vector<Traces>> Walk::structural(const Node& n, const std::vector<Traces>& in) {
  if (n.as<If>()) return run_if(n, in);
  if (n.as<Loop>()) return run_loop(n, in);
  if (n.as<Scan>()) return run_scan(n, in);
  if (n.as<SequenceMap>()) return run_map(n, in);
  if (any_undetermined(in)) return all_undetermined(n);
  const auto one = [&]() -> Result<Traces> {
    if (n.as<Sequence>()) return run_sequence(n, in);
    if (n.as<SplitToSequence>()) return run_split(n, in);
    if (n.as<ConcatFromSequence>()) return run_concat(n, in);
    if (n.as<Optional>()) return run_optional(n, in);
    return refused(n, cat(n.op.def().name, " is not known here"));
  }();
  if (!one) return one.error().copy();
  return std::vector<Traces>{*one};
}

Result<std::vector<Traces>> Walk::run_if(const Node& n, const std::vector<Traces>& in) {
  const auto is_true = condition(in[0]);
  if (!is_true) return all_undetermined(n);
  return run(n.bodies[*is_true ? 0 : 1], {in.begin() + 1, in.end()});
}

Result<std::vector<Traces>> Walk::run_loop(const Node& n, const std::vector<Traces>& in) {
  const auto carried = static_cast<std::size_t>(n.as<Loop>()->carried);
  const Graph& body = n.bodies[0];
  const auto is_given = [&](std::size_t i) { return in[i].kind != BoundedValue::Kind::none; };
  std::int64_t trips = options_.max_iterations + 1;
  bool goes_on = true;
  if (is_given(0)) {
    const auto count = whole_number(in[0]);
    if (!count) return all_undetermined(n);
    trips = *count;
  }
  if (is_given(1)) {
    const auto first = condition(in[1]);
    if (!first) return all_undetermined(n);
    goes_on = *first;
  }
  std::vector<Traces> state(in.begin() + 2, in.begin() + 2 + static_cast<std::ptrdiff_t>(carried));
  std::vector<std::vector<Traces>> scanned(n.outputs.size() - carried);
  for (std::int64_t i = 0; i < trips && goes_on; ++i) {
    if (++iterations_ > options_.max_iterations) return refused(n, "loops too often to be judged");
    std::vector<Traces> operands = {
        tensor_of(Tensor::scalar(DType::i64, i), DType::i64),
        tensor_of(Tensor::scalar(DType::boolean, true), DType::boolean)};
    operands.insert(operands.end(), state.begin(), state.end());
    operands.insert(operands.end(), in.begin() + 2 + static_cast<std::ptrdiff_t>(carried),
                    in.end());
    QUERN_ASSIGN(std::vector<Traces> out, run(body, std::move(operands)));
    const auto again = condition(out[0]);
    if (!again) return all_undetermined(n);
    goes_on = *again;
    std::copy_n(out.begin() + 1, carried, state.begin());
    for (std::size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(out[1 + carried + k]);
  }
  for (std::size_t k = 0; k < scanned.size(); ++k) {
    QUERN_ASSIGN(state.emplace_back(),
                 stacked(scanned[k], 0, body.type(body.outputs()[1 + carried + k])));
  }
  return state;
}

Result<std::vector<Traces>> Walk::run_scan(const Node& n, const std::vector<Traces>& in) {
  const Scan& op = *n.as<Scan>();
  const auto states = static_cast<std::size_t>(op.states);
  const auto inputs = static_cast<std::size_t>(op.scanned_inputs);
  const Graph& body = n.bodies[0];
  std::int64_t length = -1;
  for (std::size_t k = 0; k < inputs; ++k) {
    const Traced* x = in[states + k].tensor();
    if (!x) return all_undetermined(n);
    const auto rank = static_cast<std::int64_t>(x->value.shape().rank());
    std::int64_t axis = entry(op.input_axes, k);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank) return refused(n, "scans along an axis that is not there");
    const std::int64_t here = x->value.shape()[static_cast<std::size_t>(axis)];
    if (length >= 0 && here != length) return refused(n, "scans inputs of several lengths");
    length = here;
  }
  std::vector<Traces> state(in.begin(), in.begin() + op.states);
  std::vector<std::vector<Traces>> scanned(n.outputs.size() - states);
  for (std::int64_t i = 0; i < length; ++i) {
    if (++iterations_ > options_.max_iterations) return refused(n, "scans too much to be judged");
    std::vector<Traces> operands = state;
    for (std::size_t k = 0; k < inputs; ++k) {
      const std::int64_t at = entry(op.input_directions, k) ? length - 1 - i : i;
      QUERN_ASSIGN(operands.emplace_back(), element(in[states + k], entry(op.input_axes, k), at));
    }
    operands.insert(operands.end(), in.begin() + static_cast<std::ptrdiff_t>(states + inputs),
                    in.end());
    QUERN_ASSIGN(std::vector<Traces> out, run(body, std::move(operands)));
    std::copy_n(out.begin(), states, state.begin());
    for (std::size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(out[states + k]);
  }
  for (std::size_t k = 0; k < scanned.size(); ++k) {
    if (entry(op.output_directions, k)) std::ranges::reverse(scanned[k]);
    QUERN_ASSIGN(state.emplace_back(), stacked(scanned[k], entry(op.output_axes, k),
                                               body.type(body.outputs()[states + k])));
  }
  return state;
}

Result<std::vector<Traces>> Walk::run_map(const Node& n, const std::vector<Traces>& in) {
  const auto mapped = static_cast<std::size_t>(n.as<SequenceMap>()->inputs);
  if (is_undetermined(in[0])) return all_undetermined(n);
  std::vector<Traces> results(n.outputs.size(), Traces{BoundedValue::Kind::sequence, {}});
  for (std::size_t i = 0; i < in[0].tensors.size(); ++i) {
    std::vector<Traces> operands = in;
    for (std::size_t k = 0; k < mapped; ++k) {
      if (in[k].kind != BoundedValue::Kind::sequence) continue;
      if (i >= in[k].tensors.size()) return refused(n, "maps sequences of several lengths");
      operands[k] = {BoundedValue::Kind::tensor, {in[k].tensors[i]}};
    }
    QUERN_ASSIGN(const std::vector<Traces> out, run(n.bodies[0], std::move(operands)));
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (out[k].tensor() && !is_undetermined(results[k])) {
        results[k].tensors.push_back(out[k].tensors[0]);
      } else {
        results[k] = Traces::undetermined();
      }
    }
  }
  return results;
}

Result<Traces> Walk::element(const Traces& x, std::int64_t axis, std::int64_t i) {
  return moved(Gather{.axis = axis}, x, {Tensor::scalar(DType::i64, i)});
}

Result<Traces> Walk::stacked(const std::vector<Traces>& parts, std::int64_t axis,
                             const ValueType& type) {
  if (any_undetermined(parts)) return Traces::undetermined();
  const auto shape = type.shape();
  if (parts.empty()) {
    if (!shape) return Traces::undetermined();
    const auto rank = static_cast<std::int64_t>(shape->rank()) + 1;
    const auto at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank) return Status(Code::invalid_argument, "no such axis to stack along");
    Ints dims(shape->begin(), shape->end());
    dims.insert(dims.begin() + at, 0);
    QUERN_ASSIGN(Tensor none, Tensor::zeros({type.dtype, Shape(dims)}));
    QUERN_ASSIGN(none, widened(none));
    return tensor_of(std::move(none), type.dtype);
  }
  std::vector<Traces> rows;
  for (const Traces& p : parts) {
    const std::int64_t at = axis;
    QUERN_ASSIGN(
        rows.emplace_back(),
        moved(Unsqueeze{}, p, {Tensor::from_values<std::int64_t>(DType::i64, {1}, {&at, 1})}));
  }
  QUERN_ASSIGN(std::vector<Traces> out,
               plain(Concat{.axis = axis}, rows, {&type.dtype, 1}, "stack"));
  return std::move(out[0]);
}

}  // namespace quern::tools
