// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/in_range.h"

#include <cstddef>

#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

Status infer_in_range(InferContext& c) {
  for (std::size_t i = 0; i < 3; ++i) QUERN_TRY(c.want_dtype(i, DType::i64));
  for (std::size_t i = 1; i < 3; ++i) QUERN_TRY(want_single(c, i));
  return infer_like_input(c);
}

}  // namespace

const OpDef& InRange::def() {
  static constexpr OpDef def{.name = "InRange",
                             .inputs = {3, 3},
                             .outputs = {1, 1},
                             .infer = infer_in_range,
                             .attributes = &op_struct<InRange>};
  return def;
}

}  // namespace quern
