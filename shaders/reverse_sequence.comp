// SPDX-License-Identifier: Apache-2.0
// The first lengths[b] steps of each sequence backwards, the rest as they are; words.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint LENGTH_WORDS = 2;  // 1: of i32

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) readonly buffer Lengths { int lengths[]; };
layout(std430, binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint work;
  uint run;  // words of a step
  uint times;
  uint batches;
  uint time_stride;  // in runs
  uint batch_stride;
};

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  const uint place = i / run;
  const uint t = place / time_stride % times;
  const uint b = place / batch_stride % batches;
  const uint length = uint(clamp(lengths[b * LENGTH_WORDS], 0, int(times)));
  const uint from = t < length ? length - 1 - t : t;
  y[i] = x[i - t * time_stride * run + from * time_stride * run];
}
