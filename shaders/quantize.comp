// SPDX-License-Identifier: Apache-2.0
// Quantising, dequantising, and sums of products of integers to bytes; four elements an invocation.
// Element i has scale and zero point number i / stride % count.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "bytes.glsl"

// QUANTIZE: y = x / scale + zero, bytes of floats; DEQUANTIZE: y = (x - zero) * scale, floats of
// bytes or i32; REQUANTIZE: y = (x + zero[]) * scale + y_zero, bytes of i32, zero[] the bias.
const uint QUANTIZE = 0, DEQUANTIZE = 1, REQUANTIZE = 2;
layout(constant_id = 1) const uint MODE = QUANTIZE;
layout(constant_id = 2) const bool X_WORDS = false;  // DEQUANTIZE: x and zero are of i32
layout(constant_id = 3) const bool SIGNED = false;   // the bytes
layout(constant_id = 4) const bool HAS_ZERO = false;

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) readonly buffer Scale { float scale[]; };
layout(std430, binding = 2) readonly buffer Zero { uint zero[]; };
layout(std430, binding = 3) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint elements;
  uint stride;
  uint count;
  int y_zero;
};

int zero_at(uint k) {
  if (!HAS_ZERO) return 0;
  return MODE == REQUANTIZE || X_WORDS ? int(zero[k]) : byte_of(zero[k / 4], k, SIGNED);
}
uint saturated(float v, int shift) {
  // A NaN gives 0, whatever the zero point.
  if ((floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u) return 0;
  const int least = SIGNED ? -128 : 0;
  // Values that are clamped here lie outside the type with any zero point.
  const int whole = int(clamp(roundEven(v), -1024.0, 1024.0)) + shift;
  return uint(clamp(whole, least, least + 255)) & 0xffu;
}

void main() {
  const uint first = 4 * invocation_index();
  if (first >= elements) return;
  uint bytes = 0;
  [[unroll]] for (uint j = 0; j < 4; ++j) {
    const uint i = first + j;
    if (i >= elements) break;
    const uint k = i / stride % count;
    if (MODE == QUANTIZE) {
      bytes |= saturated(rounded_quotient(uintBitsToFloat(x[i]), scale[k]), zero_at(k)) << (8 * j);
    } else if (MODE == REQUANTIZE) {
      bytes |= saturated(float(int(x[i]) + zero_at(k)) * scale[k], y_zero) << (8 * j);
    } else {
      const int v = X_WORDS ? int(x[i]) : byte_of(x[i / 4], i, SIGNED);
      y[i] = floatBitsToUint(float(v - zero_at(k)) * scale[k]);
    }
  }
  if (MODE != DEQUANTIZE) y[first / 4] = bytes;
}
