// SPDX-License-Identifier: Apache-2.0
// Debian's libc++ for WASI has no exceptions: compiled with -fignore-exceptions (preset wasm32),
// what is thrown ends the module, and no handler is reached.
#if defined(__wasi__)
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <typeinfo>

extern "C" {

void* __cxa_allocate_exception(std::size_t bytes) noexcept {
  void* const exception = std::malloc(bytes);
  if (!exception) std::abort();
  return exception;
}

void __cxa_free_exception(void* exception) noexcept {
  std::free(exception);
}

[[noreturn]] void __cxa_throw(void*, std::type_info* type, void (*)(void*)) {
  std::fprintf(stderr, "quern: an exception of type %s in a module without exceptions\n",
               type->name());
  std::abort();
}

[[noreturn]] void __cxa_rethrow() {
  std::abort();
}

void* __cxa_begin_catch(void* exception) noexcept {
  return exception;
}

void __cxa_end_catch() noexcept {}

}  // extern "C"
#endif
