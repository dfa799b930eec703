// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/softmax.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

constexpr EnumNames<3> softmax_names = {"softmax", "log_softmax", "hardmax"};

Status infer_softmax(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  if (const Dims* dims = c.dims(0))
    QUERN_TRY(c.axis(c.op<Softmax>().axis, std::max<std::size_t>(dims->size(), 1)).status());
  return infer_like_input(c);
}

}  // namespace

std::span<const std::string_view> enum_names(SoftmaxKind) {
  return softmax_names;
}

const OpDef& Softmax::def() {
  static constexpr OpDef def{.name = "Softmax",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .traits = OpTrait::flushes_denormals,
                             .infer = infer_softmax,
                             .attributes = &op_struct<Softmax>};
  return def;
}

}  // namespace quern
