// SPDX-License-Identifier: Apache-2.0
#include "tools/dress/rearrange.h"

#include <cstring>

#include "engine/vocabulary/text_util.h"

namespace quern::tools {
namespace {

// A place for every index, in elements.
struct Places {
  std::byte* base = nullptr;
  std::int64_t offset = 0;
  Ints strides;
};

Ints dense_strides(const Shape& shape) {
  Ints strides(shape.rank(), 1);
  for (std::size_t d = shape.rank(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

void copy(const Shape& shape, std::size_t element, const Places& to, const Places& from) {
  const std::int64_t n = shape.elements();
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i;
    std::int64_t dst = to.offset;
    std::int64_t src = from.offset;
    for (std::size_t d = shape.rank(); d-- > 0;) {
      dst += rest % shape[d] * to.strides[d];
      src += rest % shape[d] * from.strides[d];
      rest /= shape[d];
    }
    std::memcpy(to.base + dst * static_cast<std::int64_t>(element),
                from.base + src * static_cast<std::int64_t>(element), element);
  }
}

// `t` is only read through them.
Places places_of(const TensorView& t) {
  return {const_cast<std::byte*>(t.data), 0, dense_strides(t.type.shape)};
}

Places places_in(std::byte* base, const Window& window) {
  Places p{base, 0, dense_strides(window.whole)};
  for (std::size_t d = 0; d < p.strides.size(); ++d) {
    p.offset += p.strides[d] * window.starts[d];
    p.strides[d] *= window.steps[d];
  }
  return p;
}

Result<Tensor> empty_tensor(DType dtype, const Shape& shape) {
  if (!shape.checked_elements(size_of(dtype)))
    return Status(Code::out_of_memory, cat(TensorType{dtype, shape}.text(), " is too large"));
  return Tensor::zeros({dtype, shape});
}

// All bits set: NaN, -1 or the largest number, where any bits are an element.
void fill(Tensor& t) {
  const DType d = t.dtype();
  const bool any_bits = d != DType::string && d != DType::boolean && bits_of(d) >= 8;
  if (any_bits) std::memset(t.mutable_data(), 0xff, t.bytes());
}

}  // namespace

Result<Tensor> transposed(const TensorView& t, const Ints& perm) {
  const Ints strides = dense_strides(t.type.shape);
  Shape shape;
  Places from{const_cast<std::byte*>(t.data), 0, {}};
  for (std::int64_t axis : perm) {
    shape.push_back(t.type.shape[static_cast<std::size_t>(axis)]);
    from.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  QUERN_ASSIGN(Tensor result, empty_tensor(t.type.dtype, shape));
  copy(shape, size_of(t.type.dtype), {result.mutable_data(), 0, dense_strides(shape)}, from);
  return result;
}

Result<Tensor> spread(const TensorView& t, const Window& window) {
  QUERN_ASSIGN(Tensor result, empty_tensor(t.type.dtype, window.whole));
  fill(result);
  copy(t.type.shape, size_of(t.type.dtype), places_in(result.mutable_data(), window), places_of(t));
  return result;
}

Result<Tensor> cut(const TensorView& t, const Window& window, const Shape& shape) {
  QUERN_ASSIGN(Tensor result, empty_tensor(t.type.dtype, shape));
  copy(shape, size_of(t.type.dtype), {result.mutable_data(), 0, dense_strides(shape)},
       places_in(const_cast<std::byte*>(t.data), window));
  return result;
}

Result<Tensor> reshaped(const TensorView& t, const Shape& shape) {
  return Tensor::copy_of({t.type.dtype, shape}, {t.data, t.type.bytes()});
}

Ints reversed_axes(std::size_t rank) {
  Ints perm;
  for (std::size_t d = rank; d-- > 0;) perm.push_back(static_cast<std::int64_t>(d));
  return perm;
}

}  // namespace quern::tools
