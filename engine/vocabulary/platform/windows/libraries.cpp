// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/platform/libraries.h"

#if defined(_WIN32)
#include <cstdio>
#include <cstring>

#include "engine/vocabulary/platform/windows/system.h"

namespace quern::platform {
namespace {

thread_local char last_error[256];

// The system's sentence, without its line's end.
void keep_error() noexcept {
  const DWORD code = ::GetLastError();
  const DWORD size = ::FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS,
                                      nullptr, code, 0, last_error, sizeof last_error, nullptr);
  if (size == 0) (void)std::snprintf(last_error, sizeof last_error, "error %lu", code);
  last_error[std::strcspn(last_error, "\r\n")] = '\0';
}

}  // namespace

const char* const openmp_library = "libgomp-1.dll";
const char* const vulkan_library = "vulkan-1.dll";

// All libraries of a process find each other's functions only by asking for them.
void* open_library(const char* name, Symbols) noexcept {
  void* const library = reinterpret_cast<void*>(::LoadLibraryA(name));
  if (!library) keep_error();
  return library;
}

void close_library(void* library) noexcept {
  ::FreeLibrary(static_cast<HMODULE>(library));
}

void* find_symbol(void* library, const char* name) noexcept {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}

const char* library_error() noexcept {
  return last_error;
}

void write_library_path(void* library, std::span<char> path) noexcept {
  ::GetModuleFileNameA(static_cast<HMODULE>(library), path.data(), static_cast<DWORD>(path.size()));
  path.back() = '\0';
}

bool is_static_program() noexcept {
  return false;
}

}  // namespace quern::platform
#endif
