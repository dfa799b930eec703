// SPDX-License-Identifier: Apache-2.0
// gather.comp of elements of one byte or two, in words: a device need not store less. Rows that are
// whole words take gather.comp.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const bool BY_ELEMENT = false;
layout(constant_id = 2) const uint INDEX_WORDS = 2;  // 1: of i32
layout(constant_id = 3) const uint IN_WORD = 4;      // elements: 4 or 2

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) readonly buffer Indices { int indices[]; };
layout(std430, binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint work;      // words of y
  uint elements;  // of y
  uint inner;
  uint count;  // indices along the axis
  uint size;   // of the axis
};

uint element(uint i) {
  const uint j = i / inner % count;
  const uint outer = i / inner / count;
  int index = indices[(BY_ELEMENT ? i : j) * INDEX_WORDS];
  if (index < 0) index += int(size);
  index = clamp(index, 0, int(size) - 1);
  const uint from = (outer * size + uint(index)) * inner + i % inner;
  const int bits = int(32 / IN_WORD);
  return bitfieldExtract(x[from / IN_WORD], int(from % IN_WORD) * bits, bits);
}

void main() {
  const uint w = invocation_index();
  if (w >= work) return;
  const int bits = int(32 / IN_WORD);
  uint whole = 0;
  for (uint k = 0; k < IN_WORD; ++k) {
    const uint i = w * IN_WORD + k;
    if (i < elements) whole = bitfieldInsert(whole, element(i), int(k) * bits, bits);
  }
  y[w] = whole;
}
