// SPDX-License-Identifier: Apache-2.0
// The steps of a recurrent layer in one direction, with the usual activations: a workgroup has one
// sequence of the batch, its state in shared memory; a long sequence takes several dispatches. What
// the input contributes is there already: x_gates[step and batch][gate][unit].
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "scalar_ops.glsl"

const uint RNN = 0, GRU = 1, LSTM = 2;
layout(constant_id = 1) const uint KIND = LSTM;
layout(constant_id = 2) const uint HIDDEN = 1;
layout(constant_id = 3) const bool REVERSE = false;
layout(constant_id = 4) const bool HAS_BIAS = false;
layout(constant_id = 5) const bool HAS_H = false;
layout(constant_id = 6) const bool HAS_C = false;
layout(constant_id = 7) const bool GIVES_Y = false;
layout(constant_id = 8) const bool GIVES_H = false;
layout(constant_id = 9) const bool GIVES_C = false;
layout(constant_id = 10) const bool RESETS_AFTER = false;  // linear_before_reset

layout(std430, binding = 0) readonly buffer XGates { float x_gates[]; };
layout(std430, binding = 1) readonly buffer Recurrent { float r[]; };  // [unit of h][gate][unit]
layout(std430, binding = 2) readonly buffer Bias { float bias[]; };    // of W, then of R
layout(std430, binding = 3) readonly buffer FirstH { float first_h[]; };
layout(std430, binding = 4) readonly buffer FirstC { float first_c[]; };
layout(std430, binding = 5) writeonly buffer Y { float y[]; };
layout(std430, binding = 6) writeonly buffer LastH { float last_h[]; };
layout(std430, binding = 7) writeonly buffer LastC { float last_c[]; };
layout(push_constant) uniform Push {
  uint first_step;
  uint end_step;
  uint all_steps;
  uint x_step;  // in rows of gates
  uint x_batch;
  uint r_base;  // of this direction, in elements
  uint bias_base;
  uint first_base;  // of the states that it starts from
  uint first_batch;
  uint last_base;   // ... and ends with
  uint last_batch;
  uint y_base;
  uint y_step;
  uint y_batch;
};

shared float h[2][HIDDEN];
shared float c[HIDDEN];
shared float reset[HIDDEN];

const uint GATES = KIND == RNN ? 1 : KIND == GRU ? 3 : 4;

float squash(float v) {
  return 1.0 / (1.0 + exp(-v));
}
float hyperbolic(float v) {
  return safe_tanh(vec4(v)).x;
}
// The contribution of h to each gate of a unit. One loop for all gates: see can_loop() in
// kernels/gpu/grid.h.
vec4 recurrent(uint unit, uint now) {
  vec4 sums = vec4(0.0);
  for (uint k = 0; k < HIDDEN; ++k) {
    const float v = h[now][k];
    const uint at = r_base + k * GATES * HIDDEN + unit;
    [[unroll]] for (uint g = 0; g < GATES; ++g) sums[g] = fma(v, r[at + g * HIDDEN], sums[g]);
  }
  return sums;
}
float bias_w(uint gate, uint unit) {
  return HAS_BIAS ? bias[bias_base + gate * HIDDEN + unit] : 0.0;
}
float bias_r(uint gate, uint unit) {
  return HAS_BIAS ? bias[bias_base + (GATES + gate) * HIDDEN + unit] : 0.0;
}

void main() {
  const uint b = workgroup_index();
  const uint lane = gl_LocalInvocationID.x;
  const uint lanes = gl_WorkGroupSize.x;
  const uint first = first_base + b * first_batch;
  const uint last = last_base + b * last_batch;
  for (uint j = lane; j < HIDDEN; j += lanes) {
    h[0][j] = HAS_H ? first_h[first + j] : 0.0;
    c[j] = HAS_C ? first_c[first + j] : 0.0;
  }
  barrier();
  uint now = 0;
  for (uint n = first_step; n < end_step; ++n) {
    const uint t = REVERSE ? all_steps - 1 - n : n;
    const uint x = (t * x_step + b * x_batch) * GATES * HIDDEN;
    if (KIND == GRU && !RESETS_AFTER) {
      for (uint j = lane; j < HIDDEN; j += lanes)
        reset[j] = h[now][j] *
                   squash(x_gates[x + HIDDEN + j] + bias_w(1, j) + bias_r(1, j) + recurrent(j, now)[1]);
      barrier();
    }
    for (uint j = lane; j < HIDDEN; j += lanes) {
      const vec4 from_h = recurrent(j, now);
      float next = 0.0;
      if (KIND == RNN) {
        next = hyperbolic(x_gates[x + j] + bias_w(0, j) + bias_r(0, j) + from_h[0]);
      } else if (KIND == GRU) {
        const float z = squash(x_gates[x + j] + bias_w(0, j) + bias_r(0, j) + from_h[0]);
        float inner = bias_r(2, j);
        if (RESETS_AFTER) {
          const float gate =
              squash(x_gates[x + HIDDEN + j] + bias_w(1, j) + bias_r(1, j) + from_h[1]);
          inner = gate * (from_h[2] + inner);
        } else {
          for (uint k = 0; k < HIDDEN; ++k)
            inner = fma(reset[k], r[r_base + (k * GATES + 2) * HIDDEN + j], inner);
        }
        const float candidate = hyperbolic(x_gates[x + 2 * HIDDEN + j] + bias_w(2, j) + inner);
        next = (1.0 - z) * candidate + z * h[now][j];
      } else {
        vec4 gates = from_h;
        [[unroll]] for (uint g = 0; g < 4; ++g)
          gates[g] += x_gates[x + g * HIDDEN + j] + bias_w(g, j) + bias_r(g, j);
        c[j] = squash(gates[2]) * c[j] + squash(gates[0]) * hyperbolic(gates[3]);
        next = squash(gates[1]) * hyperbolic(c[j]);
      }
      h[1 - now][j] = next;
      if (GIVES_Y) y[y_base + t * y_step + b * y_batch + j] = next;
    }
    barrier();
    now = 1 - now;
  }
  for (uint j = lane; j < HIDDEN; j += lanes) {
    if (GIVES_H) last_h[last + j] = h[now][j];
    if (GIVES_C) last_c[last + j] = c[j];
  }
}
