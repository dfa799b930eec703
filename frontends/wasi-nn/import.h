// SPDX-License-Identifier: Apache-2.0
// A function that guests import, as a row of a table: a runtime binds it by one loop over the rows.
// Every parameter and every result is an i32.
#pragma once

#include <cstdint>

#include "frontends/wasi-nn/guest_memory.h"
#include "frontends/wasi-nn/instance.h"

namespace quern::wasi_nn {

struct Import {
  const char* module;
  const char* name;
  unsigned parameters;  // at most 5
  unsigned results;     // 0 or 1
  // Any bytes in the guest's memory and any `arguments`, `parameters` of them. Nothing of the
  // memory is kept. Throws nothing; the sentence of an error is in instance.last_error().
  std::uint32_t (*call)(Instance& instance, Guest& guest, const std::uint32_t* arguments) noexcept;
};

}  // namespace quern::wasi_nn
