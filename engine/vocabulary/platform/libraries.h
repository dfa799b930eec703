// SPDX-License-Identifier: Apache-2.0
// Shared libraries that are opened while a program runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::platform {

// Who finds what a library defines: who asks it, or libraries that are opened later, too.
enum class Symbols : std::uint8_t { local, global };

// The library of a name or of a path; null: there is none, or it cannot be opened. A path is what
// has a '/' in it. Allocates nothing itself.
void* open_library(const char* name, Symbols symbols) noexcept;
void close_library(void* library) noexcept;
// Null: it has none of this name.
void* find_symbol(void* library, const char* name) noexcept;
// Why open_library() answered null to this thread last; empty: the system does not say.
const char* library_error() noexcept;
// Writes the path of the library's file and a zero, cut to what there is room for.
void write_library_path(void* library, std::span<char> path) noexcept;

// True if no libraries can be opened, as in a program that has no dynamic linker.
bool is_static_program() noexcept;

// The names of the OpenMP runtime of gcc, and of the loader of Vulkan.
extern const char* const openmp_library;
extern const char* const vulkan_library;

}  // namespace quern::platform
