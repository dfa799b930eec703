/* SPDX-License-Identifier: Apache-2.0 */
/* wit_guest NAME INPUT: a command that uses the lowered imports of wasi:nn, on a model that takes
 * 1x1x28x28 floats under the name INPUT and gives ten probabilities. What it prints is the same in
 * every host. */
#include <stdio.h>
#include <string.h>

#include "wasi_nn_wit.h"

enum { PIXELS = 784, CLASSES = 10 };
static float pixels[PIXELS];

static void print_error(const char* what, wit_error error) {
  wit_list text;
  wit_error_data(error, &text);
  printf("%s: %u, %u bytes of text\n", what, (unsigned)wit_error_code(error),
         (unsigned)(text.size > 0));
  free(text.data);
  wit_drop_error(error);
}

static wit_tensor picture(uint32_t width) {
  const uint32_t dims[] = {1, 1, 28, width};
  return wit_make_tensor(dims, 4, WIT_FP32, pixels, 4 * 28 * width);
}

static wit_compute_result compute(wit_context context, const char* input, wit_tensor tensor) {
  const wit_named_tensor named = {input, (uint32_t)strlen(input), tensor};
  wit_compute_result result;
  memset(&result, 0xA5, sizeof result);
  wit_compute(context, &named, 1, &result);
  return result;
}

static void print_output(const wit_named_tensor* output) {
  wit_list dims, data;
  wit_dimensions(output->tensor, &dims);
  wit_data(output->tensor, &data);
  const uint32_t* d = dims.data;
  const float* p = data.data;
  float sum = 0;
  for (int i = 0; i < CLASSES; i++) sum += p[i];
  printf("type %u, %ux%u, %u bytes, sum %.3f\n", (unsigned)wit_type(output->tensor), (unsigned)d[0],
         (unsigned)d[dims.size - 1], (unsigned)data.size, (double)sum);
  free(dims.data);
  free(data.data);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  wit_result graph, context, missing;
  wit_load_by_name("nobody", 6, &missing);
  print_error("load-by-name", missing.handle);
  wit_load_by_name(argv[1], (uint32_t)strlen(argv[1]), &graph);
  if (graph.is_error) return 1;
  wit_init(graph.handle, &context);
  if (context.is_error) return 1;
  wit_drop_graph(graph.handle); /* the context goes on */

  for (int i = 0; i < PIXELS; i++) pixels[i] = (float)(i % 7) / 7;
  for (int round = 0; round < 100; round++) { /* room for the outputs makes the memory grow */
    wit_compute_result good = compute(context.handle, argv[2], picture(28));
    if (good.is_error) return 1;
    if (round == 0) print_output(good.outputs.data);
    wit_drop_tensor(good.outputs.data->tensor);
    void* leak = malloc(50000);
    if (!leak) return 1;
  }
  print_error("wrong shape", compute(context.handle, argv[2], picture(27)).error);
  print_error("wrong name", compute(context.handle, "nothing", picture(28)).error);
  print_error("no tensor", compute(context.handle, argv[2], 123456).error);
  wit_drop_context(context.handle);
  print_error("no context", compute(context.handle, argv[2], picture(28)).error);
  puts("PASS wit");
  return 0;
}
