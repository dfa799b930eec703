// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <quern/dtype.h>
#include <quern/shape.h>
#include <quern/status.h>

namespace quern {

// The element type and the shape of a tensor, without its bytes.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  std::size_t bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(dtype); }
  std::string text() const;  // "f32[1,3,224,224]"
  bool operator==(const TensorType&) const = default;
};

// An element of a DType::string tensor; the bytes belong to the owner of the tensor.
struct StringRef {
  const char* data = nullptr;
  std::uint64_t size = 0;

  std::string_view view() const { return {data, static_cast<std::size_t>(size)}; }
};

// Dense row-major elements that are owned elsewhere. Never stored past the call that it is passed
// to, unless that call documents it. `data` is null for an absent optional tensor.
struct TensorView {
  TensorType type;
  const std::byte* data = nullptr;

  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
  template <class T>
  std::span<const T> span() const {
    return {as<T>(), static_cast<std::size_t>(type.shape.elements())};
  }
  bool present() const { return data != nullptr; }
};

// The same, writable.
struct MutableTensorView {
  TensorType type;
  std::byte* data = nullptr;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  operator TensorView() const { return {type, data}; }  // NOLINT: a view of a view
  bool present() const { return data != nullptr; }
};

// Shared immutable elements, dense row-major: constants of a model, results that outlive a run.
// May alias a mapped file, in which case `data()` need not be aligned to the element.
// Copies share the bytes. Any thread may read.
class Tensor {
 public:
  Tensor() = default;
  // Keeps `owner` alive; `data` points at type.bytes() bytes inside it.
  Tensor(TensorType type, std::shared_ptr<const void> owner, const std::byte* data)
      : type_(type), owner_(std::move(owner)), data_(data) {}
  // Owns a copy of `bytes`, which must be type.bytes() long.
  static Result<Tensor> copy_of(TensorType type, std::span<const std::byte> bytes);
  // Zeroed, aligned to 64 bytes; to be filled through mutable_data() before it is shared.
  static Result<Tensor> zeros(TensorType type);

  template <class T>
  static Tensor scalar(DType dtype, T value) {
    return from_values<T>(dtype, Shape{}, std::span<const T>(&value, 1));
  }
  // sizeof(T) must be size_of(dtype) and values must have shape.elements() elements.
  template <class T>
  static Tensor from_values(DType dtype, const Shape& shape, std::span<const T> values) {
    auto r = copy_of({dtype, shape}, std::as_bytes(values));
    return r ? std::move(r).value() : Tensor();
  }

  bool valid() const { return data_ != nullptr; }
  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return type_.bytes(); }
  TensorView view() const { return {type_, data_}; }
  template <class T>
  std::span<const T> span() const {
    return view().span<T>();
  }
  // The same bytes with another shape of the same number of elements; not valid() if the number
  // differs.
  Tensor reshaped(const Shape& shape) const;
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // Only for a tensor from zeros() that has not been shared yet.
  std::byte* mutable_data() { return const_cast<std::byte*>(data_); }

 private:
  TensorType type_;
  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
};

}  // namespace quern
