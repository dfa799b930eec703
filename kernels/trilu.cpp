// SPDX-License-Identifier: Apache-2.0
// Trilu: keeps what lies on and above (below) the k-th diagonal of each matrix, zeroes the rest.
//
// ONNX: Trilu (opset 14).
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

Status infer(InferContext& c) {
  if (c.dims(0) && c.dims(0)->size() < 2)
    return c.error(cat(c.describe(0), " must have rank 2 or more"));
  QUERN_TRY(want_index_dtype(c, 1));
  QUERN_TRY(want_single(c, 1));
  return infer_like_input(c);
}

Status reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const std::size_t rank = x.type.shape.rank();
  const std::int64_t rows = x.type.shape[rank - 2];
  const std::int64_t columns = x.type.shape[rank - 1];
  const std::int64_t matrices = x.type.shape.elements(0, rank - 2);
  const std::size_t size = size_of(x.type.dtype);
  const std::int64_t k = call.has(1) ? index_at(call.inputs[1], 0) : 0;
  const bool upper = call.as<Trilu>().upper;
  const std::byte* src = x.data;
  std::byte* dst = call.outputs[0].data;
  for (std::int64_t m = 0; m < matrices; ++m)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j, src += size, dst += size) {
        const bool keep = upper ? j - i >= k : j - i <= k;
        if (keep) {
          std::memcpy(dst, src, size);
        } else {
          std::memset(dst, 0, size);
        }
      }
  return {};
}

constexpr OpKernels kernels{.gpu = gpu::select_trilu};

}  // namespace

const OpDef& Trilu::def() {
  static constexpr OpDef def{.name = "Trilu",
                             .inputs = {1, 2},
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
