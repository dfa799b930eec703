// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of c/wasi_nn.h, and how every entry reports and catches.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <quern/c/wasi_nn.h>

#include "frontends/wasi-nn/instance.h"

struct quern_nn_tenant {
  std::shared_ptr<quern::wasi_nn::Tenant> tenant;
};

struct quern_nn_instance {
  std::shared_ptr<quern::wasi_nn::Instance> instance;
};

struct quern_nn_use {
  quern::wasi_nn::Instance& instance;
  quern::wasi_nn::ContextUse use;
};

struct quern_nn_outputs {
  std::vector<quern::wasi_nn::NamedOutput> outputs;
  std::vector<quern_tensor> tensors;
};

namespace quern::wasi_nn::c_api {

// Keeps the sentence for quern_nn_last_error(); allocates nothing.
quern_nn_errno report(Errno code, std::string_view text) noexcept;

// The body of every entry that can fail: a lambda that returns Error. Nothing is thrown past it.
// Errors of calls for an instance stay there too.
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

inline Error check_size(std::size_t struct_size) {
  if (struct_size >= sizeof struct_size) return {};
  return {Errno::invalid_argument, "struct_size is not set"};
}

// A structure that begins with its size, as the caller knows it: fields that the caller's lacks
// stay as they are in `value`, and so do all where none is given.
template <class T>
Error read_struct(const T* given, T* value) {
  if (!given) return {};
  QUERN_NN_TRY(check_size(given->struct_size));
  std::memcpy(value, given, std::min(given->struct_size, sizeof *value));
  return {};
}

// The reverse: fields that the caller's structure lacks are left out.
template <class T>
Error write_struct(T* to, T value) {
  QUERN_NN_TRY(check_size(to->struct_size));
  value.struct_size = to->struct_size;
  std::memcpy(to, &value, std::min(to->struct_size, sizeof value));
  return {};
}

}  // namespace quern::wasi_nn::c_api
