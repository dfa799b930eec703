// SPDX-License-Identifier: Apache-2.0
// y[i...] = x[i... with the coordinate along one axis replaced by indices[i...]], of indices that
// may be fewer than x has in every dimension. A coordinate outside is moved to the end of the axis.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint WORDS = 1;        // of an element
layout(constant_id = 2) const uint INDEX_WORDS = 2;  // 1: of i32

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) readonly buffer Indices { int indices[]; };
layout(std430, binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint work;
  uint size;       // of the axis in x
  uint stride;     // along it
  uint dims[6];    // of y, innermost first
  uint strides[6];  // of x, none along the axis
};

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  int index = indices[i * INDEX_WORDS];
  if (index < 0) index += int(size);
  uint from = uint(clamp(index, 0, int(size) - 1)) * stride;
  uint rest = i;
  [[unroll]] for (uint d = 0; d < 6; ++d) {
    from += rest % dims[d] * strides[d];
    rest /= dims[d];
  }
  [[unroll]] for (uint w = 0; w < WORDS; ++w) y[i * WORDS + w] = x[from * WORDS + w];
}
