// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "kernels/contract/kernel.h"

namespace quern {

// The indices [from, from + count) of the first dimension of a constant.
class SlicedConstant final : public ConstantSource {
 public:
  // `whole` outlives the slice.
  SlicedConstant(const ConstantSource& whole, std::int64_t from, std::int64_t count);
  const TensorType& type() const override { return type_; }
  Result<Tensor> get() const override;
  const std::string& key() const override { return key_; }

 private:
  const ConstantSource& whole_;
  TensorType type_;
  std::size_t offset_;
  std::string key_;
};

}  // namespace quern
