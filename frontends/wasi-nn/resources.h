// SPDX-License-Identifier: Apache-2.0
// Tensors and errors that a guest holds by handles (WIT). These handles are reused, unlike those of
// graphs and contexts: an inference takes several, and there are only 2^32.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "frontends/wasi-nn/tensor.h"

namespace quern::wasi_nn {

// Any thread.
class Resources {
 public:
  // A tensor that could not be created is stored as the error that explains why.
  using Entry = std::variant<std::shared_ptr<HeldTensor>, Error>;

  // Returns a handle, from 1; 0 if the guest already holds the maximum number of errors.
  std::uint32_t insert(Entry entry);
  std::optional<Entry> find(std::uint32_t handle) const;
  // The handle is invalid afterwards.
  std::optional<Entry> take(std::uint32_t handle);

 private:
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Entry> entries_;
  std::uint32_t newest_ = 0;
  std::size_t errors_ = 0;
};

}  // namespace quern::wasi_nn
