// SPDX-License-Identifier: Apache-2.0
// Attention of ROWS query rows of one key head to the keys of a cache that they see, in blocks of
// keys with a running maximum, so that no more scores than those of a block are ever held. Other
// workgroups have other rows, other columns of the values, or (IN_PARTS) other keys, whose sums
// cached_attention_sum.comp puts together.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "scalar_ops.glsl"
#include "running_maximum.glsl"

const uint F32 = 0, F16 = 1, BF16 = 2;  // of keys and values
layout(constant_id = 1) const uint ROWS = 1;
layout(constant_id = 2) const uint KEYS = 4;   // of a block, for each invocation
layout(constant_id = 3) const uint FOURS = 1;  // of columns of an invocation
layout(constant_id = 4) const uint ACROSS = 8;  // invocations with other columns; others, other keys
layout(constant_id = 5) const uint CACHE = F32;
layout(constant_id = 6) const bool K_VECTORS = false;  // rows of q and k are of fours
layout(constant_id = 7) const bool V_VECTORS = false;
layout(constant_id = 8) const bool HAS_BIAS = false;
layout(constant_id = 9) const bool HAS_SINK = false;
layout(constant_id = 10) const bool CAPS = false;
layout(constant_id = 11) const bool IN_PARTS = false;
const uint LANES = gl_WorkGroupSize.x;  // a power of two
const uint BLOCK = KEYS * LANES;
const uint SHARES = LANES / ACROSS;  // of a block's keys

layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 0) readonly buffer Qv { vec4 q_v[]; };
layout(std430, binding = 1) readonly buffer K { uint k[]; };
layout(std430, binding = 1) readonly buffer Kh { uvec2 k_h[]; };
layout(std430, binding = 1) readonly buffer Kv { vec4 k_v[]; };
layout(std430, binding = 2) readonly buffer V { uint v[]; };
layout(std430, binding = 2) readonly buffer Vh { uvec2 v_h[]; };
layout(std430, binding = 2) readonly buffer Vv { vec4 v_v[]; };
layout(std430, binding = 3) readonly buffer Before { int before[]; };  // i64
layout(std430, binding = 4) readonly buffer Bias { float bias[]; };
layout(std430, binding = 5) readonly buffer Sink { float sink[]; };
layout(std430, binding = 6) writeonly buffer Y { float y[]; };  // the result, or the parts
layout(push_constant) uniform Push {
  uint rows;      // of a key head: the new ones of each head that reads it
  uint new_rows;  // of a head
  uint key_heads;
  uint keys;
  uint width;
  uint columns;  // of a value
  uint window;   // 0: all
  uint chunks;   // of columns
  uint parts;
  uint keys_of_part;
  float scale;
  float softcap;
  uint q_strides[3];  // from sequence to sequence, head, row
  uint y_strides[3];
  uint bias_strides[4];
};

shared float scores[ROWS * BLOCK];
shared float partials[ROWS * LANES];
shared vec4 sums_of_shares[LANES];

// ---- elements

float of_16_bits(uint word, uint element) {
  const uint bits = (element & 1) == 0 ? word & 0xffffu : word >> 16;
  return CACHE == F16 ? unpackHalf2x16(bits).x : uintBitsToFloat(bits << 16);
}
vec4 of_words(uvec2 words) {
  if (CACHE == F16) return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
  return uintBitsToFloat(uvec4(words.x << 16, words.x & 0xffff0000u, words.y << 16,
                               words.y & 0xffff0000u));
}
float key_element(uint at) {
  return CACHE == F32 ? uintBitsToFloat(k[at]) : of_16_bits(k[at / 2], at);
}
float value_element(uint at) {
  return CACHE == F32 ? uintBitsToFloat(v[at]) : of_16_bits(v[at / 2], at);
}
// Elements w.. of the row that begins at `at`, zeros behind it.
vec4 query_four(uint at, uint w) {
  if (K_VECTORS) return q_v[(at + w) / 4];
  vec4 four = vec4(0.0);
  [[unroll]] for (uint i = 0; i < 4; ++i)
    if (w + i < width) four[i] = q[at + w + i];
  return four;
}
vec4 key_four(uint at, uint w) {
  if (K_VECTORS) return CACHE == F32 ? k_v[(at + w) / 4] : of_words(k_h[(at + w) / 4]);
  vec4 four = vec4(0.0);
  [[unroll]] for (uint i = 0; i < 4; ++i)
    if (w + i < width) four[i] = key_element(at + w + i);
  return four;
}
// Columns behind the last are like it, and nobody writes them.
vec4 value_four(uint at, uint column) {
  if (V_VECTORS) {
    const uint four = (at + min(column, columns - 4)) / 4;
    return CACHE == F32 ? v_v[four] : of_words(v_h[four]);
  }
  const uint last = columns - 1;
  return vec4(value_element(at + min(column, last)), value_element(at + min(column + 1, last)),
              value_element(at + min(column + 2, last)), value_element(at + min(column + 3, last)));
}

// ---- over the invocations

// Adds up what the invocations of one column have, those side by side on their own.
vec4 sum_over_shares(vec4 mine, uint across) {
  const uint lane = gl_LocalInvocationID.x;
  barrier();
  sums_of_shares[lane] = mine;
  barrier();
  for (uint step = LANES / 2; step >= across && step > 0; step /= 2) {
    if (lane < step) sums_of_shares[lane] += sums_of_shares[lane + step];
    barrier();
  }
  return sums_of_shares[lane % across];
}

// ---- of the workgroup's rows

uint q_at[ROWS], bias_at[ROWS], y_at[ROWS], head_of[ROWS];
uint first_key[ROWS], end_key[ROWS];  // that the row sees in this part
float found[ROWS * KEYS];             // scores of a block, of this invocation's keys
float most[ROWS], sum[ROWS];          // sum: of this invocation's keys
vec4 values[ROWS * FOURS];

void find_rows(uint b, uint key_head, uint part) {
  const uint past = uint(clamp(before[2 * b], 0, int(keys)));
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    const uint row = min(gl_WorkGroupID.x * ROWS + r, rows - 1);
    const uint i = row % new_rows;
    head_of[r] = key_head * (rows / new_rows) + row / new_rows;
    q_at[r] = b * q_strides[0] + head_of[r] * q_strides[1] + i * q_strides[2];
    y_at[r] = b * y_strides[0] + head_of[r] * y_strides[1] + i * y_strides[2];
    bias_at[r] = b * bias_strides[0] + head_of[r] * bias_strides[1] + i * bias_strides[2];
    if (IN_PARTS)
      y_at[r] = ((gl_WorkGroupID.y * rows + row) * parts + part) * record_size(columns);
    const uint end = min(past + i + 1, keys);
    const uint first = window != 0 && end > window ? end - window : 0;
    first_key[r] = max(first, part * keys_of_part);
    end_key[r] = min(end, (part + 1) * keys_of_part);
    most[r] = NOTHING;
    sum[r] = 0.0;
    [[unroll]] for (uint f = 0; f < FOURS; ++f) values[r * FOURS + f] = vec4(0.0);
  }
}

bool sees(uint r, uint key) {
  return key >= first_key[r] && key < end_key[r];
}

// The scores of a block, as they stand in the softmax but for the maximum.
void find_scores(uint block, uint end, uint base) {
  const uint lane = gl_LocalInvocationID.x;
  [[unroll]] for (uint n = 0; n < ROWS * KEYS; ++n) found[n] = 0.0;
  for (uint w = 0; w < width; w += 4) {
    vec4 rows_of_q[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) rows_of_q[r] = query_four(q_at[r], w);
    [[unroll]] for (uint n = 0; n < KEYS; ++n) {
      const vec4 key = key_four((base + min(block + n * LANES + lane, end - 1)) * width, w);
      [[unroll]] for (uint r = 0; r < ROWS; ++r) found[r * KEYS + n] += dot(rows_of_q[r], key);
    }
  }
  [[unroll]] for (uint r = 0; r < ROWS; ++r)
    [[unroll]] for (uint n = 0; n < KEYS; ++n) {
      const uint key = block + n * LANES + lane;
      float x = found[r * KEYS + n] * scale;
      if (CAPS) x = softcap * safe_tanh(vec4(x / softcap)).x;
      if (HAS_BIAS && key < keys) x += bias[bias_at[r] + key * bias_strides[3]];
      found[r * KEYS + n] = sees(r, key) ? x : NOTHING;
    }
}

// Leaves the exponentials of the scores in shared memory, and brings all sums to the new maximum.
void weigh() {
  const uint lane = gl_LocalInvocationID.x;
  barrier();  // the block before has been read
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    float mine = found[r * KEYS];
    [[unroll]] for (uint n = 1; n < KEYS; ++n) mine = max(mine, found[r * KEYS + n]);
    partials[r * LANES + lane] = mine;
  }
  barrier();
  for (uint step = LANES / 2; step > 0; step /= 2) {
    if (lane < step)
      [[unroll]] for (uint r = 0; r < ROWS; ++r)
        partials[r * LANES + lane] =
            max(partials[r * LANES + lane], partials[r * LANES + lane + step]);
    barrier();
  }
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    const float now = max(most[r], partials[r * LANES]);
    const float kept = most[r] == now ? 1.0 : share_of(most[r], now);
    most[r] = now;
    sum[r] *= kept;
    [[unroll]] for (uint f = 0; f < FOURS; ++f) values[r * FOURS + f] *= kept;
    [[unroll]] for (uint n = 0; n < KEYS; ++n) {
      const float p = share_of(found[r * KEYS + n], now);
      sum[r] += p;
      scores[r * BLOCK + n * LANES + lane] = p;
    }
  }
  barrier();
}

void add_values(uint block, uint end, uint base, uint column) {
  const uint count = min(BLOCK, end - block);
  for (uint n = gl_LocalInvocationID.x / ACROSS; n < count; n += SHARES) {
    const uint at = (base + block + n) * columns;
    vec4 fours[FOURS];
    [[unroll]] for (uint f = 0; f < FOURS; ++f) fours[f] = value_four(at, column + 4 * ACROSS * f);
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
      const float p = scores[r * BLOCK + n];
      // What a row does not see may be anything.
      if (ROWS == 1 || sees(r, block + n))
        [[unroll]] for (uint f = 0; f < FOURS; ++f)
          values[r * FOURS + f] = fma(vec4(p), fours[f], values[r * FOURS + f]);
    }
  }
}

void write_four(uint at, uint column, vec4 four) {
  [[unroll]] for (uint i = 0; i < 4; ++i)
    if (column + i < columns) y[at + column + i] = four[i];
}

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint b = gl_WorkGroupID.y / key_heads;
  const uint part = gl_WorkGroupID.z / chunks;
  const uint chunk = gl_WorkGroupID.z % chunks;
  const uint column = 4 * (chunk * FOURS * ACROSS + lane % ACROSS);
  const uint base = gl_WorkGroupID.y * keys;
  find_rows(b, gl_WorkGroupID.y % key_heads, part);
  uint block = first_key[0], end = end_key[0];
  [[unroll]] for (uint r = 1; r < ROWS; ++r) {
    block = min(block, first_key[r]);
    end = max(end, end_key[r]);
  }
  for (; block < end; block += BLOCK) {
    find_scores(block, end, base);
    weigh();
    add_values(block, end, base, column);
  }

  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    const bool is_written = gl_WorkGroupID.x * ROWS + r < rows && lane < ACROSS;
    const float all_of_keys = sum_over_shares(vec4(sum[r]), 1).x;
    const float highest = HAS_SINK && !IN_PARTS ? max(most[r], sink[head_of[r]]) : most[r];
    const float share = share_of(most[r], highest);
    float all = all_of_keys * share;
    if (HAS_SINK && !IN_PARTS) all += share_of(sink[head_of[r]], highest);
    [[unroll]] for (uint f = 0; f < FOURS; ++f) {
      const vec4 four = sum_over_shares(values[r * FOURS + f], ACROSS);
      const uint at = column + 4 * ACROSS * f;
      if (is_written && IN_PARTS) write_four(y_at[r], at, four);
      if (is_written && !IN_PARTS)
        write_four(y_at[r], at, all == 0.0 ? vec4(0.0) : four * share / all);
    }
    if (IN_PARTS && is_written && chunk == 0 && lane == 0) {
      y[y_at[r] + columns] = most[r];
      y[y_at[r] + columns + 1] = all_of_keys;
    }
  }
}
