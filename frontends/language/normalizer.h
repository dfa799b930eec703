// SPDX-License-Identifier: Apache-2.0
// What a tokenizer does to text before it cuts it: the member `normalizer` of tokenizer.json.
#pragma once

#include <functional>
#include <string>

#include <quern/status.h>

#include "frontends/language/json.h"
#include "frontends/language/pattern.h"
#include "frontends/language/work.h"

namespace quern::language {

// Changes a text. Errors: unsupported, where it would take more than the work or grow beyond it.
using Normalizer = std::function<Status(std::u32string& text, Work& work)>;

// None where `json` is null. Errors: invalid_argument, unsupported; both name the component.
Result<Normalizer> read_normalizer(Json json);

// The error of a component whose `type` is not known, or that has no `type`.
Status unknown_component(std::string_view role, Json json);
// {"String": ".."} or {"Regex": ".."}.
Result<Pattern> read_pattern(Json json);
// `text` with `content` for each match. Errors: those of Pattern::find(); unsupported, it grows
// beyond the work.
Status replace_matches(std::u32string& text, const Pattern& pattern, std::u32string_view content,
                       Work& work);

}  // namespace quern::language
