// SPDX-License-Identifier: Apache-2.0
#include "graph/file_pages.h"

#include "engine/vocabulary/platform/pages.h"

namespace quern {
namespace {

// Tells the owner of a mapped file from any other: dropping pages of other memory would lose them.
struct Unmap {
  std::size_t size;
  void operator()(const void* p) const { platform::unmap_file(const_cast<void*>(p), size); }
};

}  // namespace

std::shared_ptr<const void> own_file_pages(void* p, std::size_t size) {
  return {p, Unmap{size}};
}

Tensor dropping_pages(const Tensor& t) {
  constexpr std::size_t worth_a_call = 64 << 10;
  if (t.bytes() < worth_a_call || !std::get_deleter<Unmap>(t.owner())) return t;
  std::shared_ptr<const void> guard(
      t.data(), [kept = t](const void*) { platform::drop_mapped(kept.data(), kept.bytes()); });
  return {t.type(), std::move(guard), t.data()};
}

}  // namespace quern
