/* SPDX-License-Identifier: Apache-2.0 */
/* Load a model, run it, print what it says, in C:
 *   minimal_c examples/digits/digits.onnx
 *   minimal_c digits.quern                    as `quern compile` writes it, with libquern_run too
 */
#include <stdio.h>
#include <string.h>

#include <quern/c/quern.h>

enum { side = 14, size = 2 * side };

static const char drawing[] =
    "              "
    "              "
    "   #######    "
    "   ########   "
    "         ##   "
    "        ##    "
    "        ##    "
    "       ##     "
    "      ###     "
    "      ##      "
    "     ###      "
    "     ##       "
    "              "
    "              ";

static quern_status load(const char* path, quern_session** session) {
  quern_model* model = NULL;
  quern_executable* executable = NULL;
  const char* end = strrchr(path, '.');
  quern_status status = QUERN_OK;
  if (end && strcmp(end, ".quern") == 0) {
    status = quern_executable_load(path, NULL, NULL, &executable);
  } else {
    status = quern_model_load(path, NULL, &model);
    if (!status) status = quern_executable_compile(model, NULL, &executable);
  }
  if (!status) status = quern_session_create(executable, 0, session);
  quern_model_destroy(model); /* the session keeps what it needs */
  quern_executable_destroy(executable);
  return status;
}

static quern_status run(quern_session* session, const float* pixels) {
  quern_tensor in = QUERN_TENSOR_INIT;
  quern_tensor out = QUERN_TENSOR_INIT;
  quern_status status;
  int digit;
  in.rank = 4;
  in.dims[0] = in.dims[1] = 1;
  in.dims[2] = in.dims[3] = size;
  in.data = pixels;
  in.bytes = size * size * sizeof(float);
  status = quern_session_set_input(session, 0, &in, QUERN_BORROW);
  if (!status) status = quern_session_run(session);
  if (!status) status = quern_session_output(session, 0, &out);
  if (status) return status;
  for (digit = 0; digit < 10; ++digit)
    printf("%d  %6.2f %%\n", digit, 100 * ((const float*)out.data)[digit]);
  return QUERN_OK;
}

int main(int argc, char** argv) {
  quern_session* session = NULL;
  float pixels[size * size]; /* each character becomes 2 x 2 pixels */
  quern_status status;
  int i;
  for (i = 0; i < size * size; ++i)
    pixels[i] = drawing[i / (2 * size) * side + i % size / 2] == '#' ? 1.0F : 0.0F;
  status = load(argc > 1 ? argv[1] : "examples/digits/digits.onnx", &session);
  if (!status) status = run(session, pixels);
  if (status) fprintf(stderr, "%s: %s\n", quern_status_name(status), quern_last_error());
  quern_session_destroy(session);
  return status ? 1 : 0;
}
