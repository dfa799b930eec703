// SPDX-License-Identifier: Apache-2.0
// Threads for runs: quern's own, or functions of the host.
#include "engine/c_api/thread_pool.h"

#include "engine/c_api/handles.h"

using namespace quern;
using namespace quern::c_api;

quern_status quern_thread_pool_create(const quern_thread_pool_options* options,
                                      quern_thread_pool** pool) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(pool);
    QUERN_ASSIGN(const quern_thread_pool_options o, read_struct(options));
    QUERN_ASSIGN(std::shared_ptr<ThreadPool> made, thread_pool_of(o));
    *pool = new quern_thread_pool{std::move(made)};
    return {};
  });
}

void quern_thread_pool_destroy(quern_thread_pool* pool) {
  delete pool;
}
