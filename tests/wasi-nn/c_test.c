/* SPDX-License-Identifier: Apache-2.0 */
/* The C form of wasi-nn as a host in strict C99 would use it: c_test DIGITS.onnx. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern/c/wasi_nn.h>

#define LAST_ERROR quern_nn_last_error
#include "../check.h"

enum { SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10 };

#define OK(call) CHECK((call) == QUERN_NN_SUCCESS)

static float pixels[PIXELS];

static int is_distribution(const float* p) {
  float sum = 0;
  for (int i = 0; i < CLASSES; i++) sum += p[i];
  return sum > 0.99f && sum < 1.01f;
}

static quern_tensor picture(void) {
  quern_tensor tensor = QUERN_TENSOR_INIT;
  const int64_t dims[] = {1, 1, SIDE, SIDE};
  tensor.rank = 4;
  memcpy(tensor.dims, dims, sizeof dims);
  tensor.data = pixels;
  tensor.bytes = sizeof pixels;
  return tensor;
}

/* ---- options, names, limits ---- */

static void keep(void* user, const char* text) {
  strncpy(user, text, 255);
}

static void check_tenants(const char* model) {
  char log[256] = "";
  quern_nn_limits limits = QUERN_NN_LIMITS_INIT;
  quern_nn_tenant_options options = QUERN_NN_TENANT_OPTIONS_INIT;
  quern_nn_tenant *tenant = NULL, *other = NULL;
  quern_nn_instance* instance = NULL;
  quern_nn_counts usage = QUERN_NN_COUNTS_INIT;
  uint32_t graph = 77, context = 77;

  limits.names_only = 1;
  options.limits = &limits;
  options.threads = 1;
  options.log = keep;
  options.log_user = log;
  OK(quern_nn_tenant_create(&options, &tenant));
  OK(quern_nn_tenant_create(NULL, &other));
  OK(quern_nn_tenant_add_file(tenant, "digits", model, QUERN_NN_CPU));
  CHECK(quern_nn_tenant_add_file(tenant, "digits", model, 0) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(quern_nn_tenant_add_file(tenant, "none", "/nowhere.onnx", 0) == QUERN_NN_NOT_FOUND);
  CHECK(strstr(quern_nn_last_error(), "/nowhere.onnx") != NULL);
  CHECK(quern_nn_tenant_add_bytes(tenant, "bad", "rubbish", 7, 0) == QUERN_NN_INVALID_ENCODING);
  CHECK(quern_nn_tenant_add_file(tenant, "tpu", model, 2) == QUERN_NN_UNSUPPORTED_OPERATION);
  CHECK(quern_nn_tenant_add_file(tenant, "what", model, 3) == QUERN_NN_INVALID_ARGUMENT);
  OK(quern_nn_tenant_share(other, "theirs", tenant, "digits"));
  CHECK(quern_nn_tenant_share(other, "x", tenant, "none") == QUERN_NN_NOT_FOUND);
  char names[256] = "";
  OK(quern_nn_tenant_names(other, keep, names));
  CHECK(strcmp(names, "theirs") == 0);
  OK(quern_nn_tenant_remove(other, "theirs"));

  limits.names_only = 0;
  limits.contexts = 1;
  OK(quern_nn_instance_create(tenant, &limits, &instance));
  const quern_nn_part part = {"bytes", 5};
  CHECK(quern_nn_load(instance, &part, 1, 1, 0, &graph) == QUERN_NN_UNSUPPORTED_OPERATION);
  CHECK(quern_nn_load_by_name(instance, "digit", 5, &graph) == QUERN_NN_NOT_FOUND);
  CHECK(strstr(log, "'digit'") != NULL);
  char sentence[16];
  CHECK(quern_nn_instance_last_error(instance, sentence, sizeof sentence) > 15);
  CHECK(strlen(sentence) == 15);
  sentence[0] = '?';
  CHECK(quern_nn_instance_last_error(instance, sentence, 0) > 15);
  CHECK(sentence[0] == '?');
  CHECK(quern_nn_instance_last_error(instance, NULL, sizeof sentence) > 15);
  CHECK(graph == 77);
  OK(quern_nn_load_by_name(instance, "digits and more", 6, &graph));
  OK(quern_nn_init_execution_context(instance, graph, NULL, &context));
  CHECK(quern_nn_init_execution_context(instance, graph, NULL, &graph) == QUERN_NN_TOO_LARGE);
  OK(quern_nn_instance_usage(instance, &usage));
  CHECK(usage.contexts == 1 && usage.graphs == 1 && usage.model_bytes == 0);
  quern_nn_tenant_destroy(tenant); /* the instance keeps what it needs */
  CHECK(quern_nn_compute_named(instance, context, NULL, 0, NULL) == QUERN_NN_INVALID_ARGUMENT);
  quern_nn_instance_destroy(instance);
  quern_nn_tenant_destroy(other);
}

/* ---- figures and metrics ---- */

static void keep_text(void* user, const char* text, size_t bytes) {
  char* kept = user;
  const size_t most = bytes < 8191 ? bytes : 8191;
  memcpy(kept, text, most);
  kept[most] = 0;
}

static void check_figures(const char* model) {
  static char text[8192];
  quern_nn_tenant* tenant = NULL;
  quern_nn_instance* instance = NULL;
  quern_nn_figures figures = QUERN_NN_FIGURES_INIT;
  quern_tensor tensor = picture();
  uint32_t graph = 0, context = 0;
  OK(quern_nn_tenant_create(NULL, &tenant));
  OK(quern_nn_tenant_add_file(tenant, "digits", model, QUERN_NN_CPU));
  OK(quern_nn_instance_create(tenant, NULL, &instance));
  OK(quern_nn_load_by_name(instance, "digits", 6, &graph));
  OK(quern_nn_init_execution_context(instance, graph, NULL, &context));
  CHECK(quern_nn_compute(instance, context) == QUERN_NN_INVALID_ARGUMENT); /* no input */
  OK(quern_nn_set_input(instance, context, 0, &tensor));
  OK(quern_nn_compute(instance, context));
  OK(quern_nn_tenant_figures(tenant, &figures));
  CHECK(figures.graphs == 2 && figures.contexts == 1 && figures.loads == 1);
  CHECK(figures.computes == 1 && figures.computes_failed == 1 && figures.computes_refused == 0);
  CHECK(figures.resident_bytes == figures.resident_models + figures.resident_weights +
                                      figures.resident_tables + figures.resident_arenas +
                                      figures.resident_tensors);
  CHECK(figures.resident_bytes_peak >= figures.resident_bytes && figures.resident_arenas > 0);
  CHECK(figures.load_ns > 0 && figures.compile_ns > 0 && figures.compute_ns > 0);
  figures.struct_size--;
  CHECK(quern_nn_tenant_figures(tenant, &figures) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(quern_nn_tenant_figures(NULL, &figures) == QUERN_NN_INVALID_ARGUMENT);

  const quern_nn_labelled_tenant labelled[] = {{"a \"b\"", tenant}, {NULL, tenant}};
  OK(quern_nn_metrics(labelled, 1, keep_text, text));
  CHECK(strstr(text, "quern_nn_computes_total{tenant=\"a \\\"b\\\"\",result=\"ok\"} 1\n"));
  CHECK(quern_nn_metrics(labelled, 2, keep_text, text) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(quern_nn_metrics(NULL, 1, keep_text, text) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(quern_nn_metrics(labelled, 1, NULL, text) == QUERN_NN_INVALID_ARGUMENT);
  OK(quern_nn_metrics(NULL, 0, keep_text, text));
  quern_nn_instance_destroy(instance);
  quern_nn_tenant_destroy(tenant);
}

/* The structure as it was before it had share_graphs, and with it. */
static void check_sharing(void) {
  static const unsigned char rubbish[] = "rubbish";
  quern_nn_tenant_options options = QUERN_NN_TENANT_OPTIONS_INIT;
  quern_nn_tenant* tenant = NULL;
  options.share_graphs = 1;
  OK(quern_nn_tenant_create(&options, &tenant));
  CHECK(quern_nn_tenant_add_bytes(tenant, "x", rubbish, 7, 0) == QUERN_NN_INVALID_ENCODING);
  quern_nn_tenant_destroy(tenant);
  options.struct_size = offsetof(quern_nn_tenant_options, share_graphs);
  OK(quern_nn_tenant_create(&options, &tenant));
  quern_nn_tenant_destroy(tenant);
  options.struct_size++;
  CHECK(quern_nn_tenant_create(&options, &tenant) == QUERN_NN_INVALID_ARGUMENT);
}

/* The last task first, on the caller's thread. */
static void run_tasks(void* context, int32_t count, quern_task task, void* data) {
  *(int32_t*)context += count;
  while (count-- > 0) task(data, count);
}

/* Computes on a host's threads, on those of the process, and with the structure before it had them.
 */
static void check_thread_pools(const char* model) {
  quern_nn_tenant_options options = QUERN_NN_TENANT_OPTIONS_INIT;
  quern_thread_pool_options pool = QUERN_THREAD_POOL_OPTIONS_INIT;
  int32_t tasks = 0;
  options.thread_pool = &pool;
  pool.run = run_tasks;
  pool.context = &tasks;
  pool.threads = -1;
  quern_nn_tenant* tenant = NULL;
  CHECK(quern_nn_tenant_create(&options, &tenant) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(strstr(quern_nn_last_error(), "-1 threads") != NULL);
  pool.threads = 3;
  options.weight = 2;
  CHECK(quern_nn_tenant_create(&options, &tenant) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(strstr(quern_nn_last_error(), "weight") != NULL);
  options.weight = 0;
  for (int round = 0; round < 3; round++) {
    quern_nn_instance* instance = NULL;
    uint32_t graph = 0, context = 0;
    const quern_tensor tensor = picture();
    tasks = 0;
    pool.threads = round == 0 ? 3 : 0;
    if (round == 1) {
      pool.run = NULL;
      options.weight = 3;
    }
    if (round == 2) options.struct_size = offsetof(quern_nn_tenant_options, thread_pool);
    OK(quern_nn_tenant_create(&options, &tenant));
    OK(quern_nn_tenant_add_file(tenant, "digits", model, QUERN_NN_CPU));
    OK(quern_nn_instance_create(tenant, NULL, &instance));
    OK(quern_nn_load_by_name(instance, "digits", 6, &graph));
    OK(quern_nn_init_execution_context(instance, graph, NULL, &context));
    OK(quern_nn_set_input(instance, context, 0, &tensor));
    OK(quern_nn_compute(instance, context));
    CHECK((tasks > 0) == (round == 0));
    quern_nn_instance_destroy(instance);
    quern_nn_tenant_destroy(tenant);
  }
}

/* The device of GPU models is the one that the host names. */
static void check_gpu(const char* model) {
  quern_nn_tenant_options options = QUERN_NN_TENANT_OPTIONS_INIT;
  quern_nn_tenant* tenant = NULL;
  quern_nn_instance* instance = NULL;
  uint32_t graph = 0, context = 0;
  char log[256] = "";
  options.gpu = "nowhere";
  options.log = keep;
  options.log_user = log;
  OK(quern_nn_tenant_create(&options, &tenant));
  OK(quern_nn_tenant_add_file(tenant, "digits", model, QUERN_NN_GPU));
  OK(quern_nn_instance_create(tenant, NULL, &instance));
  OK(quern_nn_load_by_name(instance, "digits", 6, &graph));
  OK(quern_nn_init_execution_context(instance, graph, NULL, &context));
  CHECK(strstr(log, "nowhere") != NULL);
  quern_nn_instance_destroy(instance);
  quern_nn_tenant_destroy(tenant);
}

/* ---- typed ---- */

static void check_typed(quern_nn_instance* instance) {
  uint32_t graph = 0, context = 0, other = 0;
  size_t count = 0, written = 0, index = 0;
  float probabilities[CLASSES], again[CLASSES];
  quern_value_info info = QUERN_VALUE_INFO_INIT;
  quern_tensor tensor = picture(), output = QUERN_TENSOR_INIT;

  OK(quern_nn_load_by_name(instance, "digits", 6, &graph));
  OK(quern_nn_graph_input_count(instance, graph, &count));
  CHECK(count == 1);
  OK(quern_nn_graph_input_info(instance, graph, 0, &info));
  CHECK(info.dtype == QUERN_F32 && info.rank == 4 && info.dims[3] == SIDE);
  CHECK(quern_nn_graph_input_info(instance, graph, 1, &info) == QUERN_NN_INVALID_ARGUMENT);
  OK(quern_nn_graph_output_count(instance, graph, &count));
  OK(quern_nn_graph_output_info(instance, graph, 0, &info));

  const quern_nn_target cpu = QUERN_NN_CPU, tpu = 2;
  CHECK(quern_nn_init_execution_context(instance, graph, &tpu, &context) ==
        QUERN_NN_UNSUPPORTED_OPERATION);
  OK(quern_nn_init_execution_context(instance, graph, &cpu, &context));
  CHECK(quern_nn_get_output(instance, context, 0, again, 40, &written) == QUERN_NN_RUNTIME_ERROR);
  CHECK(quern_nn_compute(instance, context) == QUERN_NN_INVALID_ARGUMENT);
  tensor.bytes -= 1;
  CHECK(quern_nn_set_input(instance, context, 0, &tensor) == QUERN_NN_INVALID_ARGUMENT);
  tensor.bytes += 1;
  tensor.rank = QUERN_MAX_RANK + 1;
  CHECK(quern_nn_set_input(instance, context, 0, &tensor) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(strstr(quern_nn_last_error(), "a tensor of rank 17, at most 16 is possible") != NULL);
  tensor.rank = 4;
  OK(quern_nn_set_input(instance, context, 0, &tensor));
  OK(quern_nn_compute(instance, context));
  CHECK(quern_nn_get_output(instance, context, 0, NULL, 0, &written) == QUERN_NN_TOO_LARGE);
  CHECK(written == sizeof probabilities);
  OK(quern_nn_get_output(instance, context, 0, probabilities, sizeof probabilities, &written));
  CHECK(is_distribution(probabilities));

  quern_nn_use* use = NULL;
  void* place = NULL;
  OK(quern_nn_use_begin(instance, context, &use));
  OK(quern_nn_use_place_input(use, 0, &tensor, &place));
  memcpy(place, pixels, sizeof pixels);
  OK(quern_nn_use_compute(use));
  OK(quern_nn_use_output(use, 0, &output));
  CHECK(output.bytes == sizeof probabilities && !memcmp(output.data, probabilities, output.bytes));
  CHECK(quern_nn_use_input_index(use, "nothing", &index) == QUERN_NN_NOT_FOUND);
  OK(quern_nn_use_output_index(use, info.name, &index));
  quern_nn_use_end(use);

  OK(quern_nn_graph_input_info(instance, graph, 0, &info));
  const quern_nn_named_tensor input = {info.name, &tensor}, stranger = {"stranger", &tensor};
  const uint32_t handles[] = {graph, context};
  for (int i = 0; i < 2; i++) {
    quern_nn_outputs* outputs = NULL;
    quern_nn_named_tensor named;
    OK(quern_nn_compute_named(instance, handles[i], &input, 1, &outputs));
    CHECK(quern_nn_outputs_count(outputs) == 1);
    OK(quern_nn_outputs_get(outputs, 0, &named));
    CHECK(!memcmp(named.tensor->data, probabilities, sizeof probabilities));
    CHECK(quern_nn_outputs_get(outputs, 1, &named) == QUERN_NN_INVALID_ARGUMENT);
    quern_nn_outputs_destroy(outputs);
    CHECK(quern_nn_compute_named(instance, handles[i], &stranger, 1, &outputs) ==
          QUERN_NN_NOT_FOUND);
  }
  OK(quern_nn_drop_graph(instance, graph));
  OK(quern_nn_set_input(instance, context, 0, &tensor));
  OK(quern_nn_compute(instance, context));
  CHECK(quern_nn_unload(instance, graph) == QUERN_NN_INVALID_ARGUMENT);
  OK(quern_nn_finalize_execution_context(instance, context));
  CHECK(quern_nn_use_begin(instance, context, &use) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(quern_nn_init_execution_context(instance, graph, NULL, &other) ==
        QUERN_NN_INVALID_ARGUMENT);
}

/* ---- the tables, over a memory of our own ---- */

typedef struct guest {
  unsigned char* memory;
  uint32_t bytes;
} guest;

static uint32_t word(const guest* g, uint32_t at) {
  uint32_t value;
  memcpy(&value, g->memory + at, 4);
  return value;
}

static void put(guest* g, uint32_t at, uint32_t value) {
  memcpy(g->memory + at, &value, 4);
}

/* New memory at the end, which moves. */
static int32_t grow(quern_nn_guest* call, uint32_t alignment, uint32_t bytes, uint32_t* at) {
  guest* g = call->host;
  *at = (g->bytes + alignment - 1) / alignment * alignment;
  unsigned char* moved = calloc(1, *at + bytes);
  memcpy(moved, g->memory, g->bytes);
  free(g->memory);
  g->memory = moved;
  g->bytes = *at + bytes;
  call->memory = g->memory;
  call->memory_bytes = g->bytes;
  return 0;
}

typedef const quern_nn_import* (*table)(size_t index);

static uint32_t call(table rows, quern_nn_instance* instance, guest* g, const char* name,
                     const uint32_t* arguments) {
  quern_nn_guest caller = QUERN_NN_GUEST_INIT;
  caller.memory = g->memory;
  caller.memory_bytes = g->bytes;
  caller.make_room = grow;
  caller.host = g;
  const quern_nn_import* row;
  for (size_t i = 0; (row = rows(i)) != NULL; i++) {
    if (strcmp(row->name, name)) continue;
    CHECK(row->call(NULL, &caller, arguments) == QUERN_NN_INVALID_ARGUMENT);
    CHECK(row->call(instance, NULL, arguments) == QUERN_NN_INVALID_ARGUMENT);
    CHECK(row->call(instance, &caller, NULL) == QUERN_NN_INVALID_ARGUMENT);
    quern_nn_guest of_no_size = caller;
    of_no_size.struct_size--;
    CHECK(row->call(instance, &of_no_size, arguments) == QUERN_NN_INVALID_ARGUMENT);
    return row->call(instance, &caller, arguments);
  }
  printf("no row %s\n", name);
  failures++;
  return 0;
}
#define WITX(name, ...) \
  call(quern_nn_witx_import, instance, &g, name, (const uint32_t[]){__VA_ARGS__})
#define WIT(name, ...) \
  call(quern_nn_wit_import, instance, &g, name, (const uint32_t[]){__VA_ARGS__})

enum { NAME = 16, DIMS = 64, RECORD = 128, OUT = 192, LIST = 256, DATA = 1024, BYTES = 8192 };

static guest new_guest(const char* input_name) {
  guest g = {calloc(1, BYTES), BYTES};
  const uint32_t dims[] = {1, 1, SIDE, SIDE};
  const uint32_t record[] = {DIMS, 4, 1, DATA, sizeof pixels};
  memcpy(g.memory + NAME, "digits", 6);
  memcpy(g.memory + NAME + 6, input_name, strlen(input_name));
  memcpy(g.memory + DIMS, dims, sizeof dims);
  memcpy(g.memory + RECORD, record, sizeof record);
  memcpy(g.memory + DATA, pixels, sizeof pixels);
  return g;
}

static void check_witx(quern_nn_instance* instance) {
  guest g = new_guest("");
  float probabilities[CLASSES];
  OK(WITX("load_by_name", NAME, 6, OUT));
  OK(WITX("init_execution_context", word(&g, OUT), OUT));
  const uint32_t context = word(&g, OUT);
  CHECK(WITX("set_input", context, 0, BYTES - 19) == QUERN_NN_INVALID_ARGUMENT);
  OK(WITX("set_input", context, 0, RECORD));
  OK(WITX("compute", context));
  OK(WITX("get_output", context, 0, DATA, sizeof probabilities, OUT));
  memcpy(probabilities, g.memory + DATA, sizeof probabilities);
  CHECK(is_distribution(probabilities));
  OK(WITX("finalize_execution_context", context));
  free(g.memory);
  g.memory = NULL;
  CHECK(WITX("compute", context) == QUERN_NN_MISSING_MEMORY);
}

static void check_wit(quern_nn_instance* instance, const char* input_name) {
  guest g = new_guest(input_name);
  float probabilities[CLASSES];
  WIT("load-by-name", NAME, 6, OUT);
  CHECK(g.memory[OUT] == 0);
  WIT("[method]graph.init-execution-context", word(&g, OUT + 4), OUT);
  const uint32_t context = word(&g, OUT + 4);
  put(&g, LIST, NAME + 6);
  put(&g, LIST + 4, (uint32_t)strlen(input_name));
  put(&g, LIST + 8, WIT("[constructor]tensor", DIMS, 4, 1, DATA, sizeof pixels));
  WIT("[method]graph-execution-context.compute", context, LIST, 1, OUT);
  CHECK(g.memory[OUT] == 0 && word(&g, OUT + 8) == 1);
  WIT("[method]tensor.data", word(&g, word(&g, OUT + 4) + 8), OUT);
  CHECK(word(&g, OUT + 4) == sizeof probabilities);
  memcpy(probabilities, g.memory + word(&g, OUT), sizeof probabilities);
  CHECK(is_distribution(probabilities));

  WIT("[method]graph-execution-context.compute", context, LIST, 1, OUT); /* the tensor is gone */
  CHECK(g.memory[OUT] == 1);
  const uint32_t error = word(&g, OUT + 4);
  CHECK(WIT("[method]error.code", error) == 0);
  WIT("[method]error.data", error, OUT);
  CHECK(!memcmp(g.memory + word(&g, OUT), "no tensor", 9));
  free(g.memory);
}

/* ---- what must not crash ---- */

static void check_nulls(void) {
  quern_nn_counts usage = QUERN_NN_COUNTS_INIT;
  quern_nn_tenant_options unset = QUERN_NN_TENANT_OPTIONS_INIT;
  quern_nn_tenant* tenant = NULL;
  uint32_t handle = 0;
  unset.struct_size = 0;
  CHECK(quern_nn_tenant_create(NULL, NULL) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(quern_nn_tenant_create(&unset, &tenant) == QUERN_NN_INVALID_ARGUMENT);
  /* Half of the pointer to the limits. */
  unset.struct_size = offsetof(quern_nn_tenant_options, limits) + 4;
  CHECK(quern_nn_tenant_create(&unset, &tenant) == QUERN_NN_INVALID_ARGUMENT);
  /* As it was before a host could say where models run. */
  unset.struct_size = offsetof(quern_nn_tenant_options, everywhere);
  OK(quern_nn_tenant_create(&unset, &tenant));
  quern_nn_tenant_destroy(tenant);
  CHECK(quern_nn_tenant_usage(NULL, &usage) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(quern_nn_instance_create(NULL, NULL, NULL) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(quern_nn_load(NULL, NULL, 0, 1, 0, &handle) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(quern_nn_compute(NULL, 1) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(quern_nn_use_compute(NULL) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(strcmp(quern_nn_last_error(), "use is null") == 0);
  CHECK(quern_nn_outputs_count(NULL) == 0);
  CHECK(quern_nn_instance_last_error(NULL, NULL, 0) == 0);
  quern_nn_tenant_destroy(NULL);
  quern_nn_instance_destroy(NULL);
  quern_nn_use_end(NULL);
  quern_nn_outputs_destroy(NULL);
  CHECK(!strcmp(quern_nn_errno_name(QUERN_NN_TOO_LARGE), "too_large"));
  CHECK(!strcmp(quern_nn_errno_name(99), "unknown"));
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  quern_nn_tenant* tenant = NULL;
  quern_nn_instance* instance = NULL;
  quern_value_info info = QUERN_VALUE_INFO_INIT;
  uint32_t graph = 0;
  for (int i = 0; i < PIXELS; i++) pixels[i] = (float)(i % 5) / 5;

  check_nulls();
  check_figures(argv[1]);
  check_sharing();
  check_thread_pools(argv[1]);
  check_gpu(argv[1]);
  check_tenants(argv[1]);
  OK(quern_nn_tenant_create(NULL, &tenant));
  OK(quern_nn_tenant_add_file(tenant, "digits", argv[1], QUERN_NN_CPU));
  OK(quern_nn_instance_create(tenant, NULL, &instance));
  check_typed(instance);
  check_witx(instance);
  OK(quern_nn_load_by_name(instance, "digits", 6, &graph));
  OK(quern_nn_graph_input_info(instance, graph, 0, &info));
  check_wit(instance, info.name);
  quern_nn_instance_destroy(instance);
  quern_nn_tenant_destroy(tenant);
  puts(failures ? "failed" : "ok");
  return failures != 0;
}
