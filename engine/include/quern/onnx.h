// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <quern/model.h>
#include <quern/status.h>

namespace quern {

struct OnnxOptions {
  // What reading may take beyond the file itself; 0: a multiple of its size.
  std::size_t max_bytes = 0;
  // Collects a sentence for everything that keeps the model from being read.
  std::vector<std::string>* problems = nullptr;
  // Collects a sentence for every output whose declared shape is not the one that it has: the
  // latter is what runs give.
  std::vector<std::string>* warnings = nullptr;
};

// Reads a model; the file stays mapped, unchanged by anybody, as long as the model or what was
// compiled from it lives. External data is looked for beside the file and nowhere else. Errors:
// not_found, invalid_model, unsupported; the message names the first problem.
Result<Model> load_onnx(const std::string& path, const OnnxOptions& options = {});

// The same from memory that `owner` keeps alive (null: the caller does). External data is looked
// for below `folder`; an empty one refuses it.
Result<Model> parse_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         const std::string& folder = {}, const OnnxOptions& options = {});

}  // namespace quern
