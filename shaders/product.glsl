// SPDX-License-Identifier: Apache-2.0
// Products whose operands go through shared memory, tile by tile: what the elements of a tile are,
// wherever they lie, and where results go. y[m, n] = sum over k of a[m, k] * w[k, n] for each of a
// batch, then steps. Where there are few tiles, the terms of the sums are cut into parts, whose sums
// are results of their own (product_sum.comp).
//
// With CONV, over two dimensions or with DEPTH over three, a is what windows see, a matrix that
// nobody makes: x [n, (d,) h, w, c], a row of a for each pixel of y, along it the taps and in each of
// them the channels of a group. The batch is the groups, and w
// [group][tap][channel of the group][output of the group, padded to four].
//
// Needs TILE_ROWS, TILE_COLUMNS and TILE_DEPTH, multiples of four. An invocation fetches A_EACH
// vectors along k, of rows A_STEP apart, and W_EACH vectors along n, of rows W_STEP apart.
#ifdef EMULATED
#define UNROLL  // for tests: compiled in a fraction of the time
#else
#define UNROLL [[unroll]]
#endif
#define FIRST_STEP_BINDING 3
#define FEW_STEPS
#include "steps.glsl"
#ifdef CONV
#include "window.glsl"
#endif

layout(constant_id = 5) const uint FLAGS = 0;
const bool A_VECTORS = (FLAGS & 1) != 0;  // all fours along k begin at multiples of four
const bool W_VECTORS = (FLAGS & 2) != 0;  // rows of w do, and are padded to them
const bool Y_VECTORS = (FLAGS & 4) != 0;  // rows of y do, and end there

const uint A_ROW = TILE_DEPTH / 4;
const uint A_STEP = gl_WorkGroupSize.x / A_ROW;
const uint A_EACH = TILE_ROWS / A_STEP;
const uint W_ROW = TILE_COLUMNS / 4;
const uint W_STEP = gl_WorkGroupSize.x / W_ROW;
const uint W_EACH = TILE_DEPTH / W_STEP;

layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 0) readonly buffer Av { vec4 a_v[]; };
layout(std430, binding = 1) readonly buffer W { float w[]; };
layout(std430, binding = 1) readonly buffer Wv { vec4 w_v[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(std430, binding = 2) writeonly buffer Yv { vec4 y_v[]; };

#ifdef CONV
layout(push_constant) uniform Push {
  WINDOW_WORDS
  uint channels;        // of x
  uint group_channels;
  uint outputs;         // channels of y
  uint columns;         // those of a group
  uint rows;            // pixels of y in all images
  uint parts;
  DEPTH_WORDS
  Step steps[4];
};
#else
layout(push_constant) uniform Push {
  uint rows;
  uint columns;
  uint depth;
  uint a_row;     // stride of a over m; over k it is one
  uint w_row;     // stride of w over k; over n it is one
  uint batch[2];  // dimensions, innermost first: the last is what the grid has
  uint a_batch[2];
  uint w_batch[2];
  uint w_first;
  uint parts;
  Step steps[4];
};
#endif

// The invocation's first vectors in a tile.
uint row_of_a() { return gl_LocalInvocationID.x / A_ROW; }
uint four_of_a() { return gl_LocalInvocationID.x % A_ROW; }
uint row_of_w() { return gl_LocalInvocationID.x / W_ROW; }
uint four_of_w() { return gl_LocalInvocationID.x % W_ROW; }
uint first_row() { return gl_WorkGroupID.y * TILE_ROWS; }
uint first_column() { return gl_WorkGroupID.x * TILE_COLUMNS; }

// The entry of the batch, and the part of its terms, that this workgroup has.
uint entry() { return gl_WorkGroupID.z / parts; }
uint part() { return gl_WorkGroupID.z % parts; }

uint w_base, w_column, y_base;
#ifdef CONV
#define Y_ROW outputs
uint depth, w_row, x_channel;
ivec2 origin[A_EACH];  // of a row's window, x and y
uint plane[A_EACH];    // its image, or with DEPTH the first plane of it
#ifdef DEPTH
int first_z[A_EACH];
#endif

void find_operands() {
  const ivec2 out_size = OUT_SIZE;
  const ivec2 kernel = xy(kernel_hw);
  depth = uint(kernel.x * kernel.y) * group_channels;
#ifdef DEPTH
  depth *= kernel_stride_depth & 0xffff;
#endif
  const uint group = entry();
  w_row = (columns + 3) / 4 * 4;
  w_base = group * depth * w_row;
  x_channel = group * group_channels;
  y_base = part() * rows * outputs + group * columns;
  UNROLL for (uint i = 0; i < A_EACH; ++i) {
    // Rows past the end are like the last one and are not written.
    const uint row = min(first_row() + row_of_a() + i * A_STEP, rows - 1);
    const uint line = row / out_size.x;
    origin[i] = ivec2(row % out_size.x, line % out_size.y) * xy(strides_hw) - xy(pads_hw);
    plane[i] = line / out_size.y;
#ifdef DEPTH
    const uint out_depth = in_out_depth >> 16;
    first_z[i] = int(plane[i] % out_depth * (kernel_stride_depth >> 16)) -
                 int(pad_dilation_depth & 0xffff);
    plane[i] = plane[i] / out_depth * (in_out_depth & 0xffff);
#endif
  }
}

// Where a's element of a row that is fetched lies in x; x_nowhere: in the padding.
const uint x_nowhere = ~0u;
uint place_of(uint i, uint k) {
  const ivec2 in_size = IN_SIZE;
  const ivec2 kernel = xy(kernel_hw);
  const uint tap = k / group_channels;
  const uint line = tap / kernel.x;
  const ivec2 at = origin[i] + ivec2(tap % kernel.x, line % kernel.y) * xy(dilations_hw);
  bool inside = all(greaterThanEqual(at, ivec2(0))) && all(lessThan(at, in_size));
  uint from = plane[i];
#ifdef DEPTH
  const int z = first_z[i] + int(line / kernel.y * (pad_dilation_depth >> 16));
  inside = inside && z >= 0 && z < int(in_out_depth & 0xffff);
  from += z;
#endif
  if (!inside || k >= depth) return x_nowhere;
  return ((from * in_size.y + at.y) * in_size.x + at.x) * channels + x_channel + k % group_channels;
}
float element_of_a(uint i, uint k) {
  const uint at = place_of(i, k);
  if (at == x_nowhere) return 0.0;
  return a[at];
}
vec4 vector_of_a(uint i, uint k) {
  const uint at = place_of(i, k);
  if (at == x_nowhere) return vec4(0.0);
  return a_v[at / 4];
}
#else
#define Y_ROW columns
uint a_from[A_EACH];  // where a row that is fetched begins

void find_operands() {
  const uint inner = entry() % batch[0];
  const uint outer = entry() / batch[0];
  w_base = w_first + inner * w_batch[0] + outer * w_batch[1];
  y_base = (part() * (gl_NumWorkGroups.z / parts) + entry()) * rows * columns;
  UNROLL for (uint i = 0; i < A_EACH; ++i)
    // Rows past the end are like the last one and are not written.
    a_from[i] = inner * a_batch[0] + outer * a_batch[1] +
                min(first_row() + row_of_a() + i * A_STEP, rows - 1) * a_row;
}
float element_of_a(uint i, uint k) {
  if (k >= depth) return 0.0;
  return a[a_from[i] + k];
}
vec4 vector_of_a(uint i, uint k) {
  if (k >= depth) return vec4(0.0);
  return a_v[(a_from[i] + k) / 4];
}
#endif

// Terms of the part, in whole tiles but for the last one.
uint terms_of_part() {
  return ((depth + TILE_DEPTH - 1) / TILE_DEPTH + parts - 1) / parts * TILE_DEPTH;
}
uint first_term() { return part() * terms_of_part(); }
uint end_term() { return min(depth, first_term() + terms_of_part()); }
// Columns past the end are like the last ones and are not written.
void find_columns() {
  w_column = min(first_column() + 4 * four_of_w(), W_VECTORS ? w_row - 4 : columns - 1);
}
// Vector i of those that the invocation fetches from the tile whose terms begin at `first`.
vec4 fetch_a(uint i, uint first) {
  const uint k = first + 4 * four_of_a();
  if (A_VECTORS) return vector_of_a(i, k);
  return vec4(element_of_a(i, k), element_of_a(i, k + 1), element_of_a(i, k + 2),
              element_of_a(i, k + 3));
}
vec4 fetch_w(uint i, uint first) {
  const uint k = first + row_of_w() + i * W_STEP;
  if (k >= depth) return vec4(0.0);
  const uint from = w_base + k * w_row;
  if (W_VECTORS) return w_v[(from + w_column) / 4];
  const uint last = columns - 1;
  return vec4(w[from + w_column], w[from + min(w_column + 1, last)],
              w[from + min(w_column + 2, last)], w[from + min(w_column + 3, last)]);
}
// Steps, and then four neighbours of y, as far as they are there.
void write(uint row, uint n, vec4 v) {
  if (row >= rows || n >= columns) return;
  const uint at = y_base + row * Y_ROW + n;
  APPLY_STEPS(v, at)
  if (Y_VECTORS) {
    y_v[at / 4] = v;
  } else {
    y[at] = v.x;
    if (n + 1 < columns) y[at + 1] = v.y;
    if (n + 2 < columns) y[at + 2] = v.z;
    if (n + 3 < columns) y[at + 3] = v.w;
  }
}
