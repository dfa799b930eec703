// SPDX-License-Identifier: Apache-2.0
// The WIT interface wasi:nn@0.2.0-rc-2024-10-28 as the canonical ABI lowers it: the imports of a
// component's core module. Graphs, contexts, tensors and errors are handles.
//
// A failed call returns an error resource if its WIT function has a result type. Otherwise
// (constructors, getters, drops, a result address outside of the memory) it does nothing and
// returns 0: the guest continues, and last_error() has the message. A tensor that could not be
// created is still a handle, and compute returns the reason.
#pragma once

#include <span>

#include "frontends/wasi-nn/import.h"

namespace quern::wasi_nn {

std::span<const Import, 14> wit_imports();

}  // namespace quern::wasi_nn
