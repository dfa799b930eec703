// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <quern/shape.h>

namespace quern {

// True if a convolution by weights of this shape takes less time in integers than in f32 on this
// CPU, where x is there in integers and the result is wanted in f32. (kernels/cpu/int8_conv.cpp)
bool faster_in_int8(const Shape& weights, std::int64_t groups);

}  // namespace quern
