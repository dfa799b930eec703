// SPDX-License-Identifier: Apache-2.0
// UnpackBits: y[i] = the `bits` bits of x[i / n] from i % n * bits on, n = 8 / bits.
//
// ONNX: a part of com.microsoft's GatherBlockQuantized, and of MatMulNBits where its weights are
// widened.
#include "graph/ops/block_quantized.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

template <int Bits>
void unpack(const std::uint8_t* x, std::uint8_t* y, std::int64_t n, StopCheck& check) {
  constexpr int in_byte = 8 / Bits;
  for_each_until(n, 2, check, [&](std::int64_t i) {
    for (int k = 0; k < in_byte; ++k)
      y[i * in_byte + k] = static_cast<std::uint8_t>(x[i] >> (k * Bits) & ((1 << Bits) - 1));
  });
}

Status unpack_bits_reference(const ReferenceCall& call) {
  const auto* x = call.inputs[0].as<std::uint8_t>();
  auto* y = call.outputs[0].as<std::uint8_t>();
  const std::int64_t n = call.inputs[0].type.shape.elements();
  StopCheck check(call.stop);
  switch (call.as<UnpackBits>().bits) {
    case 2: unpack<2>(x, y, n, check); break;
    case 4: unpack<4>(x, y, n, check); break;
    default: unpack<8>(x, y, n, check);
  }
  return {};
}

}  // namespace

const OpKernels& UnpackBits::kernels() {
  static constexpr OpKernels table{.reference = {unpack_bits_reference},
                                   .gpu = gpu::select_unpack_bits};
  return table;
}

}  // namespace quern
