// SPDX-License-Identifier: Apache-2.0
// Tensors and errors that a guest holds by handles (WIT). Their numbers come again, unlike those of
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
  // A tensor that could not be made is there as the error that says why.
  using Entry = std::variant<std::shared_ptr<HeldTensor>, Error>;

  // From 1. 0 when the guest holds more errors than it can have use for.
  std::uint32_t insert(Entry entry);
  std::optional<Entry> find(std::uint32_t handle) const;
  // The handle is none from here on.
  std::optional<Entry> take(std::uint32_t handle);

 private:
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Entry> entries_;
  std::uint32_t newest_ = 0;
  std::size_t errors_ = 0;
};

}  // namespace quern::wasi_nn
