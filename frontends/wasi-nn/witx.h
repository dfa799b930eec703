// SPDX-License-Identifier: Apache-2.0
// The witx ABI of wasi-nn, module wasi_ephemeral_nn, with what other hosts add for configurations,
// for ends of graphs and contexts, and for answers token by token: every function returns the
// errno.
#pragma once

#include <span>

#include "frontends/wasi-nn/import.h"

namespace quern::wasi_nn {

std::span<const Import, 12> witx_imports();

}  // namespace quern::wasi_nn
