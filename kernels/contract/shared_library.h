// SPDX-License-Identifier: Apache-2.0
// Libraries that are opened at run time, since a program works without them: which one was found,
// or why there is none.
#pragma once

#include <array>
#include <initializer_list>

#include "engine/vocabulary/platform/libraries.h"

namespace quern {

// Texts end with a zero, and are cut where they are longer. The library is never closed.
struct SharedLibrary {
  void* handle = nullptr;           // null: none could be opened
  std::array<char, 64> name{};      // of those that were tried the one that is open
  std::array<char, 256> path{};     // of its file
  std::array<char, 512> why_not{};  // a sentence fragment for each name; empty: it is open

  void* find(const char* symbol) const noexcept;  // null: it has none of this name
};

// Opens the first of these names that there is. A fully static program opens none: what it would
// load has a C library of its own, and ends the process in the first call that meets the other.
// Allocates nothing itself.
SharedLibrary open_first(std::initializer_list<const char*> names,
                         platform::Symbols symbols) noexcept;
// The rest of a reason that is known later: the library is open, but of no use.
void refuse(SharedLibrary& library, const char* why) noexcept;

}  // namespace quern
