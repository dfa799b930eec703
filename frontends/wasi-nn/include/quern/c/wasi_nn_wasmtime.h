/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wasi-nn for guests of wasmtime's C API, of both ABIs:
 *
 *   error = quern_nn_wasmtime_define(linker, instance);
 *
 * `instance` outlives the linker and what it instantiates; each wasm instance wants a linker and an
 * instance of its own. A bad pointer is an errno, not a trap.
 *
 * Compiled against the headers of wasmtime 49; its calls were run on a stand-in of our own
 * (tests/wasi-nn/bindings), not on wasmtime itself.
 */
#ifndef QUERN_C_WASI_NN_WASMTIME_H
#define QUERN_C_WASI_NN_WASMTIME_H

#include <stdlib.h>
#include <string.h>
#include <wasm.h>
#include <wasmtime.h>

#include <quern/c/wasi_nn.h>

typedef struct quern_nn_wasmtime_row {
  const quern_nn_import* import;
  quern_nn_instance* instance;
} quern_nn_wasmtime_row;

typedef struct quern_nn_wasmtime_host {
  wasmtime_caller_t* caller;
  wasm_trap_t* trap; /* of cabi_realloc */
} quern_nn_wasmtime_host;

static inline void quern_nn_wasmtime_find_memory(quern_nn_guest* guest, wasmtime_caller_t* caller) {
  wasmtime_context_t* context = wasmtime_caller_context(caller);
  wasmtime_extern_t item;
  guest->memory = NULL;
  guest->memory_bytes = 0;
  if (!wasmtime_caller_export_get(caller, "memory", 6, &item)) return;
  if (item.kind == WASMTIME_EXTERN_MEMORY) {
    guest->memory = wasmtime_memory_data(context, &item.of.memory);
    guest->memory_bytes = wasmtime_memory_data_size(context, &item.of.memory);
  }
  wasmtime_extern_delete(&item);
}

static inline wasmtime_val_t quern_nn_wasmtime_i32(uint32_t value) {
  wasmtime_val_t v;
  memset(&v, 0, sizeof v);
  v.kind = WASMTIME_I32;
  v.of.i32 = (int32_t)value;
  return v;
}

static inline int32_t quern_nn_wasmtime_make_room(quern_nn_guest* guest, uint32_t alignment,
                                                  uint32_t bytes, uint32_t* at) {
  quern_nn_wasmtime_host* host = (quern_nn_wasmtime_host*)guest->host;
  wasmtime_extern_t item;
  wasmtime_error_t* error = NULL;
  wasmtime_val_t result = quern_nn_wasmtime_i32(0);
  const wasmtime_val_t arguments[4] = {quern_nn_wasmtime_i32(0), quern_nn_wasmtime_i32(0),
                                       quern_nn_wasmtime_i32(alignment),
                                       quern_nn_wasmtime_i32(bytes)};
  int made = 0;
  if (!wasmtime_caller_export_get(host->caller, "cabi_realloc", 12, &item)) return 1;
  if (item.kind == WASMTIME_EXTERN_FUNC && !host->trap) {
    error = wasmtime_func_call(wasmtime_caller_context(host->caller), &item.of.func, arguments, 4,
                               &result, 1, &host->trap);
    made = !error && !host->trap;
  }
  if (error) wasmtime_error_delete(error);
  wasmtime_extern_delete(&item);
  quern_nn_wasmtime_find_memory(guest, host->caller);
  *at = (uint32_t)result.of.i32;
  return made ? 0 : 1;
}

/* One function for all rows. */
static inline wasm_trap_t* quern_nn_wasmtime_call(void* env, wasmtime_caller_t* caller,
                                                  const wasmtime_val_t* parameters, size_t count,
                                                  wasmtime_val_t* results, size_t result_count) {
  const quern_nn_wasmtime_row* row = (const quern_nn_wasmtime_row*)env;
  quern_nn_wasmtime_host host;
  quern_nn_guest guest = QUERN_NN_GUEST_INIT;
  uint32_t arguments[QUERN_NN_MAX_PARAMETERS] = {0};
  host.caller = caller;
  host.trap = NULL;
  for (size_t i = 0; i < count && i < QUERN_NN_MAX_PARAMETERS; i++)
    arguments[i] = (uint32_t)parameters[i].of.i32;
  guest.make_room = quern_nn_wasmtime_make_room;
  guest.host = &host;
  quern_nn_wasmtime_find_memory(&guest, caller);
  const uint32_t result = row->import->call(row->instance, &guest, arguments);
  if (result_count > 0) results[0] = quern_nn_wasmtime_i32(result);
  return host.trap;
}

static inline wasmtime_error_t* quern_nn_wasmtime_add(wasmtime_linker_t* linker,
                                                      quern_nn_instance* instance,
                                                      const quern_nn_import* import) {
  wasm_valtype_t *types[QUERN_NN_MAX_PARAMETERS], *result[1];
  wasm_valtype_vec_t parameters, results;
  for (uint32_t i = 0; i < import->parameters; i++) types[i] = wasm_valtype_new(WASM_I32);
  for (uint32_t i = 0; i < import->results; i++) result[i] = wasm_valtype_new(WASM_I32);
  wasm_valtype_vec_new(&parameters, import->parameters, types);
  wasm_valtype_vec_new(&results, import->results, result);
  wasm_functype_t* type = wasm_functype_new(&parameters, &results);

  quern_nn_wasmtime_row* row = (quern_nn_wasmtime_row*)malloc(sizeof *row);
  if (!row) abort();
  row->import = import;
  row->instance = instance;
  wasmtime_error_t* error =
      wasmtime_linker_define_func(linker, import->module, strlen(import->module), import->name,
                                  strlen(import->name), type, quern_nn_wasmtime_call, row, free);
  wasm_functype_delete(type);
  return error;
}

/* NULL: all is defined. */
static inline wasmtime_error_t* quern_nn_wasmtime_define(wasmtime_linker_t* linker,
                                                         quern_nn_instance* instance) {
  const quern_nn_import* import;
  wasmtime_error_t* error = NULL;
  for (size_t i = 0; !error && (import = quern_nn_witx_import(i)) != NULL; i++)
    error = quern_nn_wasmtime_add(linker, instance, import);
  for (size_t i = 0; !error && (import = quern_nn_wit_import(i)) != NULL; i++)
    error = quern_nn_wasmtime_add(linker, instance, import);
  return error;
}

#endif
