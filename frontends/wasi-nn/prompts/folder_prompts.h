// SPDX-License-Identifier: Apache-2.0
// Folders of language models (docs/generate.md) for guests with prompts.
#pragma once

#include <memory>
#include <string>

#include <quern/status.h>

#include "frontends/wasi-nn/prompt_model.h"

namespace quern::wasi_nn {

// A FolderReader: for TenantOptions::read_folder. The decoder computes one token, so that what it
// takes is known. Errors: those of ModelFolder::read(), of `compile` and of a Decoder.
Result<std::shared_ptr<const PromptModel>> read_prompt_folder(const std::string& folder,
                                                              const DecoderCompiler& compile);

}  // namespace quern::wasi_nn
