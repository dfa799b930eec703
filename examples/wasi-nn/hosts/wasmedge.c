/* SPDX-License-Identifier: Apache-2.0 */
/* A host on WasmEdge: cc wasmedge.c $(pkg-config --cflags --libs quern-wasi-nn) -lwasmedge */
#include <quern/c/wasi_nn_wasmedge.h>

#include "options.h"

static void check(const char* what, WasmEdge_Result result) {
  if (!WasmEdge_ResultOK(result)) die(what, WasmEdge_ResultGetMessage(result));
}

int main(int argc, char** argv) {
  options o = read_options(argc, argv);
  char folders[MAX_FOLDERS][1024];
  const char* mapped[MAX_FOLDERS];
  for (int i = 0; i < o.folder_count; i++) {
    snprintf(folders[i], sizeof folders[i], "%s:%s", o.guest_folders[i], o.host_folders[i]);
    mapped[i] = folders[i];
  }
  quern_nn_wasmedge binding;
  quern_nn_instance* instance = new_instance(&o);
  WasmEdge_ModuleInstanceContext* wasi =
      WasmEdge_ModuleInstanceCreateWASI((const char* const*)o.arguments, (uint32_t)o.argument_count,
                                        NULL, 0, mapped, (uint32_t)o.folder_count);
  WasmEdge_LoaderContext* loader = WasmEdge_LoaderCreate(NULL);
  WasmEdge_ValidatorContext* validator = WasmEdge_ValidatorCreate(NULL);
  WasmEdge_ExecutorContext* executor = WasmEdge_ExecutorCreate(NULL, NULL);
  WasmEdge_StoreContext* store = WasmEdge_StoreCreate();
  WasmEdge_ASTModuleContext* module = NULL;
  WasmEdge_ModuleInstanceContext* guest = NULL;
  quern_nn_wasmedge_create(&binding, instance);
  check("WASI", WasmEdge_ExecutorRegisterImport(executor, store, wasi));
  for (size_t i = 0; i < binding.count; i++)
    check("wasi-nn", WasmEdge_ExecutorRegisterImport(executor, store, binding.modules[i]));
  check("module",
        WasmEdge_LoaderParseFromBuffer(loader, &module, o.module, (uint32_t)o.module_bytes));
  check("module", WasmEdge_ValidatorValidate(validator, module));
  check("instance", WasmEdge_ExecutorInstantiate(executor, &guest, store, module));
  const WasmEdge_FunctionInstanceContext* start =
      WasmEdge_ModuleInstanceFindFunction(guest, WasmEdge_StringWrap("_start", 6));
  check("_start", WasmEdge_ExecutorInvoke(executor, start, NULL, 0, NULL, 0));
  const int status = (int)WasmEdge_ModuleInstanceWASIGetExitCode(wasi);
  WasmEdge_ModuleInstanceDelete(guest);
  WasmEdge_ASTModuleDelete(module);
  WasmEdge_StoreDelete(store);
  WasmEdge_ExecutorDelete(executor);
  WasmEdge_ValidatorDelete(validator);
  WasmEdge_LoaderDelete(loader);
  WasmEdge_ModuleInstanceDelete(wasi);
  quern_nn_wasmedge_delete(&binding);
  quern_nn_instance_destroy(instance);
  quern_nn_tenant_destroy(o.tenant);
  free(o.module);
  return status;
}
