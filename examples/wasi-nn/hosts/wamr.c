/* SPDX-License-Identifier: Apache-2.0 */
/* A host on WAMR: cc wamr.c $(pkg-config --cflags --libs quern-wasi-nn) -liwasm -lm -lpthread */
#include <quern/c/wasi_nn_wamr.h>

#include "options.h"

static quern_nn_wamr binding;

int main(int argc, char** argv) {
  options o = read_options(argc, argv);
  char folders[MAX_FOLDERS][1024], error[128] = "";
  const char* mapped[MAX_FOLDERS];
  for (int i = 0; i < o.folder_count; i++) {
    snprintf(folders[i], sizeof folders[i], "%s::%s", o.guest_folders[i], o.host_folders[i]);
    mapped[i] = folders[i];
  }
  if (!wasm_runtime_init() || !quern_nn_wamr_register(&binding)) die("WAMR", "cannot start");
  wasm_module_t module = wasm_runtime_load(o.module, (uint32_t)o.module_bytes, error, sizeof error);
  if (!module) die("module", error);
  wasm_runtime_set_wasi_args(module, NULL, 0, mapped, (uint32_t)o.folder_count, NULL, 0,
                             o.arguments, o.argument_count);
  wasm_module_inst_t instance = wasm_runtime_instantiate(module, 64 * 1024, 0, error, sizeof error);
  if (!instance) die("instance", error);
  quern_nn_wamr_attach(&binding, instance, new_instance(&o));

  int status = 1;
  if (wasm_application_execute_main(instance, 0, NULL))
    status = (int)wasm_runtime_get_wasi_exit_code(instance);
  else
    fprintf(stderr, "%s\n", wasm_runtime_get_exception(instance));
  wasm_runtime_deinstantiate(instance);
  wasm_runtime_unload(module);
  quern_nn_wamr_unregister(&binding);
  wasm_runtime_destroy();
  quern_nn_tenant_destroy(o.tenant);
  free(o.module);
  return status;
}
