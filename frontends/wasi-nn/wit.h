// SPDX-License-Identifier: Apache-2.0
// The WIT interface wasi:nn@0.2.0-rc-2024-10-28 as the imports that the canonical ABI makes of it:
// what the core module of a component imports. Graphs, contexts, tensors and errors are handles.
//
// A call that goes wrong leaves an error resource where its WIT function has a result. Where it has
// none (constructors, getters, drops, a place for the result that is not in the memory) it does
// nothing and returns 0: the guest lives on, and last_error() says why. A tensor that could not be
// made is a handle all the same, and compute answers with the reason.
#pragma once

#include <span>

#include "frontends/wasi-nn/import.h"

namespace quern::wasi_nn {

std::span<const Import, 14> wit_imports();

}  // namespace quern::wasi_nn
