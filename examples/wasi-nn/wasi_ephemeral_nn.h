/* SPDX-License-Identifier: Apache-2.0 */
/* What a guest imports from wasi-nn (witx), with the additions that most hosts have. Pointers are
 * 32 bits; every function returns an nn_errno and writes its out-parameters on success only. */
#ifndef WASI_EPHEMERAL_NN_H
#define WASI_EPHEMERAL_NN_H

#include <stdint.h>

#define NN_IMPORT(name) __attribute__((import_module("wasi_ephemeral_nn"), import_name(name)))

typedef uint32_t nn_errno;
enum {
  NN_SUCCESS,
  NN_INVALID_ARGUMENT,
  NN_INVALID_ENCODING,
  NN_MISSING_MEMORY,
  NN_BUSY,
  NN_RUNTIME_ERROR,
  NN_UNSUPPORTED_OPERATION,
  NN_TOO_LARGE,
  NN_NOT_FOUND,
  NN_END_OF_SEQUENCE = 100, /* of prompts */
  NN_CONTEXT_FULL,
  NN_PROMPT_TOO_LONG,
  NN_MODEL_NOT_FOUND
};
enum { NN_ENCODING_ONNX = 1 };
enum { NN_TARGET_CPU = 0, NN_TARGET_GPU = 1 };
enum { NN_F16, NN_F32, NN_F64, NN_U8, NN_I32, NN_I64 };

typedef struct {
  const void* data;
  uint32_t bytes;
} nn_part;

typedef struct {
  const uint32_t* dims;
  uint32_t rank;
  uint8_t type;
  const void* data;
  uint32_t bytes;
} nn_tensor;

typedef uint32_t nn_graph;
typedef uint32_t nn_context;

NN_IMPORT("load")
nn_errno nn_load(const nn_part* parts, uint32_t count, uint32_t encoding, uint32_t target,
                 nn_graph* graph);
NN_IMPORT("load_by_name")
nn_errno nn_load_by_name(const char* name, uint32_t bytes, nn_graph* graph);
/* With options of a language model as JSON. */
NN_IMPORT("load_by_name_with_config")
nn_errno nn_load_by_name_with_config(const char* name, uint32_t bytes, const char* config,
                                     uint32_t config_bytes, nn_graph* graph);
NN_IMPORT("unload") nn_errno nn_unload(nn_graph graph);

NN_IMPORT("init_execution_context") nn_errno nn_init(nn_graph graph, nn_context* context);
NN_IMPORT("set_input")
nn_errno nn_set_input(nn_context context, uint32_t index, const nn_tensor* tensor);
NN_IMPORT("compute") nn_errno nn_compute(nn_context context);
/* NN_TOO_LARGE writes the size that is needed. */
NN_IMPORT("get_output")
nn_errno nn_get_output(nn_context context, uint32_t index, void* buffer, uint32_t capacity,
                       uint32_t* written);
NN_IMPORT("finalize_execution_context") nn_errno nn_finalize(nn_context context);

/* Of a language model, whose input 0 is a prompt: one token more, its bytes, and the end of that.
 */
NN_IMPORT("compute_single") nn_errno nn_compute_single(nn_context context);
NN_IMPORT("get_output_single")
nn_errno nn_get_output_single(nn_context context, uint32_t index, void* buffer, uint32_t capacity,
                              uint32_t* written);
NN_IMPORT("fini_single") nn_errno nn_fini_single(nn_context context);

#endif
