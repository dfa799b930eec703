// SPDX-License-Identifier: Apache-2.0
// Threads for runs: quern's own, or functions of the host.
#include <string>

#include "engine/c_api/handles.h"

using namespace quern;
using namespace quern::c_api;

namespace {

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

}  // namespace

quern_status quern_thread_pool_create(const quern_thread_pool_options* options,
                                      quern_thread_pool** pool) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(pool);
    QUERN_ASSIGN(const quern_thread_pool_options o, read_struct(options));
    if (o.threads < (o.run ? 1 : 0))
      return {Code::invalid_argument,
              "a pool of " + std::to_string(o.threads) + " threads, at least 1 is wanted"};
    std::shared_ptr<ThreadPool> made;
    if (o.run) {
      made = std::make_shared<HostPool>(o);
    } else {
      QUERN_ASSIGN(made, make_thread_pool(o.threads));
    }
    *pool = new quern_thread_pool{std::move(made)};
    return {};
  });
}

void quern_thread_pool_destroy(quern_thread_pool* pool) {
  delete pool;
}
