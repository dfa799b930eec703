// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/gather.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

constexpr EnumNames<3> gather_names = {"axis", "elements", "nd"};

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

}  // namespace

std::span<const std::string_view> enum_names(GatherKind) {
  return gather_names;
}

const OpDef& Gather::def() {
  static constexpr OpDef def{.name = "Gather",
                             .inputs = {2, 2},
                             .traits = OpTrait::any_address,
                             .infer = infer_gather,
                             .attributes = &op_struct<Gather>};
  return def;
}

}  // namespace quern
