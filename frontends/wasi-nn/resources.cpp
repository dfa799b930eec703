// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/resources.h"

#include <utility>

namespace quern::wasi_nn {
namespace {
constexpr std::size_t most_errors = 1024;  // they are not charged
}

std::uint32_t Resources::insert(Entry entry) {
  const std::lock_guard lock(mutex_);
  const bool is_error = std::holds_alternative<Error>(entry);
  if (is_error && errors_ == most_errors) return 0;
  do {
    ++newest_;
  } while (newest_ == 0 || entries_.contains(newest_));
  entries_.emplace(newest_, std::move(entry));
  errors_ += is_error ? 1 : 0;
  return newest_;
}

std::optional<Resources::Entry> Resources::find(std::uint32_t handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(handle);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Resources::Entry> Resources::take(std::uint32_t handle) {
  const std::lock_guard lock(mutex_);
  auto node = entries_.extract(handle);
  if (node.empty()) return std::nullopt;
  errors_ -= std::holds_alternative<Error>(node.mapped()) ? 1 : 0;
  return std::move(node.mapped());
}

}  // namespace quern::wasi_nn
