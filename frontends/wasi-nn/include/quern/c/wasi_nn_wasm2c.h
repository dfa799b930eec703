/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wasi-nn (witx) for guests that wasm2c made C of. One C file of the host includes the header that
 * wasm2c wrote and this one, which defines the functions that the guest imports:
 *
 *   #include "guest.h"
 *   #include <quern/c/wasi_nn_wasm2c.h>
 *
 *   quern_nn_wasm2c nn;
 *   quern_nn_wasm2c_init(&nn, instance, w2c_guest_memory(&guest));
 *   wasm2c_guest_instantiate(&guest, &nn, &wasi);
 *
 * wasm_rt_init() comes before the first model is loaded: on CPUs with AMX the engine asks for it,
 * and the signal stack of wasm2c is then too small for the kernel.
 *
 * A bad pointer is an errno, not a trap. Run with wasm2c 1.0.32 (Debian 12) and 1.0.36 (Debian 13),
 * whose names differ: `w2c_guest_memory` and `wasm2c_guest_instantiate` are `Z_guestZ_memory` and
 * `Z_guest_instantiate` in the older one.
 */
#ifndef QUERN_C_WASI_NN_WASM2C_H
#define QUERN_C_WASI_NN_WASM2C_H

#include <string.h>
#include <wasm-rt.h>

#include <quern/c/wasi_nn.h>

#ifdef WASM_RT_UNWIND_TARGET /* 1.0.32 */
#define QUERN_NN_WASM2C_MODULE Z_wasi_ephemeral_nn_instance_t
#define QUERN_NN_WASM2C_NAME(function) Z_wasi_ephemeral_nnZ_##function
#else
#define QUERN_NN_WASM2C_MODULE w2c_wasi__ephemeral__nn
#define QUERN_NN_WASM2C_NAME(function) w2c_wasi__ephemeral__nn_##function
#endif

typedef struct QUERN_NN_WASM2C_MODULE {
  quern_nn_instance* instance;
  const wasm_rt_memory_t* memory; /* the guest's; NULL: it exports none */
} quern_nn_wasm2c;

static inline void quern_nn_wasm2c_init(quern_nn_wasm2c* nn, quern_nn_instance* instance,
                                        const wasm_rt_memory_t* memory) {
  nn->instance = instance;
  nn->memory = memory;
}

static inline uint32_t quern_nn_wasm2c_call(quern_nn_wasm2c* nn, const char* name,
                                            const uint32_t* arguments) {
  const quern_nn_import* import;
  quern_nn_guest guest = QUERN_NN_GUEST_INIT;
  guest.memory = nn->memory ? nn->memory->data : NULL;
  guest.memory_bytes = nn->memory ? nn->memory->size : 0;
  for (size_t i = 0; (import = quern_nn_witx_import(i)) != NULL; i++)
    if (strcmp(import->name, name) == 0) return import->call(nn->instance, &guest, arguments);
  return QUERN_NN_UNSUPPORTED_OPERATION;
}

#ifdef __cplusplus
extern "C" {
#endif

#define QUERN_NN_WASM2C(function, parameters, ...)         \
  uint32_t QUERN_NN_WASM2C_NAME(function) parameters {     \
    const uint32_t arguments[] = {__VA_ARGS__};            \
    return quern_nn_wasm2c_call(nn, #function, arguments); \
  }
#define QUERN_NN_WASM2C_1 (quern_nn_wasm2c * nn, uint32_t a)
#define QUERN_NN_WASM2C_2 (quern_nn_wasm2c * nn, uint32_t a, uint32_t b)
#define QUERN_NN_WASM2C_3 (quern_nn_wasm2c * nn, uint32_t a, uint32_t b, uint32_t c)
#define QUERN_NN_WASM2C_5 \
  (quern_nn_wasm2c * nn, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e)

QUERN_NN_WASM2C(load, QUERN_NN_WASM2C_5, a, b, c, d, e)
QUERN_NN_WASM2C(load_by_name, QUERN_NN_WASM2C_3, a, b, c)
QUERN_NN_WASM2C(load_by_name_with_config, QUERN_NN_WASM2C_5, a, b, c, d, e)
QUERN_NN_WASM2C(init_execution_context, QUERN_NN_WASM2C_2, a, b)
QUERN_NN_WASM2C(set_input, QUERN_NN_WASM2C_3, a, b, c)
QUERN_NN_WASM2C(compute, QUERN_NN_WASM2C_1, a)
QUERN_NN_WASM2C(get_output, QUERN_NN_WASM2C_5, a, b, c, d, e)
QUERN_NN_WASM2C(unload, QUERN_NN_WASM2C_1, a)
QUERN_NN_WASM2C(finalize_execution_context, QUERN_NN_WASM2C_1, a)
QUERN_NN_WASM2C(compute_single, QUERN_NN_WASM2C_1, a)
QUERN_NN_WASM2C(get_output_single, QUERN_NN_WASM2C_5, a, b, c, d, e)
QUERN_NN_WASM2C(fini_single, QUERN_NN_WASM2C_1, a)

#ifdef __cplusplus
}
#endif

#endif
