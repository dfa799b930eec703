// SPDX-License-Identifier: Apache-2.0
// BitCast: the bits of x under another element type of the same width.
//
// ONNX: BitCast, opset 26. Elements smaller than a byte are held one a byte, integers
// sign-extended, and a bool is 0 or 1: those are brought into form, everything else is copied.
#include <cstring>

#include "graph/ops/cast.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

Status bit_cast_reference(const ReferenceCall& call) {
  const auto* x = call.inputs[0].as<std::uint8_t>();
  auto* y = call.outputs[0].as<std::uint8_t>();
  const DType to = call.outputs[0].type.dtype;
  const std::size_t n = call.outputs[0].type.bytes();
  const auto count = static_cast<std::int64_t>(n);
  StopCheck check(call.stop);
  if (to == DType::boolean) {
    for_each_until(count, 1, check, [&](std::int64_t i) { y[i] = x[i] != 0; });
  } else if (const std::size_t bits = bits_of(to); bits < 8) {
    const int mask = (1 << bits) - 1;
    const int sign = is_integer(to) && !is_unsigned(to) ? 1 << (bits - 1) : 0;
    for_each_until(count, 1, check, [&](std::int64_t i) {
      y[i] = static_cast<std::uint8_t>(((x[i] & mask) ^ sign) - sign);
    });
  } else {
    copy_bytes(call.inputs[0].data, n, call.outputs[0].data, check);
  }
  return {};
}

}  // namespace

const OpKernels& BitCast::kernels() {
  static constexpr OpKernels table{.reference = {bit_cast_reference}, .gpu = gpu::select_bit_cast};
  return table;
}

}  // namespace quern
