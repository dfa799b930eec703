// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/shared_library.h"

#include <cstdio>
#include <cstring>

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

void* SharedLibrary::find(const char* symbol) const noexcept {
  return handle ? platform::find_symbol(handle, symbol) : nullptr;
}

SharedLibrary open_first(std::initializer_list<const char*> names,
                         platform::Symbols symbols) noexcept {
  SharedLibrary library;
  if (platform::is_static_program()) {
    add_reason(library, *names.begin(), "a fully static program opens no shared libraries");
    return library;
  }
  for (const char* const& name : names) {
    if (&name != names.begin() && std::strcmp(name, *names.begin()) == 0) continue;  // once
    library.handle = platform::open_library(name, symbols);
    if (!library.handle) {
      const char* const why = platform::library_error();
      add_reason(library, name, *why ? why : "it cannot be opened");
      continue;
    }
    (void)std::snprintf(library.name.data(), library.name.size(), "%s", name);
    platform::write_library_path(library.handle, library.path);
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
