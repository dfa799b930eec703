/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax over the last axis, to be held beside the engine's by `quern kernel --ops`.
 * docs/kernel-lab.md walks through it. -DPLAIN builds it with the C library's expf. */
#include <math.h>
#include <string.h>

#include <quern/c/custom_op.h>

enum { lanes = 16 };

static quern_status infer(const quern_op_call* c) {
  const quern_op_input* x = &c->inputs[0];
  if (x->dtype != QUERN_F32 || x->rank == 0)
    return c->api->fail(c, QUERN_UNSUPPORTED, "input 0 must be f32 with at least one axis");
  const int64_t axis = c->api->get_int(c, "axis", -1);
  if (axis != -1 && axis != x->rank - 1)
    return c->api->fail(c, QUERN_UNSUPPORTED, "only the last axis");
  return c->api->set_output(c, 0, x->dtype, x->rank, x->dims);
}

static int64_t rows_of(const quern_op_input* x) {
  int64_t rows = 1;
  for (int32_t i = 0; i + 1 < x->rank; ++i) rows *= x->dims[i];
  return rows;
}

#ifdef PLAIN
static float exp_of(float x) {
  return expf(x);
}
#else
/* e^x for x <= 0: 2^n e^r with |r| <= ln(2) / 2, e^r by its series up to r^6. Adding 1.5 * 2^23
 * rounds to an integer and leaves it in the low bits, from where it goes into the exponent. */
static inline float exp_of(float x) {
  const float magic = 12582912.0f;
  x = x < -87.0f ? -87.0f : x;
  const float shifted = x * 1.44269504f + magic;
  const float n = shifted - magic;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  const float series =
      1 + r * (1 + r * (0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r / 720)))));
  int32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (int32_t)((uint32_t)bits << 23) + (127 << 23);
  float power;
  memcpy(&power, &bits, sizeof power);
  return power * series;
}
#endif

static void softmax_row(const float* x, float* y, int64_t n) {
  float largest[lanes], sums[lanes] = {0};
  for (int k = 0; k < lanes; ++k) largest[k] = x[0];
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int k = 0; k < lanes; ++k) largest[k] = x[i + k] > largest[k] ? x[i + k] : largest[k];
  for (; i < n; ++i) largest[0] = x[i] > largest[0] ? x[i] : largest[0];
  float most = largest[0];
  for (int k = 1; k < lanes; ++k) most = largest[k] > most ? largest[k] : most;
  for (i = 0; i + lanes <= n; i += lanes)
    for (int k = 0; k < lanes; ++k) sums[k] += y[i + k] = exp_of(x[i + k] - most);
  for (; i < n; ++i) sums[0] += y[i] = exp_of(x[i] - most);
  float sum = 0;
  for (int k = 0; k < lanes; ++k) sum += sums[k];
  const float scale = 1 / sum;
  for (i = 0; i < n; ++i) y[i] *= scale;
}

static void softmax_rows(void* data, int64_t begin, int64_t end) {
  const quern_op_call* c = data;
  const int64_t n = c->inputs[0].dims[c->inputs[0].rank - 1];
  for (int64_t row = begin; row < end; ++row)
    softmax_row((const float*)c->inputs[0].data + row * n, (float*)c->outputs[0].data + row * n, n);
}

static quern_status run(const quern_op_call* c) {
  const int64_t rows = rows_of(&c->inputs[0]);
  if (c->inputs[0].dims[c->inputs[0].rank - 1] == 0) return QUERN_OK;
  c->api->parallel_for(c, rows, 1, softmax_rows, (void*)c);
  return QUERN_OK;
}

quern_status quern_register_ops(const quern_ops_host* host) {
  static const char* const attributes[] = {"axis", NULL};
  quern_custom_op op = QUERN_CUSTOM_OP_INIT;
  op.domain = "org.example", op.name = "Softmax", op.attributes = attributes;
  op.flags = QUERN_OP_DETERMINISTIC | QUERN_OP_IN_PLACE;
  op.infer = infer, op.run = run;
  return host->add(host, &op);
}
