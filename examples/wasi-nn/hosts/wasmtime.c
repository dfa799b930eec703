/* SPDX-License-Identifier: Apache-2.0 */
/* A host on wasmtime: cc wasmtime.c $(pkg-config --cflags --libs quern-wasi-nn) -lwasmtime */
#include <quern/c/wasi_nn_wasmtime.h>

#include "options.h"

static void check(const char* what, wasmtime_error_t* error, wasm_trap_t* trap) {
  wasm_byte_vec_t text;
  int status = 1;
  if (!error && !trap) return;
  if (error && wasmtime_error_exit_status(error, &status)) exit(status); /* proc_exit */
  if (error)
    wasmtime_error_message(error, &text);
  else
    wasm_trap_message(trap, &text);
  fprintf(stderr, "%s: %.*s\n", what, (int)text.size, text.data);
  exit(1);
}

int main(int argc, char** argv) {
  options o = read_options(argc, argv);
  quern_nn_instance* nn = new_instance(&o);
  wasm_engine_t* engine = wasm_engine_new();
  wasmtime_store_t* store = wasmtime_store_new(engine, NULL, NULL);
  wasmtime_context_t* context = wasmtime_store_context(store);
  wasmtime_linker_t* linker = wasmtime_linker_new(engine);
  wasmtime_module_t* module = NULL;
  wasmtime_func_t start;
  wasm_trap_t* trap = NULL;

  wasi_config_t* wasi = wasi_config_new();
  wasi_config_set_argv(wasi, (size_t)o.argument_count, (const char**)o.arguments);
  wasi_config_inherit_stdout(wasi);
  wasi_config_inherit_stderr(wasi);
  for (int i = 0; i < o.folder_count; i++)
    wasi_config_preopen_dir(wasi, o.host_folders[i], o.guest_folders[i], false);
  check("WASI", wasmtime_context_set_wasi(context, wasi), NULL);
  check("WASI", wasmtime_linker_define_wasi(linker), NULL);
  check("wasi-nn", quern_nn_wasmtime_define(linker, nn), NULL);
  check("module", wasmtime_module_new(engine, o.module, o.module_bytes, &module), NULL);
  check("instance", wasmtime_linker_module(linker, context, "", 0, module), NULL);
  check("_start", wasmtime_linker_get_default(linker, context, "", 0, &start), NULL);
  wasmtime_error_t* error = wasmtime_func_call(context, &start, NULL, 0, NULL, 0, &trap);
  check("_start", error, trap);
  wasmtime_module_delete(module);
  wasmtime_linker_delete(linker);
  wasmtime_store_delete(store);
  wasm_engine_delete(engine);
  quern_nn_instance_destroy(nn);
  quern_nn_tenant_destroy(o.tenant);
  free(o.module);
  return 0;
}
