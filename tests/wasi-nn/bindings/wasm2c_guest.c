/* SPDX-License-Identifier: Apache-2.0 */
/* The host of a guest that wasm2c called "guest": wasi-nn by the header, WASI by the runner's. */
#include <quern/c/wasi_nn_wasm2c.h>

#include "tests/wasi-nn/bindings/wasm2c_host.h"

#include "guest.h"

#ifdef WASM_RT_UNWIND_TARGET /* 1.0.32 */
#define WASI Z_wasi_snapshot_preview1_instance_t
#define WASI_NAME(function) Z_wasi_snapshot_preview1Z_##function
#define GUEST Z_guest_instance_t
#define GUEST_START Z_guestZ__start
#define GUEST_MEMORY Z_guestZ_memory
#define GUEST_INSTANTIATE Z_guest_instantiate
#define GUEST_FREE Z_guest_free
#else
#define WASI w2c_wasi__snapshot__preview1
#define WASI_NAME(function) w2c_wasi__snapshot__preview1_##function
#define GUEST w2c_guest
#define GUEST_START w2c_guest_0x5Fstart
#define GUEST_MEMORY w2c_guest_memory
#define GUEST_INSTANTIATE wasm2c_guest_instantiate
#define GUEST_FREE wasm2c_guest_free
#endif

struct WASI {
  wasm_rt_memory_t* memory;
};

#define CALL(name, ...) \
  host_wasi(name, wasi->memory->data, wasi->memory->size, (const uint64_t[]){__VA_ARGS__})
#define W struct WASI* wasi
typedef uint32_t u;
typedef uint64_t U;

u WASI_NAME(args_get)(W, u a, u b) {
  return CALL("args_get", a, b);
}
u WASI_NAME(args_sizes_get)(W, u a, u b) {
  return CALL("args_sizes_get", a, b);
}
u WASI_NAME(fd_close)(W, u a) {
  return CALL("fd_close", a);
}
u WASI_NAME(fd_fdstat_get)(W, u a, u b) {
  return CALL("fd_fdstat_get", a, b);
}
u WASI_NAME(fd_fdstat_set_flags)(W, u a, u b) {
  return CALL("fd_fdstat_set_flags", a, b);
}
u WASI_NAME(fd_prestat_get)(W, u a, u b) {
  return CALL("fd_prestat_get", a, b);
}
u WASI_NAME(fd_prestat_dir_name)(W, u a, u b, u c) {
  return CALL("fd_prestat_dir_name", a, b, c);
}
u WASI_NAME(fd_read)(W, u a, u b, u c, u d) {
  return CALL("fd_read", a, b, c, d);
}
u WASI_NAME(fd_seek)(W, u a, U b, u c, u d) {
  return CALL("fd_seek", a, b, c, d);
}
u WASI_NAME(fd_write)(W, u a, u b, u c, u d) {
  return CALL("fd_write", a, b, c, d);
}
u WASI_NAME(path_open)(W, u a, u b, u c, u d, u e, U f, U g, u h, u i) {
  return CALL("path_open", a, b, c, d, e, f, g, h, i);
}
void WASI_NAME(proc_exit)(W, u status) {
  CALL("proc_exit", status);
}

int main(int argc, char** argv) {
  GUEST guest;
  struct WASI wasi;
  quern_nn_wasm2c nn;
  wasm_rt_init(); /* before the engine asks for AMX, after which its signal stack is too small */
  quern_nn_instance* instance = host_start(argc, argv);
  if (!instance) return 1;
#ifdef WASM_RT_UNWIND_TARGET
  Z_guest_init_module();
#endif
  quern_nn_wasm2c_init(&nn, instance, GUEST_MEMORY(&guest));
  wasi.memory = GUEST_MEMORY(&guest);
  GUEST_INSTANTIATE(&guest, &nn, &wasi);
  GUEST_START(&guest);
  GUEST_FREE(&guest);
  wasm_rt_free();
  quern_nn_instance_destroy(instance);
  return 0;
}
