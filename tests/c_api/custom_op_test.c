/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of the host through the C API, from C99:
 *   custom_op_test row_norm.so model.onnx input_0.pb output_0.pb FOLDER */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern/c/custom_op.h>
#include <quern/c/quern.h>

#define LAST_ERROR quern_last_error
#include "../check.h"

enum { rows = 3, columns = 8, results = 16 };

/* The last `count` floats of a TensorProto: its raw_data stands last. */
static void read_floats(const char* path, float* to, size_t count) {
  FILE* f = fopen(path, "rb");
  REQUIRE(f != NULL);
  REQUIRE(fseek(f, -(long)(count * sizeof(float)), SEEK_END) == 0);
  REQUIRE(fread(to, sizeof(float), count, f) == count);
  fclose(f);
}

/* What RowNorm is not: twice the input. */
static quern_status infer_twice(const quern_op_call* c) {
  return c->api->set_output(c, 0, c->inputs[0].dtype, c->inputs[0].rank, c->inputs[0].dims);
}
static quern_status run_twice(const quern_op_call* c) {
  const float* x = c->inputs[0].data;
  float* y = c->outputs[0].data;
  int64_t i, n = c->inputs[0].dims[0] * c->inputs[0].dims[1];
  ++*(int*)c->context;
  for (i = 0; i < n; ++i) y[i] = 2 * x[i];
  return QUERN_OK;
}
static void count_release(void* context) {
  *(int*)context += 1000;
}

static quern_session* session_of(quern_executable* executable, const float* x) {
  quern_session* session = NULL;
  quern_tensor t = QUERN_TENSOR_INIT;
  t.rank = 2;
  t.dims[0] = rows;
  t.dims[1] = columns;
  t.data = x;
  t.bytes = rows * columns * sizeof(float);
  REQUIRE(quern_session_create(executable, 1, &session) == QUERN_OK);
  REQUIRE(quern_session_set_input(session, 0, &t, QUERN_BORROW) == QUERN_OK);
  REQUIRE(quern_session_run(session) == QUERN_OK);
  return session;
}

static void expect_close(quern_session* session, const float* wanted) {
  quern_tensor y = QUERN_TENSOR_INIT;
  int i;
  REQUIRE(quern_session_output(session, 0, &y) == QUERN_OK);
  REQUIRE(y.rank == 2 && y.dims[0] == rows && y.dims[1] == results);
  for (i = 0; i < rows * results; ++i) CHECK(fabsf(((const float*)y.data)[i] - wanted[i]) < 1e-5f);
}

/* The shared object, an artefact of its model, and both without it. */
static void test_library(char** argv, const float* x, const float* wanted) {
  quern_custom_ops* ops = NULL;
  quern_model* model = NULL;
  quern_executable *compiled = NULL, *loaded = NULL;
  quern_session* session;
  quern_load_options load = QUERN_LOAD_OPTIONS_INIT;
  quern_save_options save = QUERN_SAVE_OPTIONS_INIT;
  const size_t ranks[1] = {2};
  const int64_t dims[2] = {rows, columns};
  char file[4096];
  CHECK(quern_model_load(argv[2], NULL, &model) == QUERN_UNSUPPORTED);
  REQUIRE(quern_custom_ops_create(&ops) == QUERN_OK);
  CHECK(quern_custom_ops_load(ops, "/no/such.so") == QUERN_NOT_FOUND);
  CHECK(quern_custom_ops_load(ops, argv[2]) == QUERN_INVALID_ARGUMENT);
  REQUIRE(quern_custom_ops_load(ops, argv[1]) == QUERN_OK);
  CHECK(quern_custom_ops_load(ops, argv[1]) == QUERN_INVALID_ARGUMENT); /* registered twice */
  load.custom_ops = ops;
  REQUIRE(quern_model_load(argv[2], &load, &model) == QUERN_OK);
  REQUIRE(quern_executable_compile(model, NULL, &compiled) == QUERN_OK);
  snprintf(file, sizeof file, "%s/row_norm.quern", argv[5]);
  save.plan_count = 1;
  save.ranks = ranks;
  save.dims = dims;
  REQUIRE(quern_executable_save(compiled, file, &save) == QUERN_OK);
  CHECK(quern_executable_load(file, NULL, NULL, &loaded) == QUERN_UNSUPPORTED);
  REQUIRE(quern_executable_load(file, &load, NULL, &loaded) == QUERN_OK);
  quern_custom_ops_destroy(ops); /* whatever uses its operators keeps them */
  quern_model_destroy(model);
  session = session_of(compiled, x);
  expect_close(session, wanted);
  quern_session_destroy(session);
  session = session_of(loaded, x);
  expect_close(session, wanted);
  quern_session_destroy(session);
  quern_executable_destroy(compiled);
  quern_executable_destroy(loaded);
}

/* Another operator of the same name, which is functions of this program. */
static void test_functions(char** argv, const float* x) {
  int calls = 0;
  quern_custom_op op = QUERN_CUSTOM_OP_INIT;
  quern_custom_ops* ops = NULL;
  quern_model* model = NULL;
  quern_executable* executable = NULL;
  quern_load_options load = QUERN_LOAD_OPTIONS_INIT;
  op.domain = "org.example";
  op.name = "RowNorm";
  op.context = &calls;
  op.release = count_release;
  op.infer = infer_twice;
  REQUIRE(quern_custom_ops_create(&ops) == QUERN_OK);
  CHECK(quern_custom_ops_add(ops, &op) == QUERN_INVALID_ARGUMENT);
  CHECK(strstr(quern_last_error(), "quern_custom_op.run is NULL") != NULL);
  CHECK(quern_custom_ops_add(ops, NULL) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_custom_ops_add(NULL, &op) == QUERN_INVALID_ARGUMENT);
  op.run = run_twice;
  REQUIRE(quern_custom_ops_add(ops, &op) == QUERN_OK);
  load.custom_ops = ops;
  REQUIRE(quern_model_load(argv[2], &load, &model) == QUERN_OK);
  REQUIRE(quern_executable_compile(model, NULL, &executable) == QUERN_OK);
  quern_session_destroy(session_of(executable, x));
  CHECK(calls == 1);
  quern_model_destroy(model);
  quern_executable_destroy(executable);
  CHECK(calls == 1);
  quern_custom_ops_destroy(ops);
  CHECK(calls == 1001);
}

int main(int argc, char** argv) {
  float x[rows * columns], wanted[rows * results];
  if (argc != 6) return EXIT_FAILURE;
  read_floats(argv[3], x, rows * columns);
  read_floats(argv[4], wanted, rows * results);
  test_library(argv, x, wanted);
  test_functions(argv, x);
  quern_custom_ops_destroy(NULL);
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
