// SPDX-License-Identifier: Apache-2.0
// The witx ABI of wasi-nn (module wasi_ephemeral_nn) as a table: a runtime binds it by one loop
// over the rows. Every parameter is an i32, every function returns one i32, the errno.
#pragma once

#include <cstdint>
#include <span>

#include "frontends/wasi-nn/guest_memory.h"
#include "frontends/wasi-nn/instance.h"

namespace quern::wasi_nn {

struct Import {
  const char* module;
  const char* name;
  unsigned parameters;
  // Any bytes in `memory` and any `arguments`, `parameters` of them. Nothing of the memory is kept.
  // Throws nothing; the sentence of an error is in instance.last_error().
  std::uint32_t (*call)(Instance& instance, Memory memory, const std::uint32_t* arguments) noexcept;
};

std::span<const Import> witx_imports();

}  // namespace quern::wasi_nn
