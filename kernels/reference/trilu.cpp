// SPDX-License-Identifier: Apache-2.0
// Trilu: keeps what lies on and above (below) the k-th diagonal of each matrix, zeroes the rest.
//
// ONNX: Trilu (opset 14).
#include "graph/ops/rearrange.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/cpu/trilu_copy.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

Status trilu_reference(const ReferenceCall& call) {
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
  if (x.type.shape.elements() == 0) return {};
  StopCheck check(call.stop);
  for (std::int64_t m = 0; m < matrices; ++m)
    for (std::int64_t i = 0; i < rows && !check.is_over(); ++i)
      for_each_until(columns, 4, check, [&](std::int64_t j) {
        const bool keep = upper ? j - i >= k : j - i <= k;
        if (keep) {
          std::memcpy(dst, src, size);
        } else {
          std::memset(dst, 0, size);
        }
        src += size;
        dst += size;
      });
  return {};
}

constexpr CpuImplementation trilu_implementations[] = {{"copy", select_trilu_copy}};

}  // namespace

const OpKernels& Trilu::kernels() {
  static constexpr OpKernels table{
      .reference = {trilu_reference}, .cpu = trilu_implementations, .gpu = gpu::select_trilu};
  return table;
}

}  // namespace quern
