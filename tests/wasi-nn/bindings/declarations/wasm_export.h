/* SPDX-License-Identifier: Apache-2.0 */
/* What quern's binding and its example use of WAMR's API, declared by ourselves, to be compiled
 * where WAMR is not. */
#ifndef WASM_EXPORT_H
#define WASM_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct module* wasm_module_t;
typedef struct module_instance* wasm_module_inst_t;
typedef struct exec_env* wasm_exec_env_t;
typedef struct memory* wasm_memory_inst_t;
typedef void* wasm_function_inst_t;

typedef struct NativeSymbol {
  const char* symbol;
  void* func_ptr;
  const char* signature;
  void* attachment;
} NativeSymbol;

bool wasm_runtime_init(void);
void wasm_runtime_destroy(void);
bool wasm_runtime_register_natives_raw(const char* module, NativeSymbol* symbols, uint32_t count);
bool wasm_runtime_unregister_natives(const char* module, NativeSymbol* symbols);
wasm_module_t wasm_runtime_load(uint8_t* bytes, uint32_t size, char* error, uint32_t error_size);
void wasm_runtime_unload(wasm_module_t module);
void wasm_runtime_set_wasi_args(wasm_module_t module, const char* folders[], uint32_t folder_count,
                                const char* mapped[], uint32_t mapped_count, const char* env[],
                                uint32_t env_count, char* argv[], int argc);
wasm_module_inst_t wasm_runtime_instantiate(const wasm_module_t module, uint32_t stack,
                                            uint32_t heap, char* error, uint32_t error_size);
void wasm_runtime_deinstantiate(wasm_module_inst_t instance);
bool wasm_application_execute_main(wasm_module_inst_t instance, int32_t argc, char* argv[]);
uint32_t wasm_runtime_get_wasi_exit_code(wasm_module_inst_t instance);
const char* wasm_runtime_get_exception(wasm_module_inst_t instance);
wasm_function_inst_t wasm_runtime_lookup_function(const wasm_module_inst_t instance,
                                                  const char* name);
bool wasm_runtime_call_wasm(wasm_exec_env_t env, wasm_function_inst_t function, uint32_t argc,
                            uint32_t argv[]);
wasm_module_inst_t wasm_runtime_get_module_inst(wasm_exec_env_t env);
void* wasm_runtime_get_function_attachment(wasm_exec_env_t env);
wasm_memory_inst_t wasm_runtime_get_default_memory(const wasm_module_inst_t instance);
void* wasm_memory_get_base_address(const wasm_memory_inst_t memory);
uint64_t wasm_memory_get_cur_page_count(const wasm_memory_inst_t memory);
uint64_t wasm_memory_get_bytes_per_page(const wasm_memory_inst_t memory);
void* wasm_runtime_create_context_key(void (*destroy)(wasm_module_inst_t instance, void* context));
void wasm_runtime_destroy_context_key(void* key);
void wasm_runtime_set_context_spread(wasm_module_inst_t instance, void* key, void* context);
void* wasm_runtime_get_context(wasm_module_inst_t instance, void* key);

#endif
