// SPDX-License-Identifier: Apache-2.0
// A pool of threads as a host describes it in C, for the interfaces of the engine and of wasi-nn.
#pragma once

#include <memory>
#include <string>

#include <quern/c/quern.h>
#include <quern/thread_pool.h>

#include "engine/c_api/struct_sizes.h"

namespace quern::c_api {

QUERN_STRUCT_SIZES(quern_thread_pool_options);

class HostPool final : public ThreadPool {
 public:
  explicit HostPool(const quern_thread_pool_options& options) : options_(options) {}
  int threads() const noexcept override { return options_.threads; }
  void run(int count, Task task, void* data) noexcept override {
    options_.run(options_.context, count, task, data);
  }

 private:
  quern_thread_pool_options options_;
};

// The pool of a host's functions, or of so many threads of quern. Errors: as
// quern_thread_pool_create().
inline Result<std::shared_ptr<ThreadPool>> thread_pool_of(const quern_thread_pool_options& o) {
  if (o.threads < (o.run ? 1 : 0))
    return Status(Code::invalid_argument,
                  "a pool of " + std::to_string(o.threads) + " threads, at least 1 is wanted");
  if (!o.run) return make_thread_pool(o.threads);
  return std::shared_ptr<ThreadPool>(std::make_shared<HostPool>(o));
}

}  // namespace quern::c_api
