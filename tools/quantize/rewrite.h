// SPDX-License-Identifier: Apache-2.0
// Puts 8-bit integers, or weights in few bits, in the place of f32.
#pragma once

#include <cstddef>
#include <span>

#include <quern/status.h>

#include "tools/quantize/calibration.h"
#include "tools/quantize/edited_model.h"
#include "tools/quantize/targets.h"

namespace quern::tools {

// Around each target QuantizeLinear and DequantizeLinear (QDQ): its input in u8 with the scale and
// zero point of its range, weights in i8 with a scale for each channel of the result, the bias in
// i32. Before opset 13 they are those of com.microsoft, which have scales for each channel in any
// opset.
Status quantize_products(EditedModel& model, std::span<const ProductNode> targets,
                         const Ranges& ranges);

// MatMul and Gemm with one matrix of weights become com.microsoft MatMulNBits: weights of 4 or 8
// bits with a scale for each `block` of them along the depth, all else as it was. Returns their
// number.
Result<std::size_t> quantize_weights(EditedModel& model, std::span<const ProductNode> targets,
                                     int bits, std::int64_t block);

}  // namespace quern::tools
