// SPDX-License-Identifier: Apache-2.0
// Memory for inputs, and tensors of a guest that exist independently of a context (WIT).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <quern/tensor.h>

#include "engine/vocabulary/platform/pages.h"
#include "frontends/wasi-nn/account.h"

namespace quern::wasi_nn {

struct FreePlace {
  void operator()(std::byte* p) const { platform::free_aligned(p); }
};
using Place = std::unique_ptr<std::byte, FreePlace>;

// The number of bytes charged for a place of `bytes` bytes: at least one cache line, so that no
// place is free of charge.
std::size_t place_bytes(std::size_t bytes);
// Aligned to 64. Errors: too_large.
Error make_place(std::size_t bytes, Place* place);

// The elements of a tensor and their charges. Its creator writes it; afterwards it is only read.
class HeldTensor {
 public:
  // Errors: too_large.
  static Error create(const std::shared_ptr<Account>& account, const TensorType& type,
                      std::shared_ptr<HeldTensor>* tensor);

  const TensorType& type() const { return type_; }
  std::byte* data() { return place_.get(); }
  std::span<const std::byte> bytes() const { return {place_.get(), type_.bytes()}; }

 private:
  HeldTensor(const std::shared_ptr<Account>& account, const TensorType& type)
      : type_(type), tensor_bytes_(account, &Counts::tensor_bytes), resident_bytes_(account) {}

  const TensorType type_;
  Charge tensor_bytes_;
  ResidentCharge resident_bytes_;
  Place place_;
};

}  // namespace quern::wasi_nn
