/* SPDX-License-Identifier: Apache-2.0 */
/* An operator of one's own: org.example.RowNorm, y = x / sqrt(mean(x * x) + epsilon) of each row.
 * docs/custom-operators.md says how it is built and run. */
#include <math.h>

#include <quern/c/custom_op.h>

static quern_status infer(const quern_op_call* c) {
  const quern_op_input* x = &c->inputs[0];
  if (x->dtype != QUERN_F32 || x->rank == 0)
    return c->api->fail(c, QUERN_UNSUPPORTED, "input 0 must be f32 with at least one axis");
  return c->api->set_output(c, 0, x->dtype, x->rank, x->dims);
}

static int64_t rows_of(const quern_op_input* x) {
  int64_t rows = 1;
  for (int32_t i = 0; i + 1 < x->rank; ++i) rows *= x->dims[i];
  return rows;
}

static void norm_rows(void* data, int64_t begin, int64_t end) { /* four sums at a time */
  const quern_op_call* c = data;
  const int64_t n = c->inputs[0].dims[c->inputs[0].rank - 1];
  const float epsilon = c->api->get_float(c, "epsilon", 1e-5f);
  for (int64_t row = begin; row < end; ++row) {
    const float* x = (const float*)c->inputs[0].data + row * n;
    float* y = (float*)c->outputs[0].data + row * n;
    float s[4] = {0, 0, 0, 0};
    for (int64_t i = 0; i < n; ++i) s[i % 4] += x[i] * x[i];
    const float scale = 1 / sqrtf((s[0] + s[1] + s[2] + s[3]) / (float)n + epsilon);
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale;
  }
}

static quern_status run(const quern_op_call* c) {
  c->api->parallel_for(c, rows_of(&c->inputs[0]), 16, norm_rows, (void*)c);
  return QUERN_OK;
}

static quern_status reference(const quern_op_call* c) { /* as the formula says, in double */
  const int64_t rows = rows_of(&c->inputs[0]), n = c->inputs[0].dims[c->inputs[0].rank - 1];
  const double epsilon = c->api->get_float(c, "epsilon", 1e-5f);
  for (int64_t row = 0; row < rows; ++row) {
    const float* x = (const float*)c->inputs[0].data + row * n;
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += (double)x[i] * x[i];
    for (int64_t i = 0; i < n; ++i)
      ((float*)c->outputs[0].data)[row * n + i] = (float)(x[i] / sqrt(sum / (double)n + epsilon));
  }
  return QUERN_OK;
}

quern_status quern_register_ops(const quern_ops_host* host) {
  static const char* const attributes[] = {"epsilon", NULL};
  quern_custom_op op = QUERN_CUSTOM_OP_INIT;
  op.domain = "org.example", op.name = "RowNorm", op.attributes = attributes;
  op.flags = QUERN_OP_DETERMINISTIC | QUERN_OP_IN_PLACE;
  op.infer = infer, op.run = run, op.reference = reference;
  return host->add(host, &op);
}
