// SPDX-License-Identifier: Apache-2.0
// Padding of elements of 32 bits, after cutting where pads are negative.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const uint CONSTANT = 0, REFLECT = 1, EDGE = 2, WRAP = 3;
layout(constant_id = 1) const uint MODE = CONSTANT;
layout(constant_id = 2) const bool VALUE_IS_DATA = false;

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) writeonly buffer Y { uint y[]; };
layout(std430, binding = 2) readonly buffer Value { uint value_data[]; };
layout(push_constant) uniform Push {
  uint work;
  uint value;
  uint first;  // element of x that is left by negative pads
  uint dims[6];  // of y, innermost first
  int sizes[6];  // of what is left of x; not positive where that is nothing
  int begins[6];  // elements before it
  uint strides[6];  // of x
};

// The position within the period that `at`, which may be negative, falls on. Vulkan leaves % undefined
// for negative operands.
int within(int at, int period) {
  const uint size = uint(period);
  return int(at >= 0 ? uint(at) % size : size - 1 - uint(-1 - at) % size);
}

void main() {
  uint i = invocation_index();
  if (i >= work) return;
  const uint to = i;
  uint from = first;
  bool inside = true;
  [[unroll]] for (uint d = 0; d < 6; ++d) {
    int at = int(i % dims[d]) - begins[d];
    i /= dims[d];
    const int size = sizes[d];
    if (MODE == CONSTANT) {
      inside = inside && at >= 0 && at < size;
    } else if (MODE == EDGE) {
      at = clamp(at, 0, size - 1);
    } else if (MODE == REFLECT) {
      const int period = max(2 * (size - 1), 1);
      at = within(at, period);
      if (at >= size) at = period - at;
    } else {
      at = within(at, size);
    }
    from += uint(at) * strides[d];
  }
  y[to] = inside ? x[from] : VALUE_IS_DATA ? value_data[0] : value;
}
