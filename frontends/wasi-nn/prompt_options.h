// SPDX-License-Identifier: Apache-2.0
// The options of guests with prompts: an object of JSON, given when a model is loaded or as
// input 1.
#pragma once

#include <functional>
#include <string_view>

#include "frontends/wasi-nn/error.h"
#include "frontends/wasi-nn/prompt_model.h"

namespace quern::wasi_nn {

// Changes the options that the text names; docs/wasi-nn.md has the keys. Numbers beyond their
// bounds are moved to them. `log` is told of keys that ask for what is not there; keys that nobody
// knows are ignored. Errors, which change nothing: invalid_encoding, it is no JSON, or lies too
// deep; invalid_argument, it is no object, or a value is of the wrong kind; too_large, more than 64
// KiB.
Error read_prompt_options(std::string_view json, const std::function<void(std::string_view)>& log,
                          PromptOptions* options);

}  // namespace quern::wasi_nn
