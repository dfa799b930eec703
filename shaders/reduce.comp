// SPDX-License-Identifier: Apache-2.0
// Reductions of rows of neighbouring elements, and where their greatest or least one is.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "rows.glsl"

// ReduceKind, then the two of ArgReduce.
const uint SUM = 0, MEAN = 1, MAX = 2, MIN = 3, PROD = 4, L1 = 5, L2 = 6, LOG_SUM = 7,
           LOG_SUM_EXP = 8, SUM_SQUARE = 9, ARG_MAX = 10, ARG_MIN = 11;
layout(constant_id = 1) const uint KIND = SUM;
layout(constant_id = 2) const bool LAST = false;  // of equal ones, for ARG_*

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint rows;
  uint length;
};

#include "best_index.glsl"

void main() {
  const uint row = workgroup_index();
  if (row >= rows) return;
  const uint base = row * length;
  const uint lanes = gl_WorkGroupSize.x;
  const bool greatest = KIND == MAX || KIND == LOG_SUM_EXP || KIND == ARG_MAX;
  const bool least = KIND == MIN || KIND == ARG_MIN;

  float shift = 0.0;
  if (greatest || least) {
    float best = uintBitsToFloat(greatest ? 0xff800000u : 0x7f800000u);
    for (uint i = gl_LocalInvocationID.x; i < length; i += lanes)
      best = greatest ? max_with_nan(best, x[base + i]) : min_with_nan(best, x[base + i]);
    best = greatest ? row_max(best) : row_min(best);
    if (KIND == ARG_MAX || KIND == ARG_MIN) {
      const uint index = best_index(base, best, LAST);
      if (gl_LocalInvocationID.x == 0) {
        y[2 * row] = index;
        y[2 * row + 1] = 0;
      }
      return;
    }
    if (KIND == MAX || KIND == MIN) {
      if (gl_LocalInvocationID.x == 0) y[row] = floatBitsToUint(best);
      return;
    }
    shift = (floatBitsToUint(best) & 0x7fffffffu) == 0x7f800000u ? 0.0 : best;
  }

  float r = KIND == PROD ? 1.0 : 0.0;
  for (uint i = gl_LocalInvocationID.x; i < length; i += lanes) {
    const float v = x[base + i];
    if (KIND == PROD) r *= v;
    else if (KIND == L1) r += abs(v);
    else if (KIND == L2 || KIND == SUM_SQUARE) r += v * v;
    else if (KIND == LOG_SUM_EXP) r += exp(v - shift);
    else r += v;
  }
  r = KIND == PROD ? row_product(r) : row_sum(r);
  if (KIND == MEAN) r /= float(length);
  if (KIND == L2) r = sqrt(r);
  if (KIND == LOG_SUM) r = log(r);
  if (KIND == LOG_SUM_EXP) r = log(r) + shift;
  if (gl_LocalInvocationID.x == 0) y[row] = floatBitsToUint(r);
}
