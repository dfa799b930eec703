// SPDX-License-Identifier: Apache-2.0
// Options, limits and models of a tenant from a file of JSON, for hosts that have no options of
// their own: a stock iwasm, and `quern wasm --limits`. docs/wasi-nn.md has the keys.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "frontends/wasi-nn/tenant.h"

namespace quern::wasi_nn {

struct Config {
  TenantOptions options;
  std::map<std::string, std::string> models;  // files by name; relative to the folder of the file
  bool shares_threads = false;                // true: options.thread_pool is that of the process
  int weight = 1;                             // of the tenant among those that share them
};

// Changes the members of `config` that the text names. `source` stands in errors. Errors:
// invalid_argument, with source, key, the value found and the value wanted; `config` is as it was.
Error read_config(std::string_view text, const std::string& source, Config* config);
// The same of a file of at most 1 MiB, whose folder is put before the models' relative paths.
// Errors: also not_found.
Error read_config_file(const std::string& path, Config* config);

// A tenant with these options and models. Errors: those of the models, and of a pool of threads;
// there is no tenant then.
Error create_tenant(const Config& config, std::shared_ptr<Tenant>* tenant);

}  // namespace quern::wasi_nn
