// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/shared_library.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace quern {
namespace {

void add_reason(SharedLibrary& library, const char* name, const char* why) noexcept {
  auto& text = library.why_not;
  const std::size_t used = std::strlen(text.data());
  // The system's sentence begins with the name, most of the time.
  const bool is_named = std::strncmp(why, name, std::strlen(name)) == 0;  // or has no name
  (void)std::snprintf(text.data() + used, text.size() - used, "%s%s%s%s", used ? "; " : "",
                      is_named ? "" : name, is_named ? "" : ": ", why);
}

}  // namespace

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

void* SharedLibrary::find(const char* symbol) const noexcept {
  return handle ? dlsym(handle, symbol) : nullptr;
}

SharedLibrary open_first(std::initializer_list<const char*> names, int flags) noexcept {
  SharedLibrary library;
  if (is_static_program()) {
    add_reason(library, *names.begin(), "a fully static program opens no shared libraries");
    return library;
  }
  for (const char* const& name : names) {
    if (&name != names.begin() && std::strcmp(name, *names.begin()) == 0) continue;  // once
    library.handle = dlopen(name, flags);
    if (!library.handle) {
      const char* const why = dlerror();
      add_reason(library, name, why ? why : "it cannot be opened");
      continue;
    }
    (void)std::snprintf(library.name.data(), library.name.size(), "%s", name);
    link_map* map = nullptr;
    if (dlinfo(library.handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map)
      (void)std::snprintf(library.path.data(), library.path.size(), "%s", map->l_name);
    library.why_not[0] = '\0';
    return library;
  }
  return library;
}

void refuse(SharedLibrary& library, const char* why) noexcept {
  add_reason(library, library.name.data(), why);
  library.handle = nullptr;
}

}  // namespace quern
