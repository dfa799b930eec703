// SPDX-License-Identifier: Apache-2.0
// Regions of interest, each cut into bins, each bin of each channel to one element.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const uint ALIGN_AVERAGE = 0, ALIGN_MAX = 1, MAX = 2;  // RoiKind
layout(constant_id = 1) const uint KIND = ALIGN_AVERAGE;
layout(constant_id = 2) const bool HALF_PIXEL = true;

layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Regions { float regions[]; };
layout(std430, binding = 2) readonly buffer Batches { int batches[]; };  // i64
layout(std430, binding = 3) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push {
  uint work;
  int images;
  uint channels;
  int in_height;
  int in_width;
  uint out_height;
  uint out_width;
  uint points;  // of a bin along each dimension; 0: as many as it has elements
  float scale;
};

float max_with_nan(float a, float b) {
  const bool nan_a = (floatBitsToUint(a) & 0x7fffffffu) > 0x7f800000u;
  return nan_a || a > b ? a : b;
}

// One dimension of a region: points at start + (b + (i + 0.5) / points) * bin.
struct Sampling {
  float start;
  float bin;
  float points;
  int begin;  // those that may lie in the image
  int end;
};
Sampling sampling(float low, float high, uint bins, uint b, int size) {
  Sampling s;
  const float offset = HALF_PIXEL ? 0.5 : 0.0;
  const float start = low * scale - offset;
  float extent = high * scale - offset - start;
  if (!HALF_PIXEL) extent = max_with_nan(extent, 1.0);
  s.bin = extent / float(bins);
  s.start = start + float(b) * s.bin;
  s.points = points > 0 ? float(points) : s.bin > 0.0 ? ceil(s.bin) : 0.0;
  s.begin = 0;
  s.end = int(min(s.points, 1e9));
  if (points == 0 && s.points > 0.0) {
    const float step = s.bin / s.points;
    s.begin = int(clamp(floor((-1.0 - s.start) / step - 2.0), 0.0, float(s.end)));
    s.end = int(clamp(ceil((float(size) - s.start) / step + 2.0), 0.0, float(s.end)));
  }
  return s;
}
float point(Sampling s, int i) {
  return s.start + (float(i) + 0.5) * s.bin / s.points;
}
bool is_visible(float at, int size) {
  return at >= -1.0 && at <= float(size);  // and no NaN
}

float aligned(uint plane, Sampling rows, Sampling columns) {
  float sum = 0.0;
  float largest = 0.0;
  float seen = 0.0;
  for (int i = rows.begin; i < rows.end; ++i) {
    const float v = point(rows, i);
    if (!is_visible(v, in_height)) continue;
    const int y0 = min(int(max(v, 0.0)), in_height - 1);
    const int y1 = min(y0 + 1, in_height - 1);
    const float wy = y1 == y0 ? 0.0 : max(v, 0.0) - float(y0);
    for (int j = columns.begin; j < columns.end; ++j) {
      const float h = point(columns, j);
      if (!is_visible(h, in_width)) continue;
      const int x0 = min(int(max(h, 0.0)), in_width - 1);
      const int x1 = min(x0 + 1, in_width - 1);
      const float wx = x1 == x0 ? 0.0 : max(h, 0.0) - float(x0);
      const float a = (1.0 - wy) * (1.0 - wx) * x[plane + y0 * in_width + x0];
      const float b = (1.0 - wy) * wx * x[plane + y0 * in_width + x1];
      const float c = wy * (1.0 - wx) * x[plane + y1 * in_width + x0];
      const float d = wy * wx * x[plane + y1 * in_width + x1];
      sum += a + b + c + d;
      const float candidate = max_with_nan(max_with_nan(a, b), max_with_nan(c, d));
      largest = seen == 0.0 ? candidate : max_with_nan(largest, candidate);
      ++seen;
    }
  }
  const float all = rows.points * columns.points;
  if (KIND == ALIGN_AVERAGE) return sum / max(all, 1.0);
  // A point outside reads 0.
  if (seen < all) largest = seen == 0.0 ? 0.0 : max_with_nan(largest, 0.0);
  return largest;
}

// The elements of bin b: x, y as begin and end.
ivec2 elements_of(float low, float high, uint b, uint bins, int size) {
  // Halves away from zero; the bound keeps sums from overflowing, and no image reaches it.
  const vec2 scaled = clamp(vec2(low, high) * scale, -1e8, 1e8);
  const vec2 corner = sign(scaled) * floor(abs(scaled) + 0.5);
  const float bin = max(corner.y - corner.x + 1.0, 1.0) / float(bins);
  const int begin = int(floor(float(b) * bin)) + int(corner.x);
  const int end = int(ceil(float(b + 1) * bin)) + int(corner.x);
  return clamp(ivec2(begin, end), 0, size);
}
float greatest(uint plane, ivec2 rows, ivec2 columns) {
  if (rows.x >= rows.y || columns.x >= columns.y) return 0.0;
  float r = x[plane + rows.x * in_width + columns.x];
  for (int i = rows.x; i < rows.y; ++i)
    for (int j = columns.x; j < columns.y; ++j) r = max_with_nan(r, x[plane + i * in_width + j]);
  return r;
}

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  const uint column = i % out_width;
  const uint row = i / out_width % out_height;
  const uint channel = i / out_width / out_height % channels;
  const uint region = i / out_width / out_height / channels;
  const uint base = region * (KIND == MAX ? 5 : 4);
  const uint corners = base + (KIND == MAX ? 1 : 0);
  const int batch = KIND == MAX ? int(regions[base]) : batches[2 * region];
  const uint image = uint(clamp(batch, 0, images - 1));
  const uint plane = (image * channels + channel) * in_height * in_width;
  const vec2 xs = vec2(regions[corners], regions[corners + 2]);
  const vec2 ys = vec2(regions[corners + 1], regions[corners + 3]);
  if (KIND == MAX) {
    y[i] = greatest(plane, elements_of(ys.x, ys.y, row, out_height, in_height),
                    elements_of(xs.x, xs.y, column, out_width, in_width));
  } else {
    y[i] = aligned(plane, sampling(ys.x, ys.y, out_height, row, in_height),
                   sampling(xs.x, xs.y, out_width, column, in_width));
  }
}
