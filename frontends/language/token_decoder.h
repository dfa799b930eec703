// SPDX-License-Identifier: Apache-2.0
// How tokens become text again: the member `decoder` of tokenizer.json.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <quern/status.h>

#include "frontends/language/json.h"
#include "frontends/language/work.h"

namespace quern::language {

// Changes the texts of tokens, which the caller then joins; they may hold bytes that are no UTF-8.
// Errors: unsupported, it would take more than the work.
using TokenDecoder = std::function<Status(std::vector<std::string>& texts, Work& work)>;

// None where `json` is null. Errors: invalid_argument, unsupported; both name the component.
Result<TokenDecoder> read_token_decoder(Json json);

}  // namespace quern::language
