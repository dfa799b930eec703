/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wasi-nn for guests of WasmEdge's C API, of both ABIs:
 *
 *   quern_nn_wasmedge binding;
 *   quern_nn_wasmedge_create(&binding, instance);
 *   for (size_t i = 0; i < binding.count; i++)
 *     WasmEdge_ExecutorRegisterImport(executor, store, binding.modules[i]);
 *   ... instantiate, run, delete the guest's module and the store ...
 *   quern_nn_wasmedge_delete(&binding);
 *   quern_nn_instance_destroy(instance);
 *
 * With an executor and a store, since a WasmEdge_VM brings a wasi_ephemeral_nn of its own, an empty
 * one where no plug-in is installed, and takes no second one.
 *
 * Each wasm instance wants a store and a binding of its own. A bad pointer is an errno, not a trap.
 * Needs WasmEdge 0.14 (0.13 names types otherwise).
 *
 * Run with WasmEdge 0.14.1 as Debian 13 packages it.
 */
#ifndef QUERN_C_WASI_NN_WASMEDGE_H
#define QUERN_C_WASI_NN_WASMEDGE_H

#include <string.h>
#include <wasmedge/wasmedge.h>

#include <quern/c/wasi_nn.h>

enum { QUERN_NN_WASMEDGE_MODULES = 8, QUERN_NN_WASMEDGE_ROWS = 32 };

typedef struct quern_nn_wasmedge_row {
  const quern_nn_import* import;
  quern_nn_instance* instance;
} quern_nn_wasmedge_row;

typedef struct quern_nn_wasmedge {
  WasmEdge_ModuleInstanceContext* modules[QUERN_NN_WASMEDGE_MODULES];
  const char* names[QUERN_NN_WASMEDGE_MODULES];
  size_t count;
  quern_nn_wasmedge_row rows[QUERN_NN_WASMEDGE_ROWS];
  size_t row_count;
} quern_nn_wasmedge;

static inline void quern_nn_wasmedge_find_memory(quern_nn_guest* guest,
                                                 const WasmEdge_CallingFrameContext* frame) {
  WasmEdge_MemoryInstanceContext* memory = WasmEdge_CallingFrameGetMemoryInstance(frame, 0);
  const uint64_t bytes = memory ? (uint64_t)WasmEdge_MemoryInstanceGetPageSize(memory) << 16 : 0;
  guest->memory = bytes > 0 ? WasmEdge_MemoryInstanceGetPointer(memory, 0, 1) : NULL;
  guest->memory_bytes = guest->memory ? bytes : 0;
}

static inline int32_t quern_nn_wasmedge_make_room(quern_nn_guest* guest, uint32_t alignment,
                                                  uint32_t bytes, uint32_t* at) {
  const WasmEdge_CallingFrameContext* frame = (const WasmEdge_CallingFrameContext*)guest->host;
  const WasmEdge_FunctionInstanceContext* make = WasmEdge_ModuleInstanceFindFunction(
      WasmEdge_CallingFrameGetModuleInstance(frame), WasmEdge_StringWrap("cabi_realloc", 12));
  const WasmEdge_Value arguments[4] = {WasmEdge_ValueGenI32(0), WasmEdge_ValueGenI32(0),
                                       WasmEdge_ValueGenI32((int32_t)alignment),
                                       WasmEdge_ValueGenI32((int32_t)bytes)};
  WasmEdge_Value result = WasmEdge_ValueGenI32(0);
  const int made =
      make && WasmEdge_ResultOK(WasmEdge_ExecutorInvoke(WasmEdge_CallingFrameGetExecutor(frame),
                                                        make, arguments, 4, &result, 1));
  quern_nn_wasmedge_find_memory(guest, frame);
  *at = (uint32_t)WasmEdge_ValueGetI32(result);
  return made ? 0 : 1;
}

/* One function for all rows. */
static inline WasmEdge_Result quern_nn_wasmedge_call(void* data,
                                                     const WasmEdge_CallingFrameContext* frame,
                                                     const WasmEdge_Value* parameters,
                                                     WasmEdge_Value* results) {
  const quern_nn_wasmedge_row* row = (const quern_nn_wasmedge_row*)data;
  quern_nn_guest guest = QUERN_NN_GUEST_INIT;
  uint32_t arguments[QUERN_NN_MAX_PARAMETERS];
  for (uint32_t i = 0; i < row->import->parameters; i++)
    arguments[i] = (uint32_t)WasmEdge_ValueGetI32(parameters[i]);
  guest.make_room = quern_nn_wasmedge_make_room;
  guest.host = (void*)frame;
  quern_nn_wasmedge_find_memory(&guest, frame);
  const uint32_t result = row->import->call(row->instance, &guest, arguments);
  if (row->import->results > 0) results[0] = WasmEdge_ValueGenI32((int32_t)result);
  return WasmEdge_Result_Success;
}

/* The module of that name, made at its first row. */
static inline WasmEdge_ModuleInstanceContext* quern_nn_wasmedge_module(quern_nn_wasmedge* binding,
                                                                       const char* name) {
  size_t i = 0;
  while (i < binding->count && strcmp(binding->names[i], name) != 0) i++;
  if (i == binding->count && i < QUERN_NN_WASMEDGE_MODULES) {
    binding->names[i] = name;
    binding->modules[i] =
        WasmEdge_ModuleInstanceCreate(WasmEdge_StringWrap(name, (uint32_t)strlen(name)));
    binding->count++;
  }
  return i < QUERN_NN_WASMEDGE_MODULES ? binding->modules[i] : NULL;
}

static inline void quern_nn_wasmedge_add(quern_nn_wasmedge* binding, quern_nn_instance* instance,
                                         const quern_nn_import* import) {
  WasmEdge_ModuleInstanceContext* module = quern_nn_wasmedge_module(binding, import->module);
  WasmEdge_ValType types[QUERN_NN_MAX_PARAMETERS];
  if (!module || binding->row_count == QUERN_NN_WASMEDGE_ROWS) return;
  quern_nn_wasmedge_row* row = &binding->rows[binding->row_count++];
  row->import = import;
  row->instance = instance;
  for (int i = 0; i < QUERN_NN_MAX_PARAMETERS; i++) types[i] = WasmEdge_ValTypeGenI32();
  WasmEdge_FunctionTypeContext* type =
      WasmEdge_FunctionTypeCreate(types, import->parameters, types, import->results);
  WasmEdge_ModuleInstanceAddFunction(
      module, WasmEdge_StringWrap(import->name, (uint32_t)strlen(import->name)),
      WasmEdge_FunctionInstanceCreate(type, quern_nn_wasmedge_call, row, 0));
  WasmEdge_FunctionTypeDelete(type);
}

static inline void quern_nn_wasmedge_create(quern_nn_wasmedge* binding,
                                            quern_nn_instance* instance) {
  const quern_nn_import* import;
  binding->count = binding->row_count = 0;
  for (size_t i = 0; (import = quern_nn_witx_import(i)) != NULL; i++)
    quern_nn_wasmedge_add(binding, instance, import);
  for (size_t i = 0; (import = quern_nn_wit_import(i)) != NULL; i++)
    quern_nn_wasmedge_add(binding, instance, import);
}

static inline void quern_nn_wasmedge_delete(quern_nn_wasmedge* binding) {
  for (size_t i = 0; i < binding->count; i++) WasmEdge_ModuleInstanceDelete(binding->modules[i]);
  binding->count = 0;
}

#endif
