/* SPDX-License-Identifier: Apache-2.0 */
/* libwasi_nn_onnx.so as iwasm uses it: opened, its functions by name, what WAMR does not check.
 * wamr_backend_test LIBRARY DIGITS.onnx */
#define _POSIX_C_SOURCE 200809L /* mkstemp(), setenv() */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../check.h"

typedef struct {
  void* buf;
  uint32_t size;
} buffer;
typedef struct {
  const uint32_t* buf;
  uint32_t size;
} dimensions;
typedef struct {
  const dimensions* dims;
  uint8_t type;
  buffer data;
} tensor;
typedef struct {
  const buffer* buf;
  uint32_t size;
} builders;

static struct {
  int32_t (*init_backend)(void**);
  int32_t (*deinit_backend)(void*);
  int32_t (*load)(void*, const builders*, uint32_t, uint32_t, uint32_t*);
  int32_t (*load_by_name)(void*, const char*, uint32_t, uint32_t*);
  int32_t (*load_by_name_with_config)(void*, const char*, uint32_t, const char*, uint32_t,
                                      uint32_t*);
  int32_t (*init_execution_context)(void*, uint32_t, uint32_t*);
  int32_t (*set_input)(void*, uint32_t, uint32_t, const tensor*);
  int32_t (*compute)(void*, uint32_t);
  int32_t (*get_output)(void*, uint32_t, uint32_t, const buffer*, uint32_t*);
} nn;

static void find(void* library, const char* name, void* function) {
  void* found = dlsym(library, name);
  CHECK(found != NULL);
  memcpy(function, &found, sizeof found);
}
#define FIND(name) find(library, #name, &nn.name)

static void open_backend(const char* path) {
  void* library = dlopen(path, RTLD_LAZY);
  if (!library) {
    printf("%s\n", dlerror());
    exit(1);
  }
  FIND(init_backend);
  FIND(deinit_backend);
  FIND(load);
  FIND(load_by_name);
  FIND(load_by_name_with_config);
  FIND(init_execution_context);
  FIND(set_input);
  FIND(compute);
  FIND(get_output);
}

static void check_inputs(void* context, uint32_t execution) {
  static float pixels[784];
  const uint32_t shape[9] = {1, 1, 28, 28, 1, 1, 1, 1, 1};
  dimensions dims = {shape, 4};
  tensor t = {&dims, 1, {pixels, sizeof pixels}};
  CHECK(nn.compute(context, execution) == 1);
  t.type = 6;
  CHECK(nn.set_input(context, execution, 0, &t) == 1);
  t.type = 1;
  dims.size = 9;
  CHECK(nn.set_input(context, execution, 0, &t) == 1);
  dims.size = 0xffffffff;
  CHECK(nn.set_input(context, execution, 0, &t) == 1);
  dims.size = 4;
  t.data.size--;
  CHECK(nn.set_input(context, execution, 0, &t) == 1);
  t.data.size++;
  CHECK(nn.set_input(context, execution, 7, &t) == 1);
  CHECK(nn.set_input(context, execution + 1, 0, &t) == 1);
  CHECK(nn.set_input(context, execution, 0, &t) == 0);
}

static void check_outputs(void* context, uint32_t execution) {
  float p[10] = {0}, sum = 0;
  uint32_t bytes = 0xDEAD;
  buffer out = {p, sizeof p};
  CHECK(nn.get_output(context, execution, 0, &out, &bytes) == 5);
  CHECK(bytes == 0xDEAD);
  CHECK(nn.compute(context, execution) == 0);
  out.size = 39;
  CHECK(nn.get_output(context, execution, 0, &out, &bytes) == 7);
  CHECK(bytes == sizeof p);
  out.size = 40;
  CHECK(nn.get_output(context, execution, 0, &out, &bytes) == 0);
  for (int i = 0; i < 10; i++) sum += p[i];
  CHECK(sum > 0.99f && sum < 1.01f);
}

static void check_loads(void* context, const char* model) {
  uint32_t graph = 0xDEAD;
  const buffer rubbish = {"rubbish", 7};
  const builders one = {&rubbish, 1}, many = {&rubbish, 100};
  CHECK(nn.load(context, &one, 1, 0, &graph) == 2);
  CHECK(nn.load(context, &one, 9, 0, &graph) == 2);
  CHECK(nn.load(context, &one, 1, 3, &graph) == 1);
  CHECK(nn.load(context, &many, 1, 0, &graph) == 1);
  CHECK(nn.load(context, NULL, 1, 0, &graph) == 1);
  CHECK(nn.load_by_name(context, model, (uint32_t)strlen(model), &graph) == 8); /* no path */
  CHECK(nn.load_by_name(NULL, "digits", 6, &graph) == 1);
  CHECK(graph == 0xDEAD);
}

/* The bytes of the model in two builders, and in the wrong order. */
static void check_two_builders(void* context, const char* path) {
  static char bytes[1 << 20];
  FILE* file = fopen(path, "rb");
  const uint32_t size = file ? (uint32_t)fread(bytes, 1, sizeof bytes, file) : 0;
  const uint32_t cut = size / 3;
  const buffer parts[] = {{bytes, cut}, {bytes + cut, size - cut}, {bytes, cut}};
  const builders right = {parts, 2}, swapped = {parts + 1, 2};
  uint32_t graph = 0, execution = 0;
  CHECK(size > 1000 && size < sizeof bytes);
  if (file) fclose(file);
  CHECK(nn.load(context, &swapped, 1, 0, &graph) == 2);
  CHECK(nn.load(context, &right, 1, 0, &graph) == 0);
  CHECK(nn.init_execution_context(context, graph, &execution) == 0);
  check_inputs(context, execution);
  check_outputs(context, execution);
}

static void write_config(const char* path, const char* before, const char* model,
                         const char* after) {
  FILE* file = fopen(path, "w");
  CHECK(file != NULL);
  if (!file) return;
  fprintf(file, "%s%s%s", before, model, after);
  fclose(file);
}

/* QUERN_NN_CONFIG has the limits and the models; where it is wrong there is no backend. */
static void check_config(const char* model) {
  char path[] = "/tmp/quern-backend-XXXXXX";
  const int made = mkstemp(path);
  const buffer rubbish = {"rubbish", 7};
  const builders one = {&rubbish, 1};
  void *context = NULL, *none = &context;
  uint32_t graph = 0, execution = 0;
  CHECK(made >= 0);
  close(made);
  setenv("QUERN_NN_CONFIG", path, 1);

  write_config(path,
               "{\"graphs\": 2, \"contexts\": 1, \"names_only\": true, \"threads\": 1, "
               "\"models\": {\"mine\": \"",
               model, "\"}}");
  CHECK(nn.init_backend(&context) == 0);
  CHECK(nn.load(context, &one, 1, 0, &graph) == 6);
  CHECK(nn.load_by_name(context, "mine", 4, &graph) == 0); /* the name is the other graph */
  CHECK(nn.load_by_name(context, "mine", 4, &graph) == 7);
  CHECK(nn.init_execution_context(context, graph, &execution) == 0);
  CHECK(nn.init_execution_context(context, graph, &execution) == 7);
  check_inputs(context, execution);
  check_outputs(context, execution);
  CHECK(nn.deinit_backend(context) == 0);

  write_config(path, "{\"graphs\": ", "\"many\"", "}");
  CHECK(nn.init_backend(&none) == 1);
  write_config(path, "{\"models\": {\"mine\": \"", model, ".not.there\"}}");
  CHECK(nn.init_backend(&none) == 8);
  remove(path);
  CHECK(nn.init_backend(&none) == 8);
  setenv("QUERN_NN_CONFIG", "", 1);
  CHECK(nn.init_backend(&none) == 8);
  CHECK(none == &context);
  unsetenv("QUERN_NN_CONFIG");
}

int main(int argc, char** argv) {
  char models[4096];
  void* context = NULL;
  uint32_t graph = 0, execution = 0;
  if (argc < 3) return 2;
  snprintf(models, sizeof models, "digits=%s", argv[2]);
  open_backend(argv[1]);
  check_config(argv[2]);
  setenv("QUERN_NN_MODELS", models, 1);
  CHECK(nn.init_backend(&context) == 0);
  check_loads(context, argv[2]);
  check_two_builders(context, argv[2]);
  CHECK(nn.load_by_name_with_config(context, "digits", 6, "{}", 2, &graph) == 0);
  CHECK(nn.load_by_name(context, "digits", 6, &graph) == 0);
  CHECK(nn.init_execution_context(context, graph, &execution) == 0);
  check_inputs(context, execution);
  check_outputs(context, execution);
  CHECK(nn.deinit_backend(context) == 0);
  CHECK(nn.deinit_backend(NULL) == 1);
  puts(failures ? "failed" : "ok");
  return failures != 0;
}
