/* SPDX-License-Identifier: Apache-2.0 */
/* What the core module of a component imports of wasi:nn@0.2.0-rc-2024-10-28, and the room that its
 * host asks for. Types and functions as the canonical ABI lowers them; pointers are 32 bits. */
#ifndef WASI_NN_WIT_H
#define WASI_NN_WIT_H

#include <stdint.h>
#include <stdlib.h>

#define WIT_IMPORT(interface, name) \
  __attribute__((import_module("wasi:nn/" interface "@0.2.0-rc-2024-10-28"), import_name(name)))

typedef uint32_t wit_graph, wit_context, wit_tensor, wit_error;

enum { WIT_FP16, WIT_FP32, WIT_FP64, WIT_BF16, WIT_U8, WIT_I32, WIT_I64 };
enum { WIT_ONNX = 1, WIT_AUTODETECT = 6 };
enum { WIT_CPU, WIT_GPU };
enum {
  WIT_INVALID_ARGUMENT,
  WIT_INVALID_ENCODING,
  WIT_TIMEOUT,
  WIT_RUNTIME_ERROR,
  WIT_UNSUPPORTED_OPERATION,
  WIT_TOO_LARGE,
  WIT_NOT_FOUND,
  WIT_SECURITY,
  WIT_UNKNOWN
};

typedef struct {
  void* data;
  uint32_t size;
} wit_list;

typedef struct {
  const char* name;
  uint32_t size;
  wit_tensor tensor;
} wit_named_tensor;

typedef struct {
  uint8_t is_error;
  uint32_t handle; /* of what was made, or of the error */
} wit_result;

typedef struct {
  uint8_t is_error;
  union {
    struct {
      wit_named_tensor* data;
      uint32_t size;
    } outputs;
    wit_error error;
  };
} wit_compute_result;

WIT_IMPORT("graph", "load")
void wit_load(const wit_list* parts, uint32_t count, uint32_t encoding, uint32_t target,
              wit_result* result);
WIT_IMPORT("graph", "load-by-name")
void wit_load_by_name(const char* name, uint32_t size, wit_result* result);
WIT_IMPORT("graph", "[method]graph.init-execution-context")
void wit_init(wit_graph self, wit_result* result);
WIT_IMPORT("graph", "[resource-drop]graph") void wit_drop_graph(wit_graph self);

WIT_IMPORT("tensor", "[constructor]tensor")
wit_tensor wit_make_tensor(const uint32_t* dims, uint32_t rank, uint32_t type, const void* data,
                           uint32_t size);
WIT_IMPORT("tensor", "[method]tensor.dimensions")
void wit_dimensions(wit_tensor self, wit_list* result);
WIT_IMPORT("tensor", "[method]tensor.ty") uint32_t wit_type(wit_tensor self);
WIT_IMPORT("tensor", "[method]tensor.data") void wit_data(wit_tensor self, wit_list* result);
WIT_IMPORT("tensor", "[resource-drop]tensor") void wit_drop_tensor(wit_tensor self);

/* The tensors are the host's from here on. */
WIT_IMPORT("inference", "[method]graph-execution-context.compute")
void wit_compute(wit_context self, const wit_named_tensor* inputs, uint32_t count,
                 wit_compute_result* result);
WIT_IMPORT("inference", "[resource-drop]graph-execution-context")
void wit_drop_context(wit_context self);

WIT_IMPORT("errors", "[method]error.code") uint32_t wit_error_code(wit_error self);
WIT_IMPORT("errors", "[method]error.data") void wit_error_data(wit_error self, wit_list* result);
WIT_IMPORT("errors", "[resource-drop]error") void wit_drop_error(wit_error self);

__attribute__((export_name("cabi_realloc"), used, weak)) void* wit_realloc(void* old,
                                                                           size_t old_size,
                                                                           size_t alignment,
                                                                           size_t size) {
  (void)old_size;
  if (size == 0) return (void*)alignment;
  void* room = realloc(old, size);
  if (!room) abort();
  return room;
}

#endif
