// SPDX-License-Identifier: Apache-2.0
#include "frontends/wasi-nn/tensor.h"

#include <algorithm>

#include "engine/vocabulary/multiples.h"

namespace quern::wasi_nn {
namespace {
constexpr std::size_t alignment = 64;
// A tensor without its elements: its handle, and what allocators take.
constexpr std::size_t tensor_bytes = 256;
}  // namespace

std::size_t place_bytes(std::size_t bytes) {
  return std::max(ceil_div(bytes, alignment), std::size_t{1}) * alignment;
}

Error make_place(std::size_t bytes, Place* place) {
  Place made(static_cast<std::byte*>(platform::allocate_aligned(alignment, place_bytes(bytes))));
  if (!made) return {Errno::too_large, sentence("no memory for a tensor of ", bytes, " bytes")};
  *place = std::move(made);
  return {};
}

Error HeldTensor::create(const std::shared_ptr<Account>& account, const TensorType& type,
                         std::shared_ptr<HeldTensor>* tensor) {
  const std::shared_ptr<HeldTensor> made(new HeldTensor(account, type));
  QUERN_NN_TRY(made->tensor_bytes_.set(type.bytes()));
  QUERN_NN_TRY(
      made->resident_bytes_.set({Kind::tensors, tensor_bytes + place_bytes(type.bytes())}));
  QUERN_NN_TRY(make_place(type.bytes(), &made->place_));
  *tensor = made;
  return {};
}

}  // namespace quern::wasi_nn
