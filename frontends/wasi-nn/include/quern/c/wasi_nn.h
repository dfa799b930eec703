/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wasi-nn for hosts of WebAssembly: guests load and run ONNX models, within limits. Any runtime can
 * be bound, in one loop over a table of functions:
 *
 *   quern_nn_tenant* tenant;      quern_nn_tenant_create(NULL, &tenant);
 *   quern_nn_tenant_add_file(tenant, "digits", "digits.onnx", QUERN_NN_CPU);
 *   quern_nn_instance* instance;  quern_nn_instance_create(tenant, NULL, &instance);
 *
 *   const quern_nn_import* import;
 *   for (size_t i = 0; (import = quern_nn_witx_import(i)) != NULL; i++)
 *     ... define import->name in import->module: it calls import->call()
 *
 * quern/c/wasi_nn_*.h are such loops for some runtimes.
 *
 * Errors. Calls return a quern_nn_errno. A failed call of the host leaves a message in
 * quern_nn_last_error(), per thread; a call for an instance leaves it in the instance too.
 * Out-parameters are written on success only. No call throws, exits or writes to the standard
 * streams. A null handle or out-parameter is QUERN_NN_INVALID_ARGUMENT; destroying NULL does
 * nothing.
 *
 * Threads. All handles except quern_nn_use may be used from any thread. A handle is destroyed after
 * the last call with it. Instances keep their tenant alive.
 *
 * Compatibility. As in quern.h: structures begin with their size, one that this header gives or
 * gave them, and may grow.
 */
#ifndef QUERN_C_WASI_NN_H
#define QUERN_C_WASI_NN_H

#include <quern/c/quern.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of witx, those from 100 on that hosts of prompts agree on, and one for a missed
 * deadline, which guests of witx see as a runtime error. */
typedef int32_t quern_nn_errno;
enum {
  QUERN_NN_SUCCESS = 0,
  QUERN_NN_INVALID_ARGUMENT = 1,
  QUERN_NN_INVALID_ENCODING = 2,
  QUERN_NN_MISSING_MEMORY = 3,
  QUERN_NN_BUSY = 4,
  QUERN_NN_RUNTIME_ERROR = 5,
  QUERN_NN_UNSUPPORTED_OPERATION = 6,
  QUERN_NN_TOO_LARGE = 7,
  QUERN_NN_NOT_FOUND = 8,
  QUERN_NN_END_OF_SEQUENCE = 100, /* the answer has ended */
  QUERN_NN_CONTEXT_FULL = 101,    /* the text so far can be read */
  QUERN_NN_PROMPT_TOO_LONG = 102,
  QUERN_NN_MODEL_NOT_FOUND = 103, /* for guests; no call of this host gives it */
  QUERN_NN_TIMED_OUT = 256
};
/* "invalid_argument"; "unknown" for a number that is none. Static. */
QUERN_EXPORT const char* quern_nn_errno_name(quern_nn_errno code);
/* The message of this thread's last failing call; "" if there was none. Valid until the next
 * failing call. */
QUERN_EXPORT const char* quern_nn_last_error(void);

typedef int32_t quern_nn_target;
enum { QUERN_NN_CPU = 0, QUERN_NN_GPU = 1, QUERN_NN_AS_ASKED = -1 };

/* ---- tenants ------------------------------------------------------------------------------- */

/* Usage of each resource. Fields without `bytes` in the name are numbers of objects. */
typedef struct quern_nn_counts {
  size_t struct_size;
  uint64_t graphs;   /* handles of graphs, and the named models of a tenant */
  uint64_t contexts; /* handles of contexts */
  uint64_t model_bytes;
  uint64_t tensor_bytes;   /* inputs that contexts hold, and tensors of WIT */
  uint64_t resident_bytes; /* models, plans, weights, arenas, tensors and handles */
  uint64_t parallel_computes;
} quern_nn_counts;
#define QUERN_NN_COUNTS_INIT \
  { sizeof(quern_nn_counts), 0, 0, 0, 0, 0, 0 }

/* The limits of each resource, and permissions. */
typedef struct quern_nn_limits {
  size_t struct_size;
  uint64_t graphs;
  uint64_t contexts;
  uint64_t model_bytes;
  uint64_t tensor_bytes;
  uint64_t resident_bytes;
  uint64_t parallel_computes;
  uint64_t deadline_us; /* of one compute, looked at between kernels; 0: none */
  uint32_t targets;     /* 1 << QUERN_NN_CPU | 1 << QUERN_NN_GPU */
  int32_t names_only;   /* guests may not load their own models */
} quern_nn_limits;
/* No limits at all; 0 allows nothing. */
#define QUERN_NN_NO_LIMIT UINT64_MAX
#define QUERN_NN_LIMITS_INIT                                                          \
  {                                                                                   \
    sizeof(quern_nn_limits), QUERN_NN_NO_LIMIT, QUERN_NN_NO_LIMIT, QUERN_NN_NO_LIMIT, \
        QUERN_NN_NO_LIMIT, QUERN_NN_NO_LIMIT, QUERN_NN_NO_LIMIT, 0,                   \
        1 << QUERN_NN_CPU | 1 << QUERN_NN_GPU, 0                                      \
  }

typedef struct quern_nn_tenant_options {
  size_t struct_size;
  const quern_nn_limits* limits; /* NULL: 16 graphs and 64 contexts, nothing else is limited */
  int32_t threads;               /* of a compute; 0, or too many: the usable CPUs */
  int32_t any_encoding;          /* take ONNX bytes whatever encoding the guest names */
  int32_t gpu_or_nothing;        /* else the CPU is used where there is no GPU */
  void (*log)(void* user, const char* text); /* from any thread; NULL: silent */
  void* log_user;
  quern_nn_target everywhere; /* where models run whatever a guest asks for; or AS_ASKED */
  const char* gpu;      /* the device of target GPU, as `quern devices` names it; NULL: the best */
  int32_t share_graphs; /* models of the same bytes and target are one graph */
  /* The threads of computes on the CPU; NULL: a team of OpenMP's for each thread that computes.
   * Without a `run` of the host, `threads` of quern's for this tenant, or with 0 those that all
   * tenants share that say so. */
  const quern_thread_pool_options* thread_pool;
  /* Of threads of quern's: the tenant's part, compared with others that share them, from 1 to
   * 1,000,000; 0: 1. */
  int32_t weight;
  const char* math;       /* of products on the CPU: "f32", "bf16", "bf16x3" or "auto"; NULL: f32 */
  int32_t guest_pictures; /* models that guests load may decode pictures (ImageDecoder) */
} quern_nn_tenant_options;
#define QUERN_NN_TENANT_OPTIONS_INIT                                                              \
  {                                                                                               \
    sizeof(quern_nn_tenant_options), NULL, 0, 0, 0, NULL, NULL, QUERN_NN_AS_ASKED, NULL, 0, NULL, \
        0, NULL, 0                                                                                \
  }

/* One customer of a host: named models, limits and usage. */
typedef struct quern_nn_tenant quern_nn_tenant;

/* `options` may be NULL. */
QUERN_EXPORT quern_nn_errno quern_nn_tenant_create(const quern_nn_tenant_options* options,
                                                   quern_nn_tenant** tenant);
/* The same, with the options, limits and models of a file of JSON, whose keys docs/wasi-nn.md
 * lists. What it does not name is as in `options`. Errors: not_found, invalid_argument (the message
 * has the file, the key, the value found and the value wanted), and those of the models. */
QUERN_EXPORT quern_nn_errno quern_nn_tenant_create_from_file(const char* path,
                                                             const quern_nn_tenant_options* options,
                                                             quern_nn_tenant** tenant);
QUERN_EXPORT void quern_nn_tenant_destroy(quern_nn_tenant* tenant);

/* Adds a model under a name of 1 to 256 bytes for the instances of this tenant, and compiles it
 * at once: a file, or the folder of a language model, whose contexts take prompts
 * (docs/wasi-nn.md). Errors: invalid_argument (also if the name is taken), too_large, not_found
 * (the file), and those of the model. */
QUERN_EXPORT quern_nn_errno quern_nn_tenant_add_file(quern_nn_tenant* tenant, const char* name,
                                                     const char* path, quern_nn_target target);
QUERN_EXPORT quern_nn_errno quern_nn_tenant_add_bytes(quern_nn_tenant* tenant, const char* name,
                                                      const void* data, size_t bytes,
                                                      quern_nn_target target);
/* Adds the graph of another tenant's name, without a second copy. */
QUERN_EXPORT quern_nn_errno quern_nn_tenant_share(quern_nn_tenant* tenant, const char* name,
                                                  quern_nn_tenant* owner, const char* owners_name);
/* Removes a name; handles that guests hold stay valid. Errors: not_found. */
QUERN_EXPORT quern_nn_errno quern_nn_tenant_remove(quern_nn_tenant* tenant, const char* name);
/* Calls `name` for each name, in byte order. */
QUERN_EXPORT quern_nn_errno quern_nn_tenant_names(const quern_nn_tenant* tenant,
                                                  void (*name)(void* user, const char* name),
                                                  void* user);
QUERN_EXPORT quern_nn_errno quern_nn_tenant_usage(const quern_nn_tenant* tenant,
                                                  quern_nn_counts* counts);

/* What a tenant holds and what was done for it since it was made. Times are of processors, in
 * nanoseconds: of the threads that called, and in computes of the team that works for such a
 * thread; docs/wasi-nn.md says what is not counted. */
typedef struct quern_nn_figures {
  size_t struct_size;
  uint64_t graphs; /* as in quern_nn_counts */
  uint64_t contexts;
  uint64_t resident_bytes;      /* the sum of the next five */
  uint64_t resident_models;     /* files, and the graphs that were read from them */
  uint64_t resident_weights;    /* packed for kernels */
  uint64_t resident_tables;     /* plans, generated code, states of kernels, handles */
  uint64_t resident_arenas;     /* intermediate results */
  uint64_t resident_tensors;    /* inputs and outputs of contexts, tensors of WIT */
  uint64_t resident_bytes_peak; /* the most that was held at one time */
  uint64_t loads;               /* models loaded, those of the host's names included */
  uint64_t loads_refused;       /* too_large */
  uint64_t loads_failed;        /* any other error */
  uint64_t computes;            /* that succeeded */
  uint64_t computes_timed_out;
  uint64_t computes_refused;
  uint64_t computes_failed;
  uint64_t load_ns;    /* reading models */
  uint64_t compile_ns; /* making what runs, when a name is added or a first context is made */
  uint64_t compute_ns; /* planning for new shapes, packing weights, and runs */
} quern_nn_figures;
#define QUERN_NN_FIGURES_INIT \
  { sizeof(quern_nn_figures), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

QUERN_EXPORT quern_nn_errno quern_nn_tenant_figures(const quern_nn_tenant* tenant,
                                                    quern_nn_figures* figures);

typedef struct quern_nn_labelled_tenant {
  const char* label; /* any text, which should differ from the others' */
  const quern_nn_tenant* tenant;
} quern_nn_labelled_tenant;

/* Calls `write` once with the figures of these tenants in the text format of Prometheus, for the
 * content type "text/plain; version=0.0.4": families quern_nn_*, with the label `tenant`. */
QUERN_EXPORT quern_nn_errno quern_nn_metrics(const quern_nn_labelled_tenant* tenants, size_t count,
                                             void (*write)(void* user, const char* text,
                                                           size_t bytes),
                                             void* user);

/* ---- instances ----------------------------------------------------------------------------- */

/* The objects of a tenant that one wasm instance holds. All of them end with the instance. */
typedef struct quern_nn_instance quern_nn_instance;

/* Limits in addition to the tenant's; `limits` may be NULL. */
QUERN_EXPORT quern_nn_errno quern_nn_instance_create(quern_nn_tenant* tenant,
                                                     const quern_nn_limits* limits,
                                                     quern_nn_instance** instance);
QUERN_EXPORT void quern_nn_instance_destroy(quern_nn_instance* instance);
QUERN_EXPORT quern_nn_errno quern_nn_instance_usage(const quern_nn_instance* instance,
                                                    quern_nn_counts* counts);
/* Copies the message of the last failed call on any thread to `text`, truncated to `capacity`
 * bytes including the terminating zero. Returns the full length. */
QUERN_EXPORT size_t quern_nn_instance_last_error(const quern_nn_instance* instance, char* text,
                                                 size_t capacity);

/* ---- tables for guests --------------------------------------------------------------------- */

/* The guest that makes a call; set up for every call. */
typedef struct quern_nn_guest {
  size_t struct_size;
  void* memory; /* NULL: the guest exports none */
  uint64_t memory_bytes;
  /* Only for WIT: calls the guest's cabi_realloc(0, 0, alignment, bytes), updates `memory` and
   * `memory_bytes`, which may have changed, and writes the address. Returns 0 on success. */
  int32_t (*make_room)(struct quern_nn_guest* guest, uint32_t alignment, uint32_t bytes,
                       uint32_t* at);
  void* host; /* for make_room */
} quern_nn_guest;
#define QUERN_NN_GUEST_INIT \
  { sizeof(quern_nn_guest), NULL, 0, NULL, NULL }

/* A function that guests import. All its parameters and results are i32. */
typedef struct quern_nn_import {
  const char* module;
  const char* name;
  uint32_t parameters; /* at most QUERN_NN_MAX_PARAMETERS */
  uint32_t results;    /* 0 or 1 */
  /* Accepts any bytes of memory and any arguments; keeps no pointer. */
  uint32_t (*call)(quern_nn_instance* instance, quern_nn_guest* guest, const uint32_t* arguments);
} quern_nn_import;
#define QUERN_NN_MAX_PARAMETERS 5

/* Row `index` of the module wasi_ephemeral_nn, whose functions return the errno; NULL after the
 * last one. The rows are static, as are those of quern_nn_wit_import(). */
QUERN_EXPORT const quern_nn_import* quern_nn_witx_import(size_t index);
/* The imports of a component's core module for wasi:nn@0.2.0-rc-2024-10-28. A function that
 * cannot report a failure returns 0, and the instance has the message. */
QUERN_EXPORT const quern_nn_import* quern_nn_wit_import(size_t index);

/* ---- the same, typed ----------------------------------------------------------------------- */

/* For hosts that define their own form of these calls. Handles of graphs and contexts are
 * numbers from 1, as guests see them; no handle is reused. */

typedef struct quern_nn_part {
  const void* data;
  size_t bytes;
} quern_nn_part;

/* An ONNX model in parts. `encoding` as in witx: onnx 1, autodetect 5 (or 6). */
QUERN_EXPORT quern_nn_errno quern_nn_load(quern_nn_instance* instance, const quern_nn_part* parts,
                                          size_t count, uint32_t encoding, uint32_t target,
                                          uint32_t* graph);
/* `name` need not be terminated. Errors: not_found. */
QUERN_EXPORT quern_nn_errno quern_nn_load_by_name(quern_nn_instance* instance, const char* name,
                                                  size_t bytes, uint32_t* graph);
/* The same with options of a language model as JSON, whose keys docs/wasi-nn.md lists. The first
 * load has them: a second load of the name gives the same graph. Other models have no options.
 * Errors: also invalid_encoding (no JSON), invalid_argument (a value of the wrong kind), too_large.
 */
QUERN_EXPORT quern_nn_errno quern_nn_load_by_name_with_config(quern_nn_instance* instance,
                                                              const char* name, size_t bytes,
                                                              const char* config,
                                                              size_t config_bytes, uint32_t* graph);
/* Contexts of the graph no longer compute. */
QUERN_EXPORT quern_nn_errno quern_nn_unload(quern_nn_instance* instance, uint32_t graph);
/* Contexts of the graph stay valid. */
QUERN_EXPORT quern_nn_errno quern_nn_drop_graph(quern_nn_instance* instance, uint32_t graph);

QUERN_EXPORT quern_nn_errno quern_nn_graph_input_count(quern_nn_instance* instance, uint32_t graph,
                                                       size_t* count);
QUERN_EXPORT quern_nn_errno quern_nn_graph_output_count(quern_nn_instance* instance, uint32_t graph,
                                                        size_t* count);
/* Name and dimensions belong to the graph: they are valid until it is unloaded and the last of its
 * contexts is gone, or as long as a named model has its name. `symbols` is NULL. */
QUERN_EXPORT quern_nn_errno quern_nn_graph_input_info(quern_nn_instance* instance, uint32_t graph,
                                                      size_t index, quern_value_info* info);
QUERN_EXPORT quern_nn_errno quern_nn_graph_output_info(quern_nn_instance* instance, uint32_t graph,
                                                       size_t index, quern_value_info* info);

/* `target` NULL: the target given at load. */
QUERN_EXPORT quern_nn_errno quern_nn_init_execution_context(quern_nn_instance* instance,
                                                            uint32_t graph,
                                                            const quern_nn_target* target,
                                                            uint32_t* context);
QUERN_EXPORT quern_nn_errno quern_nn_finalize_execution_context(quern_nn_instance* instance,
                                                                uint32_t context);

/* The elements are copied once. Errors: invalid_argument if type, rank, a fixed dimension or
 * the number of bytes does not match the model; too_large; busy. Input 0 of a language model is a
 * prompt, bytes of type QUERN_U8 of any dimensions; 1 is its options, as above. */
QUERN_EXPORT quern_nn_errno quern_nn_set_input(quern_nn_instance* instance, uint32_t context,
                                               size_t index, const quern_tensor* tensor);
QUERN_EXPORT quern_nn_errno quern_nn_compute(quern_nn_instance* instance, uint32_t context);
/* `*written` is the required size, also if that exceeds `capacity`, which is the error
 * too_large. */
QUERN_EXPORT quern_nn_errno quern_nn_get_output(quern_nn_instance* instance, uint32_t context,
                                                size_t index, void* buffer, size_t capacity,
                                                size_t* written);

/* For contexts of language models: one token more, and its bytes as output 0; the first compute
 * after the prompt is set computes that, and so does the first after quern_nn_fini_single().
 * Errors: end_of_sequence, context_full, prompt_too_long; invalid_argument, there is no prompt;
 * those of quern_nn_compute() and quern_nn_get_output(); unsupported_operation, another model. */
QUERN_EXPORT quern_nn_errno quern_nn_compute_single(quern_nn_instance* instance, uint32_t context);
QUERN_EXPORT quern_nn_errno quern_nn_get_output_single(quern_nn_instance* instance,
                                                       uint32_t context, size_t index, void* buffer,
                                                       size_t capacity, size_t* written);
QUERN_EXPORT quern_nn_errno quern_nn_fini_single(quern_nn_instance* instance, uint32_t context);

/* Exclusive use of a context by one thread: other threads get busy until quern_nn_use_end().
 * Keeps the instance alive. */
typedef struct quern_nn_use quern_nn_use;

QUERN_EXPORT quern_nn_errno quern_nn_use_begin(quern_nn_instance* instance, uint32_t context,
                                               quern_nn_use** use);
QUERN_EXPORT void quern_nn_use_end(quern_nn_use* use);
/* Returns the memory, aligned to 64 bytes, to which the caller must write the elements of an
 * input before the compute. Only dtype, rank and dims of `type` are used. */
QUERN_EXPORT quern_nn_errno quern_nn_use_place_input(quern_nn_use* use, size_t index,
                                                     const quern_tensor* type, void** place);
QUERN_EXPORT quern_nn_errno quern_nn_use_compute(quern_nn_use* use);
/* Borrowed until the next compute or the end of the use. */
QUERN_EXPORT quern_nn_errno quern_nn_use_output(const quern_nn_use* use, size_t index,
                                                quern_tensor* tensor);
/* Errors: not_found. */
QUERN_EXPORT quern_nn_errno quern_nn_use_input_index(const quern_nn_use* use, const char* name,
                                                     size_t* index);
QUERN_EXPORT quern_nn_errno quern_nn_use_output_index(const quern_nn_use* use, const char* name,
                                                      size_t* index);

typedef struct quern_nn_named_tensor {
  const char* name;
  const quern_tensor* tensor;
} quern_nn_named_tensor;

/* All outputs of a compute. */
typedef struct quern_nn_outputs quern_nn_outputs;

/* Takes all inputs and returns all outputs by name; no inputs are kept. `handle` is a context,
 * or a graph, for which a temporary context is made. */
QUERN_EXPORT quern_nn_errno quern_nn_compute_named(quern_nn_instance* instance, uint32_t handle,
                                                   const quern_nn_named_tensor* inputs,
                                                   size_t count, quern_nn_outputs** outputs);
QUERN_EXPORT void quern_nn_outputs_destroy(quern_nn_outputs* outputs);
QUERN_EXPORT size_t quern_nn_outputs_count(const quern_nn_outputs* outputs);
/* Name and elements belong to `outputs`. */
QUERN_EXPORT quern_nn_errno quern_nn_outputs_get(const quern_nn_outputs* outputs, size_t index,
                                                 quern_nn_named_tensor* output);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
