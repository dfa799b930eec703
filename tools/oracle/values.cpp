// SPDX-License-Identifier: Apache-2.0
#include "tools/oracle/values.h"

#include <cstring>

#include "graph/numeric.h"

namespace quern::tools {
namespace {

// An element at whatever address: constants lie in mapped files.
template <class T>
T element_at(const std::byte* data, std::size_t i) {
  T v;
  std::memcpy(&v, data + i * sizeof(T), sizeof(T));
  return v;
}

}  // namespace

Result<Tensor> widened(const Tensor& t) {
  // A constant may lie anywhere in a model's bytes.
  if (t.dtype() == DType::f64 && reinterpret_cast<std::uintptr_t>(t.data()) % sizeof(double) != 0)
    return Tensor::copy_of(t.type(), {t.data(), t.bytes()});
  if (t.dtype() != DType::f32 && t.dtype() != DType::f16 && t.dtype() != DType::bf16) return t;
  return number_tensor(t.shape(), as_numbers(t));
}

Result<Tensor> narrowed(const Tensor& t, DType type) {
  QUERN_ASSIGN(Tensor out, Tensor::zeros({type, t.shape()}));
  const std::span<const double> from = t.span<double>();
  visit_float(type, [&]<class T>(TypeTag<T>) {
    auto* to = reinterpret_cast<T*>(out.mutable_data());
    for (double v : from) *to++ = T(v);
  });
  return out;
}

Numbers as_numbers(const Tensor& t) {
  Numbers out(static_cast<std::size_t>(t.shape().elements()));
  visit_dtype(t.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (!std::is_same_v<T, StringRef>)
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<double>(element_at<T>(t.data(), i));
  });
  return out;
}

Result<Tensor> number_tensor(const Shape& shape, const Numbers& values) {
  return Tensor::copy_of({DType::f64, shape}, std::as_bytes(std::span(values)));
}

bool all_zero(const Numbers& values) {
  return std::ranges::all_of(values, [](double v) { return v == 0; });
}

}  // namespace quern::tools
