/* SPDX-License-Identifier: Apache-2.0 */
/* What a guest of wasm2c needs of the runner's WASI, for C. */
#ifndef WASM2C_HOST_H
#define WASM2C_HOST_H

#include <stdint.h>

#include <quern/c/wasi_nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads [--model NAME=FILE] [--dir HOST::GUEST] -- ARGUMENTS. NULL: it has said why. */
quern_nn_instance* host_start(int argc, char** argv);
/* A function of preview 1 on a memory; it ends the process when the guest says so. */
uint32_t host_wasi(const char* name, void* memory, uint64_t bytes, const uint64_t* arguments);

#ifdef __cplusplus
}
#endif

#endif
