/* SPDX-License-Identifier: Apache-2.0 */
/* The core module of a component without WASI: three exports over the lowered imports of wasi:nn.
 * See world.wit. */
#include <string.h>

#include "wasi_nn_wit.h"

typedef struct {
  const char* data;
  uint32_t size;
} text;

static text text_of(const char* s) {
  const text t = {s, (uint32_t)strlen(s)};
  return t;
}

/* result<list<f32>, string> */
typedef struct {
  uint8_t is_error;
  wit_list value;
} answer;

static wit_list sentence(wit_error error) {
  wit_list data;
  wit_error_data(error, &data);
  wit_drop_error(error);
  return data;
}

static answer failed(wit_error error) {
  const answer a = {1, sentence(error)};
  return a;
}

static answer run(wit_context context, text input, const wit_list* pixels) {
  static const uint32_t dims[] = {1, 1, 28, 28};
  const wit_named_tensor named = {
      input.data, input.size, wit_make_tensor(dims, 4, WIT_FP32, pixels->data, 4 * pixels->size)};
  wit_compute_result made;
  wit_compute(context, &named, 1, &made);
  if (made.is_error) return failed(made.error);
  answer a = {0, {0, 0}};
  wit_data(made.outputs.data->tensor, &a.value);
  a.value.size /= 4;
  for (uint32_t i = 0; i < made.outputs.size; i++) wit_drop_tensor(made.outputs.data[i].tensor);
  return a;
}

static answer classify(text model, text input, const wit_list* pixels) {
  wit_result graph, context;
  wit_load_by_name(model.data, model.size, &graph);
  if (graph.is_error) return failed(graph.handle);
  wit_init(graph.handle, &context);
  wit_drop_graph(graph.handle);
  if (context.is_error) return failed(context.handle);
  const answer a = run(context.handle, input, pixels);
  wit_drop_context(context.handle);
  return a;
}

/* classify: func(model: string, input: string, pixels: list<f32>) -> result<list<f32>, string> */
__attribute__((export_name("classify"))) answer* export_classify(const char* model,
                                                                 uint32_t model_size,
                                                                 const char* input,
                                                                 uint32_t input_size, void* pixels,
                                                                 uint32_t count) {
  static answer a;
  const text m = {model, model_size}, i = {input, input_size};
  const wit_list p = {pixels, count};
  a = classify(m, i, &p);
  return &a;
}

/* describe: func(dims: list<u32>, ty: u32, data: list<u8>) -> string. A tensor there and back. */
__attribute__((export_name("describe"))) text* export_describe(const uint32_t* dims, uint32_t rank,
                                                               uint32_t type, const void* data,
                                                               uint32_t size) {
  static text t;
  wit_list back_dims, back_data;
  const wit_tensor tensor = wit_make_tensor(dims, rank, type, data, size);
  wit_dimensions(tensor, &back_dims);
  wit_data(tensor, &back_data);
  const int same = back_dims.size == rank && !memcmp(back_dims.data, dims, 4 * rank) &&
                   back_data.size == size && !memcmp(back_data.data, data, size) &&
                   wit_type(tensor) == type;
  wit_drop_tensor(tensor);
  t = text_of(same ? "same" : "different");
  return &t;
}

/* load: func(model: list<u8>, encoding: u32) -> string: the code of the error, or "ok". */
__attribute__((export_name("load"))) text* export_load(void* model, uint32_t size,
                                                       uint32_t encoding) {
  static const char* const codes[] = {
      "invalid-argument", "invalid-encoding", "timeout",  "runtime-error", "unsupported-operation",
      "too-large",        "not-found",        "security", "unknown"};
  static text t;
  const wit_list part = {model, size};
  wit_result graph;
  wit_load(&part, 1, encoding, WIT_CPU, &graph);
  if (graph.is_error) {
    t = text_of(codes[wit_error_code(graph.handle)]);
    wit_drop_error(graph.handle);
  } else {
    t = text_of("ok");
    wit_drop_graph(graph.handle);
  }
  return &t;
}
