// SPDX-License-Identifier: Apache-2.0
// The structures behind the handles of c/wasi_nn.h, error reporting, and the exception barrier of
// every entry point.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <quern/c/wasi_nn.h>

#include "engine/c_api/struct_sizes.h"
#include "frontends/wasi-nn/instance.h"

struct quern_nn_tenant {
  std::shared_ptr<quern::wasi_nn::Tenant> tenant;
};

struct quern_nn_instance {
  std::shared_ptr<quern::wasi_nn::Instance> instance;
};

struct quern_nn_use {
  std::shared_ptr<quern::wasi_nn::Instance> instance;
  quern::wasi_nn::ContextUse use;
};

struct quern_nn_outputs {
  std::vector<quern::wasi_nn::NamedOutput> outputs;
  std::vector<quern_tensor> tensors;
};

namespace quern::c_api {

QUERN_STRUCT_SIZES(quern_tensor);
QUERN_STRUCT_SIZES(quern_value_info, offsetof(quern_value_info, keys));
QUERN_STRUCT_SIZES(quern_nn_counts);
QUERN_STRUCT_SIZES(quern_nn_figures);
QUERN_STRUCT_SIZES(quern_nn_limits);
QUERN_STRUCT_SIZES(quern_nn_tenant_options, offsetof(quern_nn_tenant_options, everywhere),
                   offsetof(quern_nn_tenant_options, share_graphs),
                   offsetof(quern_nn_tenant_options, thread_pool),
                   offsetof(quern_nn_tenant_options, math),
                   offsetof(quern_nn_tenant_options, guest_pictures));
QUERN_STRUCT_SIZES(quern_nn_guest);

}  // namespace quern::c_api

namespace quern::wasi_nn::c_api {

// Stores the message for quern_nn_last_error(); allocates nothing.
quern_nn_errno report(Errno code, std::string_view text) noexcept;

// Runs the body of an entry point that can fail: a lambda that returns Error. No exception leaves
// it. If `instance` is not null, the error is also reported to it.
template <class F>
quern_nn_errno guarded(Instance* instance, const F& body) noexcept {
  try {
    Error error = body();
    const quern_nn_errno code = report(error.code, error.text);
    if (instance) (void)instance->report(std::move(error));
    return code;
  } catch (const std::bad_alloc&) {
    return report(Errno::too_large, "the system has no more memory");
  } catch (const std::exception& e) {
    return report(Errno::runtime_error, e.what());
  } catch (...) {
    return report(Errno::runtime_error, "an exception of unknown type");
  }
}
template <class F>
quern_nn_errno guarded(const F& body) noexcept {
  return guarded(nullptr, body);
}

inline Error null_argument(std::string_view name) {
  return {Errno::invalid_argument, sentence(name, " is null")};
}

#define QUERN_NN_NOT_NULL(argument) \
  if (!(argument)) return null_argument(#argument)

// The same as quern::c_api::read_fields() and write_struct(), with the errors of this API.
template <class T>
Error read_struct(const T* given, T* value) {
  return Error(quern::c_api::read_fields(given, value));
}
template <class T>
Error write_struct(T* to, T value) {
  return Error(quern::c_api::write_struct(to, std::move(value)));
}

}  // namespace quern::wasi_nn::c_api
