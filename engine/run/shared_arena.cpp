// SPDX-License-Identifier: Apache-2.0
#include "engine/run/shared_arena_impl.h"

namespace quern {

SharedArena::SharedArena() : impl_(std::make_unique<Impl>()) {}
SharedArena::~SharedArena() = default;

std::shared_ptr<SharedArena> SharedArena::create() {
  return std::shared_ptr<SharedArena>(new SharedArena());
}

std::size_t SharedArena::bytes() const {
  return impl_->bytes.load(std::memory_order_relaxed);
}

bool SharedArena::trim() {
  const Impl::Use use(*impl_);
  if (!use.taken()) return false;
  ++impl_->runs;
  impl_->release();
  return true;
}

}  // namespace quern
