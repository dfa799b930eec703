// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime through the few functions of its C interface that a comparison needs. The library is
// opened at run time; no header of it is used. Its interface is a table of functions that only
// grows at the end: a position, once given, stays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "bench/compare/engine.h"

namespace quern::bench {

// Opens the library; stays open until the process ends. Errors: not_found, unsupported.
class OrtLibrary {
 public:
  static Result<OrtLibrary> open(const std::string& path);
  const std::string& version() const { return version_; }
  const void* const* api() const { return api_; }

 private:
  const void* const* api_ = nullptr;
  std::string version_;
};

struct OrtOptions {
  enum class Optimisations : std::uint8_t { none, all };

  int threads = 1;
  bool spinning = true;  // idle threads of the pool wait actively, as by default
  Optimisations optimisations = Optimisations::all;
};

// One thread between operators, `threads` within.
class OrtSession {
 public:
  // `model` is a file.
  static Result<std::unique_ptr<OrtSession>> create(const OrtLibrary& library,
                                                    const std::string& model,
                                                    const OrtOptions& options);
  static Result<std::unique_ptr<OrtSession>> create_from_bytes(const OrtLibrary& library,
                                                               std::string_view bytes,
                                                               const OrtOptions& options);
  ~OrtSession();

  // In place of those of the run before. `x` and `x.keys` are values and keys of map `x`.
  Status set_inputs(std::vector<NamedTensor> inputs);
  Status run();
  // Copies of what the last run gave, sequences and maps by their parts (parts.h). Errors:
  // unsupported, for an element type that we have not.
  Result<std::vector<NamedTensor>> outputs() const;

 private:
  OrtSession();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern::bench
