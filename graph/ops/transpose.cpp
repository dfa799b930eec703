// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/transpose.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

Status check_perm(const InferContext& c, const Ints& perm) {
  std::vector<bool> seen(perm.size(), false);
  for (std::int64_t p : perm) {
    const bool inside = p >= 0 && p < static_cast<std::int64_t>(perm.size());
    if (!inside || seen[static_cast<std::size_t>(p)])
      return c.error(cat("perm ", list_text(perm), " is no permutation"));
    seen[static_cast<std::size_t>(p)] = true;
  }
  return {};
}

Status infer_transpose(InferContext& c) {
  const auto& op = c.op<Transpose>();
  QUERN_TRY(check_result_rank(c, op.perm.size()));
  QUERN_TRY(check_perm(c, op.perm));
  const Dims* x = c.dims(0);
  if (!x) {
    std::optional<Dims> dims;
    if (!op.perm.empty()) dims = Dims(op.perm.size());
    c.set(0, c.dtype(0), std::move(dims));
    return {};
  }
  if (!op.perm.empty() && op.perm.size() != x->size())
    return c.error(cat("perm ", list_text(op.perm), " does not suit ", c.describe(0)));
  Dims out;
  for (std::size_t i = 0; i < x->size(); ++i) out.push_back((*x)[source_of(op, i, x->size())]);
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

}  // namespace

const OpDef& Transpose::def() {
  static constexpr OpDef def{.name = "Transpose",
                             .infer = infer_transpose,
                             .attributes = &op_struct<Transpose>,
                             .onnx = {"Transpose"}};
  return def;
}

}  // namespace quern
