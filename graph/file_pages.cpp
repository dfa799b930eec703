// SPDX-License-Identifier: Apache-2.0
#include "graph/file_pages.h"

#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/vocabulary/multiples.h"

namespace quern {
namespace {

// Tells the owner of a mapped file from any other: dropping pages of other memory would lose them.
struct Unmap {
  std::size_t size;
  void operator()(const void* p) const { ::munmap(const_cast<void*>(p), size); }
};

// Whole pages: neighbours that share the first and the last one are read again when they are
// needed.
void drop(const std::byte* data, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(data) % page;
  ::madvise(const_cast<std::byte*>(data) - before, round_up(before + bytes, page), MADV_DONTNEED);
}

}  // namespace

std::shared_ptr<const void> own_file_pages(void* p, std::size_t size) {
  return {p, Unmap{size}};
}

Tensor dropping_pages(const Tensor& t) {
  constexpr std::size_t worth_a_call = 64 << 10;
  if (t.bytes() < worth_a_call || !std::get_deleter<Unmap>(t.owner())) return t;
  std::shared_ptr<const void> guard(t.data(),
                                    [kept = t](const void*) { drop(kept.data(), kept.bytes()); });
  return {t.type(), std::move(guard), t.data()};
}

}  // namespace quern
