// SPDX-License-Identifier: Apache-2.0
// A function that guests import, as a row of a table: a runtime binds all of them in one loop over
// the rows. Every parameter and every result is an i32.
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
  // The call accepts any bytes in the guest's memory and any values of its `parameters` arguments.
  // It keeps no pointer to the memory and does not throw; instance.last_error() has the message of
  // an error.
  std::uint32_t (*call)(Instance& instance, Guest& guest, const std::uint32_t* arguments) noexcept;
};

}  // namespace quern::wasi_nn
