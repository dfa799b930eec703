// SPDX-License-Identifier: Apache-2.0
// BitCast: the bits of x under another element type of the same width.
//
// ONNX: BitCast, opset 26. 4-bit integers are held one a byte, sign-extended, and a bool is 0 or 1:
// those two are brought into form, everything else is copied.
#include <cstring>

#include "graph/text_util.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"

namespace quern {
namespace {

std::size_t bit_width(DType t) {
  return t == DType::i4 || t == DType::u4 ? 4 : 8 * size_of(t);
}

Status infer(InferContext& c) {
  const DType from = c.dtype(0);
  const DType to = c.op<BitCast>().to;
  if (from == DType::string || to == DType::string) return c.error("strings have no bits to cast");
  if (bit_width(from) != bit_width(to))
    return c.error(cat(name_of(from), " has ", bit_width(from), " bits, ", name_of(to), " has ",
                       bit_width(to)));
  c.set(0, to, c.type(0).dims);
  return {};
}

Status reference(const ReferenceCall& call) {
  const auto* x = call.inputs[0].as<std::uint8_t>();
  auto* y = call.outputs[0].as<std::uint8_t>();
  const DType to = call.outputs[0].type.dtype;
  const std::size_t n = call.outputs[0].type.bytes();
  if (to == DType::boolean) {
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] != 0;
  } else if (to == DType::i4) {
    for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<std::uint8_t>(((x[i] & 15) ^ 8) - 8);
  } else if (to == DType::u4) {
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] & 15;
  } else if (n > 0) {
    std::memcpy(y, x, n);
  }
  return {};
}

}  // namespace

const OpDef& BitCast::def() {
  static constexpr OpDef def{.name = "BitCast",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .traits = OpTrait::elementwise,
                             .infer = infer,
                             .reference = reference};
  return def;
}

}  // namespace quern
