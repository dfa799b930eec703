// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/scatter.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

constexpr EnumNames<2> scatter_names = {"elements", "nd"};

constexpr EnumNames<5> scatter_reduction_names = {"none", "add", "mul", "max", "min"};

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

std::span<const std::string_view> enum_names(ScatterKind) {
  return scatter_names;
}

std::span<const std::string_view> enum_names(ScatterReduction) {
  return scatter_reduction_names;
}

const OpDef& Scatter::def() {
  static constexpr OpDef def{.name = "Scatter",
                             .inputs = {3, 3},
                             .infer = infer_scatter,
                             .attributes = &op_struct<Scatter>};
  return def;
}

}  // namespace quern
