// SPDX-License-Identifier: Apache-2.0
// Folders of language models as onnxruntime-genai and transformers.js write them: where the decoder
// is, what its inputs are called, its tokenizer, its chat template and how it wants to be sampled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <quern/status.h>

#include "frontends/language/chat_template.h"
#include "frontends/language/next_logits.h"
#include "frontends/language/sampler.h"
#include "frontends/language/tokenizer.h"

namespace quern::language {

struct ModelFolder {
  std::string decoder_file;  // a path
  DecoderInputs names;
  std::int64_t context_length = 2048;  // the most tokens of a sequence
  std::vector<TokenId> end_ids;        // tokens that end an answer
  bool samples = false;                // false: the greatest logit, unless somebody asks otherwise
  SamplingOptions sampling;
  std::optional<std::int64_t> max_new_tokens;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::size_t tokenizer_bytes = 0;  // of its file
  std::optional<ChatTemplate> chat_template;
  TemplateValue::Map template_variables;  // bos_token, eos_token, ...

  // Reads genai_config.json or config.json with generation_config.json, tokenizer.json,
  // tokenizer_config.json and chat_template.jinja. `decoder_file`: the name of the model below the
  // folder, "" for that of the files. Errors: not_found; invalid_argument, with the file.
  static Result<ModelFolder> read(const std::string& folder, const std::string& decoder_file = {});

  // The prompt for messages of (role, content), ready for an answer. Errors: not_found, there is no
  // template; those of ChatTemplate::render().
  Result<std::string> prompt(
      const std::vector<std::pair<std::string, std::string>>& messages) const;
};

}  // namespace quern::language
