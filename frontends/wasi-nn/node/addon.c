/* SPDX-License-Identifier: Apache-2.0 */
/* The C form of wasi-nn for Node, by N-API; index.mjs makes classes of it and is what users see.
 * Errors are thrown as JavaScript errors with the errno as `errno`. */
#define NAPI_VERSION 8
#include <node_api.h>
#include <stdlib.h>
#include <string.h>

#include <quern/c/wasi_nn.h>

enum { MAX_ARGUMENTS = 8, MAX_LIST = 64 };

/* ---- reading and writing JavaScript values ---- */

typedef struct call {
  napi_env env;
  size_t count;
  napi_value values[MAX_ARGUMENTS];
} call;

static call begin(napi_env env, napi_callback_info info) {
  call c = {env, MAX_ARGUMENTS, {NULL}};
  napi_get_cb_info(env, info, &c.count, c.values, NULL, NULL);
  if (c.count > MAX_ARGUMENTS) c.count = MAX_ARGUMENTS;
  return c;
}

static napi_value undefined(napi_env env) {
  napi_value value;
  napi_get_undefined(env, &value);
  return value;
}

static napi_value number(napi_env env, double n) {
  napi_value value;
  napi_create_double(env, n, &value);
  return value;
}

static napi_value text(napi_env env, const char* s) {
  napi_value value;
  napi_create_string_utf8(env, s, NAPI_AUTO_LENGTH, &value);
  return value;
}

/* Throws, unless `code` is success. */
static int failed(napi_env env, quern_nn_errno code) {
  napi_value error;
  if (code == QUERN_NN_SUCCESS) return 0;
  napi_create_error(env, text(env, quern_nn_errno_name(code)), text(env, quern_nn_last_error()),
                    &error);
  napi_set_named_property(env, error, "errno", number(env, code));
  napi_throw(env, error);
  return 1;
}

static void* handle(const call* c, size_t index) {
  void* data = NULL;
  if (index < c->count) napi_get_value_external(c->env, c->values[index], &data);
  return data;
}

static uint32_t to_u32(napi_env env, napi_value value) {
  uint32_t n = 0;
  napi_get_value_uint32(env, value, &n);
  return n;
}

/* To be freed; NULL where it is no string. `bytes` may be NULL. */
static char* to_text(napi_env env, napi_value value, size_t* bytes) {
  size_t size = 0;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &size) != napi_ok) return NULL;
  char* s = malloc(size + 1);
  if (s) napi_get_value_string_utf8(env, value, s, size + 1, &size);
  if (bytes) *bytes = size;
  return s;
}

static quern_nn_part to_bytes(napi_env env, napi_value value) {
  quern_nn_part part = {NULL, 0};
  napi_typedarray_type type;
  bool is_typed = false;
  void* data = NULL;
  napi_is_typedarray(env, value, &is_typed);
  if (is_typed &&
      napi_get_typedarray_info(env, value, &type, &part.bytes, &data, NULL, NULL) == napi_ok)
    part.data = data;
  return part;
}

/* A number of options[name], or `otherwise`. */
static double option(napi_env env, napi_value options, const char* name, double otherwise) {
  bool has = false;
  napi_value value;
  napi_has_named_property(env, options, name, &has);
  if (has && napi_get_named_property(env, options, name, &value) == napi_ok)
    napi_get_value_double(env, value, &otherwise);
  return otherwise;
}

static uint64_t limit(napi_env env, napi_value options, const char* name) {
  const double n = option(env, options, name, -1);
  return n < 0 || n > 9e15 ? QUERN_NN_NO_LIMIT : (uint64_t)n;
}

static quern_nn_limits to_limits(napi_env env, napi_value o) {
  quern_nn_limits limits = QUERN_NN_LIMITS_INIT;
  limits.graphs = limit(env, o, "graphs");
  limits.contexts = limit(env, o, "contexts");
  limits.model_bytes = limit(env, o, "modelBytes");
  limits.tensor_bytes = limit(env, o, "tensorBytes");
  limits.resident_bytes = limit(env, o, "residentBytes");
  limits.parallel_computes = limit(env, o, "parallelComputes");
  limits.deadline_us = (uint64_t)(option(env, o, "deadlineMs", 0) * 1000);
  limits.targets = (uint32_t)option(env, o, "targets", limits.targets);
  limits.names_only = option(env, o, "namesOnly", 0) != 0;
  return limits;
}

static napi_value from_counts(napi_env env, const quern_nn_counts* c) {
  napi_value counts;
  napi_create_object(env, &counts);
  napi_set_named_property(env, counts, "graphs", number(env, (double)c->graphs));
  napi_set_named_property(env, counts, "contexts", number(env, (double)c->contexts));
  napi_set_named_property(env, counts, "modelBytes", number(env, (double)c->model_bytes));
  napi_set_named_property(env, counts, "tensorBytes", number(env, (double)c->tensor_bytes));
  napi_set_named_property(env, counts, "residentBytes", number(env, (double)c->resident_bytes));
  napi_set_named_property(env, counts, "parallelComputes",
                          number(env, (double)c->parallel_computes));
  return counts;
}

/* ---- tenants and instances ---- */

static void end_tenant(napi_env env, void* data, void* hint) {
  (void)env;
  (void)hint;
  quern_nn_tenant_destroy(data);
}

static void end_instance(napi_env env, void* data, void* hint) {
  (void)env;
  (void)hint;
  quern_nn_instance_destroy(data);
}

/* (options) */
static napi_value tenant_create(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  const quern_nn_limits limits = to_limits(env, c.values[0]);
  quern_nn_tenant_options options = QUERN_NN_TENANT_OPTIONS_INIT;
  quern_nn_tenant* tenant = NULL;
  napi_value external = NULL;
  options.limits = &limits;
  options.threads = (int32_t)option(env, c.values[0], "threads", 0);
  options.any_encoding = option(env, c.values[0], "anyEncoding", 0) != 0;
  options.share_graphs = option(env, c.values[0], "shareGraphs", 0) != 0;
  options.guest_pictures = option(env, c.values[0], "guestPictures", 0) != 0;
  options.gpu_or_nothing = option(env, c.values[0], "gpuOrNothing", 0) != 0;
  options.everywhere = (quern_nn_target)option(env, c.values[0], "everywhere", QUERN_NN_AS_ASKED);
  if (!failed(env, quern_nn_tenant_create(&options, &tenant)))
    napi_create_external(env, tenant, end_tenant, NULL, &external);
  return external;
}

/* (tenant, name, path or bytes, target) */
static napi_value tenant_add(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  quern_nn_tenant* tenant = handle(&c, 0);
  char* name = to_text(env, c.values[1], NULL);
  char* path = to_text(env, c.values[2], NULL);
  const quern_nn_part bytes = to_bytes(env, c.values[2]);
  const quern_nn_target target = (quern_nn_target)to_u32(env, c.values[3]);
  failed(env, path ? quern_nn_tenant_add_file(tenant, name, path, target)
                   : quern_nn_tenant_add_bytes(tenant, name, bytes.data, bytes.bytes, target));
  free(name);
  free(path);
  return undefined(env);
}

/* (tenant, name) */
static napi_value tenant_remove(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  char* name = to_text(env, c.values[1], NULL);
  failed(env, quern_nn_tenant_remove(handle(&c, 0), name));
  free(name);
  return undefined(env);
}

/* (tenant) */
static napi_value tenant_usage(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  quern_nn_counts counts = QUERN_NN_COUNTS_INIT;
  failed(env, quern_nn_tenant_usage(handle(&c, 0), &counts));
  return from_counts(env, &counts);
}

/* (tenant, limits) */
static napi_value instance_create(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  const quern_nn_limits limits = to_limits(env, c.values[1]);
  quern_nn_instance* instance = NULL;
  napi_value external = NULL;
  if (!failed(env, quern_nn_instance_create(handle(&c, 0), &limits, &instance)))
    napi_create_external(env, instance, end_instance, NULL, &external);
  return external;
}

/* (instance) */
static napi_value instance_usage(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  quern_nn_counts counts = QUERN_NN_COUNTS_INIT;
  failed(env, quern_nn_instance_usage(handle(&c, 0), &counts));
  return from_counts(env, &counts);
}

/* (instance) */
static napi_value instance_last_error(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  char sentence[1024] = "";
  quern_nn_instance_last_error(handle(&c, 0), sentence, sizeof sentence);
  return text(env, sentence);
}

/* ---- the table ---- */

/* (): names by index */
static napi_value imports(napi_env env, napi_callback_info info) {
  const quern_nn_import* import;
  napi_value names;
  (void)info;
  napi_create_array(env, &names);
  for (uint32_t i = 0; (import = quern_nn_witx_import(i)) != NULL; i++)
    napi_set_element(env, names, i, text(env, import->name));
  return names;
}

/* (instance, index, memory as bytes, arguments...) */
static napi_value call_import(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  quern_nn_guest guest = QUERN_NN_GUEST_INIT;
  uint32_t arguments[QUERN_NN_MAX_PARAMETERS] = {0};
  const quern_nn_import* import = quern_nn_witx_import(to_u32(env, c.values[1]));
  const quern_nn_part memory = to_bytes(env, c.values[2]);
  for (size_t i = 3; i < c.count; i++) {
    int32_t n = 0; /* an i32 as WebAssembly gives it, which is signed */
    napi_get_value_int32(env, c.values[i], &n);
    arguments[i - 3] = (uint32_t)n;
  }
  guest.memory = (void*)memory.data;
  guest.memory_bytes = memory.bytes;
  return number(env, import ? import->call(handle(&c, 0), &guest, arguments)
                            : QUERN_NN_UNSUPPORTED_OPERATION);
}

/* ---- typed calls ---- */

/* (instance, array of bytes, encoding, target) */
static napi_value load(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  quern_nn_part parts[MAX_LIST];
  uint32_t count = 0, graph = 0;
  napi_get_array_length(env, c.values[1], &count);
  for (uint32_t i = 0; i < count && i < MAX_LIST; i++) {
    napi_value part = NULL;
    napi_get_element(env, c.values[1], i, &part);
    parts[i] = to_bytes(env, part);
  }
  failed(env, count > MAX_LIST
                  ? QUERN_NN_INVALID_ARGUMENT
                  : quern_nn_load(handle(&c, 0), parts, count, to_u32(env, c.values[2]),
                                  to_u32(env, c.values[3]), &graph));
  return number(env, graph);
}

/* (instance, name) */
static napi_value load_by_name(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  size_t bytes = 0;
  uint32_t graph = 0;
  char* name = to_text(env, c.values[1], &bytes);
  failed(env, quern_nn_load_by_name(handle(&c, 0), name, bytes, &graph));
  free(name);
  return number(env, graph);
}

/* (instance, graph) */
static napi_value drop_graph(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  failed(env, quern_nn_drop_graph(handle(&c, 0), to_u32(env, c.values[1])));
  return undefined(env);
}

/* (instance, graph) */
static napi_value init_execution_context(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  uint32_t context = 0;
  failed(env,
         quern_nn_init_execution_context(handle(&c, 0), to_u32(env, c.values[1]), NULL, &context));
  return number(env, context);
}

/* (instance, context) */
static napi_value finalize_execution_context(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  failed(env, quern_nn_finalize_execution_context(handle(&c, 0), to_u32(env, c.values[1])));
  return undefined(env);
}

/* ---- computes by name: tensors are arrays [name, type, dimensions, bytes] ---- */

typedef struct inputs {
  uint32_t count;
  quern_nn_named_tensor named[MAX_LIST];
  quern_tensor tensors[MAX_LIST];
} inputs;

static void read_tensor(napi_env env, napi_value value, quern_nn_named_tensor* named,
                        quern_tensor* tensor) {
  static const quern_tensor empty = QUERN_TENSOR_INIT;
  napi_value fields[4] = {NULL};
  *tensor = empty;
  for (uint32_t i = 0; i < 4; i++) napi_get_element(env, value, i, &fields[i]);
  named->name = to_text(env, fields[0], NULL);
  named->tensor = tensor;
  tensor->dtype = (quern_dtype)to_u32(env, fields[1]);
  napi_get_array_length(env, fields[2], &tensor->rank);
  for (uint32_t i = 0; i < tensor->rank && i < QUERN_MAX_RANK; i++) {
    napi_value dim = NULL;
    napi_get_element(env, fields[2], i, &dim);
    tensor->dims[i] = to_u32(env, dim);
  }
  const quern_nn_part bytes = to_bytes(env, fields[3]);
  tensor->data = bytes.data;
  tensor->bytes = bytes.bytes;
}

static napi_value write_tensor(napi_env env, const quern_nn_named_tensor* named) {
  napi_value fields, dims, buffer, bytes;
  void* data = NULL;
  const quern_tensor* t = named->tensor;
  napi_create_array_with_length(env, 4, &fields);
  napi_set_element(env, fields, 0, text(env, named->name));
  napi_set_element(env, fields, 1, number(env, t->dtype));
  napi_create_array_with_length(env, t->rank, &dims);
  for (uint32_t i = 0; i < t->rank; i++)
    napi_set_element(env, dims, i, number(env, (double)t->dims[i]));
  napi_set_element(env, fields, 2, dims);
  if (napi_create_arraybuffer(env, t->bytes, &data, &buffer) != napi_ok) return fields;
  if (t->bytes > 0) memcpy(data, t->data, t->bytes);
  napi_create_typedarray(env, napi_uint8_array, t->bytes, buffer, 0, &bytes);
  napi_set_element(env, fields, 3, bytes);
  return fields;
}

/* (instance, context or graph, array of tensors): an array of tensors */
static napi_value compute_named(napi_env env, napi_callback_info info) {
  const call c = begin(env, info);
  inputs* given = calloc(1, sizeof *given);
  quern_nn_outputs* outputs = NULL;
  napi_value made = undefined(env);
  if (!given) return made;
  napi_get_array_length(env, c.values[2], &given->count);
  if (given->count > MAX_LIST) given->count = MAX_LIST;
  for (uint32_t i = 0; i < given->count; i++) {
    napi_value tensor = NULL;
    napi_get_element(env, c.values[2], i, &tensor);
    read_tensor(env, tensor, &given->named[i], &given->tensors[i]);
  }
  if (!failed(env, quern_nn_compute_named(handle(&c, 0), to_u32(env, c.values[1]), given->named,
                                          given->count, &outputs))) {
    napi_create_array(env, &made);
    for (uint32_t i = 0; i < quern_nn_outputs_count(outputs); i++) {
      quern_nn_named_tensor named;
      quern_nn_outputs_get(outputs, i, &named);
      napi_set_element(env, made, i, write_tensor(env, &named));
    }
  }
  quern_nn_outputs_destroy(outputs);
  for (uint32_t i = 0; i < given->count; i++) free((char*)given->named[i].name);
  free(given);
  return made;
}

/* ---- module ---- */

static const struct {
  const char* name;
  napi_callback function;
} functions[] = {
    {"tenantCreate", tenant_create},
    {"tenantAdd", tenant_add},
    {"tenantRemove", tenant_remove},
    {"tenantUsage", tenant_usage},
    {"instanceCreate", instance_create},
    {"instanceUsage", instance_usage},
    {"instanceLastError", instance_last_error},
    {"imports", imports},
    {"call", call_import},
    {"load", load},
    {"loadByName", load_by_name},
    {"dropGraph", drop_graph},
    {"initExecutionContext", init_execution_context},
    {"finalizeExecutionContext", finalize_execution_context},
    {"computeNamed", compute_named},
};

NAPI_MODULE_INIT() {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value function;
    napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, NULL,
                         &function);
    napi_set_named_property(env, exports, functions[i].name, function);
  }
  return exports;
}
