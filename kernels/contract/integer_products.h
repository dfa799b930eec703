// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <quern/shape.h>

namespace quern {

// True if a convolution by weights of this shape takes less time in integers than in f32 on this
// CPU, where x is there in integers and the result is wanted in f32. (kernels/cpu/int8_conv.cpp)
bool faster_in_int8(const Shape& weights, std::int64_t groups);

// The most rows that take less time by weights that are unpacked in registers than by f32's: eight
// where vectors unpack them (AVX2 and above: 0.25 to 0.9 of the time, from 256x256 weights on),
// none elsewhere. (kernels/cpu/few_bits_rows.cpp)
std::int64_t rows_faster_by_few_bits();

}  // namespace quern
