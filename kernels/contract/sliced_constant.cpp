// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/sliced_constant.h"

#include "engine/vocabulary/text_util.h"

namespace quern {

SlicedConstant::SlicedConstant(const ConstantSource& whole, std::int64_t from, std::int64_t count)
    : whole_(whole),
      type_(whole.type()),
      key_(cat(whole.key(), "[", from, ":", from + count, "]")) {
  type_.shape[0] = count;
  offset_ = static_cast<std::size_t>(from * type_.shape.elements(1)) * size_of(type_.dtype);
}

Result<Tensor> SlicedConstant::get() const {
  QUERN_ASSIGN(const Tensor whole, whole_.get());
  return Tensor(type_, whole.owner(), whole.data() + offset_);
}

}  // namespace quern
