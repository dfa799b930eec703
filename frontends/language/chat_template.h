// SPDX-License-Identifier: Apache-2.0
// Chat templates: Jinja in the part that models use. Messages go in, the text of the prompt comes
// out. docs/generate.md lists what is known.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <quern/status.h>

#include "frontends/language/template_syntax.h"
#include "frontends/language/template_value.h"

namespace quern::language {

// Immutable: any thread may use it.
class ChatTemplate {
 public:
  // Errors: invalid_argument, no template, with the line; unsupported, with the block or filter.
  static Result<ChatTemplate> parse(std::string_view source);

  // The text for these variables ("messages", "add_generation_prompt", "bos_token", ...). Errors:
  // invalid_argument, with the line: what raise_exception() says, an operation on values that it
  // does not fit; unsupported, also where it takes too many steps.
  Result<std::string> render(const TemplateValue::Map& variables) const;

 private:
  std::shared_ptr<const TemplateNode::Nodes> nodes_;
};

}  // namespace quern::language
