/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of a host: functions in C that say which types and shapes come out and compute them.
 * Nodes of an ONNX model whose domain and name are registered run on the CPU by these functions,
 * planned like the engine's own: outputs and workspaces lie in the arena of the session.
 *
 * Registered with quern_custom_ops_add() (quern.h) or CustomOps::add() (custom_ops.h), or by a
 * shared object that exports quern_register_ops(), for quern_custom_ops_load() and
 * `quern run --ops FILE.so`. Such an object needs this header and links nothing.
 * docs/custom-operators.md has the whole story, examples/custom-op a template.
 *
 * Whoever registers a function trusts it: it runs in this process. What it answers is checked: a
 * negative or overflowing dimension, a wrong rank or type, an output that is not set, are errors of
 * the model's compilation that name the node. Functions do not throw.
 */
#ifndef QUERN_C_CUSTOM_OP_H
#define QUERN_C_CUSTOM_OP_H

#include <quern/c/quern.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Goes up when a structure below grows at its end. */
#define QUERN_OPS_VERSION 1

typedef struct quern_op_input {
  int32_t is_present; /* 0: an optional input that the node leaves out */
  quern_dtype dtype;
  int32_t rank; /* -1 in `infer`: not known yet, `dims` is NULL */
  /* `rank` numbers. In `infer` a negative one is not known yet. One below -1 is the name of a
   * dimension: an output that copies it has the same dimension, whatever it will be. */
  const int64_t* dims;
  /* In `run` and `reference`: dense row-major elements, aligned to the element. In `infer`: those
   * of an input of `plan_inputs`, once they are known. Else NULL. */
  const void* data;
} quern_op_input;

typedef struct quern_op_output {
  int32_t is_wanted; /* 0: nobody reads it, `data` is NULL */
  quern_dtype dtype; /* this and the shape: not in `infer` */
  int32_t rank;
  const int64_t* dims;
  void* data; /* in `run` and `reference`: dense row-major, of any content before */
} quern_op_output;

typedef struct quern_op_call quern_op_call;

/* Computes the part [begin, end) of a loop. */
typedef void (*quern_op_body)(void* data, int64_t begin, int64_t end);

/* What a function may ask of the engine during its call, by the thread that it was called on.
 * Attributes are those of the node; one of another kind than is asked for fails the call. */
typedef struct quern_op_api {
  size_t struct_size;
  /* `infer` alone: the type of an output. `rank` -1: not known yet; of `dims`, -1: not known yet.
   * Once all inputs and the elements of plan_inputs are known, all dimensions must be. */
  quern_status (*set_output)(const quern_op_call* call, size_t output, quern_dtype dtype,
                             int32_t rank, const int64_t* dims);
  int64_t (*get_int)(const quern_op_call* call, const char* attribute, int64_t fallback);
  float (*get_float)(const quern_op_call* call, const char* attribute, float fallback);
  const char* (*get_text)(const quern_op_call* call, const char* attribute, const char* fallback);
  /* NULL and a count of 0 where the node has no such attribute. */
  const int64_t* (*get_ints)(const quern_op_call* call, const char* attribute, size_t* count);
  const float* (*get_floats)(const quern_op_call* call, const char* attribute, size_t* count);
  /* Fails the call with a sentence, which is copied; returns `status` (QUERN_INVALID_ARGUMENT for
   * QUERN_OK or a number that is no status), for `return call->api->fail(...)`. */
  quern_status (*fail)(const quern_op_call* call, quern_status status, const char* sentence);
  /* `prepare` alone: the elements of an input that are the same in every run, valid until
   * `prepare` returns; NULL where they are not. Of a large constant expression this computes it. */
  const void* (*constant)(const quern_op_call* call, size_t input);
  /* `run` alone: body(data, begin, end) for parts of [0, count) of at least `grain` each, on at
   * most call->threads of the session's threads; returns when all are done. The body calls none of
   * this table but get_*, fail and is_over. Where the run is cancelled or its deadline has passed,
   * what is left is not called. Elsewhere it is one call for all of [0, count). */
  void (*parallel_for)(const quern_op_call* call, int64_t count, int64_t grain, quern_op_body body,
                       void* data);
  /* 1: the run is cancelled or late, and a long loop may return at once, with QUERN_OK. */
  int32_t (*is_over)(const quern_op_call* call);
} quern_op_api;

struct quern_op_call {
  size_t struct_size;
  const quern_op_api* api;
  void* context; /* of quern_custom_op */
  size_t input_count;
  const quern_op_input* inputs;
  size_t output_count;
  const quern_op_output* outputs;
  void* state;            /* `run`: quern_op_kernel.state */
  void* workspace;        /* `run`: aligned to 64 bytes, of any content before */
  size_t workspace_bytes; /* `run`: as `prepare` asked */
  int32_t threads;        /* `run`: that parallel_for may use, the caller's among them */
};

/* What `prepare` answers; all zero before. */
typedef struct quern_op_kernel {
  size_t struct_size;
  size_t workspace_bytes; /* of each run */
  void* state;            /* of the kernel: read by runs of all sessions at one time */
  /* Called once, when no plan needs a state that is not NULL or where `prepare` fails with one. */
  void (*destroy)(void* state);
} quern_op_kernel;

enum {
  /* Equal inputs give equal outputs. Without it no two nodes are merged, and none is computed
   * ahead of a run. */
  QUERN_OP_DETERMINISTIC = 1,
  /* `run` may get output 0 at the address of input 0, where both have one type and shape. */
  QUERN_OP_IN_PLACE = 2
};

typedef struct quern_custom_op {
  size_t struct_size;
  const char* domain; /* of ONNX: "org.example"; NULL or "" is ai.onnx */
  const char* name;
  /* Opsets of the domain for which this is the operator; 0: no bound. */
  int64_t first_opset, last_opset;
  uint32_t flags;
  /* Bit i: the elements of input i decide shapes. They are then known when a plan is made. */
  uint32_t plan_inputs;
  /* Least and greatest number; -1: any number. Inputs below the least are never absent. */
  int32_t min_inputs, max_inputs;
  int32_t min_outputs, max_outputs;
  const char* const* attributes; /* names that a node may have, ended by NULL; NULL: any */
  void* context;
  void (*release)(void* context); /* called once when nothing needs the operator; may be NULL */
  /* Sets the type of each output. Called when a model is read, compiled and planned, by any
   * threads at one time. */
  quern_status (*infer)(const quern_op_call* call);
  /* Shapes in, kernel out: called once for each plan and node, all shapes known. NULL: a kernel
   * without workspace and state. */
  quern_status (*prepare)(const quern_op_call* call, quern_op_kernel* kernel);
  /* Computes the outputs that are wanted. Called by any threads at one time; allocates nothing,
   * and fails only for what the data are. */
  quern_status (*run)(const quern_op_call* call);
  /* The plainest loop that is right, to hold `run` to (`quern verify --random`); without
   * workspace, state and threads. Also computes constants ahead of runs. NULL: `run` itself. */
  quern_status (*reference)(const quern_op_call* call);
} quern_custom_op;
#define QUERN_CUSTOM_OP_INIT                                                                   \
  {                                                                                            \
    sizeof(quern_custom_op), NULL, NULL, 0, 0, 0, 0, 1, 1, 1, 1, NULL, NULL, NULL, NULL, NULL, \
        NULL, NULL                                                                             \
  }

/* What a shared object registers with. */
typedef struct quern_ops_host quern_ops_host;
struct quern_ops_host {
  size_t struct_size;
  uint32_t version; /* QUERN_OPS_VERSION of the engine */
  void* registry;
  /* Copies `op`; its strings, too. An error fails the loading, whatever is returned. */
  quern_status (*add)(const quern_ops_host* host, const quern_custom_op* op);
};

/* Exported by a shared object of operators. Anything but QUERN_OK fails the loading, and none of
 * its operators is registered. */
typedef quern_status (*quern_register_ops_function)(const quern_ops_host* host);
QUERN_EXPORT quern_status quern_register_ops(const quern_ops_host* host);

#ifdef __cplusplus
}
#endif
#endif
