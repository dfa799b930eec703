/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quern for C and every language that can call C: load an ONNX model, compile it, run it.
 *
 *   quern_model* model;             quern_model_load("digits.onnx", NULL, &model);
 *   quern_executable* executable;   quern_executable_compile(model, NULL, &executable);
 *   quern_session* session;         quern_session_create(executable, 0, &session);
 *   quern_session_set_input(session, 0, &tensor, QUERN_BORROW);
 *   quern_session_run(session);     quern_session_output(session, 0, &tensor);
 *
 * Errors. Calls that can fail return a status; anything but QUERN_OK leaves a sentence that
 * quern_last_error() gives to the same thread until its next failing call. Out-parameters are
 * written on success only. No call throws, exits or writes to the standard streams. A null handle
 * or out-parameter is QUERN_INVALID_ARGUMENT; destroying NULL does nothing.
 *
 * Ownership. Who creates a handle destroys it. Handles keep alive what they were made from, so they
 * may be destroyed in any order. A pointer that a call hands out (names, dims, elements) belongs to
 * the handle that it was asked of and is valid until that is destroyed, unless said otherwise.
 *
 * Threads. A model is used by one thread at a time, and so is a session, quern_session_cancel()
 * apart. An executable is immutable: any number of threads may share it, each with its own session.
 *
 * Compatibility. Structures begin with their size, which the caller sets (the _INIT macros do):
 * they may grow at the end, and callers built with a shorter one go on working. Zero in any further
 * field means the default. A size is that of the whole structure, here or in an earlier version of
 * this header; any other is QUERN_INVALID_ARGUMENT. Enumerations may grow at the end. */
#ifndef QUERN_C_QUERN_H
#define QUERN_C_QUERN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define QUERN_EXPORT __attribute__((visibility("default")))
#else
#define QUERN_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- library ------------------------------------------------------------------------------- */

/* Goes up when a structure or a function is added; programs need a library of at least theirs. */
#define QUERN_API_VERSION 6

QUERN_EXPORT uint32_t quern_api_version(void);
QUERN_EXPORT const char* quern_version(void); /* "0.1.0" */

typedef int32_t quern_status;
enum {
  QUERN_OK = 0,
  QUERN_INVALID_ARGUMENT = 1, /* the caller's mistake: an unknown name, a wrong shape */
  QUERN_INVALID_MODEL = 2,    /* the model contradicts itself or the format */
  QUERN_UNSUPPORTED = 3,      /* understood, but not implemented */
  QUERN_NOT_FOUND = 4,        /* no such file, name or device */
  QUERN_OUT_OF_MEMORY = 5,    /* a limit or the system refused */
  QUERN_DEVICE_LOST = 6,      /* the device stopped; its sessions are dead, the process is not */
  QUERN_BUSY = 7,             /* in use, or cancelled */
  QUERN_INTERNAL = 8,         /* a defect of this library: please report it */
  QUERN_TIMED_OUT = 9         /* past its deadline */
};

/* "invalid_argument"; "unknown" for a number that is no status. Static. */
QUERN_EXPORT const char* quern_status_name(quern_status status);
/* The message of this thread's last failing call, valid until the next; "" if there was none. */
QUERN_EXPORT const char* quern_last_error(void);

typedef int32_t quern_dtype;
enum {
  QUERN_F32 = 0,
  QUERN_F64 = 1,
  QUERN_F16 = 2,
  QUERN_BF16 = 3,
  QUERN_I8 = 4,
  QUERN_I16 = 5,
  QUERN_I32 = 6,
  QUERN_I64 = 7,
  QUERN_U8 = 8,
  QUERN_U16 = 9,
  QUERN_U32 = 10,
  QUERN_U64 = 11,
  QUERN_BOOL = 12,   /* one byte, 0 or 1 */
  QUERN_STRING = 13, /* each element is a quern_string */
  QUERN_I4 = 14,     /* 4-bit integers: one element per byte, sign-extended */
  QUERN_U4 = 15,
  QUERN_F8E4M3FN = 16,
  QUERN_F8E4M3FNUZ = 17,
  QUERN_F8E5M2 = 18,
  QUERN_F8E5M2FNUZ = 19,
  QUERN_F4E2M1 = 20, /* the low four bits of a byte */
  QUERN_F8E8M0 = 21, /* 2^(byte - 127); 255 is NaN */
  QUERN_I2 = 22,     /* 2-bit integers, held as those of 4 bits */
  QUERN_U2 = 23
};

typedef struct quern_string {
  const char* data; /* not terminated */
  uint64_t size;    /* bytes */
} quern_string;

/* "f32"; "unknown" for a number that is no type. Static. */
QUERN_EXPORT const char* quern_dtype_name(quern_dtype dtype);
/* Bytes of one element; 0 for a number that is no type. */
QUERN_EXPORT size_t quern_dtype_size(quern_dtype dtype);

/* ---- devices ------------------------------------------------------------------------------- */

typedef struct quern_device_info {
  size_t struct_size;
  const char* name;  /* what quern_compile_options.device takes: "cpu" */
  const char* title; /* for people: "AMD EPYC 9654, AVX-512" */
  int32_t is_gpu;
} quern_device_info;
#define QUERN_DEVICE_INFO_INIT \
  { sizeof(quern_device_info), NULL, NULL, 0 }

typedef struct quern_devices quern_devices;

/* All devices of this machine, best first in each kind. A missing driver is not an error. */
QUERN_EXPORT quern_status quern_devices_list(quern_devices** devices);
QUERN_EXPORT void quern_devices_destroy(quern_devices* devices);
QUERN_EXPORT size_t quern_devices_count(const quern_devices* devices);
QUERN_EXPORT quern_status quern_devices_info(const quern_devices* devices, size_t index,
                                             quern_device_info* info);

typedef struct quern_device quern_device;

/* Opens the device that quern_compile_options.device names; needed only if executables share
 * tensors. `name` NULL: "cpu"; or a preference: "automatic", "high-performance", "low-power". Any
 * thread. Errors: not_found, with the available devices. */
QUERN_EXPORT quern_status quern_device_open(const char* name, quern_device** device);
QUERN_EXPORT void quern_device_destroy(quern_device* device);
QUERN_EXPORT quern_status quern_device_get_info(const quern_device* device,
                                                quern_device_info* info);

/* What is known of a device besides, by name: "threads", "instructions", "onednn" (its version and
 * the path of the library that was opened, or "none" and why), "driver", ... The texts live as long
 * as the device; `key` and `value` may be NULL. Errors: invalid_argument. */
QUERN_EXPORT size_t quern_device_property_count(const quern_device* device);
QUERN_EXPORT quern_status quern_device_property(const quern_device* device, size_t index,
                                                const char** key, const char** value);
/* 1: the device has stopped for good. Executables compiled on it return device_lost; a new
 * device can be opened. */
QUERN_EXPORT int32_t quern_device_is_lost(const quern_device* device);

/* Counts of the work that a device has done since it was opened. All 0 on the CPU. */
typedef struct quern_device_counters {
  size_t struct_size;
  uint64_t submissions;
  uint64_t dispatches;
  uint64_t barriers;
  uint64_t pipelines;   /* created, not run */
  uint64_t allocations; /* of device memory */
  uint64_t bytes_up;
  uint64_t bytes_down;
} quern_device_counters;
#define QUERN_DEVICE_COUNTERS_INIT \
  { sizeof(quern_device_counters), 0, 0, 0, 0, 0, 0, 0 }

QUERN_EXPORT quern_status quern_device_get_counters(const quern_device* device,
                                                    quern_device_counters* counters);

/* ---- the host ------------------------------------------------------------------------------ */

/* Functions that the engine calls in the place of the system's, for models, executables and
 * sessions that are made with them. */
typedef struct quern_host quern_host;

enum { QUERN_LOG_INFO = 0, QUERN_LOG_WARNING = 1 };

typedef struct quern_host_options {
  size_t struct_size;
  void* context;
  /* Every block of more than 64 KiB that holds tensors: arenas, packed weights, constants that are
   * decoded or computed, files that are copied, values of loops. Of any content, from a multiple
   * of `alignment` (at most 64); NULL: no memory. Both functions, or neither. Called by any threads
   * at one time, until nothing is left that was made with the host. */
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*release)(void* context, void* block, size_t bytes, size_t alignment);
  /* A sentence of `size` bytes, not terminated: a warning of a model, what is missing on this
   * machine, what was planned otherwise than asked. Nothing of it is an error. May be NULL. */
  void (*log)(void* context, int32_t level, const char* sentence, size_t size);
} quern_host_options;
#define QUERN_HOST_OPTIONS_INIT \
  { sizeof(quern_host_options), NULL, NULL, NULL, NULL }

/* Errors: invalid_argument. */
QUERN_EXPORT quern_status quern_host_create(const quern_host_options* options, quern_host** host);
QUERN_EXPORT void quern_host_destroy(quern_host* host);

/* ---- operators of the host ----------------------------------------------------------------- */

/* A registry for models that are loaded with it; quern/c/custom_op.h says what an operator is. Any
 * thread. Models, and what is compiled from them, keep the operators that they use. */
typedef struct quern_custom_ops quern_custom_ops;
struct quern_custom_op;

QUERN_EXPORT quern_status quern_custom_ops_create(quern_custom_ops** ops);
QUERN_EXPORT void quern_custom_ops_destroy(quern_custom_ops* ops);
/* Copies `op`, with its strings. Errors: invalid_argument, with the field; also for a name whose
 * opsets overlap with those of one that is there. `op->release` is not called then. */
QUERN_EXPORT quern_status quern_custom_ops_add(quern_custom_ops* ops,
                                               const struct quern_custom_op* op);
/* Opens a shared object and lets its quern_register_ops() add all of its operators, or none. It
 * stays open as long as one exists. Errors: not_found; invalid_argument, also for another file. */
QUERN_EXPORT quern_status quern_custom_ops_load(quern_custom_ops* ops, const char* path);

/* ---- models -------------------------------------------------------------------------------- */

typedef struct quern_model quern_model;

typedef struct quern_load_options {
  size_t struct_size;
  size_t max_bytes;   /* that reading may take beyond the file itself; 0: a multiple of its size */
  const char* folder; /* of external data, for models from memory; NULL refuses it */
  int32_t borrow;     /* of a model from memory: the bytes stay, unchanged, as long as the model and
                         what was compiled from it; else they are copied */
  uint64_t microseconds; /* that reading may take, or timed_out; 0: any time */
  int32_t copy_file;     /* a file is read into memory, not mapped: it may change afterwards */
  const quern_custom_ops* custom_ops; /* operators of the host; NULL: none */
  const quern_host* host;             /* memory and log of reading; NULL: the system's, and none */
} quern_load_options;
#define QUERN_LOAD_OPTIONS_INIT \
  { sizeof(quern_load_options), 0, NULL, 0, 0, 0, NULL, NULL }

/* Reads an ONNX file, which stays mapped unless `copy_file` is set, and then must not change while
 * the model or what was compiled from it lives. `options` may be NULL.
 * Errors: not_found, invalid_model, unsupported, timed_out. */
QUERN_EXPORT quern_status quern_model_load(const char* path, const quern_load_options* options,
                                           quern_model** model);
/* The same from memory. */
QUERN_EXPORT quern_status quern_model_load_bytes(const void* data, size_t bytes,
                                                 const quern_load_options* options,
                                                 quern_model** model);
QUERN_EXPORT void quern_model_destroy(quern_model* model);

typedef struct quern_model_info {
  size_t struct_size;
  const char* graph_name;
  const char* producer_name;
  const char* producer_version;
  const char* domain;
  const char* description;
  int64_t model_version;
  int64_t ir_version;
  size_t property_count;
} quern_model_info;
#define QUERN_MODEL_INFO_INIT \
  { sizeof(quern_model_info), NULL, NULL, NULL, NULL, NULL, 0, 0, 0 }

QUERN_EXPORT quern_status quern_model_get_info(const quern_model* model, quern_model_info* info);
/* Property `index` of the model's metadata. Either out-parameter may be NULL. */
QUERN_EXPORT quern_status quern_model_property(const quern_model* model, size_t index,
                                               const char** key, const char** value);

/* An input or output as the model declares it. */
typedef struct quern_value_info {
  size_t struct_size;
  const char* name;
  quern_dtype dtype;
  int32_t kind;     /* QUERN_TENSOR, ... */
  int32_t has_rank; /* 0: of any rank, `rank` is 0 */
  size_t rank;
  const int64_t* dims;        /* `rank` numbers; -1: free */
  const char* const* symbols; /* `rank` names; "" for numbers and nameless free dimensions */
  size_t keys; /* values of a map: the input or output of its keys; else QUERN_NO_KEYS */
} quern_value_info;
#define QUERN_NO_KEYS ((size_t)-1)
#define QUERN_VALUE_INFO_INIT \
  { sizeof(quern_value_info), NULL, 0, 0, 0, 0, NULL, NULL, QUERN_NO_KEYS }
enum {
  QUERN_TENSOR = 0,
  QUERN_SEQUENCE = 1, /* of tensors like this */
  QUERN_OPTIONAL_TENSOR = 2,
  QUERN_OPTIONAL_SEQUENCE = 3
};

QUERN_EXPORT size_t quern_model_input_count(const quern_model* model);
QUERN_EXPORT size_t quern_model_output_count(const quern_model* model);
QUERN_EXPORT quern_status quern_model_input_info(const quern_model* model, size_t index,
                                                 quern_value_info* info);
QUERN_EXPORT quern_status quern_model_output_info(const quern_model* model, size_t index,
                                                  quern_value_info* info);
/* Errors: not_found, with the names that there are. */
QUERN_EXPORT quern_status quern_model_input_index(const quern_model* model, const char* name,
                                                  size_t* index);
QUERN_EXPORT quern_status quern_model_output_index(const quern_model* model, const char* name,
                                                   size_t* index);

/* ---- threads ------------------------------------------------------------------------------- */

/* The threads that run the kernels of the CPU, for any number of executables and sessions. Without
 * one, each thread that runs a session has a team of OpenMP threads for itself. */
typedef struct quern_thread_pool quern_thread_pool;

typedef void (*quern_task)(void* data, int32_t index);

typedef struct quern_thread_pool_options {
  size_t struct_size;
  int32_t threads; /* that may run tasks at one time, the caller's among them; 0: all CPUs */
  /* A host's own threads; NULL: quern starts some. Calls task(data, i) once for each i from 0 to
   * count - 1, in any order and on any threads, and returns when all calls have returned. Tasks
   * never wait for each other. May be called by several threads at one time, as long as a session
   * that was made with the pool exists. */
  void (*run)(void* context, int32_t count, quern_task task, void* data);
  void* context;
} quern_thread_pool_options;
#define QUERN_THREAD_POOL_OPTIONS_INIT \
  { sizeof(quern_thread_pool_options), 0, NULL, NULL }

/* `options` may be NULL. Errors: invalid_argument for a negative number of threads, or none with a
 * `run`; out_of_memory, also where the system gives no thread. */
QUERN_EXPORT quern_status quern_thread_pool_create(const quern_thread_pool_options* options,
                                                   quern_thread_pool** pool);
QUERN_EXPORT void quern_thread_pool_destroy(quern_thread_pool* pool);

/* ---- executables --------------------------------------------------------------------------- */

typedef struct quern_executable quern_executable;

typedef struct quern_compile_options {
  size_t struct_size;
  const char* device;   /* by name; NULL: "cpu" */
  const char* strategy; /* of memory planning, by name; NULL: the default */
  int32_t threads;      /* of a run; 0, or too many: the CPUs that the process may use */
  int32_t no_rewrites;  /* no rewrites of the graph, for bisecting */
  size_t max_plans;     /* kept, one per set of input shapes; 0: 32 */
  size_t memory_limit;  /* bytes that weights, arena and pool of a session may take; 0: none */
  const char* pool;     /* for unplanned memory, by name; NULL: the default */
  const quern_device* opened; /* the device, instead of its name */
  int32_t no_scratch; /* kernels take as little memory to work in as they can without being slow */
  uint64_t microseconds; /* that compiling may take, or timed_out; 0: any time */
  size_t max_plan_bytes; /* of kept plans; 0: a quarter of memory_limit, or no limit without one */
  const quern_thread_pool* thread_pool; /* of the sessions; NULL: OpenMP's threads */
  const char* math;       /* of products: "f32", "bf16", "bf16x3" or "auto"; NULL: f32 */
  const char* denormals;  /* "flush": 0 in products and sums, or "keep"; NULL: flush */
  size_t arena_limit;     /* bytes of a plan's arena, met by stripes of rows if need be; 0: none */
  const quern_host* host; /* memory and log of the executable and its sessions; NULL: none */
  const char* tuning;     /* a file of quern_model_tune() (quern/c/tuning.h); NULL: none */
  int32_t no_stripes;     /* no plan in stripes of rows only because they stay in the cache */
} quern_compile_options;
#define QUERN_COMPILE_OPTIONS_INIT                                                                \
  {                                                                                               \
    sizeof(quern_compile_options), NULL, NULL, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, \
        0, NULL, NULL, 0                                                                          \
  }

/* Binds the model to a device. The model stays as it is. `options` may be NULL.
 * Errors: not_found (device, strategy, pool), invalid_argument (math, denormals, tuning),
 * invalid_model, unsupported, out_of_memory, timed_out. */
QUERN_EXPORT quern_status quern_executable_compile(const quern_model* model,
                                                   const quern_compile_options* options,
                                                   quern_executable** executable);
QUERN_EXPORT void quern_executable_destroy(quern_executable* executable);

typedef struct quern_save_options {
  size_t struct_size;
  int32_t portable;  /* all weights as the model has them, for other machines and shapes */
  size_t plan_count; /* that the file holds; 0: one for the declared shapes, if they are numbers */
  const size_t* ranks; /* of each plan in turn, those of all inputs in their order */
  const int64_t* dims; /* the dimensions of these shapes, one after the other */
} quern_save_options;
#define QUERN_SAVE_OPTIONS_INIT \
  { sizeof(quern_save_options), 0, 0, NULL, NULL }

/* Writes a file that quern_executable_load() reads without rewriting, planning or packing
 * (docs/artefact.md). `options` may be NULL. Errors: those of planning; invalid_argument. */
QUERN_EXPORT quern_status quern_executable_save(const quern_executable* executable,
                                                const char* path,
                                                const quern_save_options* options);
/* Reads such a file, which stays mapped unless `load->copy_file` is set, and then must not change
 * while the executable lives. Of `options` device, threads, pools and limits hold, the rest is that
 * of the file; both may be NULL. Errors: not_found, invalid_model (truncated or changed),
 * unsupported (made for another machine or device and not portable; an operator of the host that
 * `load->custom_ops` lacks), out_of_memory, timed_out. */
QUERN_EXPORT quern_status quern_executable_load(const char* path, const quern_load_options* load,
                                                const quern_compile_options* options,
                                                quern_executable** executable);

QUERN_EXPORT size_t quern_executable_input_count(const quern_executable* executable);
QUERN_EXPORT size_t quern_executable_output_count(const quern_executable* executable);
QUERN_EXPORT quern_status quern_executable_input_info(const quern_executable* executable,
                                                      size_t index, quern_value_info* info);
QUERN_EXPORT quern_status quern_executable_output_info(const quern_executable* executable,
                                                       size_t index, quern_value_info* info);
QUERN_EXPORT quern_status quern_executable_input_index(const quern_executable* executable,
                                                       const char* name, size_t* index);
QUERN_EXPORT quern_status quern_executable_output_index(const quern_executable* executable,
                                                        const char* name, size_t* index);

/* ---- sessions ------------------------------------------------------------------------------ */

typedef struct quern_session quern_session;

#define QUERN_MAX_RANK 16
/* Dense row-major elements. */
typedef struct quern_tensor {
  size_t struct_size;
  quern_dtype dtype;
  uint32_t rank; /* 0: a scalar */
  int64_t dims[QUERN_MAX_RANK];
  const void* data; /* aligned to the element; NULL only without elements */
  size_t bytes;     /* of the elements */
} quern_tensor;
#define QUERN_TENSOR_INIT \
  { sizeof(quern_tensor), QUERN_F32, 0, {0}, NULL, 0 }

/* `threads` 0: as the executable was compiled. */
QUERN_EXPORT quern_status quern_session_create(const quern_executable* executable, int32_t threads,
                                               quern_session** session);
/* Waits for a run that was submitted and is under way; quern_session_cancel() makes that short.
 * What it borrows must stay until then. */
QUERN_EXPORT void quern_session_destroy(quern_session* session);

typedef int32_t quern_input_mode;
enum {
  QUERN_COPY = 0,  /* the elements are copied before the call returns; no strings */
  QUERN_BORROW = 1 /* the elements stay, unchanged, until runs with them have returned */
};

/* Errors: invalid_argument when type, rank or a fixed dimension differ from the model's, or when
 * `bytes` is not what dtype and dims take. */
QUERN_EXPORT quern_status quern_session_set_input(quern_session* session, size_t index,
                                                  const quern_tensor* tensor,
                                                  quern_input_mode mode);
/* A sequence of borrowed tensors, all of one struct_size. */
QUERN_EXPORT quern_status quern_session_set_input_sequence(quern_session* session, size_t index,
                                                           const quern_tensor* tensors,
                                                           size_t count);
/* An empty optional. */
QUERN_EXPORT quern_status quern_session_set_input_none(quern_session* session, size_t index);

/* Sets the memory that runs write this output to: `capacity` bytes, aligned to the element. A
 * null `data` undoes it. A run fails if the output is larger, and if the memory is that of an input
 * which the plan does not turn into this output in its place (docs/decoding.md). */
QUERN_EXPORT quern_status quern_session_bind_output(quern_session* session, size_t index,
                                                    void* data, size_t capacity);
/* Computes only these outputs; count 0: all of them. */
QUERN_EXPORT quern_status quern_session_request_outputs(quern_session* session,
                                                        const size_t* indices, size_t count);

/* Errors: invalid_argument (an input that is not set, an operand out of range), busy
 * (cancelled), unsupported, out_of_memory. From the second run with the same shapes on, nothing is
 * allocated, except for a few hundred bytes in each call of oneDNN. */
QUERN_EXPORT quern_status quern_session_run(quern_session* session);
/* The same, but stops with timed_out once `microseconds` have passed: kernels ask every few
 * milliseconds. A run that ends later than that never succeeds. */
QUERN_EXPORT quern_status quern_session_run_within(quern_session* session, uint64_t microseconds);

/* Starts a run without waiting for it: on the device, or on a thread of the session if the host
 * is needed. Until quern_session_wait() has returned, only it, the functions for submitted runs
 * below and quern_session_cancel() may be called; other calls return busy or wait. Any number of
 * sessions may have a run in progress. The wait returns the errors of the run. */
QUERN_EXPORT quern_status quern_session_submit(quern_session* session);
QUERN_EXPORT quern_status quern_session_wait(quern_session* session);
/* Errors: busy if the run is not done within `microseconds`; it continues. */
QUERN_EXPORT quern_status quern_session_wait_within(quern_session* session, uint64_t microseconds);
/* dtype, rank, dims and bytes of an output, available before the wait; `data` becomes NULL.
 * Errors: busy if they are known only after the run. */
QUERN_EXPORT quern_status quern_session_output_type(const quern_session* session, size_t index,
                                                    quern_tensor* tensor);

/* Makes the plan for the shapes of the inputs, without running. */
QUERN_EXPORT quern_status quern_session_prepare(quern_session* session);
/* May be called from any thread. A run in progress stops within milliseconds, and so do later
 * runs until quern_session_clear_cancel(). */
QUERN_EXPORT void quern_session_cancel(quern_session* session);
QUERN_EXPORT void quern_session_clear_cancel(quern_session* session);

/* After a run: type, shape and elements of an output, which stay until the session's next run, its
 * trim or its end. Errors: not_found when it was not requested, invalid_argument before any run. */
QUERN_EXPORT quern_status quern_session_output(const quern_session* session, size_t index,
                                               quern_tensor* tensor);
/* The number of tensors in an output: 1, the length of a sequence, or 0 for an empty optional. */
QUERN_EXPORT quern_status quern_session_output_length(const quern_session* session, size_t index,
                                                      size_t* length);
QUERN_EXPORT quern_status quern_session_output_element(const quern_session* session, size_t index,
                                                       size_t element, quern_tensor* tensor);

/* A map is two tensors: values [n], or [rows, n] for a map a row, and keys [n], behind what the
 * model names. Gives both of one row. Errors: invalid_argument, and as quern_session_output(). */
QUERN_EXPORT quern_status quern_session_output_map(const quern_session* session, size_t index,
                                                   size_t row, quern_tensor* keys,
                                                   quern_tensor* values);

/* ---- groups -------------------------------------------------------------------------------- */

/* Sessions of one executable that run at the same time in one arena, a phase apart, so that one
 * needs little memory while another needs much: less than an arena for each. Results are those of a
 * session alone. A step waits, asleep, for runs in progress that still use its memory; no run waits
 * for one that is not in progress, and one that fails or is cancelled keeps no other from going on.
 * Any thread may use the group, each session one thread at a time. On the CPU. */
typedef struct quern_group quern_group;

#define QUERN_MAX_GROUP 16

typedef struct quern_group_options {
  size_t struct_size;
  int32_t threads;                      /* of each run; 0: as the executable was compiled */
  const quern_thread_pool* thread_pool; /* of all runs; NULL: as the executable was compiled */
  /* The types of all inputs, of one struct_size; their `data` is ignored. NULL: as the model
   * declares them, if every dimension is a number. */
  const quern_tensor* inputs;
  size_t input_count;
} quern_group_options;
#define QUERN_GROUP_OPTIONS_INIT \
  { sizeof(quern_group_options), 0, NULL, NULL, 0 }

/* Plans for `runs` runs, 1 to QUERN_MAX_GROUP, and allocates their arena. `options` may be NULL.
 * Errors: invalid_argument; unsupported for other devices than the CPU and for models with loops,
 * or with shapes or branches that depend on data, or with inputs or outputs that are no tensors;
 * out_of_memory, also where the arena of all passes a limit of the executable; timed_out. */
QUERN_EXPORT quern_status quern_group_create(const quern_executable* executable, size_t runs,
                                             const quern_group_options* options,
                                             quern_group** group);
/* Ends its sessions, too, and waits for those that were submitted. */
QUERN_EXPORT void quern_group_destroy(quern_group* group);
QUERN_EXPORT size_t quern_group_size(const quern_group* group);
/* A session of the group, by number; it belongs to the group: quern_session_destroy() of it does
 * nothing. Inputs have the types of the group, all outputs are computed, and outputs that are not
 * bound lie outside of the arena. */
QUERN_EXPORT quern_status quern_group_session(quern_group* group, size_t index,
                                              quern_session** session);
/* Runs each session once with what it is bound to, all at the same time, and returns when all have
 * ended: the first on this thread, each other on a thread that it keeps. Errors: those of
 * quern_session_run(), of the first session that has one. */
QUERN_EXPORT quern_status quern_group_run(quern_group* group);

typedef struct quern_group_counters {
  size_t struct_size;
  uint64_t runs;         /* that have begun, in whichever way */
  uint64_t waits;        /* steps that waited for another run... */
  uint64_t wait_ns;      /* ...so long, together */
  size_t most_at_once;   /* runs in progress at one time */
  size_t arena_bytes;    /* of all runs, as planned */
  size_t resident_bytes; /* that the group holds now: arena, outputs and what sessions hold */
} quern_group_counters;
#define QUERN_GROUP_COUNTERS_INIT \
  { sizeof(quern_group_counters), 0, 0, 0, 0, 0, 0 }

/* While no other thread uses the group's sessions. */
QUERN_EXPORT quern_status quern_group_get_counters(const quern_group* group,
                                                   quern_group_counters* counters);

/* ---- tensors of a device ------------------------------------------------------------------- */

/* A tensor in device memory: the output of one run can be the input of another without a copy
 * to the host. One thread at a time may use the tensor and the sessions that it is bound to.
 * Submitted runs that share tensors take effect in the order of their submission. */
typedef struct quern_device_tensor quern_device_tensor;

/* Allocates memory for `type`, without its `data`. `device` NULL: the CPU. Errors: invalid_argument
 * (strings, bytes that are not those of dtype and dims), out_of_memory, device_lost. */
QUERN_EXPORT quern_status quern_device_tensor_create(const quern_device* device,
                                                     const quern_tensor* type,
                                                     quern_device_tensor** tensor);
QUERN_EXPORT void quern_device_tensor_destroy(quern_device_tensor* tensor);
/* Copies elements of any shape that fits from the host. Waits for submitted runs bound to it. */
QUERN_EXPORT quern_status quern_device_tensor_write(quern_device_tensor* tensor,
                                                    const quern_tensor* from);
/* Returns type and elements, downloaded from the device; valid until the next write or run.
 * Waits for submitted runs that the tensor is bound to. */
QUERN_EXPORT quern_status quern_device_tensor_read(quern_device_tensor* tensor, quern_tensor* to);

/* Each run reads the contents of the tensor at that time. Errors: invalid_argument, also for a
 * tensor of another device. */
QUERN_EXPORT quern_status quern_session_set_input_device(quern_session* session, size_t index,
                                                         quern_device_tensor* tensor);
/* Runs write the output to the tensor, which takes its type; NULL undoes it. It cannot be an input
 * of the same run. */
QUERN_EXPORT quern_status quern_session_bind_output_device(quern_session* session, size_t index,
                                                           quern_device_tensor* tensor);

/* ---- decoders ------------------------------------------------------------------------------ */

/* A language model with the keys and values of its tokens so far: docs/decoding.md. Used by one
 * thread at a time, quern_decoder_cancel() apart. */
typedef struct quern_decoder quern_decoder;
typedef struct quern_decoder_options {
  size_t struct_size;
  int64_t capacity; /* tokens at most; 0: as the model says, else 2048 */
  int32_t threads;  /* of a run; 0: as compiled */
  /* Names of inputs and outputs, '%' the number of a layer; NULL: those at the right. */
  const char* tokens;        /* "input_ids" */
  const char* logits;        /* "logits" */
  const char* mask;          /* "attention_mask", if the model has it */
  const char* positions;     /* "position_ids", likewise */
  const char* use_cache;     /* "use_cache_branch", likewise */
  const char* past_key;      /* "past_key_values.%.key" */
  const char* past_value;    /* "past_key_values.%.value" */
  const char* present_key;   /* "present.%.key" */
  const char* present_value; /* "present.%.value" */
} quern_decoder_options;
#define QUERN_DECODER_OPTIONS_INIT \
  { sizeof(quern_decoder_options), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/* Compiles the model, which stays as it is, and takes the memory of the cache. Options may be NULL.
 * Errors: those of quern_executable_compile(); not_found (a name), invalid_model (types). */
QUERN_EXPORT quern_status quern_decoder_open(const quern_model* model,
                                             const quern_compile_options* compile,
                                             const quern_decoder_options* options,
                                             quern_decoder** decoder);
/* The same over a model that is compiled already, whose weights it shares. */
QUERN_EXPORT quern_status quern_decoder_create(const quern_executable* executable,
                                               const quern_decoder_options* options,
                                               quern_decoder** decoder);
/* Another sequence over the same weights, which begins with a copy of this one's tokens. */
QUERN_EXPORT quern_status quern_decoder_fork(const quern_decoder* decoder, quern_decoder** fork);
QUERN_EXPORT void quern_decoder_destroy(quern_decoder* decoder);

/* Sets, by a copy, an input that none of the names above has (the states of an encoder). */
QUERN_EXPORT quern_status quern_decoder_set_input(quern_decoder* decoder, const char* name,
                                                  const quern_tensor* tensor);
/* Computes the logits behind these tokens, which follow those so far, in so many microseconds (0:
 * any time). After an error the sequence is as before. Errors: invalid_argument (no token, no room
 * for so many, one that the model refuses), busy (cancelled), timed_out, out_of_memory. */
QUERN_EXPORT quern_status quern_decoder_append(quern_decoder* decoder, const int64_t* tokens,
                                               size_t count, uint64_t microseconds);
/* One number for each token of the vocabulary, of the last append; valid until the next one. */
QUERN_EXPORT quern_status quern_decoder_logits(const quern_decoder* decoder, const float** logits,
                                               size_t* count);
/* Makes the plan for as many new tokens ahead. */
QUERN_EXPORT quern_status quern_decoder_prepare(quern_decoder* decoder, int64_t tokens);
/* Forgets all but the first `length` tokens; the logits stay. */
QUERN_EXPORT quern_status quern_decoder_rewind(quern_decoder* decoder, int64_t length);
/* From any thread: appends end with busy until quern_decoder_clear_cancel(). */
QUERN_EXPORT void quern_decoder_cancel(quern_decoder* decoder);
QUERN_EXPORT void quern_decoder_clear_cancel(quern_decoder* decoder);

typedef struct quern_decoder_info {
  size_t struct_size;
  int64_t length;       /* tokens so far */
  int64_t capacity;     /* at most */
  int32_t in_place;     /* a token more copies, plans and allocates nothing */
  size_t row_bytes;     /* of the keys and values of one token */
  size_t cache_bytes;   /* of this sequence; does not grow */
  size_t weight_bytes;  /* packed; forks share them */
  size_t session_bytes; /* arena and what else the session takes for its plans */
} quern_decoder_info;
#define QUERN_DECODER_INFO_INIT \
  { sizeof(quern_decoder_info), 0, 0, 0, 0, 0, 0, 0 }
QUERN_EXPORT quern_status quern_decoder_get_info(const quern_decoder* decoder,
                                                 quern_decoder_info* info);

/* ---- plans and profiles -------------------------------------------------------------------- */

/* All values are in bytes, except for the counts. */
typedef struct quern_plan_info {
  size_t struct_size;
  size_t segments; /* 1, unless shapes depend on data */
  size_t steps;    /* kernels */
  size_t arena_bytes;
  size_t arena_lower_bound; /* no placement of these buffers can be smaller */
  size_t unshared_bytes;    /* if no two buffers shared memory */
  size_t weight_bytes;      /* packed */
  size_t resident_bytes;    /* that the session holds */
  size_t session_bytes;     /* that it holds at most for these shapes, weights apart... */
  int32_t is_complete; /* ...unless this is 0: loops and shapes of data take more as they run */
} quern_plan_info;
#define QUERN_PLAN_INFO_INIT \
  { sizeof(quern_plan_info), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* The plan of the last run or prepare. */
QUERN_EXPORT quern_status quern_session_plan_info(const quern_session* session,
                                                  quern_plan_info* info);

/* A sentence where the plan of the inputs that are bound is much slower than it were with oneDNN,
 * which is not here, and why it is not; "" elsewhere. It lives until the next call. */
QUERN_EXPORT quern_status quern_session_warning(quern_session* session, const char** warning);
/* Returns memory to the system; the next run allocates again. */
QUERN_EXPORT quern_status quern_session_trim(quern_session* session);

/* One execution of one kernel. Strings are valid until the next run or the session's end. */
typedef struct quern_profile_entry {
  size_t struct_size;
  const char* node;
  const char* op;
  const char* shapes;
  const char* implementation;
  double begin_us; /* since the run began */
  double end_us;
  double flops; /* a multiply-add counts as two */
  double bytes; /* inputs, weights and outputs, each once */
} quern_profile_entry;
#define QUERN_PROFILE_ENTRY_INIT \
  { sizeof(quern_profile_entry), NULL, NULL, NULL, NULL, 0, 0, 0, 0 }

/* While profiling is on, each run times its kernels (and allocates memory for that). */
QUERN_EXPORT quern_status quern_session_enable_profile(quern_session* session, int32_t on);
/* The number of entries of the last run, in execution order; 0 if it was not profiled. */
QUERN_EXPORT size_t quern_session_profile_count(const quern_session* session);
QUERN_EXPORT quern_status quern_session_profile_entry(const quern_session* session, size_t index,
                                                      quern_profile_entry* entry);

#ifdef __cplusplus
}
#endif
#endif
