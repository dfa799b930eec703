// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/movement.h"

#include "engine/vocabulary/text_util.h"
#include "graph/ops/pad.h"
#include "kernels/contract/cuts.h"

namespace quern {

Status index_error(std::int64_t index, std::int64_t size) {
  return {Code::invalid_argument,
          cat("index ", index, " is outside of a dimension of ", size, " elements")};
}

void copy_strided(std::size_t size, const Shape& shape, const Shape& strides, const std::byte* src,
                  std::byte* dst, StopCheck& check) {
  visit_element_size(size, [&](auto width) {
    constexpr std::size_t n = decltype(width)::value;
    for_each_offset(shape, std::array<Shape, 1>{strides}, 2, check, [&](const auto& at) {
      std::memcpy(dst, src + at[0] * static_cast<std::int64_t>(n), n);
      dst += n;
    });
  });
}

void fill(std::size_t size, const std::byte* value, std::int64_t n, std::byte* dst,
          StopCheck& check) {
  visit_element_size(size, [&](auto width) {
    constexpr std::size_t bytes = decltype(width)::value;
    for_each_until(n, std::int64_t{bytes}, check, [&](std::int64_t i) {
      std::memcpy(dst + i * std::int64_t{bytes}, value, bytes);
    });
  });
}

std::int64_t pad_source(PadMode mode, std::int64_t at, std::int64_t n) {
  if (at >= 0 && at < n) return at;
  switch (mode) {
    case PadMode::constant: return -1;
    case PadMode::edge: return at < 0 ? 0 : n - 1;
    case PadMode::wrap: return (at % n + n) % n;
    case PadMode::reflect: break;
  }
  if (n == 1) return 0;
  const std::int64_t period = 2 * (n - 1);
  const std::int64_t phase = (at % period + period) % period;
  return phase < n ? phase : period - phase;
}

namespace {

// f(begin, count) for the n bytes, in pieces. Memory that is touched for the first time takes some
// nanoseconds a byte.
template <class F>
void for_bytes(std::size_t n, StopCheck& check, F&& f) {
  const auto piece = static_cast<std::size_t>(cut_size(1 << 18));
  for (std::size_t begin = 0; begin < n; begin += piece) {
    const std::size_t count = std::min(piece, n - begin);
    if (check.spend(static_cast<std::int64_t>(4 + count))) return;
    f(begin, count);
  }
}

}  // namespace

void copy_bytes(const std::byte* src, std::size_t n, std::byte* dst, StopCheck& check) {
  for_bytes(n, check, [&](std::size_t begin, std::size_t count) {
    std::memcpy(dst + begin, src + begin, count);
  });
}

void zero_bytes(std::size_t n, std::byte* dst, StopCheck& check) {
  for_bytes(n, check,
            [&](std::size_t begin, std::size_t count) { std::memset(dst + begin, 0, count); });
}

Status copy_reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  std::byte* dst = call.outputs[0].data;
  StopCheck check(call.stop);
  if (dst != x.data) copy_bytes(x.data, x.type.bytes(), dst, check);
  return {};
}

}  // namespace quern
