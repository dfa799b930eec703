/* SPDX-License-Identifier: Apache-2.0 */
/* The binding for wasmtime on a stand-in that has one guest: a memory, and a cabi_realloc that
 * takes new memory or traps. wasmtime_test DIGITS.onnx */
#include <stdio.h>

#include <quern/c/wasi_nn_wasmtime.h>

#include "../../check.h"

enum { MOST = 32, BYTES = 8192 };

/* ---- the stand-in ---- */

struct wasm_functype_t {
  size_t parameters, results;
};
struct wasmtime_linker {
  struct row {
    const char* name;
    struct wasm_functype_t type;
    wasmtime_func_callback_t callback;
    void* data;
    void (*finalizer)(void*);
  } rows[MOST];
  size_t count;
};
struct wasmtime_caller {
  uint8_t* memory;
  uint32_t bytes;
  int has_memory, traps;
};

wasm_valtype_t* wasm_valtype_new(uint8_t kind) {
  static char i32;
  return kind == WASM_I32 ? (wasm_valtype_t*)&i32 : NULL;
}
void wasm_valtype_vec_new(wasm_valtype_vec_t* types, size_t count, wasm_valtype_t* const* data) {
  types->size = count;
  types->data = (wasm_valtype_t**)data;
  for (size_t i = 0; i < count; i++)
    if (!data[i]) abort();
}
wasm_functype_t* wasm_functype_new(wasm_valtype_vec_t* parameters, wasm_valtype_vec_t* results) {
  wasm_functype_t* type = malloc(sizeof *type);
  if (!type) abort();
  type->parameters = parameters->size;
  type->results = results->size;
  return type;
}
void wasm_functype_delete(wasm_functype_t* type) {
  free(type);
}

wasmtime_error_t* wasmtime_linker_define_func(wasmtime_linker_t* linker, const char* module,
                                              size_t module_size, const char* name,
                                              size_t name_size, const wasm_functype_t* type,
                                              wasmtime_func_callback_t callback, void* data,
                                              void (*finalizer)(void*)) {
  const struct row row = {name, *type, callback, data, finalizer};
  if (linker->count == MOST || strlen(module) != module_size || strlen(name) != name_size) abort();
  linker->rows[linker->count++] = row;
  return NULL;
}
wasmtime_context_t* wasmtime_caller_context(wasmtime_caller_t* caller) {
  return (wasmtime_context_t*)caller;
}
bool wasmtime_caller_export_get(wasmtime_caller_t* caller, const char* name, size_t size,
                                wasmtime_extern_t* item) {
  const int is_memory = size == 6 && !memcmp(name, "memory", 6);
  item->kind = is_memory ? WASMTIME_EXTERN_MEMORY : WASMTIME_EXTERN_FUNC;
  return is_memory ? caller->has_memory : size == 12 && !memcmp(name, "cabi_realloc", 12);
}
void wasmtime_extern_delete(wasmtime_extern_t* item) {
  (void)item;
}
uint8_t* wasmtime_memory_data(const wasmtime_context_t* context, const wasmtime_memory_t* memory) {
  (void)memory;
  return ((const wasmtime_caller_t*)context)->memory;
}
size_t wasmtime_memory_data_size(const wasmtime_context_t* context,
                                 const wasmtime_memory_t* memory) {
  (void)memory;
  return ((const wasmtime_caller_t*)context)->bytes;
}
wasmtime_error_t* wasmtime_func_call(wasmtime_context_t* context, const wasmtime_func_t* function,
                                     const wasmtime_val_t* arguments, size_t count,
                                     wasmtime_val_t* results, size_t result_count,
                                     wasm_trap_t** trap) {
  wasmtime_caller_t* guest = (wasmtime_caller_t*)context;
  static char a_trap;
  (void)function;
  if (count != 4 || result_count != 1) abort();
  if (guest->traps) {
    *trap = (wasm_trap_t*)&a_trap;
    return NULL;
  }
  uint8_t* moved = calloc(1, guest->bytes + (uint32_t)arguments[3].of.i32 + 8);
  if (!moved) abort();
  memcpy(moved, guest->memory, guest->bytes);
  free(guest->memory);
  guest->memory = moved;
  results[0].of.i32 = (int32_t)(guest->bytes + 7) / 8 * 8;
  guest->bytes += (uint32_t)arguments[3].of.i32 + 8;
  return NULL;
}
void wasmtime_error_delete(wasmtime_error_t* error) {
  (void)error;
}

/* ---- the test ---- */

static wasm_trap_t* last_trap;

static uint32_t call(const wasmtime_linker_t* linker, wasmtime_caller_t* guest, const char* name,
                     const uint32_t* arguments) {
  wasmtime_val_t values[QUERN_NN_MAX_PARAMETERS], result;
  for (size_t i = 0; i < linker->count; i++) {
    const struct row* row = &linker->rows[i];
    if (strcmp(row->name, name) != 0) continue;
    for (size_t k = 0; k < row->type.parameters; k++) {
      values[k].kind = WASMTIME_I32;
      values[k].of.i32 = (int32_t)arguments[k];
    }
    memset(&result, 0xA5, sizeof result);
    last_trap =
        row->callback(row->data, guest, values, row->type.parameters, &result, row->type.results);
    return row->type.results > 0 ? (uint32_t)result.of.i32 : 0;
  }
  abort();
}
#define CALL(name, ...) call(&linker, &guest, name, (const uint32_t[]){__VA_ARGS__})

static uint32_t word(const wasmtime_caller_t* guest, uint32_t at) {
  uint32_t value;
  memcpy(&value, guest->memory + at, 4);
  return value;
}

enum { NAME = 16, INPUT = 32, DIMS = 64, LIST = 96, OUT = 128, DATA = 512, PIXELS = 784 };

int main(int argc, char** argv) {
  static wasmtime_linker_t linker;
  wasmtime_caller_t guest = {calloc(1, BYTES), BYTES, 1, 0};
  quern_nn_tenant* tenant = NULL;
  quern_nn_instance* instance = NULL;
  const uint32_t dims[] = {1, 1, 28, 28};
  if (argc < 2 || quern_nn_tenant_create(NULL, &tenant) ||
      quern_nn_tenant_add_file(tenant, "digits", argv[1], QUERN_NN_CPU) ||
      quern_nn_instance_create(tenant, NULL, &instance))
    return 2;
  CHECK(quern_nn_wasmtime_define(&linker, instance) == NULL);
  CHECK(linker.count == 26);
  memcpy(guest.memory + NAME, "digits", 6);
  memcpy(guest.memory + INPUT, "image", 5);
  memcpy(guest.memory + DIMS, dims, sizeof dims);

  CHECK(CALL("load_by_name", NAME, 6, OUT) == 0);
  CHECK(CALL("init_execution_context", word(&guest, OUT), OUT) == 0);
  CHECK(CALL("compute", word(&guest, OUT)) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(CALL("compute", 0xffffffff) == QUERN_NN_INVALID_ARGUMENT);
  CHECK(last_trap == NULL);

  CALL("load-by-name", NAME, 6, OUT);
  CALL("[method]graph.init-execution-context", word(&guest, OUT + 4), OUT);
  const uint32_t context = word(&guest, OUT + 4);
  for (int traps = 0; traps < 2; traps++) {
    const uint32_t pair[] = {INPUT, 5, CALL("[constructor]tensor", DIMS, 4, 1, DATA, 4 * PIXELS)};
    memcpy(guest.memory + LIST, pair, sizeof pair);
    guest.traps = traps;
    CALL("[method]graph-execution-context.compute", context, LIST, 1, OUT);
    CHECK((last_trap != NULL) == traps);
    CHECK(guest.memory[OUT] == traps);
    if (traps) break;
    CALL("[method]tensor.data", word(&guest, word(&guest, OUT + 4) + 8), OUT);
    CHECK(word(&guest, OUT + 4) == 40);
    CALL("[resource-drop]tensor", word(&guest, word(&guest, OUT + 4) + 8));
  }
  guest.has_memory = 0;
  CHECK(CALL("compute", 1) == QUERN_NN_MISSING_MEMORY);

  for (size_t i = 0; i < linker.count; i++) linker.rows[i].finalizer(linker.rows[i].data);
  quern_nn_instance_destroy(instance);
  quern_nn_tenant_destroy(tenant);
  free(guest.memory);
  puts(failures ? "failed" : "ok");
  return failures != 0;
}
