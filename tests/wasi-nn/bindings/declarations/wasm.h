/* SPDX-License-Identifier: Apache-2.0 */
/* What quern's binding and its example use of the C API of WebAssembly, declared by ourselves, to
 * be compiled where wasmtime is not. */
#ifndef WASM_H
#define WASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wasm_engine_t wasm_engine_t;
typedef struct wasm_trap_t wasm_trap_t;
typedef struct wasm_valtype_t wasm_valtype_t;
typedef struct wasm_functype_t wasm_functype_t;
typedef struct {
  size_t size;
  char* data;
} wasm_byte_vec_t;
typedef struct {
  size_t size;
  wasm_valtype_t** data;
} wasm_valtype_vec_t;
enum { WASM_I32 };

wasm_engine_t* wasm_engine_new(void);
void wasm_engine_delete(wasm_engine_t* engine);
void wasm_trap_message(const wasm_trap_t* trap, wasm_byte_vec_t* text);
wasm_valtype_t* wasm_valtype_new(uint8_t kind);
void wasm_valtype_vec_new(wasm_valtype_vec_t* types, size_t count, wasm_valtype_t* const* data);
/* Takes both. */
wasm_functype_t* wasm_functype_new(wasm_valtype_vec_t* parameters, wasm_valtype_vec_t* results);
void wasm_functype_delete(wasm_functype_t* type);

#endif
