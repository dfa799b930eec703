/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a compiled model on zeros, and tells what became of oneDNN: run_any FILE.quern */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern/c/quern.h>

static quern_status fill(const quern_executable* executable, quern_session* session) {
  size_t i, d;
  for (i = 0; i < quern_executable_input_count(executable); ++i) {
    quern_value_info info = QUERN_VALUE_INFO_INIT;
    quern_tensor in = QUERN_TENSOR_INIT;
    void* zeros;
    quern_status status = quern_executable_input_info(executable, i, &info);
    if (status) return status;
    in.dtype = info.dtype;
    in.rank = info.rank;
    in.bytes = quern_dtype_size(info.dtype);
    for (d = 0; d < info.rank; ++d)
      in.bytes *= (size_t)(in.dims[d] = info.dims[d] < 0 ? 1 : info.dims[d]);
    zeros = calloc(1, in.bytes ? in.bytes : 1);
    in.data = zeros;
    status = quern_session_set_input(session, i, &in, QUERN_COPY);
    free(zeros);
    if (status) return status;
  }
  return QUERN_OK;
}

static quern_status tell_onednn(void) {
  quern_device* device = NULL;
  size_t i;
  quern_status status = quern_device_open("cpu", &device);
  for (i = 0; !status && i < quern_device_property_count(device); ++i) {
    const char* key;
    const char* value;
    status = quern_device_property(device, i, &key, &value);
    if (!status && strcmp(key, "onednn") == 0) printf("oneDNN %s\n", value);
  }
  quern_device_destroy(device);
  return status;
}

int main(int argc, char** argv) {
  quern_executable* executable = NULL;
  quern_session* session = NULL;
  quern_tensor out = QUERN_TENSOR_INIT;
  quern_status status = quern_executable_load(argc > 1 ? argv[1] : "", NULL, NULL, &executable);
  if (!status) status = quern_session_create(executable, 0, &session);
  if (!status) status = fill(executable, session);
  if (!status) status = quern_session_run(session);
  if (!status) status = quern_session_output(session, 0, &out);
  if (!status) printf("%lu bytes\n", (unsigned long)out.bytes);
  if (!status) status = tell_onednn();
  if (status) printf("%s: %s\n", quern_status_name(status), quern_last_error());
  quern_session_destroy(session);
  quern_executable_destroy(executable);
  return status ? 1 : 0;
}
