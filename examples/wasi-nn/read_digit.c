/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a handwritten digit, as a WebAssembly guest: it decodes the picture, makes 28 x 28 of it,
 * has the model run by its host, and prints the likeliest digits.
 *
 *   quern wasm read_digit.wasm --model digits=examples/digits/digits.onnx --dir examples/digits::.
 * \
 *              -- digits seven.png
 */
#include <stdio.h>
#include <string.h>

#include "wasi_ephemeral_nn.h"

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#define STBI_NO_THREAD_LOCALS
#include "stb_image.h"

enum { SIDE = 28, CLASSES = 10, SHOWN = 3 };

/* The mean of each of 28 x 28 fields of the picture, 0..1. */
static int read_picture(const char* path, float* pixels) {
  int width, height, channels;
  unsigned char* grey = stbi_load(path, &width, &height, &channels, 1);
  if (!grey || width < SIDE || height < SIDE) return 0;
  for (int y = 0; y < SIDE; y++)
    for (int x = 0; x < SIDE; x++) {
      const int top = y * height / SIDE, bottom = (y + 1) * height / SIDE;
      const int left = x * width / SIDE, right = (x + 1) * width / SIDE;
      unsigned sum = 0;
      for (int i = top; i < bottom; i++)
        for (int j = left; j < right; j++) sum += grey[i * width + j];
      pixels[y * SIDE + x] = (float)sum / (255.0f * (float)((bottom - top) * (right - left)));
    }
  stbi_image_free(grey);
  return 1;
}

static nn_errno classify(const char* model, const float* pixels, float* probabilities) {
  static const uint32_t dims[] = {1, 1, SIDE, SIDE};
  const nn_tensor image = {dims, 4, NN_F32, pixels, SIDE * SIDE * sizeof *pixels};
  nn_graph graph;
  nn_context context;
  uint32_t written;
  nn_errno error = nn_load_by_name(model, (uint32_t)strlen(model), &graph);
  if (!error) error = nn_init(graph, &context);
  if (!error) error = nn_set_input(context, 0, &image);
  if (!error) error = nn_compute(context);
  if (!error)
    error = nn_get_output(context, 0, probabilities, CLASSES * sizeof *probabilities, &written);
  return error;
}

static void print_likeliest(float* probabilities) {
  for (int row = 0; row < SHOWN; row++) {
    int best = 0;
    for (int i = 1; i < CLASSES; i++)
      if (probabilities[i] > probabilities[best]) best = i;
    printf("%d  %5.1f %%\n", best, 100 * (double)probabilities[best]);
    probabilities[best] = -1;
  }
}

int main(int argc, char** argv) {
  float pixels[SIDE * SIDE], probabilities[CLASSES];
  if (argc != 3) {
    fputs("usage: read_digit MODEL PICTURE.png\n", stderr);
    return 2;
  }
  if (!read_picture(argv[2], pixels)) {
    fprintf(stderr, "%s is no PNG picture of at least %d x %d\n", argv[2], SIDE, SIDE);
    return 1;
  }
  const nn_errno error = classify(argv[1], pixels, probabilities);
  if (error) {
    fprintf(stderr, "wasi-nn answered with error %u\n", error);
    return 1;
  }
  print_likeliest(probabilities);
  return 0;
}
