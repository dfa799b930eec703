// SPDX-License-Identifier: Apache-2.0
// How a tokenizer cuts normalised text into pieces that its model looks at one by one: the member
// `pre_tokenizer` of tokenizer.json.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <quern/status.h>

#include "frontends/language/json.h"
#include "frontends/language/work.h"

namespace quern::language {

struct Piece {
  std::u32string text;    // never empty
  bool is_first = false;  // the text begins with it
};
using Pieces = std::vector<Piece>;

// Cuts each piece further. Errors: unsupported, where it would take more than the work.
using PreTokenizer = std::function<Status(Pieces& pieces, Work& work)>;

// None where `json` is null. Errors: invalid_argument, unsupported; both name the component.
Result<PreTokenizer> read_pre_tokenizer(Json json);

// How Metaspace puts its mark before a text.
enum class PrependScheme : unsigned char { never, first, always };
Result<PrependScheme> read_prepend_scheme(Json metaspace);

}  // namespace quern::language
