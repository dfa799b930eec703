// SPDX-License-Identifier: Apache-2.0
// Sums or products of the elements so far along an axis; a line along it an invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const bool PRODUCTS = false;
layout(constant_id = 2) const bool EXCLUSIVE = false;
layout(constant_id = 3) const bool REVERSE = false;
layout(constant_id = 4) const bool INTEGERS = false;
layout(constant_id = 5) const bool LONGS = false;  // sums of integers of two words

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint lines;
  uint length;
  uint stride;  // along the axis
};

#ifdef DOUBLES
void accumulate(uint base) {
  double total = PRODUCTS ? 1.0lf : 0.0lf;
  for (uint k = 0; k < length; ++k) {
    const uint at = 2 * (base + (REVERSE ? length - 1 - k : k) * stride);
    const double v = packDouble2x32(uvec2(x[at], x[at + 1]));
    const double next = PRODUCTS ? total * v : total + v;
    const uvec2 words = unpackDouble2x32(EXCLUSIVE ? total : next);
    y[at] = words.x;
    y[at + 1] = words.y;
    total = next;
  }
}
#else
void accumulate(uint base) {
  if (LONGS) {
    uvec2 sum = uvec2(0);
    for (uint k = 0; k < length; ++k) {
      const uint at = 2 * (base + (REVERSE ? length - 1 - k : k) * stride);
      const uvec2 before = sum;
      uint carry;
      sum.x = uaddCarry(sum.x, x[at], carry);
      sum.y += x[at + 1] + carry;
      y[at] = EXCLUSIVE ? before.x : sum.x;
      y[at + 1] = EXCLUSIVE ? before.y : sum.y;
    }
    return;
  }
  // A float sum carries what its last digit has lost.
  precise float total = PRODUCTS ? 1.0 : 0.0;
  precise float lost = 0.0;
  uint whole = PRODUCTS ? 1 : 0;
  for (uint k = 0; k < length; ++k) {
    const uint at = base + (REVERSE ? length - 1 - k : k) * stride;
    const uint v = x[at];
    const uint before = INTEGERS ? whole : floatBitsToUint(total + lost);
    if (INTEGERS) {
      whole = PRODUCTS ? whole * v : whole + v;
    } else if (PRODUCTS) {
      total *= uintBitsToFloat(v);
    } else {
      const float f = uintBitsToFloat(v);
      precise const float next = total + f;
      precise const float bigger = abs(total) >= abs(f) ? (total - next) + f : (f - next) + total;
      total = next;
      // Infinities leave nothing behind.
      if ((floatBitsToUint(next) & 0x7f800000u) != 0x7f800000u) lost += bigger;
      else lost = 0.0;
    }
    y[at] = EXCLUSIVE ? before : INTEGERS ? whole : floatBitsToUint(total + lost);
  }
}
#endif

void main() {
  const uint line = invocation_index();
  if (line < lines) accumulate(line / stride * stride * length + line % stride);
}
