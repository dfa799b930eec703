// SPDX-License-Identifier: Apache-2.0
// For every index of the result the sum over other indices of the product of one or two operands,
// in f32 or f64 (DOUBLES).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

#ifdef DOUBLES
#define REAL double
#else
#define REAL float
#endif
layout(constant_id = 1) const bool HAS_B = true;

layout(std430, binding = 0) readonly buffer A { REAL a[]; };
layout(std430, binding = 1) readonly buffer B { REAL b[]; };
layout(std430, binding = 2) writeonly buffer Y { REAL y[]; };
layout(push_constant) uniform Push {
  uint work;
  uint dims[6];  // of the result, innermost first
  uint a_strides[6];
  uint b_strides[6];
  uint summed[3];  // likewise
  uint a_summed[3];
  uint b_summed[3];
};

void main() {
  uint i = invocation_index();
  if (i >= work) return;
  const uint to = i;
  uint a_at = 0, b_at = 0;
  [[unroll]] for (uint d = 0; d < 6; ++d) {
    const uint at = i % dims[d];
    i /= dims[d];
    a_at += at * a_strides[d];
    b_at += at * b_strides[d];
  }
  REAL sum = REAL(0);
  for (uint r = 0; r < summed[2]; ++r) {
    for (uint q = 0; q < summed[1]; ++q) {
      const uint a_row = a_at + r * a_summed[2] + q * a_summed[1];
      const uint b_row = b_at + r * b_summed[2] + q * b_summed[1];
      for (uint p = 0; p < summed[0]; ++p) {
        const REAL v = a[a_row + p * a_summed[0]];
        sum = HAS_B ? fma(v, b[b_row + p * b_summed[0]], sum) : sum + v;
      }
    }
  }
  y[to] = sum;
}
