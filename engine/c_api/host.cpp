// SPDX-License-Identifier: Apache-2.0
// What a host brings along: memory, a log, operators.
#include <quern/c/custom_op.h>
#include <quern/custom_ops.h>
#include <quern/host.h>

#include "engine/c_api/handles.h"

using namespace quern;
using namespace quern::c_api;

namespace {

class HostOfFunctions final : public Host {
 public:
  explicit HostOfFunctions(const quern_host_options& options) : options_(options) {}

  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    if (!options_.allocate) return Host::allocate(bytes, alignment);
    return options_.allocate(options_.context, bytes, alignment);
  }
  void free(void* block, std::size_t bytes, std::size_t alignment) noexcept override {
    if (!options_.release) return Host::free(block, bytes, alignment);
    options_.release(options_.context, block, bytes, alignment);
  }
  void log(Level level, std::string_view sentence) noexcept override {
    if (!options_.log) return;
    options_.log(options_.context, level == Level::warning ? QUERN_LOG_WARNING : QUERN_LOG_INFO,
                 sentence.data(), sentence.size());
  }

 private:
  quern_host_options options_;
};

}  // namespace

quern_status quern_host_create(const quern_host_options* options, quern_host** host) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(options);
    QUERN_NOT_NULL(host);
    QUERN_ASSIGN(const quern_host_options o, read_struct(options));
    if (!o.allocate != !o.release)
      return {Code::invalid_argument,
              "quern_host_options has one of allocate and release, wants both or neither"};
    *host = new quern_host{std::make_shared<HostOfFunctions>(o)};
    return {};
  });
}

void quern_host_destroy(quern_host* host) {
  delete host;
}

quern_status quern_custom_ops_create(quern_custom_ops** ops) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(ops);
    *ops = new quern_custom_ops{std::make_shared<CustomOps>()};
    return {};
  });
}

void quern_custom_ops_destroy(quern_custom_ops* ops) {
  delete ops;
}

quern_status quern_custom_ops_add(quern_custom_ops* ops, const quern_custom_op* op) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(ops);
    QUERN_NOT_NULL(op);
    return ops->ops->add(*op);
  });
}

quern_status quern_custom_ops_load(quern_custom_ops* ops, const char* path) {
  return guarded([&]() -> Status {
    QUERN_NOT_NULL(ops);
    QUERN_NOT_NULL(path);
    return ops->ops->load(path);
  });
}
