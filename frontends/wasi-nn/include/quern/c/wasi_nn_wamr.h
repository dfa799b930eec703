/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wasi-nn for guests of WAMR, of both ABIs:
 *
 *   static quern_nn_wamr binding;           // lives as long as the runtime
 *   wasm_runtime_init();
 *   quern_nn_wamr_register(&binding);       // before modules are loaded
 *   module_inst = wasm_runtime_instantiate(...);
 *   quern_nn_wamr_attach(&binding, module_inst, instance);  // goes with module_inst
 *
 * Threads that the guest starts share the instance. A bad pointer is an errno, not a trap. WAMR
 * must be built without wasi-nn of its own (WAMR_BUILD_WASI_NN), which has the same module name;
 * for an iwasm that has it there is libwasi_nn_onnx.so.
 *
 * Run with WAMR 2.4.3 (fast interpreter, with and without hardware bound checks).
 */
#ifndef QUERN_C_WASI_NN_WAMR_H
#define QUERN_C_WASI_NN_WAMR_H

#include <string.h>
#include <wasm_export.h>

#include <quern/c/wasi_nn.h>

enum { QUERN_NN_WAMR_ROWS = 32 };

typedef struct quern_nn_wamr_row {
  const quern_nn_import* import;
  void* key;                                   /* of the instance, in an instance of a module */
  char signature[QUERN_NN_MAX_PARAMETERS + 4]; /* "(iii)i" */
  NativeSymbol symbol;
} quern_nn_wamr_row;

typedef struct quern_nn_wamr {
  void* key;
  quern_nn_wamr_row rows[QUERN_NN_WAMR_ROWS];
  size_t count;
} quern_nn_wamr;

static inline void quern_nn_wamr_find_memory(quern_nn_guest* guest, wasm_module_inst_t module) {
  const wasm_memory_inst_t memory = wasm_runtime_get_default_memory(module);
  guest->memory = memory ? wasm_memory_get_base_address(memory) : NULL;
  guest->memory_bytes =
      memory ? wasm_memory_get_cur_page_count(memory) * wasm_memory_get_bytes_per_page(memory) : 0;
}

static inline int32_t quern_nn_wamr_make_room(quern_nn_guest* guest, uint32_t alignment,
                                              uint32_t bytes, uint32_t* at) {
  const wasm_exec_env_t env = (wasm_exec_env_t)guest->host;
  const wasm_module_inst_t module = wasm_runtime_get_module_inst(env);
  const wasm_function_inst_t make = wasm_runtime_lookup_function(module, "cabi_realloc");
  uint32_t words[4];
  words[0] = words[1] = 0;
  words[2] = alignment;
  words[3] = bytes;
  const int made = make && wasm_runtime_call_wasm(env, make, 4, words);
  quern_nn_wamr_find_memory(guest, module);
  *at = words[0];
  return made ? 0 : 1;
}

/* One function for all rows; arguments and result are in slots of 64 bits. */
static inline void quern_nn_wamr_call(wasm_exec_env_t env, uint64_t* slots) {
  const quern_nn_wamr_row* row =
      (const quern_nn_wamr_row*)wasm_runtime_get_function_attachment(env);
  const wasm_module_inst_t module = wasm_runtime_get_module_inst(env);
  quern_nn_guest guest = QUERN_NN_GUEST_INIT;
  uint32_t arguments[QUERN_NN_MAX_PARAMETERS];
  for (uint32_t i = 0; i < row->import->parameters; i++) arguments[i] = (uint32_t)slots[i];
  guest.make_room = quern_nn_wamr_make_room;
  guest.host = env;
  quern_nn_wamr_find_memory(&guest, module);
  const uint32_t result = row->import->call(
      (quern_nn_instance*)wasm_runtime_get_context(module, row->key), &guest, arguments);
  if (row->import->results > 0) *(uint32_t*)slots = result;
}

static inline void quern_nn_wamr_end(wasm_module_inst_t module, void* instance) {
  (void)module;
  quern_nn_instance_destroy((quern_nn_instance*)instance);
}

static inline int quern_nn_wamr_add(quern_nn_wamr* binding, const quern_nn_import* import) {
  if (binding->count == QUERN_NN_WAMR_ROWS) return 0;
  quern_nn_wamr_row* row = &binding->rows[binding->count++];
  row->import = import;
  row->key = binding->key;
  memset(row->signature, 'i', sizeof row->signature);
  row->signature[0] = '(';
  row->signature[import->parameters + 1] = ')';
  row->signature[import->parameters + 2 + import->results] = 0;
  row->symbol.symbol = import->name;
  row->symbol.func_ptr = (void*)quern_nn_wamr_call;
  row->symbol.signature = row->signature;
  row->symbol.attachment = row;
  return wasm_runtime_register_natives_raw(import->module, &row->symbol, 1);
}

/* Returns 0 where WAMR refused. */
static inline int quern_nn_wamr_register(quern_nn_wamr* binding) {
  const quern_nn_import* import;
  binding->count = 0;
  binding->key = wasm_runtime_create_context_key(quern_nn_wamr_end);
  if (!binding->key) return 0;
  for (size_t i = 0; (import = quern_nn_witx_import(i)) != NULL; i++)
    if (!quern_nn_wamr_add(binding, import)) return 0;
  for (size_t i = 0; (import = quern_nn_wit_import(i)) != NULL; i++)
    if (!quern_nn_wamr_add(binding, import)) return 0;
  return 1;
}

/* Before wasm_runtime_destroy(). */
static inline void quern_nn_wamr_unregister(quern_nn_wamr* binding) {
  for (size_t i = 0; i < binding->count; i++)
    wasm_runtime_unregister_natives(binding->rows[i].import->module, &binding->rows[i].symbol);
  if (binding->key) wasm_runtime_destroy_context_key(binding->key);
  binding->key = NULL;
  binding->count = 0;
}

/* `instance` is destroyed with `module`. */
static inline void quern_nn_wamr_attach(const quern_nn_wamr* binding, wasm_module_inst_t module,
                                        quern_nn_instance* instance) {
  wasm_runtime_set_context_spread(module, binding->key, instance);
}

#endif
