// SPDX-License-Identifier: Apache-2.0
// The witx ABI of wasi-nn, module wasi_ephemeral_nn: every function returns the errno.
#pragma once

#include <span>

#include "frontends/wasi-nn/import.h"

namespace quern::wasi_nn {

std::span<const Import, 9> witx_imports();

}  // namespace quern::wasi_nn
