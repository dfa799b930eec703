// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>
#include <limits>

#include <quern/tensor.h>

#include "engine/vocabulary/zeroed_memory.h"

namespace quern {

static_assert(std::endian::native == std::endian::little,
              "elements of tensors are bytes of files as they lie (docs/cross.md)");

std::optional<std::int64_t> Shape::checked_elements(std::size_t element_size) const noexcept {
  constexpr std::int64_t limit = std::int64_t{1} << 62;
  std::int64_t n = 1;
  bool zero = false;  // a zero does not excuse a negative or absurd neighbour
  for (std::int64_t d : dims()) {
    if (d < 0) return std::nullopt;
    if (d == 0) {
      zero = true;
    } else if (n > limit / d) {
      return std::nullopt;
    } else {
      n *= d;
    }
  }
  if (n > limit / static_cast<std::int64_t>(element_size)) return std::nullopt;
  return zero ? 0 : n;
}

std::string Shape::text() const {
  std::string s = "[";
  for (std::size_t i = 0; i < rank_; ++i) {
    if (i) s += ',';
    s += std::to_string(dims_[i]);
  }
  return s + "]";
}

std::string TensorType::text() const {
  return std::string(name_of(dtype)) + shape.text();
}

Result<Tensor> Tensor::zeros(TensorType type) {
  const auto elements = type.shape.checked_elements(size_of(type.dtype));
  if (!elements)
    return Status(Code::invalid_argument, type.text() + " is not a size that a tensor can have");
  const std::size_t bytes = static_cast<std::size_t>(*elements) * size_of(type.dtype);
  const std::shared_ptr<const std::byte> memory = zeroed_memory(bytes);
  if (!memory)
    return Status(Code::out_of_memory,
                  "no " + std::to_string(bytes) + " bytes for a tensor " + type.text());
  return Tensor(type, memory, memory.get());
}

Result<Tensor> Tensor::copy_of(TensorType type, std::span<const std::byte> bytes) {
  QUERN_ASSIGN(Tensor t, zeros(type));
  if (bytes.size() != t.bytes())
    return Status(Code::invalid_argument, type.text() + " takes " + std::to_string(t.bytes()) +
                                              " bytes, not " + std::to_string(bytes.size()));
  if (!bytes.empty()) std::memcpy(t.mutable_data(), bytes.data(), bytes.size());
  return t;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  const auto elements = shape.checked_elements(size_of(type_.dtype));
  if (!valid() || !elements || *elements != type_.shape.elements()) return {};
  return {{type_.dtype, shape}, owner_, data_};
}

}  // namespace quern
