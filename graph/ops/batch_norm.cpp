// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/batch_norm.h"

#include <cstddef>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

Status check_parameters(const InferContext& c, Dim channels) {
  for (std::size_t i = 1; i < 5; ++i) {
    QUERN_TRY(want_floats(c, i));
    if (c.dims(i) && !meet(*c.dims(i), {channels}))
      return c.error(
          cat(c.describe(i), " must have one element for each channel of ", c.describe(0)));
  }
  return {};
}

Status infer_batch_norm(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  const Dims* x = c.dims(0);
  if (x && x->empty()) return c.error(cat(c.describe(0), " must have at least one dimension"));
  const Dim channels = !x ? Dim() : x->size() == 1 ? Dim(1) : (*x)[1];
  QUERN_TRY(check_parameters(c, channels));
  if (c.output_count() > 1 && !c.op<BatchNorm>().training)
    return c.error("running mean and variance come out in training mode only");
  c.set(0, c.type(0));
  for (std::size_t i = 1; i < c.output_count(); ++i) c.set(i, c.dtype(i + 2), Dims{channels});
  return {};
}

}  // namespace

const OpDef& BatchNorm::def() {
  static constexpr OpDef def{.name = "BatchNorm",
                             .inputs = {5, 5},
                             .outputs = {1, 3},
                             .traits = OpTrait::flushes_denormals,
                             .infer = infer_batch_norm,
                             .attributes = &op_struct<BatchNorm>};
  return def;
}

}  // namespace quern
