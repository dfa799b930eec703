/* SPDX-License-Identifier: Apache-2.0 */
/* The C API from C99, over a real model: digits_test digits.onnx input_0.pb output_0.pb */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern/c/quern.h>

#define LAST_ERROR quern_last_error
#include "../check.h"

enum { pixels = 28 * 28, digits = 10 };

static quern_tensor images(const float* data, int64_t count) {
  quern_tensor t = QUERN_TENSOR_INIT;
  t.dtype = QUERN_F32;
  t.rank = 4;
  t.dims[0] = count;
  t.dims[1] = 1;
  t.dims[2] = 28;
  t.dims[3] = 28;
  t.data = data;
  t.bytes = (size_t)count * pixels * sizeof(float);
  return t;
}

/* The last `count` floats of a TensorProto: its raw_data stands last. */
static void read_floats(const char* path, float* to, size_t count) {
  FILE* f = fopen(path, "rb");
  REQUIRE(f != NULL);
  REQUIRE(fseek(f, -(long)(count * sizeof(float)), SEEK_END) == 0);
  REQUIRE(fread(to, sizeof(float), count, f) == count);
  fclose(f);
}

static void* read_file(const char* path, size_t* size) {
  FILE* f = fopen(path, "rb");
  void* data;
  long length;
  REQUIRE(f != NULL);
  fseek(f, 0, SEEK_END);
  length = ftell(f);
  rewind(f);
  data = malloc((size_t)length);
  REQUIRE(data != NULL && fread(data, 1, (size_t)length, f) == (size_t)length);
  fclose(f);
  *size = (size_t)length;
  return data;
}

static void test_library(void) {
  quern_devices* devices = NULL;
  quern_device_info info = QUERN_DEVICE_INFO_INIT;
  CHECK(quern_api_version() == QUERN_API_VERSION);
  CHECK(strcmp(quern_version(), "0.1.0") == 0);
  CHECK(strcmp(quern_status_name(QUERN_BUSY), "busy") == 0);
  CHECK(strcmp(quern_status_name(99), "unknown") == 0);
  CHECK(strcmp(quern_dtype_name(QUERN_F8E5M2FNUZ), "f8e5m2fnuz") == 0);
  CHECK(quern_dtype_size(QUERN_I64) == 8 && quern_dtype_size(-1) == 0);
  CHECK(quern_dtype_size(QUERN_STRING) == sizeof(quern_string));
  REQUIRE(quern_devices_list(&devices) == QUERN_OK);
  CHECK(quern_devices_count(devices) >= 1);
  CHECK(quern_devices_info(devices, 0, &info) == QUERN_OK);
  CHECK(strcmp(info.name, "cpu") == 0 && info.is_gpu == 0 && strlen(info.title) > 0);
  CHECK(quern_devices_info(devices, 1000, &info) == QUERN_INVALID_ARGUMENT);
  info.struct_size = 0;
  CHECK(quern_devices_info(devices, 0, &info) == QUERN_INVALID_ARGUMENT);
  CHECK(strstr(quern_last_error(), "struct_size of quern_device_info is not set") != NULL);
  quern_devices_destroy(devices);
  quern_devices_destroy(NULL);
}

static void test_model(const quern_model* model) {
  quern_model_info info = QUERN_MODEL_INFO_INIT;
  quern_value_info value = QUERN_VALUE_INFO_INIT;
  size_t index = 99;
  size_t i;
  CHECK(quern_model_get_info(model, &info) == QUERN_OK);
  CHECK(info.producer_name != NULL && info.ir_version > 0);
  for (i = 0; i < info.property_count; ++i) {
    const char* key = NULL;
    const char* text = NULL;
    CHECK(quern_model_property(model, i, &key, &text) == QUERN_OK);
    CHECK(key != NULL && text != NULL);
  }
  CHECK(quern_model_property(model, info.property_count, NULL, NULL) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_model_input_count(model) == 1 && quern_model_output_count(model) == 1);
  CHECK(quern_model_input_info(model, 0, &value) == QUERN_OK);
  CHECK(value.kind == QUERN_TENSOR && value.dtype == QUERN_F32);
  CHECK(value.has_rank && value.rank == 4);
  CHECK(value.dims[0] == -1 && value.dims[1] == 1 && value.dims[2] == 28 && value.dims[3] == 28);
  CHECK(strlen(value.symbols[0]) > 0 && strlen(value.symbols[1]) == 0);
  CHECK(quern_model_input_index(model, value.name, &index) == QUERN_OK && index == 0);
  CHECK(quern_model_output_index(model, "nothing", &index) == QUERN_NOT_FOUND);
  CHECK(strstr(quern_last_error(), "no output 'nothing'; the model has: '") != NULL);
  CHECK(quern_model_output_info(model, 1, &value) == QUERN_INVALID_ARGUMENT);
}

/* A size that no version of a structure had would end inside a field. */
static void test_foreign_struct_size(const quern_model* model) {
  quern_value_info value = QUERN_VALUE_INFO_INIT;
  value.struct_size = offsetof(quern_value_info, kind);
  value.kind = 77;
  CHECK(quern_model_input_info(model, 0, &value) == QUERN_INVALID_ARGUMENT);
  CHECK(strstr(quern_last_error(), "struct_size of quern_value_info is ") != NULL);
  CHECK(value.kind == 77);
}

/* A caller that was built with an older structure gets what it knows, and no byte more. */
static void test_older_struct(quern_session* session) {
  quern_plan_info plan = QUERN_PLAN_INFO_INIT;
  plan.struct_size = offsetof(quern_plan_info, session_bytes);
  plan.session_bytes = 77;
  CHECK(quern_session_plan_info(session, &plan) == QUERN_OK);
  CHECK(plan.steps > 0 && plan.session_bytes == 77);
  CHECK(plan.struct_size == offsetof(quern_plan_info, session_bytes));
}

static void test_run(quern_session* session, const float* input, const float* expected) {
  quern_tensor in = images(input, 1);
  quern_tensor out = QUERN_TENSOR_INIT;
  quern_plan_info plan = QUERN_PLAN_INFO_INIT;
  float* copy = malloc(2 * pixels * sizeof(float));
  float place[digits];
  size_t length = 0;
  int i;
  REQUIRE(copy != NULL);
  CHECK(quern_session_output(session, 0, &out) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_session_run(session) == QUERN_INVALID_ARGUMENT);
  CHECK(strstr(quern_last_error(), "is not set") != NULL);

  REQUIRE(quern_session_set_input(session, 0, &in, QUERN_BORROW) == QUERN_OK);
  REQUIRE(quern_session_prepare(session) == QUERN_OK);
  REQUIRE(quern_session_run(session) == QUERN_OK);
  REQUIRE(quern_session_output(session, 0, &out) == QUERN_OK);
  CHECK(out.dtype == QUERN_F32 && out.rank == 2 && out.dims[0] == 1 && out.dims[1] == digits);
  CHECK(out.bytes == sizeof place);
  for (i = 0; i < digits; ++i) CHECK(fabsf(((const float*)out.data)[i] - expected[i]) < 1e-5F);
  CHECK(quern_session_output_length(session, 0, &length) == QUERN_OK && length == 1);

  /* Copied: the bytes may go before the run. Twice the picture in one batch. */
  memcpy(copy, input, pixels * sizeof(float));
  memcpy(copy + pixels, input, pixels * sizeof(float));
  in = images(copy, 2);
  REQUIRE(quern_session_set_input(session, 0, &in, QUERN_COPY) == QUERN_OK);
  memset(copy, 0, 2 * pixels * sizeof(float));
  free(copy);
  REQUIRE(quern_session_run(session) == QUERN_OK);
  REQUIRE(quern_session_output(session, 0, &out) == QUERN_OK);
  CHECK(out.dims[0] == 2);
  for (i = 0; i < 2 * digits; ++i)
    CHECK(fabsf(((const float*)out.data)[i] - expected[i % digits]) < 1e-5F);

  /* Into our own memory; too small a place is refused. */
  in = images(input, 1);
  REQUIRE(quern_session_set_input(session, 0, &in, QUERN_BORROW) == QUERN_OK);
  REQUIRE(quern_session_bind_output(session, 0, place, sizeof place) == QUERN_OK);
  REQUIRE(quern_session_run(session) == QUERN_OK);
  for (i = 0; i < digits; ++i) CHECK(fabsf(place[i] - expected[i]) < 1e-5F);
  CHECK(quern_session_bind_output(session, 0, place, 8) == QUERN_OK);
  CHECK(quern_session_run(session) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_session_bind_output(session, 0, NULL, 0) == QUERN_OK);
  REQUIRE(quern_session_run(session) == QUERN_OK);

  CHECK(quern_session_plan_info(session, &plan) == QUERN_OK);
  CHECK(plan.segments == 1 && plan.steps > 0 && plan.weight_bytes > 0);
  CHECK(plan.arena_bytes >= plan.arena_lower_bound && plan.arena_lower_bound > 0);
  CHECK(plan.unshared_bytes >= plan.arena_bytes && plan.resident_bytes >= plan.arena_bytes);
  CHECK(plan.is_complete && plan.session_bytes >= plan.resident_bytes);
  CHECK((double)plan.resident_bytes >= 0.9 * (double)plan.session_bytes);
  test_older_struct(session);
  CHECK(quern_session_trim(session) == QUERN_OK);
  CHECK(quern_session_plan_info(session, &plan) == QUERN_OK && plan.resident_bytes == 0);
  CHECK(quern_session_output(session, 0, &out) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_session_run(session) == QUERN_OK);
}

static void test_wrong_inputs(quern_session* session, const float* input) {
  quern_tensor in = images(input, 1);
  in.dims[3] = 27;
  CHECK(quern_session_set_input(session, 0, &in, QUERN_BORROW) == QUERN_INVALID_ARGUMENT);
  CHECK(strstr(quern_last_error(), "takes 3024 bytes, not 3136") != NULL);
  in.bytes = 3024;
  CHECK(quern_session_set_input(session, 0, &in, QUERN_COPY) == QUERN_INVALID_ARGUMENT);
  CHECK(strstr(quern_last_error(), "f32[1,1,28,27], the model wants f32[") != NULL);
  in = images(input, 1);
  in.dtype = QUERN_I32;
  CHECK(quern_session_set_input(session, 0, &in, QUERN_BORROW) == QUERN_INVALID_ARGUMENT);
  in.dtype = 1234;
  CHECK(quern_session_set_input(session, 0, &in, QUERN_BORROW) == QUERN_INVALID_ARGUMENT);
  in = images(input, 1);
  in.rank = 9;
  CHECK(quern_session_set_input(session, 0, &in, QUERN_BORROW) == QUERN_INVALID_ARGUMENT);
  in = images(input, -1);
  CHECK(quern_session_set_input(session, 0, &in, QUERN_BORROW) == QUERN_INVALID_ARGUMENT);
  in = images(input, INT64_MAX / 4);
  CHECK(quern_session_set_input(session, 0, &in, QUERN_BORROW) == QUERN_INVALID_ARGUMENT);
  in = images(NULL, 1);
  CHECK(quern_session_set_input(session, 0, &in, QUERN_COPY) == QUERN_INVALID_ARGUMENT);
  in = images(input, 1);
  CHECK(quern_session_set_input(session, 7, &in, QUERN_COPY) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_session_set_input(session, 0, &in, 5) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_session_set_input(session, 0, NULL, QUERN_COPY) == QUERN_INVALID_ARGUMENT);
  CHECK(strcmp(quern_last_error(), "tensor is null") == 0);
  CHECK(quern_session_set_input_none(session, 0) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_session_set_input_sequence(session, 0, &in, 1) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_session_bind_output(session, 3, NULL, 0) == QUERN_INVALID_ARGUMENT);
  /* A refused input leaves the last one in force. */
  CHECK(quern_session_run(session) == QUERN_OK);
}

static void test_requests_and_profile(quern_session* session) {
  const size_t first = 0;
  const size_t wrong = 1;
  quern_profile_entry entry = QUERN_PROFILE_ENTRY_INIT;
  size_t i;
  CHECK(quern_session_request_outputs(session, &wrong, 1) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_session_request_outputs(session, &first, 1) == QUERN_OK);
  CHECK(quern_session_request_outputs(session, NULL, 0) == QUERN_OK);
  CHECK(quern_session_profile_count(session) == 0);
  CHECK(quern_session_enable_profile(session, 1) == QUERN_OK);
  REQUIRE(quern_session_run(session) == QUERN_OK);
  CHECK(quern_session_profile_count(session) > 0);
  for (i = 0; i < quern_session_profile_count(session); ++i) {
    CHECK(quern_session_profile_entry(session, i, &entry) == QUERN_OK);
    CHECK(strlen(entry.op) > 0 && entry.node != NULL && strlen(entry.implementation) > 0);
    CHECK(entry.begin_us >= 0 && entry.end_us >= entry.begin_us);
  }
  CHECK(quern_session_profile_entry(session, i, &entry) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_session_enable_profile(session, 0) == QUERN_OK);
  REQUIRE(quern_session_run(session) == QUERN_OK);
  CHECK(quern_session_profile_count(session) == 0);
}

/* A run that is not waited for, between tensors of the device. */
static void test_device(const quern_model* model, const char* name, const float* input,
                        const float* expected) {
  quern_compile_options options = QUERN_COMPILE_OPTIONS_INIT;
  quern_device_info info = QUERN_DEVICE_INFO_INIT;
  quern_device_counters before = QUERN_DEVICE_COUNTERS_INIT;
  quern_device_counters after = QUERN_DEVICE_COUNTERS_INIT;
  quern_device* device = NULL;
  quern_executable* executable = NULL;
  quern_session* session = NULL;
  quern_device_tensor* from = NULL;
  quern_device_tensor* to = NULL;
  const char* key = NULL;
  const char* value = NULL;
  quern_tensor in = images(input, 1);
  quern_tensor type = QUERN_TENSOR_INIT;
  quern_tensor out = QUERN_TENSOR_INIT;
  int i;
  if (quern_device_open(name, &device) != QUERN_OK) {
    printf("not on %s: %s\n", name, quern_last_error());
    return;
  }
  options.opened = device;
  CHECK(quern_device_get_info(device, &info) == QUERN_OK && strlen(info.title) > 0);
  CHECK(quern_device_property_count(device) > 0 && quern_device_property_count(NULL) == 0);
  CHECK(quern_device_property(device, 0, &key, &value) == QUERN_OK && strlen(key) > 0 && value);
  CHECK(quern_device_property(device, quern_device_property_count(device), NULL, NULL) ==
        QUERN_INVALID_ARGUMENT);
  REQUIRE(quern_executable_compile(model, &options, &executable) == QUERN_OK);
  REQUIRE(quern_session_create(executable, 0, &session) == QUERN_OK);
  CHECK(quern_session_warning(session, &value) == QUERN_OK && strcmp(value, "") == 0); /* small */
  REQUIRE(quern_device_tensor_create(device, &in, &from) == QUERN_OK);
  out.rank = 2;
  out.dims[0] = 1;
  out.dims[1] = digits;
  CHECK(quern_device_tensor_create(device, &out, &to) == QUERN_INVALID_ARGUMENT); /* 0 bytes */
  out.bytes = digits * sizeof(float);
  REQUIRE(quern_device_tensor_create(device, &out, &to) == QUERN_OK);
  REQUIRE(quern_device_tensor_write(from, &in) == QUERN_OK);
  REQUIRE(quern_session_set_input_device(session, 0, from) == QUERN_OK);
  REQUIRE(quern_session_bind_output_device(session, 0, to) == QUERN_OK);
  CHECK(quern_session_wait(session) == QUERN_INVALID_ARGUMENT); /* nothing was submitted */
  REQUIRE(quern_session_run(session) == QUERN_OK);

  CHECK(quern_device_get_counters(device, &before) == QUERN_OK);
  REQUIRE(quern_session_submit(session) == QUERN_OK);
  CHECK(quern_session_run(session) == QUERN_BUSY);
  CHECK(quern_session_output_type(session, 0, &type) == QUERN_OK);
  CHECK(type.dtype == QUERN_F32 && type.rank == 2);
  CHECK(type.dims[0] == 1 && type.dims[1] == digits && type.data == NULL);
  while (quern_session_wait_within(session, 1000) == QUERN_BUSY) {
  }
  CHECK(quern_device_get_counters(device, &after) == QUERN_OK);
  CHECK(after.bytes_up == before.bytes_up && after.bytes_down == before.bytes_down);
  CHECK(after.submissions == before.submissions + (info.is_gpu ? 1 : 0));
  CHECK(quern_device_is_lost(device) == 0);
  quern_device_destroy(device); /* the others keep it */
  REQUIRE(quern_device_tensor_read(to, &out) == QUERN_OK);
  for (i = 0; i < digits; ++i) CHECK(fabsf(((const float*)out.data)[i] - expected[i]) < 1e-5F);
  CHECK(quern_session_bind_output_device(session, 0, NULL) == QUERN_OK);
  CHECK(quern_session_set_input_device(session, 0, NULL) == QUERN_INVALID_ARGUMENT);
  quern_session_destroy(session);
  quern_executable_destroy(executable);
  quern_device_tensor_destroy(from);
  quern_device_tensor_destroy(to);
  quern_device_tensor_destroy(NULL);
  quern_device_destroy(NULL);
}

static void* cancel(void* session) {
  quern_session_cancel(session);
  return NULL;
}

static void test_stopping(quern_session* session) {
  pthread_t thread;
  CHECK(quern_session_run_within(session, 0) == QUERN_TIMED_OUT);
  CHECK(strcmp(quern_last_error(), "the deadline has passed") == 0);
  CHECK(quern_session_run_within(session, 60000000) == QUERN_OK);
  CHECK(quern_session_run_within(session, UINT64_MAX) == QUERN_OK);
  REQUIRE(pthread_create(&thread, NULL, cancel, session) == 0);
  while (quern_session_run(session) == QUERN_OK) {
  }
  CHECK(strcmp(quern_last_error(), "cancelled") == 0);
  CHECK(quern_session_run(session) == QUERN_BUSY);
  pthread_join(thread, NULL);
  quern_session_clear_cancel(session);
  CHECK(quern_session_run(session) == QUERN_OK);
  quern_session_cancel(NULL);
}

static void test_loading(const char* path) {
  quern_model* model = NULL;
  quern_load_options options = QUERN_LOAD_OPTIONS_INIT;
  quern_executable* executable = NULL;
  quern_compile_options compile = QUERN_COMPILE_OPTIONS_INIT;
  size_t bytes = 0;
  void* data = read_file(path, &bytes);
  CHECK(quern_model_load("no-such-file.onnx", NULL, &model) == QUERN_NOT_FOUND);
  CHECK(strstr(quern_last_error(), "no-such-file.onnx") != NULL && model == NULL);
  CHECK(quern_model_load(NULL, NULL, &model) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_model_load(path, NULL, NULL) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_model_load_bytes(data, bytes / 2, NULL, &model) == QUERN_INVALID_MODEL);

  /* Copied bytes may go; borrowed ones stay ours. */
  REQUIRE(quern_model_load_bytes(data, bytes, NULL, &model) == QUERN_OK);
  free(data);
  CHECK(quern_executable_compile(model, NULL, &executable) == QUERN_OK);
  quern_executable_destroy(executable);
  quern_model_destroy(model);
  data = read_file(path, &bytes);
  options.borrow = 1;
  REQUIRE(quern_model_load_bytes(data, bytes, &options, &model) == QUERN_OK);

  compile.device = "abacus";
  CHECK(quern_executable_compile(model, &compile, &executable) == QUERN_NOT_FOUND);
  compile.device = "cpu";
  compile.strategy = "wishful";
  CHECK(quern_executable_compile(model, &compile, &executable) == QUERN_NOT_FOUND);
  compile.strategy = "greedy-by-size";
  compile.pool = "swimming";
  CHECK(quern_executable_compile(model, &compile, &executable) == QUERN_NOT_FOUND);
  CHECK(strstr(quern_last_error(), "best-fit-arena") != NULL);
  compile.pool = "tlsf";
  compile.threads = 1;
  compile.no_rewrites = 1;
  compile.max_plans = 2;
  REQUIRE(quern_executable_compile(model, &compile, &executable) == QUERN_OK);
  quern_executable_destroy(executable);
  quern_model_destroy(model);
  quern_model_destroy(NULL);
  free(data);
}

/* What is asked beyond a limit is refused with a sentence that has the numbers. */
static void test_memory_limit(const quern_model* model, const float* input) {
  quern_compile_options compile = QUERN_COMPILE_OPTIONS_INIT;
  quern_executable* executable = NULL;
  quern_session* session = NULL;
  quern_tensor in = images(input, 1);
  compile.memory_limit = 1000;
  REQUIRE(quern_executable_compile(model, &compile, &executable) == QUERN_OK);
  REQUIRE(quern_session_create(executable, 0, &session) == QUERN_OK);
  REQUIRE(quern_session_set_input(session, 0, &in, QUERN_BORROW) == QUERN_OK);
  CHECK(quern_session_run(session) == QUERN_OUT_OF_MEMORY);
  CHECK(strstr(quern_last_error(), "limit is 1000") != NULL);
  quern_session_destroy(session);
  quern_executable_destroy(executable);
}

static void check_digit(quern_session* session, const float* expected) {
  quern_tensor out = QUERN_TENSOR_INIT;
  int i;
  REQUIRE(quern_session_output(session, 0, &out) == QUERN_OK);
  CHECK(out.rank == 2 && out.bytes == digits * sizeof(float));
  for (i = 0; i < digits; ++i) CHECK(fabsf(((const float*)out.data)[i] - expected[i]) < 1e-5F);
}

/* What a group cannot be is refused in words. */
static void test_group_refusals(const quern_executable* executable, const quern_tensor* type) {
  quern_group_options options = QUERN_GROUP_OPTIONS_INIT;
  quern_tensor wrong = *type;
  quern_group* group = NULL;
  CHECK(quern_group_create(NULL, 2, NULL, &group) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_group_create(executable, 2, NULL, NULL) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_group_create(executable, 2, NULL, &group) == QUERN_INVALID_ARGUMENT);
  CHECK(strstr(quern_last_error(), "has no declared shape") != NULL);
  options.inputs = type;
  options.input_count = 2;
  options.struct_size = 8;
  CHECK(quern_group_create(executable, 2, &options, &group) == QUERN_INVALID_ARGUMENT);
  CHECK(strstr(quern_last_error(), "struct_size of quern_group_options is 8") != NULL);
  options.struct_size = sizeof options;
  options.input_count = 1;
  CHECK(quern_group_create(executable, 0, &options, &group) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_group_create(executable, QUERN_MAX_GROUP + 1, &options, &group) ==
        QUERN_INVALID_ARGUMENT);
  CHECK(strstr(quern_last_error(), "a group of 17 runs; 1 to 16 are possible") != NULL);
  options.threads = -1;
  CHECK(quern_group_create(executable, 2, &options, &group) == QUERN_INVALID_ARGUMENT);
  options.threads = 0;
  wrong.dims[3] = 27;
  wrong.bytes = 3024;
  options.inputs = &wrong;
  CHECK(quern_group_create(executable, 2, &options, &group) == QUERN_INVALID_ARGUMENT);
  CHECK(strstr(quern_last_error(), "cannot be f32[1,1,28,27]") != NULL);
  options.inputs = NULL;
  CHECK(quern_group_create(executable, 2, &options, &group) == QUERN_INVALID_ARGUMENT);
  CHECK(strcmp(quern_last_error(), "inputs is null") == 0);
  CHECK(group == NULL && quern_group_size(group) == 0);
}

/* Two runs in one arena, at the same time. */
static void test_group(const quern_executable* executable, const quern_thread_pool* pool,
                       const float* input, const float* expected) {
  quern_group_options options = QUERN_GROUP_OPTIONS_INIT;
  quern_group_counters counters = QUERN_GROUP_COUNTERS_INIT;
  quern_tensor in = images(input, 1);
  quern_group* group = NULL;
  quern_session* sessions[2] = {NULL, NULL};
  size_t i;
  test_group_refusals(executable, &in);
  options.threads = 2;
  options.thread_pool = pool;
  options.inputs = &in;
  options.input_count = 1;
  REQUIRE(quern_group_create(executable, 2, &options, &group) == QUERN_OK);
  REQUIRE(quern_group_size(group) == 2);
  CHECK(quern_group_session(group, 2, &sessions[0]) == QUERN_INVALID_ARGUMENT);
  CHECK(strcmp(quern_last_error(), "session 2: the group has 2") == 0);
  for (i = 0; i < 2; ++i) REQUIRE(quern_group_session(group, i, &sessions[i]) == QUERN_OK);
  CHECK(quern_group_run(group) == QUERN_INVALID_ARGUMENT);
  CHECK(quern_session_set_input(sessions[0], 0, &in, QUERN_BORROW) == QUERN_OK);
  CHECK(quern_session_set_input(sessions[1], 0, &in, QUERN_COPY) == QUERN_OK);
  for (i = 0; i < 20; ++i) {
    REQUIRE(quern_group_run(group) == QUERN_OK);
    check_digit(sessions[0], expected);
    check_digit(sessions[1], expected);
  }
  CHECK(quern_group_get_counters(group, &counters) == QUERN_OK);
  CHECK(counters.runs == 40 && counters.most_at_once >= 1 && counters.most_at_once <= 2);
  CHECK(counters.arena_bytes > 0 && counters.resident_bytes >= counters.arena_bytes);
  CHECK((counters.waits > 0) == (counters.wait_ns > 0));
  counters.struct_size = 8;
  CHECK(quern_group_get_counters(group, &counters) == QUERN_INVALID_ARGUMENT);

  /* One that is cancelled keeps the other from nothing. */
  quern_session_cancel(sessions[0]);
  CHECK(quern_group_run(group) == QUERN_BUSY);
  check_digit(sessions[1], expected);
  quern_session_clear_cancel(sessions[0]);
  quern_session_destroy(sessions[0]); /* nothing: the group's */
  REQUIRE(quern_session_submit(sessions[0]) == QUERN_OK);
  REQUIRE(quern_session_run(sessions[1]) == QUERN_OK);
  quern_group_destroy(group); /* waits for the other */
  quern_group_destroy(NULL);
}

static void test_groups(const quern_executable* executable, const float* input,
                        const float* expected) {
  quern_thread_pool_options options = QUERN_THREAD_POOL_OPTIONS_INIT;
  quern_thread_pool* pool = NULL;
  options.threads = 2;
  REQUIRE(quern_thread_pool_create(&options, &pool) == QUERN_OK);
  test_group(executable, NULL, input, expected);
  test_group(executable, pool, input, expected);
  quern_thread_pool_destroy(pool);
}

int main(int argc, char** argv) {
  quern_model* model = NULL;
  quern_executable* executable = NULL;
  quern_session* session = NULL;
  quern_value_info value = QUERN_VALUE_INFO_INIT;
  size_t index = 0;
  float input[pixels];
  float expected[digits];
  REQUIRE(argc == 4);
  read_floats(argv[2], input, pixels);
  read_floats(argv[3], expected, digits);

  test_library();
  test_loading(argv[1]);
  REQUIRE(quern_model_load(argv[1], NULL, &model) == QUERN_OK);
  test_model(model);
  test_foreign_struct_size(model);
  test_memory_limit(model, input);
  REQUIRE(quern_executable_compile(model, NULL, &executable) == QUERN_OK);
  test_device(model, "cpu", input, expected);
  test_device(model, "vulkan", input, expected);
  test_device(model, "automatic", input, expected);
  quern_model_destroy(model);
  CHECK(quern_executable_input_count(executable) == 1);
  CHECK(quern_executable_output_info(executable, 0, &value) == QUERN_OK && value.rank == 2);
  CHECK(quern_executable_output_index(executable, value.name, &index) == QUERN_OK);
  test_groups(executable, input, expected);
  CHECK(quern_session_create(NULL, 0, &session) == QUERN_INVALID_ARGUMENT);
  REQUIRE(quern_session_create(executable, 1, &session) == QUERN_OK);
  quern_executable_destroy(executable); /* the session keeps what it needs */

  test_run(session, input, expected);
  test_wrong_inputs(session, input);
  test_requests_and_profile(session);
  test_stopping(session);
  quern_session_destroy(session);
  quern_session_destroy(NULL);
  if (!failures) printf("ok\n");
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
