// SPDX-License-Identifier: Apache-2.0
// Element types as shaders know them (shaders/types.glsl).
#pragma once

#include <cstdint>

#include <quern/dtype.h>

namespace quern::gpu {

// 0 if the shaders lack the type.
constexpr std::uint32_t type_code(DType t) {
  switch (t) {
    case DType::f32: return 1;
    case DType::i32: return 2;
    case DType::boolean:
    case DType::u8: return 3;
    case DType::i64: return 4;
    case DType::f16: return 5;
    case DType::u32: return 6;
    case DType::u64: return 7;
    case DType::i8: return 8;
    case DType::i16: return 9;
    case DType::u16: return 10;
    case DType::bf16: return 11;
    case DType::f64: return 12;
    case DType::i4: return 13;
    case DType::u4: return 14;
    case DType::i2: return 15;
    case DType::u2: return 16;
    case DType::f8e4m3fn: return 17;
    case DType::f8e4m3fnuz: return 18;
    case DType::f8e5m2: return 19;
    case DType::f8e5m2fnuz: return 20;
    case DType::f4e2m1: return 21;
    case DType::f8e8m0: return 22;
    case DType::string: break;
  }
  return 0;
}
constexpr bool is_small_float(DType t) {
  return type_code(t) >= 17;
}

}  // namespace quern::gpu
