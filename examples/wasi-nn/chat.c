/* SPDX-License-Identifier: Apache-2.0 */
/* Talks with a language model, as a WebAssembly guest: its host has the model, the tokenizer and
 * the keys and values of the conversation; the guest sends text and gets text.
 *
 *   quern wasm chat.wasm --model default=FOLDER -- default                       # a line, an
 * answer quern wasm chat.wasm --model default=FOLDER -- default "The mill"            # one answer,
 * whole quern wasm chat.wasm --model default=FOLDER -- default "The mill" '{"n-predict": 40}'
 *
 * The calls are those that guests of llama.cpp's hosts make; docs/wasi-nn.md has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wasi_ephemeral_nn.h"

enum { PIECE = 256, LINE = 4096 };
#define USUAL_OPTIONS "{\"ctx-size\": 2048}"

/* What was said, as a text with a terminating zero. */
typedef struct {
  char* data;
  size_t size, capacity;
} text;

static int append(text* t, const char* bytes, size_t size) {
  if (t->size + size + 1 > t->capacity) {
    const size_t capacity = 2 * (t->size + size + 1);
    char* data = realloc(t->data, capacity);
    if (!data) return 0;
    t->data = data;
    t->capacity = capacity;
  }
  memcpy(t->data + t->size, bytes, size);
  t->size += size;
  t->data[t->size] = 0;
  return 1;
}

static nn_errno set_prompt(nn_context context, const char* prompt, size_t size) {
  const uint32_t dims[] = {(uint32_t)size};
  const nn_tensor tensor = {dims, 1, NN_U8, prompt, (uint32_t)size};
  return nn_set_input(context, 0, &tensor);
}

/* The output as a text of its own; NULL with an error. An output that is longer than the buffer
 * says how long it is. */
static char* read_output(nn_context context, uint32_t index) {
  uint32_t size = 0;
  nn_errno error = nn_get_output(context, index, NULL, 0, &size);
  char* data = error == NN_SUCCESS || error == NN_TOO_LARGE ? malloc(size + 1) : NULL;
  if (!data) return NULL;
  if (nn_get_output(context, index, data, size, &size) == NN_SUCCESS) {
    data[size] = 0;
    return data;
  }
  free(data);
  return NULL;
}

/* One answer as a whole, and the numbers of tokens. */
static nn_errno answer(nn_context context, const char* prompt) {
  nn_errno error = set_prompt(context, prompt, strlen(prompt));
  if (!error) error = nn_compute(context);
  if (error && error != NN_CONTEXT_FULL) return error;
  char* said = read_output(context, 0);
  char* numbers = read_output(context, 1);
  if (said && numbers) printf("%s\n%s\n", said, numbers);
  free(said);
  free(numbers);
  return error;
}

/* Prints the answer while it is made, and adds it to what was said. */
static nn_errno stream_answer(nn_context context, text* said) {
  nn_errno error = set_prompt(context, said->data, said->size);
  while (!error && !(error = nn_compute_single(context))) {
    char piece[PIECE];
    uint32_t size = 0;
    error = nn_get_output_single(context, 0, piece, sizeof piece, &size);
    if (error) break;
    fwrite(piece, 1, size, stdout);
    fflush(stdout);
    if (!append(said, piece, size)) return NN_TOO_LARGE;
  }
  puts("");
  nn_fini_single(context);
  return error == NN_END_OF_SEQUENCE ? NN_SUCCESS : error;
}

static nn_errno talk(nn_context context) {
  char line[LINE];
  text said = {0};
  nn_errno error = NN_SUCCESS;
  while (!error && fgets(line, sizeof line, stdin)) {
    if (line[0] == '\n') continue;
    if (!append(&said, line, strlen(line))) return NN_TOO_LARGE;
    error = stream_answer(context, &said);
    if (error != NN_CONTEXT_FULL && error != NN_PROMPT_TOO_LONG) continue;
    puts("(What was said is too long, and is forgotten.)");
    said.size = 0;
    error = NN_SUCCESS;
  }
  free(said.data);
  return error;
}

int main(int argc, char** argv) {
  nn_graph graph;
  nn_context context;
  if (argc < 2 || argc > 4) {
    fputs("usage: chat MODEL [PROMPT [OPTIONS]]\n", stderr);
    return 2;
  }
  const char* options = argc > 3 ? argv[3] : USUAL_OPTIONS;
  nn_errno error = nn_load_by_name_with_config(argv[1], (uint32_t)strlen(argv[1]), options,
                                               (uint32_t)strlen(options), &graph);
  if (!error) error = nn_init(graph, &context);
  if (!error) error = argc > 2 && argv[2][0] ? answer(context, argv[2]) : talk(context);
  if (error) fprintf(stderr, "wasi-nn answered with error %u\n", error);
  return error != NN_SUCCESS;
}
