// SPDX-License-Identifier: Apache-2.0
// CacheAppend: of each sequence b, the first before[b] rows of (past), the new rows behind them,
// and zeros up to the length, over (past [B, heads, M, width], rows [B, heads, S, width], before
// [B], length). A past of fewer than before[b] rows, or a result without room for the new ones, is
// an error.
//
// ONNX: the cache of com.microsoft GroupQueryAttention. Moves bytes.
#include "graph/operands.h"
#include "graph/ops/attention.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/cpu/cache_append_copy.h"
#include "kernels/gpu/caches.h"

namespace quern {
namespace {

Status cache_append_reference(const ReferenceCall& call) {
  const Shape& past = call.inputs[0].type.shape;
  const Shape& rows = call.inputs[1].type.shape;
  const Shape& y = call.outputs[0].type.shape;
  const auto row_bytes = static_cast<std::size_t>(y[3]) * size_of(call.outputs[0].type.dtype);
  const std::byte* from = call.inputs[0].data;
  const std::byte* fresh = call.inputs[1].data;
  std::byte* to = call.outputs[0].data;
  StopCheck check(call.stop);
  for (std::int64_t b = 0; b < y[0]; ++b) {
    const std::int64_t before = int_element(call.inputs[2], b);
    QUERN_TRY(
        check_room_in_cache({.before = before, .past = past[2], .rows = rows[2], .all = y[2]}));
    const auto bytes_of = [&](std::int64_t n) { return static_cast<std::size_t>(n) * row_bytes; };
    for (std::int64_t h = 0; h < y[1] && !check.spend(4); ++h) {
      copy_bytes(from, bytes_of(before), to, check);
      copy_bytes(fresh, bytes_of(rows[2]), to + bytes_of(before), check);
      zero_bytes(bytes_of(y[2] - before - rows[2]), to + bytes_of(before + rows[2]), check);
      from += bytes_of(past[2]);
      fresh += bytes_of(rows[2]);
      to += bytes_of(y[2]);
    }
  }
  return {};
}

constexpr CpuImplementation cache_append_implementations[] = {{"copy", select_cache_append_copy}};

}  // namespace

const OpKernels& CacheAppend::kernels() {
  static constexpr OpKernels table{.reference = {cache_append_reference},
                                   .cpu = cache_append_implementations,
                                   .gpu = gpu::select_cache_append};
  return table;
}

}  // namespace quern
