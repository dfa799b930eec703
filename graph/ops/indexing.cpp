// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/indexing.h"

#include <array>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

// ---- names of enumerators

constexpr EnumNames<3> gather_names = {"axis", "elements", "nd"};
constexpr EnumNames<2> scatter_names = {"elements", "nd"};
constexpr EnumNames<5> scatter_reduction_names = {"none", "add", "mul", "max", "min"};

// ---- gather

Status infer_axis(InferContext& c) {
  const Dims* data = c.dims(0);
  const Dims* indices = c.dims(1);
  std::optional<Dims> out;
  if (data) {
    QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<Gather>().axis, data->size()));
    if (indices) {
      const auto at = data->begin() + static_cast<std::ptrdiff_t>(axis);
      out.emplace(data->begin(), at);
      out->insert(out->end(), indices->begin(), indices->end());
      out->insert(out->end(), at + 1, data->end());
    }
  }
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_elements_gather(InferContext& c) {
  const Dims* data = c.dims(0);
  const Dims* indices = c.dims(1);
  if (!indices) {
    c.set(0, c.dtype(0), data ? std::optional(Dims(data->size())) : std::nullopt);
    return {};
  }
  if (data) {
    QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<Gather>().axis, data->size()));
    QUERN_TRY(want_rank(c, 1, data->size()));
    for (std::size_t i = 0; i < data->size(); ++i) {
      const Dim have = (*data)[i];
      const Dim want = (*indices)[i];
      if (i != axis && have.known() && want.known() && want.value() > have.value())
        return c.error(cat(c.describe(1), " reaches beyond ", c.describe(0), " in dimension ", i));
    }
  }
  c.set(0, c.dtype(0), *indices);
  return {};
}

Status check_batch(const InferContext& c, std::int64_t batch) {
  for (std::size_t i : {std::size_t{0}, std::size_t{1}})
    if (c.dims(i) && batch >= static_cast<std::int64_t>(c.dims(i)->size()))
      return c.error(cat("batch_dims ", batch, " does not leave a dimension of ", c.describe(i)));
  if (!c.dims(0) || !c.dims(1)) return {};
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i) {
    const Dim a = (*c.dims(0))[i];
    const Dim b = (*c.dims(1))[i];
    if (a.known() && b.known() && a != b)
      return c.error(cat(c.describe(0), " and ", c.describe(1), " differ in batch dimension ", i));
  }
  return {};
}

Status infer_nd_gather(InferContext& c) {
  const std::int64_t batch = c.op<Gather>().batch_dims;
  if (batch < 0) return c.error(cat("batch_dims is ", batch));
  QUERN_TRY(check_batch(c, batch));
  const Dims* data = c.dims(0);
  const Dims* indices = c.dims(1);
  std::optional<Dims> out;
  if (data && indices && indices->back().known()) {
    const std::int64_t depth = indices->back().value();
    if (depth < 1 || depth > static_cast<std::int64_t>(data->size()) - batch)
      return c.error(cat("coordinates of ", depth, " numbers for ", c.describe(0), " behind ",
                         batch, " batch dimensions"));
    out.emplace(indices->begin(), indices->end() - 1);
    out->insert(out->end(), data->begin() + batch + depth, data->end());
  }
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status infer_gather(InferContext& c) {
  QUERN_TRY(want_index_dtype(c, 1));
  switch (c.op<Gather>().kind) {
    case GatherKind::axis: return infer_axis(c);
    case GatherKind::elements: return infer_elements_gather(c);
    case GatherKind::nd: break;
  }
  return infer_nd_gather(c);
}

// ---- one_hot

Status infer_one_hot(InferContext& c) {
  const auto& op = c.op<OneHot>();
  for (std::size_t i : {std::size_t{0}, std::size_t{1}})
    if (!is_number(c.dtype(i))) return c.error(cat(c.describe(i), " must be a number"));
  QUERN_TRY(want_single(c, 1));
  QUERN_TRY(want_rank(c, 2, 1));
  if (c.dims(2) && c.dims(2)->front().known() && !c.dims(2)->front().is(2))
    return c.error(cat(c.describe(2), " must be the two values off and on"));
  Dim depth;
  if (const Tensor* t = c.value(1); t && t->shape().elements() == 1) {
    depth = number_at(t->dtype(), t->data(), 0);
    if (!depth.known()) return c.error("depth is negative");
  }
  std::optional<Dims> out;
  if (const Dims* indices = c.dims(0)) {
    QUERN_TRY(c.axis(op.axis, indices->size() + 1).status());
    out = *indices;
    out->insert(out->begin() + static_cast<std::ptrdiff_t>(new_axis(op, indices->size())), depth);
  }
  c.set(0, c.dtype(2), std::move(out));
  return {};
}

// ---- scatter

Status infer_elements_scatter(InferContext& c) {
  for (std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (!c.dims(0) || !c.dims(i)) continue;
    QUERN_TRY(want_rank(c, i, c.dims(0)->size()));
  }
  if (c.dims(1) && c.dims(2) && !meet(*c.dims(1), *c.dims(2)))
    return c.error(cat(c.describe(1), " and ", c.describe(2), " must have one shape"));
  if (!c.dims(0)) return {};
  const Dims& data = *c.dims(0);
  QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<Scatter>().axis, data.size()));
  for (std::size_t i = 0; c.dims(1) && i < data.size(); ++i) {
    const Dim want = (*c.dims(1))[i];
    if (i != axis && data[i].known() && want.known() && want.value() > data[i].value())
      return c.error(cat(c.describe(1), " reaches beyond ", c.describe(0), " in dimension ", i));
  }
  return {};
}

Status infer_nd_scatter(InferContext& c) {
  const Dims* data = c.dims(0);
  const Dims* indices = c.dims(1);
  if (data && data->empty()) return c.error(cat(c.describe(0), " is a scalar"));
  if (indices && indices->empty()) return c.error(cat(c.describe(1), " is a scalar"));
  if (!data || !indices || !indices->back().known()) return {};
  const std::int64_t depth = indices->back().value();
  if (depth < 1 || depth > static_cast<std::int64_t>(data->size()))
    return c.error(cat("coordinates of ", depth, " numbers for ", c.describe(0)));
  Dims wanted(indices->begin(), indices->end() - 1);
  wanted.insert(wanted.end(), data->begin() + depth, data->end());
  if (c.dims(2) && !meet(*c.dims(2), wanted))
    return c.error(cat(c.describe(2), " does not suit ", c.describe(0), " and ", c.describe(1)));
  return {};
}

bool reduces(DType t) {
  return visit_dtype(t == DType::boolean ? DType::u8 : t,
                     []<class T>(TypeTag<T>) { return is_number_type<T>; });
}

Status infer_scatter(InferContext& c) {
  const auto& op = c.op<Scatter>();
  QUERN_TRY(want_index_dtype(c, 1));
  QUERN_TRY(c.want_same_dtype(0, 2));
  if (op.reduction != ScatterReduction::none && !reduces(c.dtype(0)))
    return c.error(
        cat("reduction ", enum_name(op.reduction), " does not take ", name_of(c.dtype(0))));
  QUERN_TRY(op.kind == ScatterKind::elements ? infer_elements_scatter(c) : infer_nd_scatter(c));
  c.set(0, c.type(0));
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(GatherKind) {
  return gather_names;
}
std::span<const std::string_view> enum_names(ScatterKind) {
  return scatter_names;
}
std::span<const std::string_view> enum_names(ScatterReduction) {
  return scatter_reduction_names;
}

std::size_t new_axis(const OneHot& op, std::size_t rank) {
  return positive_axis(op.axis, rank + 1);
}

const OpDef& Gather::def() {
  static constexpr OpDef def{.name = "Gather",
                             .inputs = {2, 2},
                             .traits = OpTrait::any_address,
                             .infer = infer_gather,
                             .attributes = &op_struct<Gather>};
  return def;
}

const OpDef& OneHot::def() {
  static constexpr OpDef def{.name = "OneHot",
                             .inputs = {3, 3},
                             .plan_operands = 1u << 1,
                             .infer = infer_one_hot,
                             .attributes = &op_struct<OneHot>};
  return def;
}

const OpDef& Scatter::def() {
  static constexpr OpDef def{.name = "Scatter",
                             .inputs = {3, 3},
                             .infer = infer_scatter,
                             .attributes = &op_struct<Scatter>};
  return def;
}

}  // namespace quern
