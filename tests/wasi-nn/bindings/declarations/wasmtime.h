/* SPDX-License-Identifier: Apache-2.0 */
/* What quern's binding and its example use of wasmtime's C API, declared by ourselves, to be
 * compiled where wasmtime is not. Layouts are not wasmtime's. */
#ifndef WASMTIME_H
#define WASMTIME_H

#include <wasm.h>

typedef struct wasmtime_store wasmtime_store_t;
typedef struct wasmtime_context wasmtime_context_t;
typedef struct wasmtime_linker wasmtime_linker_t;
typedef struct wasmtime_module wasmtime_module_t;
typedef struct wasmtime_caller wasmtime_caller_t;
typedef struct wasmtime_error wasmtime_error_t;
typedef struct wasi_config_t wasi_config_t;
typedef struct {
  int number;
} wasmtime_func_t;
typedef struct {
  int number;
} wasmtime_memory_t;
enum { WASMTIME_EXTERN_FUNC = 0, WASMTIME_EXTERN_MEMORY = 3 };
typedef struct {
  uint8_t kind;
  union {
    wasmtime_func_t func;
    wasmtime_memory_t memory;
  } of;
} wasmtime_extern_t;
enum { WASMTIME_I32 };
typedef struct {
  uint8_t kind;
  union {
    int32_t i32;
    int64_t i64;
  } of;
} wasmtime_val_t;
typedef wasm_trap_t* (*wasmtime_func_callback_t)(void* env, wasmtime_caller_t* caller,
                                                 const wasmtime_val_t* arguments, size_t count,
                                                 wasmtime_val_t* results, size_t result_count);

wasmtime_store_t* wasmtime_store_new(wasm_engine_t* engine, void* data, void (*finalizer)(void*));
void wasmtime_store_delete(wasmtime_store_t* store);
wasmtime_context_t* wasmtime_store_context(wasmtime_store_t* store);
wasmtime_error_t* wasmtime_context_set_wasi(wasmtime_context_t* context, wasi_config_t* wasi);
wasi_config_t* wasi_config_new(void);
bool wasi_config_set_argv(wasi_config_t* wasi, size_t argc, const char* argv[]);
void wasi_config_inherit_stdout(wasi_config_t* wasi);
void wasi_config_inherit_stderr(wasi_config_t* wasi);
bool wasi_config_preopen_dir(wasi_config_t* wasi, const char* host, const char* guest,
                             bool is_mutable);

wasmtime_linker_t* wasmtime_linker_new(wasm_engine_t* engine);
void wasmtime_linker_delete(wasmtime_linker_t* linker);
wasmtime_error_t* wasmtime_linker_define_wasi(wasmtime_linker_t* linker);
wasmtime_error_t* wasmtime_linker_define_func(wasmtime_linker_t* linker, const char* module,
                                              size_t module_size, const char* name,
                                              size_t name_size, const wasm_functype_t* type,
                                              wasmtime_func_callback_t callback, void* data,
                                              void (*finalizer)(void*));
wasmtime_error_t* wasmtime_linker_module(wasmtime_linker_t* linker, wasmtime_context_t* context,
                                         const char* name, size_t size,
                                         const wasmtime_module_t* module);
wasmtime_error_t* wasmtime_linker_get_default(const wasmtime_linker_t* linker,
                                              wasmtime_context_t* context, const char* name,
                                              size_t size, wasmtime_func_t* function);
wasmtime_error_t* wasmtime_module_new(wasm_engine_t* engine, const uint8_t* bytes, size_t size,
                                      wasmtime_module_t** module);
void wasmtime_module_delete(wasmtime_module_t* module);

wasmtime_context_t* wasmtime_caller_context(wasmtime_caller_t* caller);
bool wasmtime_caller_export_get(wasmtime_caller_t* caller, const char* name, size_t size,
                                wasmtime_extern_t* item);
void wasmtime_extern_delete(wasmtime_extern_t* item);
uint8_t* wasmtime_memory_data(const wasmtime_context_t* context, const wasmtime_memory_t* memory);
size_t wasmtime_memory_data_size(const wasmtime_context_t* context,
                                 const wasmtime_memory_t* memory);
wasmtime_error_t* wasmtime_func_call(wasmtime_context_t* context, const wasmtime_func_t* function,
                                     const wasmtime_val_t* arguments, size_t count,
                                     wasmtime_val_t* results, size_t result_count,
                                     wasm_trap_t** trap);
void wasmtime_error_delete(wasmtime_error_t* error);
void wasmtime_error_message(const wasmtime_error_t* error, wasm_byte_vec_t* text);
bool wasmtime_error_exit_status(const wasmtime_error_t* error, int* status);

#endif
