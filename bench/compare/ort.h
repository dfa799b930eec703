// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime through the few functions of its C interface that a comparison needs. The library is
// opened at run time; no header of it is used. Its interface is a table of functions that only
// grows at the end: a position, once given, stays.
#pragma once

#include <memory>
#include <string>
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
  int threads = 1;
  bool spinning = true;  // idle threads of the pool wait actively, as by default
};

// A model with all graph optimisations on; one thread between operators, `threads` within.
class OrtSession {
 public:
  static Result<std::unique_ptr<OrtSession>> create(const OrtLibrary& library,
                                                    const std::string& model,
                                                    const OrtOptions& options);
  ~OrtSession();

  Status set_inputs(std::vector<NamedTensor> inputs);
  Status run();
  // Copies of what the last run gave. Errors: unsupported, for what is no tensor of numbers.
  Result<std::vector<NamedTensor>> outputs() const;

 private:
  OrtSession();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern::bench
