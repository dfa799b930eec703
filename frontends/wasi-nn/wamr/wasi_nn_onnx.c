/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libwasi_nn_onnx.so: what an iwasm with wasi-nn (WAMR 2.4) opens for ONNX models, by these eight
 * functions and one more. Models under names come from the environment, since iwasm has no option
 * for them:
 *
 *   QUERN_NN_MODELS=digits=/models/digits.onnx,other=/models/other.onnx \
 *   LD_LIBRARY_PATH=/usr/lib/quern/wamr iwasm guest.wasm
 *
 * or, with limits and options too, from a file of JSON that QUERN_NN_CONFIG names (docs/wasi-nn.md
 * lists its keys); where that file is wrong or not there, no model can be loaded.
 *
 * A name is never a path. QUERN_NN_LOG=1 writes errors to the standard error. One instance of a
 * module is one instance here, with a tenant of its own: hosts that share models between instances
 * bind quern/c/wasi_nn_wamr.h instead.
 */
#define _POSIX_C_SOURCE 200809L /* strtok_r() */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern/c/wasi_nn.h>

/* ---- WAMR's types, as in its wasi_nn_types.h with WAMR_BUILD_WASI_EPHEMERAL_NN ---- */

typedef int32_t wasi_nn_error; /* the numbers of witx */

typedef struct {
  void* buf;
  uint32_t size; /* bytes */
} buffer;

typedef struct {
  const uint32_t* buf;
  uint32_t size; /* count */
} dimensions;

typedef struct {
  const dimensions* dims;
  uint8_t type;
  uint8_t padding[3];
  buffer data;
} tensor;

typedef struct {
  const buffer* buf;
  uint32_t size; /* count */
} builders;

/* ---- the backend ---- */

typedef struct backend {
  quern_nn_tenant* tenant;
  quern_nn_instance* instance;
} backend;

static void write_log(void* user, const char* text) {
  (void)user;
  fprintf(stderr, "quern: %s\n", text);
}

/* NAME=FILE,NAME=FILE. What cannot be added is left out: the guest gets not_found. */
static void add_models(quern_nn_tenant* tenant, const char* list) {
  char* copy = list ? strdup(list) : NULL;
  char* rest = NULL;
  for (char* word = copy ? strtok_r(copy, ",", &rest) : NULL; word;
       word = strtok_r(NULL, ",", &rest)) {
    char* file = strchr(word, '=');
    if (!file) continue;
    *file++ = 0;
    if (quern_nn_tenant_add_file(tenant, word, file, QUERN_NN_CPU) != QUERN_NN_SUCCESS)
      write_log(NULL, quern_nn_last_error());
  }
  free(copy);
}

static wasi_nn_error answer(quern_nn_errno code) {
  return code == QUERN_NN_TIMED_OUT ? QUERN_NN_RUNTIME_ERROR : code;
}

QUERN_EXPORT wasi_nn_error deinit_backend(void* context) {
  backend* b = context;
  if (!b) return QUERN_NN_INVALID_ARGUMENT;
  quern_nn_instance_destroy(b->instance);
  quern_nn_tenant_destroy(b->tenant);
  free(b);
  return QUERN_NN_SUCCESS;
}

QUERN_EXPORT wasi_nn_error init_backend(void** context) {
  quern_nn_tenant_options options = QUERN_NN_TENANT_OPTIONS_INIT;
  backend* b = context ? calloc(1, sizeof *b) : NULL;
  if (!b) return QUERN_NN_RUNTIME_ERROR;
  if (getenv("QUERN_NN_LOG")) options.log = write_log;
  const char* config = getenv("QUERN_NN_CONFIG");
  quern_nn_errno error = config ? quern_nn_tenant_create_from_file(config, &options, &b->tenant)
                                : quern_nn_tenant_create(&options, &b->tenant);
  if (!error) error = quern_nn_instance_create(b->tenant, NULL, &b->instance);
  if (error) {
    write_log(NULL, quern_nn_last_error());
    deinit_backend(b);
    return answer(error);
  }
  add_models(b->tenant, getenv("QUERN_NN_MODELS"));
  *context = b;
  return QUERN_NN_SUCCESS;
}

static quern_nn_instance* instance_of(void* context) {
  return context ? ((backend*)context)->instance : NULL;
}

QUERN_EXPORT wasi_nn_error load(void* context, const builders* given, uint32_t encoding,
                                uint32_t target, uint32_t* graph) {
  enum { MOST = 64 };
  quern_nn_part parts[MOST];
  if (!given || given->size > MOST) return QUERN_NN_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < given->size; i++) {
    parts[i].data = given->buf[i].buf;
    parts[i].bytes = given->buf[i].size;
  }
  return answer(quern_nn_load(instance_of(context), parts, given->size, encoding, target, graph));
}

QUERN_EXPORT wasi_nn_error load_by_name(void* context, const char* name, uint32_t bytes,
                                        uint32_t* graph) {
  return answer(quern_nn_load_by_name(instance_of(context), name, bytes, graph));
}

QUERN_EXPORT wasi_nn_error load_by_name_with_config(void* context, const char* name, uint32_t bytes,
                                                    const char* config, uint32_t config_bytes,
                                                    uint32_t* graph) {
  return answer(quern_nn_load_by_name_with_config(instance_of(context), name, bytes, config,
                                                  config_bytes, graph));
}

QUERN_EXPORT wasi_nn_error init_execution_context(void* context, uint32_t graph,
                                                  uint32_t* execution) {
  return answer(quern_nn_init_execution_context(instance_of(context), graph, NULL, execution));
}

/* WAMR checks that the pointers lie in the guest's memory, but no rank and no sizes. */
QUERN_EXPORT wasi_nn_error set_input(void* context, uint32_t execution, uint32_t index,
                                     const tensor* given) {
  static const quern_dtype types[] = {QUERN_F16, QUERN_F32, QUERN_F64,
                                      QUERN_U8,  QUERN_I32, QUERN_I64};
  quern_tensor input = QUERN_TENSOR_INIT;
  if (!given || !given->dims || given->type >= sizeof types / sizeof *types ||
      given->dims->size > QUERN_MAX_RANK)
    return QUERN_NN_INVALID_ARGUMENT;
  input.dtype = types[given->type];
  input.rank = given->dims->size;
  for (uint32_t i = 0; i < input.rank; i++) input.dims[i] = given->dims->buf[i];
  input.data = given->data.buf;
  input.bytes = given->data.size;
  return answer(quern_nn_set_input(instance_of(context), execution, index, &input));
}

QUERN_EXPORT wasi_nn_error compute(void* context, uint32_t execution) {
  return answer(quern_nn_compute(instance_of(context), execution));
}

QUERN_EXPORT wasi_nn_error get_output(void* context, uint32_t execution, uint32_t index,
                                      const buffer* output, uint32_t* bytes) {
  size_t written = 0;
  if (!output || !bytes) return QUERN_NN_INVALID_ARGUMENT;
  const quern_nn_errno error = quern_nn_get_output(instance_of(context), execution, index,
                                                   output->buf, output->size, &written);
  if (error == QUERN_NN_SUCCESS || (error == QUERN_NN_TOO_LARGE && written <= UINT32_MAX))
    *bytes = (uint32_t)written;
  return answer(error);
}
