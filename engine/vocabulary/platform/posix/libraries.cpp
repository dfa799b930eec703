// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/platform/libraries.h"

#if !defined(_WIN32) && !defined(__wasi__)
#include <cstdio>
#include <dlfcn.h>
#include <link.h>

namespace quern::platform {

const char* const openmp_library = "libgomp.so.1";
const char* const vulkan_library = "libvulkan.so.1";

void* open_library(const char* name, Symbols symbols) noexcept {
  return ::dlopen(name, RTLD_NOW | (symbols == Symbols::global ? RTLD_GLOBAL : RTLD_LOCAL));
}

void close_library(void* library) noexcept {
  ::dlclose(library);
}

void* find_symbol(void* library, const char* name) noexcept {
  return ::dlsym(library, name);
}

const char* library_error() noexcept {
  const char* const reason = ::dlerror();
  return reason ? reason : "";
}

void write_library_path(void* library, std::span<char> path) noexcept {
  link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map)
    (void)std::snprintf(path.data(), path.size(), "%s", map->l_name);
}

bool is_static_program() noexcept {
  static const bool is_static = [] {
    bool has_linker = false;
    // The first object is the program.
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* found) {
          for (int i = 0; i < info->dlpi_phnum; ++i)
            if (info->dlpi_phdr[i].p_type == PT_INTERP) *static_cast<bool*>(found) = true;
          return 1;
        },
        &has_linker);
    return !has_linker;
  }();
  return is_static;
}

}  // namespace quern::platform
#endif
