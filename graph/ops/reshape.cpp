// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/reshape.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

Status infer_identity(InferContext& c) {
  const std::int64_t rank = c.op<Identity>().rank;
  ValueType type = c.type(0);
  if (rank >= 0) {
    if (!type.is_tensor() || rank > static_cast<std::int64_t>(Shape::max_rank))
      return c.error(cat(c.describe(0), " cannot be of rank ", rank));
    if (!type.dims) type.dims = Dims(static_cast<std::size_t>(rank));
    if (type.dims->size() != static_cast<std::size_t>(rank))
      return c.error(cat("the model declares a value of rank ", rank, ", but ", c.describe(0),
                         " is what it gets"));
  }
  c.set(0, std::move(type));
  return {};
}

std::string element_text(const Dims& dims) {
  Ints numbers;
  for (Dim d : dims) numbers.push_back(d.or_minus_one());
  const Dim n = product(dims);
  return list_text(numbers) + (n.known() ? cat(" (", n.value(), " elements)") : "");
}

Status cannot_reshape(const InferContext& c, const Ints& shape) {
  return c.error(cat("cannot reshape ", element_text(*c.dims(0)), " to ", list_text(shape)));
}

// Entry i of the shape operand, when it copies a dimension of x.
Result<Dim> copied_dim(const InferContext& c, std::size_t i) {
  const Dims* x = c.dims(0);
  if (!x) return Dim();
  if (i < x->size()) return (*x)[i];
  return c.error(cat("entry ", i, " of the shape is 0 and copies a dimension that ", c.describe(0),
                     " does not have"));
}

struct Wanted {
  Dims dims;
  std::optional<std::size_t> open;  // where the shape says -1
};

Result<Wanted> wanted_dims(const InferContext& c, const Ints& shape) {
  const bool allow_zero = c.op<Reshape>().allow_zero;
  Wanted w;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Dim d = shape[i];
    if (shape[i] == -1) {
      if (w.open) return c.error(cat("shape ", list_text(shape), " has two entries of -1"));
      w.open = i;
    } else if (shape[i] < 0) {
      return c.error(cat("shape ", list_text(shape), " has an entry below -1"));
    } else if (shape[i] == 0 && !allow_zero) {
      QUERN_ASSIGN(d, copied_dim(c, i));
    }
    w.dims.push_back(d);
  }
  if (w.open && allow_zero && std::find(shape.begin(), shape.end(), 0) != shape.end())
    return c.error(cat("shape ", list_text(shape), " has both 0 and -1, which leaves -1 open"));
  return w;
}

// Removes from both lists what stands in both: [N,4,5] to [N,-1] gives 20 though N is a symbol, and
// the same works for a dimension of 0.
void cancel(Dims& a, Dims& b) {
  for (auto it = b.begin(); it != b.end();) {
    const auto twin = std::find_if(a.begin(), a.end(), [&](Dim d) { return d.same(*it); });
    if (twin == a.end()) {
      ++it;
    } else {
      a.erase(twin);
      it = b.erase(it);
    }
  }
}

// The dimension at -1: x's elements over those of the others.
Result<Dim> open_dim(const InferContext& c, const Ints& shape, const Wanted& w) {
  if (!c.dims(0)) return Dim();
  Dims x = *c.dims(0);
  Dims others = w.dims;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(*w.open));
  cancel(x, others);
  const auto is_open = [](Dim d) { return !d.known(); };
  const auto x_open = std::stable_partition(x.begin(), x.end(), std::not_fn(is_open));
  const Dim n = product({x.begin(), x_open});
  const Dim m = product(others);
  if (!m.known()) return Dim();
  if (x_open != x.end()) return x.end() - x_open == 1 && n == m && !m.is(0) ? *x_open : Dim();
  if (m.is(0) || n.value() % m.value() != 0) return cannot_reshape(c, shape);
  return div_exact(n, m.value());
}

Status infer_reshape(InferContext& c) {
  QUERN_ASSIGN(const ListOperand shape, shape_operand(c, 1));
  if (!shape.values) {
    std::optional<Dims> dims;
    if (shape.length) dims = Dims(static_cast<std::size_t>(*shape.length));
    if (dims && dims->size() == 1 && c.dims(0)) dims->front() = product(*c.dims(0));
    c.set(0, c.dtype(0), std::move(dims));
    return {};
  }
  QUERN_ASSIGN(Wanted w, wanted_dims(c, *shape.values));
  if (w.open) {
    QUERN_ASSIGN(w.dims[*w.open], open_dim(c, *shape.values, w));
  }
  if (c.dims(0)) {
    const Dim has = product(*c.dims(0));
    const Dim wants = product(w.dims);
    if (has.known() && wants.known() && has != wants) return cannot_reshape(c, *shape.values);
  }
  c.set(0, c.dtype(0), std::move(w.dims));
  return {};
}

// Without axes every dimension of 1 goes: which ones is known only when all numbers are.
std::optional<Dims> without_ones(const Dims& dims) {
  Dims out;
  for (Dim d : dims) {
    if (!d.known()) return std::nullopt;
    if (!d.is(1)) out.push_back(d);
  }
  return out;
}

Status squeeze_unknown(InferContext& c, std::optional<std::int64_t> length) {
  std::optional<Dims> dims;
  if (c.dims(0) && length) {
    const auto rank = static_cast<std::int64_t>(c.dims(0)->size());
    if (*length > rank) return c.error(cat(*length, " axes of ", c.describe(0)));
    dims = Dims(static_cast<std::size_t>(rank - *length));
  }
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

Status infer_squeeze(InferContext& c) {
  QUERN_ASSIGN(const ListOperand list, list_operand(c, 1));
  const Dims* x = c.dims(0);
  if (!c.has(1)) {
    c.set(0, c.dtype(0), x ? without_ones(*x) : std::nullopt);
    return {};
  }
  if (!x || !list.values) return squeeze_unknown(c, list.length);
  QUERN_ASSIGN(const auto axes, axes_operand(c, 1, x->size()));
  std::vector<bool> gone(x->size(), false);
  for (std::size_t axis : *axes) {
    if ((*x)[axis].known() && !(*x)[axis].is(1))
      return c.error(cat("dimension ", axis, " of ", c.describe(0), " is not 1"));
    gone[axis] = true;
  }
  Dims out;
  for (std::size_t i = 0; i < x->size(); ++i)
    if (!gone[i]) out.push_back((*x)[i]);
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_unsqueeze(InferContext& c) {
  QUERN_ASSIGN(const ListOperand list, shape_operand(c, 1));
  const Dims* x = c.dims(0);
  if (!x || !list.length) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims out(x->size() + static_cast<std::size_t>(*list.length));
  QUERN_TRY(check_result_rank(c, out.size()));
  QUERN_ASSIGN(const auto axes, axes_operand(c, 1, out.size()));
  if (axes) {
    for (std::size_t axis : *axes) out[axis] = 1;
    std::size_t next = 0;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (std::ranges::find(*axes, i) == axes->end()) out[i] = (*x)[next++];
  }
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_flatten(InferContext& c) {
  const std::int64_t axis = c.op<Flatten>().axis;
  const Dims* x = c.dims(0);
  Dims out(2);
  if (x) {
    const auto rank = static_cast<std::int64_t>(x->size());
    if (axis < -rank || axis > rank)
      return c.error(cat("axis ", axis, " is outside of rank ", rank));
    const auto cut = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    out = {product(std::span(*x).first(cut)), product(std::span(*x).subspan(cut))};
  }
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

}  // namespace

const OpDef& Identity::def() {
  static constexpr OpDef def{.name = "Identity",
                             .traits = OpTrait::view,
                             .infer = infer_identity,
                             .attributes = &op_struct<Identity>};
  return def;
}

const OpDef& Reshape::def() {
  static constexpr OpDef def{.name = "Reshape",
                             .inputs = {2, 2},
                             .traits = OpTrait::view,
                             .plan_operands = 1u << 1,
                             .infer = infer_reshape,
                             .attributes = &op_struct<Reshape>};
  return def;
}

const OpDef& Squeeze::def() {
  static constexpr OpDef def{.name = "Squeeze",
                             .inputs = {1, 2},
                             .traits = OpTrait::view,
                             .plan_operands = 1u << 1,
                             .infer = infer_squeeze,
                             .attributes = &op_struct<Squeeze>};
  return def;
}

const OpDef& Unsqueeze::def() {
  static constexpr OpDef def{.name = "Unsqueeze",
                             .inputs = {2, 2},
                             .traits = OpTrait::view,
                             .plan_operands = 1u << 1,
                             .infer = infer_unsqueeze,
                             .attributes = &op_struct<Unsqueeze>};
  return def;
}

const OpDef& Flatten::def() {
  static constexpr OpDef def{.name = "Flatten",
                             .traits = OpTrait::view,
                             .infer = infer_flatten,
                             .attributes = &op_struct<Flatten>};
  return def;
}

}  // namespace quern
