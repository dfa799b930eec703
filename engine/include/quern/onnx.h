// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <quern/custom_ops.h>
#include <quern/host.h>
#include <quern/model.h>
#include <quern/status.h>

namespace quern {

struct OnnxOptions {
  // Selects whether files are mapped, and must not change while the model or anything compiled from
  // it exists (one that shrinks ends the process), or read into memory.
  enum class Files : std::uint8_t { mapped, read };
  Files files = Files::mapped;
  // The limit in bytes for memory that reading takes beyond the file itself; 0: a multiple of the
  // size of the file.
  std::size_t max_bytes = 0;
  // When reading ends with timed_out.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // If off, ImageDecoder is refused: libraries of the system decode most formats of its pictures.
  bool decodes_pictures = true;
  // Operators of the host; null: none.
  std::shared_ptr<const CustomOps> ops = nullptr;
  // Memory for what reading keeps, and warnings; null: the system's, and none.
  std::shared_ptr<Host> host = nullptr;
  // Receives one sentence per problem that prevents the model from being read.
  std::vector<std::string>* problems = nullptr;
  // Receives one sentence per output whose declared shape differs from its actual shape; runs
  // return the actual shape.
  std::vector<std::string>* warnings = nullptr;
};

// Reads a model, whose file stays mapped unless the options say otherwise. External data is read
// only from the folder of the file. Errors: not_found, invalid_model, unsupported; the message
// names the first problem. timed_out.
Result<Model> load_onnx(const std::string& path, const OnnxOptions& options = {});

// The same from memory that `owner` keeps alive (null: the caller keeps it alive). External data is
// read from below `folder`; if `folder` is empty, external data is refused.
Result<Model> parse_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         const std::string& folder = {}, const OnnxOptions& options = {});

}  // namespace quern
